"""Pallas: kernels that read and write references to blocks of arrays, run over a grid."""

from arrax.core.late_names import late_names
from arrax.experimental.pallas.block_specs import Blocked as Blocked
from arrax.experimental.pallas.block_specs import BlockSpec as BlockSpec
from arrax.experimental.pallas.block_specs import Buffered as Buffered
from arrax.experimental.pallas.block_specs import CompilerParams as CompilerParams
from arrax.experimental.pallas.block_specs import CostEstimate as CostEstimate
from arrax.experimental.pallas.block_specs import Element as Element
from arrax.experimental.pallas.block_specs import GridSpec as GridSpec
from arrax.experimental.pallas.block_specs import MemoryRef as MemoryRef
from arrax.experimental.pallas.block_specs import MemorySpace as MemorySpace
from arrax.experimental.pallas.block_specs import Squeezed as Squeezed
from arrax.experimental.pallas.block_specs import no_block_spec as no_block_spec
from arrax.experimental.pallas.block_specs import squeezed as squeezed
from arrax.experimental.pallas.cores import core_map as core_map
from arrax.experimental.pallas.cores import kernel as kernel
from arrax.experimental.pallas.costs import estimate_cost as estimate_cost
from arrax.experimental.pallas.grids import num_programs as num_programs
from arrax.experimental.pallas.grids import program_id as program_id
from arrax.experimental.pallas.kernel_calls import pallas_call as pallas_call
from arrax.experimental.pallas.programs import align_to as align_to
from arrax.experimental.pallas.programs import cdiv as cdiv
from arrax.experimental.pallas.programs import debug_print as debug_print
from arrax.experimental.pallas.programs import delay as delay
from arrax.experimental.pallas.programs import load as load
from arrax.experimental.pallas.programs import loop as loop
from arrax.experimental.pallas.programs import multiple_of as multiple_of
from arrax.experimental.pallas.programs import next_power_of_2 as next_power_of_2
from arrax.experimental.pallas.programs import reciprocal as reciprocal
from arrax.experimental.pallas.programs import run_scoped as run_scoped
from arrax.experimental.pallas.programs import store as store
from arrax.experimental.pallas.programs import strides_from_shape as strides_from_shape
from arrax.experimental.pallas.programs import when as when
from arrax.experimental.pallas.programs import with_scoped as with_scoped
from arrax.experimental.pallas.semaphores import DeviceIdType as DeviceIdType
from arrax.experimental.pallas.semaphores import semaphore_read as semaphore_read
from arrax.experimental.pallas.semaphores import semaphore_signal as semaphore_signal
from arrax.experimental.pallas.semaphores import semaphore_wait as semaphore_wait
from arrax.experimental.pallas.states import empty as empty
from arrax.experimental.pallas.states import empty_ref_like as empty_ref_like
from arrax.experimental.pallas.states import run_state as run_state
from arrax.numpy_api.filled_arrays import empty_like as empty_like
from arrax.numpy_api.manipulation import broadcast_to as broadcast_to
from arrax.numpy_api.reference_index import Slice as Slice
from arrax.numpy_api.references import ds as ds

# Names that their modules call otherwise; type checkers take them as public only when they are assigned.
dslice = ds
dynamic_slice = ds

ANY, HOST = MemorySpace.ANY, MemorySpace.HOST

__getattr__, __dir__, __all__ = late_names(__name__, {}, submodules=("tpu",))
