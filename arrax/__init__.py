"""arrax: arrays, composable transformations, and compilation by XLA.

Public names only. Settings are here from the start; everything else loads on first use.
"""

import operator as _operator
import sys as _sys
import typing as _typing
import warnings as _warnings
from typing import Any as _Any

from arrax.core import ownership as _ownership  # (refuses a process that another front end owns)
from arrax.core.completion import complete_with as _complete_with
from arrax.core.config import array_garbage_collection_guard as array_garbage_collection_guard
from arrax.core.config import check_tracer_leaks as check_tracer_leaks
from arrax.core.config import config as config
from arrax.core.config import cpu_kernels as cpu_kernels
from arrax.core.config import debug_infs as debug_infs
from arrax.core.config import debug_key_reuse as debug_key_reuse
from arrax.core.config import debug_nans as debug_nans
from arrax.core.config import default_device as default_device
from arrax.core.config import default_matmul_precision as default_matmul_precision
from arrax.core.config import default_prng_impl as default_prng_impl
from arrax.core.config import disable_jit as disable_jit
from arrax.core.config import enable_checks as enable_checks
from arrax.core.config import enable_custom_prng as enable_custom_prng
from arrax.core.config import enable_custom_vjp_by_custom_transpose as _enable_custom_vjp_by_custom_transpose
from arrax.core.config import enable_x64 as enable_x64
from arrax.core.config import explain_cache_misses as explain_cache_misses
from arrax.core.config import legacy_prng_key as legacy_prng_key
from arrax.core.config import log_compiles as log_compiles
from arrax.core.config import no_tracing as no_tracing
from arrax.core.config import numpy_dtype_promotion as numpy_dtype_promotion
from arrax.core.config import numpy_rank_promotion as numpy_rank_promotion
from arrax.core.config import softmax_custom_jvp as softmax_custom_jvp
from arrax.core.config import threefry_partitionable as threefry_partitionable
from arrax.core.config import transfer_guard as transfer_guard
from arrax.core.config import transfer_guard_device_to_device as transfer_guard_device_to_device
from arrax.core.config import transfer_guard_device_to_host as transfer_guard_device_to_host
from arrax.core.config import transfer_guard_host_to_device as transfer_guard_host_to_device
from arrax.core.late_names import late_names as _late_names
from arrax.core.tracebacks import boundary as _boundary
from arrax.core.version import VERSION as __version__

# Names that their module calls otherwise; type checkers take them as public only when they are assigned.
checking_leaks = check_tracer_leaks
enable_custom_vjp_by_custom_transpose = _enable_custom_vjp_by_custom_transpose

_complete_with("arrax._initialization")
_find_late, _list_names, _ = _late_names(__name__, {
    "arrax.core.caches": ("clear_caches",),
    "arrax.core.partition_specs": ("P",),
    "arrax.core.user_contexts": ("make_user_context",),
    "arrax.dtypes": ("float0",),
    "arrax.lax.placement": ("device_get", "device_put",),
    "arrax.lax.pure_callbacks": ("pure_callback",),
    "arrax.lax.sharded_placement": ("device_put_replicated", "device_put_sharded",),
    "arrax.numpy_api.references": ("Ref", "ds", "empty_ref", "free_ref", "freeze", "new_ref",),
    "arrax.transforms.autodiff": ("jvp", "linear_transpose", "linearize", "vjp",),
    "arrax.transforms.axis_types": ("reshard",),
    "arrax.transforms.checkpointing": ("checkpoint", "checkpoint as remat", "checkpoint_policies",),
    "arrax.transforms.custom_jvp": ("custom_jvp",),
    "arrax.transforms.custom_vjp": ("closure_convert", "custom_gradient", "custom_vjp",),
    "arrax.transforms.gradients": ("grad", "hessian", "jacfwd", "jacobian", "jacrev", "value_and_grad",),
    "arrax.transforms.inspection": (
        "ShapeDtypeStruct", "ensure_compile_time_eval", "eval_shape", "make_jaxpr", "named_call", "named_scope",
        "typeof_ as typeof",
    ),
    "arrax.transforms.jit": ("jit",),
    "arrax.transforms.passes": ("fwd_and_bwd",),
    "arrax.transforms.pmap": ("pmap",),
    "arrax.transforms.shard_map": ("shard_map",),
    "arrax.transforms.smap": ("smap",),
    "arrax.transforms.vectorize": ("vmap",),
    "arrax.transforms.waiting": ("block_until_ready", "copy_to_host_async", "effects_barrier", "live_arrays",),
    "arrax.transforms.xla_computation": ("xla_computation",),
    "arrax.xla.arrays": ("Array", "Shard",),
    "arrax.xla.backends": ("clear_backends",),
    "arrax.xla.devices": (
        "Device", "default_backend", "device_count", "devices", "local_device_count", "local_devices",
        "process_count", "process_index", "process_indices",
    ),
    "arrax.xla.distribution": (
        "make_array_from_callback", "make_array_from_process_local_data", "make_array_from_single_device_arrays",
    ),
    "arrax.xla.environment": ("print_environment_info",),
    "arrax.xla.meshes": ("make_mesh", "set_mesh",),
    "arrax.xla.shardings": ("NamedSharding",),
}, submodules=(
    "ad_checkpoint", "api_util", "collect_profile", "core", "custom_batching", "custom_derivatives",
    "custom_transpose", "debug", "distributed", "dlpack", "dtypes", "errors", "example_libraries", "experimental",
    "export", "extend", "ffi", "flatten_util", "image", "interpreters", "lax", "lib", "memory", "monitoring", "nn",
    "numpy", "ops", "profiler", "random", "ref", "scipy", "sharding", "stages", "test_util", "tree", "tree_util",
    "typing", "util",
))  # fmt: skip

_RENAMED = {  # names that go on working, with a warning
    "tree_map": "tree.map", "host_count": "process_count", "host_id": "process_index", "host_ids": "process_indices",
}  # fmt: skip


@_boundary
def _find(name: str) -> _Any:
    if name in _RENAMED:
        new = _RENAMED[name]
        _warnings.warn(f"arrax.{name} is deprecated: use arrax.{new}.", DeprecationWarning, stacklevel=3)
        return _operator.attrgetter(new)(_sys.modules[__name__])
    return _find_late(name)


if _typing.TYPE_CHECKING:
    from arrax.late import *  # noqa: F403
else:
    __getattr__, __all__ = _find, _list_names()


def __dir__() -> list[str]:
    return sorted([*_list_names(), "__version__"])


_ownership.refuse_other_from_now_on()
