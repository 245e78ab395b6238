"""Functions of shared libraries (public names of ``arrax.ffi``, under their older path)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.ffi_calls import ffi_call as ffi_call
from arrax.lax.ffi_calls import ffi_lowering as ffi_lowering
from arrax.xla.foreign_functions import include_dir as include_dir
from arrax.xla.foreign_functions import pycapsule as pycapsule
from arrax.xla.foreign_functions import register_ffi_target as register_ffi_target

_bound_names(__name__)
