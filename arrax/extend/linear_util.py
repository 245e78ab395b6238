"""Functions with transformations around them (public names of ``arrax.core.wrapped_functions``)."""

from collections.abc import Callable as Callable

from arrax.core.wrapped_functions import StoreException as StoreException
from arrax.core.wrapped_functions import WrappedFun as WrappedFun
from arrax.core.wrapped_functions import cache as cache
from arrax.core.wrapped_functions import merge_linear_aux as merge_linear_aux
from arrax.core.wrapped_functions import transformation as transformation
from arrax.core.wrapped_functions import transformation2 as transformation2
from arrax.core.wrapped_functions import transformation_with_aux as transformation_with_aux
from arrax.core.wrapped_functions import transformation_with_aux2 as transformation_with_aux2
from arrax.core.wrapped_functions import wrap_init as wrap_init
