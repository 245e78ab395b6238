"""Functions of the store of compiled programs (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.xla.cache_folder import initialize_cache as initialize_cache
from arrax.xla.cache_folder import is_initialized as is_initialized
from arrax.xla.cache_folder import reset_cache as reset_cache
from arrax.xla.cache_folder import set_cache_dir as set_cache_dir

_bound_names(__name__)
