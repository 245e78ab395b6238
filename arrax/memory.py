"""Spaces of memory (public names)."""

from arrax.core.memory_spaces import MemorySpace as Space
from arrax.core.tracebacks import bound_names as _bound_names

__all__ = ["Space"]

_bound_names(__name__)
