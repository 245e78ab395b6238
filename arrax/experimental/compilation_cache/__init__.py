"""The store of compiled programs on disk."""

from arrax.experimental.compilation_cache import compilation_cache as compilation_cache
