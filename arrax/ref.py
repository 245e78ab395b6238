"""References: mutable arrays (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.numpy_api.references import AbstractRef as AbstractRef
from arrax.numpy_api.references import Ref as Ref
from arrax.numpy_api.references import addupdate as addupdate
from arrax.numpy_api.references import empty_ref as empty_ref
from arrax.numpy_api.references import free_ref as free_ref
from arrax.numpy_api.references import freeze as freeze
from arrax.numpy_api.references import get as get
from arrax.numpy_api.references import new_ref as new_ref
from arrax.numpy_api.references import set as set
from arrax.numpy_api.references import swap as swap

_bound_names(__name__)
