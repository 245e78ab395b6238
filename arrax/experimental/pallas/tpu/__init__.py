"""Names of Pallas for TPUs. Kernels run as programs that XLA compiles, there as elsewhere."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.experimental.pallas.block_specs import CompilerParams as CompilerParams
from arrax.experimental.pallas.block_specs import MemorySpace as MemorySpace
from arrax.experimental.pallas.block_specs import PrefetchScalarGridSpec as PrefetchScalarGridSpec
from arrax.experimental.pallas.cores import create_tensorcore_mesh as create_tensorcore_mesh
from arrax.experimental.pallas.programs import load as load
from arrax.experimental.pallas.tpu.memory import bitcast as bitcast
from arrax.experimental.pallas.tpu.memory import store as store
from arrax.experimental.pallas.tpu.memory import touch as touch
from arrax.experimental.pallas.tpu.transfers import AsyncCopyDescriptor as AsyncCopyDescriptor
from arrax.experimental.pallas.tpu.transfers import GridDimensionSemantics as GridDimensionSemantics
from arrax.experimental.pallas.tpu.transfers import InterpretParams as InterpretParams
from arrax.experimental.pallas.tpu.transfers import SemaphoreType as SemaphoreType
from arrax.experimental.pallas.tpu.transfers import async_copy as async_copy
from arrax.experimental.pallas.tpu.transfers import emit_pipeline as emit_pipeline
from arrax.experimental.pallas.tpu.transfers import make_async_copy as make_async_copy
from arrax.experimental.pallas.tpu.transfers import roll as roll
from arrax.experimental.pallas.tpu.transfers import sync_copy as sync_copy

VMEM, SMEM, HBM = MemorySpace.VMEM, MemorySpace.SMEM, MemorySpace.HBM
SEMAPHORE = MemorySpace.SEMAPHORE
PARALLEL, ARBITRARY = GridDimensionSemantics.PARALLEL, GridDimensionSemantics.ARBITRARY
CORE_PARALLEL, SUBCORE_PARALLEL = GridDimensionSemantics.CORE_PARALLEL, GridDimensionSemantics.SUBCORE_PARALLEL

_bound_names(__name__)
