"""Functions of trees as functions of leaves (public names of ``arrax.core.flat_functions``)."""

from arrax.core.flat_functions import argnums_partial as argnums_partial
from arrax.core.flat_functions import debug_info as debug_info
from arrax.core.flat_functions import donation_vector as donation_vector
from arrax.core.flat_functions import flatten_fun as flatten_fun
from arrax.core.flat_functions import flatten_fun_nokwargs as flatten_fun_nokwargs
from arrax.core.flat_functions import flatten_prefix as flatten_axes  # noqa: F401
from arrax.core.flat_functions import rebase_donate_argnums as rebase_donate_argnums
from arrax.core.flat_functions import shaped_abstractify as shaped_abstractify
from arrax.core.sequences import safe_map as safe_map
from arrax.core.tracebacks import bound_names as _bound_names

_bound_names(__name__)
