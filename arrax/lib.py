"""The library underneath, which holds the compiler and the runtime."""

from arrax.native import runtime as _runtime

__version__ = _runtime.jaxlib_version
