"""The library underneath, which holds the compiler and the runtime."""

from arrax.core.late_names import late_names as _late_names
from arrax.native import runtime as _runtime

__version__ = _runtime.jaxlib_version

__getattr__, __dir__, __all__ = _late_names(__name__, {}, submodules=("xla_bridge", "xla_client"))
