"""Functions of shared libraries in programs (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.ffi_calls import build_ffi_lowering_function as build_ffi_lowering_function
from arrax.lax.ffi_calls import ffi_call as ffi_call
from arrax.lax.ffi_calls import ffi_lowering as ffi_lowering
from arrax.xla.foreign_functions import include_dir as include_dir
from arrax.xla.foreign_functions import pycapsule as pycapsule
from arrax.xla.foreign_functions import register_ffi_target as register_ffi_target
from arrax.xla.foreign_functions import (
    register_ffi_target_as_batch_partitionable as register_ffi_target_as_batch_partitionable,
)
from arrax.xla.foreign_functions import register_ffi_type as register_ffi_type
from arrax.xla.foreign_functions import register_ffi_type_id as register_ffi_type_id

_bound_names(__name__)
