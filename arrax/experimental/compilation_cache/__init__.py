"""The store of compiled programs on disk."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.experimental.compilation_cache import compilation_cache as compilation_cache

_bound_names(__name__)
