"""arrax: arrays, composable transformations, and compilation by XLA.

Public names only. Modules that an array program does not need load on first use.
"""

import importlib as _importlib
import os as _os
import typing as _typing
import warnings as _warnings
from typing import Any as _Any

from arrax import dtypes as dtypes
from arrax import errors as errors
from arrax import lax as lax
from arrax import numpy as numpy
from arrax import tree as tree
from arrax import tree_util as tree_util
from arrax.core import printing as _printing  # noqa: F401  (gives programs their text)
from arrax.core.caches import clear_caches as clear_caches
from arrax.core.config import array_garbage_collection_guard as array_garbage_collection_guard
from arrax.core.config import check_tracer_leaks as check_tracer_leaks
from arrax.core.config import config as config
from arrax.core.config import custom_jvp_rules as _enable_custom_vjp_by_custom_transpose
from arrax.core.config import debug_infs as debug_infs
from arrax.core.config import debug_key_reuse as debug_key_reuse
from arrax.core.config import debug_nans as debug_nans
from arrax.core.config import default_device as default_device
from arrax.core.config import default_matmul_precision as default_matmul_precision
from arrax.core.config import default_prng_impl as default_prng_impl
from arrax.core.config import disable_jit as disable_jit
from arrax.core.config import enable_checks as enable_checks
from arrax.core.config import enable_custom_prng as enable_custom_prng
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
from arrax.core.version import VERSION as __version__
from arrax.dtypes import float0 as float0
from arrax.lax.placement import device_get as device_get
from arrax.lax.placement import device_put as device_put
from arrax.transforms import layouts as _layouts  # noqa: F401  (gives arrays their format)
from arrax.transforms import pickled_functions as _pickled_functions  # lets jitted functions be pickled
from arrax.transforms import stages as _stages  # noqa: F401  (gives jitted functions lower, trace, eval_shape)
from arrax.transforms.autodiff import jvp as jvp
from arrax.transforms.autodiff import linear_transpose as linear_transpose
from arrax.transforms.autodiff import linearize as linearize
from arrax.transforms.autodiff import vjp as vjp
from arrax.transforms.checkpointing import checkpoint as checkpoint
from arrax.transforms.checkpointing import checkpoint_policies as checkpoint_policies
from arrax.transforms.custom_jvp import custom_jvp as custom_jvp
from arrax.transforms.custom_vjp import closure_convert as closure_convert
from arrax.transforms.custom_vjp import custom_gradient as custom_gradient
from arrax.transforms.custom_vjp import custom_vjp as custom_vjp
from arrax.transforms.gradients import grad as grad
from arrax.transforms.gradients import hessian as hessian
from arrax.transforms.gradients import jacfwd as jacfwd
from arrax.transforms.gradients import jacobian as jacobian
from arrax.transforms.gradients import jacrev as jacrev
from arrax.transforms.gradients import value_and_grad as value_and_grad
from arrax.transforms.inspection import ShapeDtypeStruct as ShapeDtypeStruct
from arrax.transforms.inspection import ensure_compile_time_eval as ensure_compile_time_eval
from arrax.transforms.inspection import eval_shape as eval_shape
from arrax.transforms.inspection import make_jaxpr as make_jaxpr
from arrax.transforms.inspection import named_call as named_call
from arrax.transforms.inspection import named_scope as named_scope
from arrax.transforms.inspection import typeof_public as _typeof
from arrax.transforms.jit import jit as jit
from arrax.transforms.passes import fwd_and_bwd as fwd_and_bwd
from arrax.transforms.vectorize import vmap as vmap
from arrax.transforms.waiting import block_until_ready as block_until_ready
from arrax.transforms.waiting import effects_barrier as effects_barrier
from arrax.transforms.waiting import live_arrays as live_arrays
from arrax.xla import forking as _forking  # warns of forks
from arrax.xla import plugins as _plugins  # finds GPU and TPU plugins at the first use of a device
from arrax.xla import shardings as _shardings  # gives shardings their attributes
from arrax.xla.arrays import Array as Array
from arrax.xla.arrays import Shard as Shard
from arrax.xla.devices import Device as Device
from arrax.xla.devices import default_backend as default_backend
from arrax.xla.devices import device_count as device_count
from arrax.xla.devices import devices as devices
from arrax.xla.devices import local_device_count as local_device_count
from arrax.xla.devices import local_devices as local_devices
from arrax.xla.devices import process_count as process_count
from arrax.xla.devices import process_index as process_index
from arrax.xla.devices import process_indices as process_indices
from arrax.xla.environment import print_environment_info as print_environment_info

# Names that their modules call otherwise; type checkers take them as public only when they are assigned.
checking_leaks = check_tracer_leaks
enable_custom_vjp_by_custom_transpose = _enable_custom_vjp_by_custom_transpose
remat = checkpoint
typeof = _typeof

_MODULES = (
    "ad_checkpoint", "api_util", "collect_profile", "core", "custom_batching", "custom_derivatives", "custom_transpose", "debug", "distributed", "dlpack",
    "example_libraries", "experimental", "export", "extend", "ffi", "flatten_util", "image", "interpreters", "lib", "memory", "monitoring", "nn", "ops",
    "profiler", "random", "ref", "scipy", "sharding", "stages", "test_util", "typing", "util",
)  # fmt: skip

_LATE = {  # modules that are loaded for their names
    "arrax.lax.pure_callbacks": ("pure_callback",),
    "arrax.xla.distribution": (
        "make_array_from_callback", "make_array_from_process_local_data", "make_array_from_single_device_arrays",
    ),
    "arrax.lax.sharded_placement": ("device_put_replicated", "device_put_sharded"),
    "arrax.numpy_api.references": ("Ref", "ds", "empty_ref", "free_ref", "freeze", "new_ref"),
    "arrax.transforms.axis_types": ("reshard",),
    "arrax.transforms.pmap": ("pmap",),
    "arrax.transforms.shard_map": ("shard_map",),
    "arrax.transforms.smap": ("smap",),
    "arrax.transforms.waiting": ("copy_to_host_async",),
    "arrax.xla.backends": ("clear_backends",),
    "arrax.transforms.xla_computation": ("xla_computation",),
    "arrax.xla.meshes": ("make_mesh", "set_mesh"),
    "arrax.core.partition_specs": ("P",),
    "arrax.xla.shardings": ("NamedSharding",),
}  # fmt: skip
_find_late, _list_names, _ = _late_names(__name__, _LATE)
_HERE = ("dtypes", "errors", "lax", "numpy", "tree", "tree_util")

_RENAMED = {  # names that go on working, with a warning
    "tree_map": ("tree.map", lambda: tree.map),
    "host_count": ("process_count", lambda: process_count),
    "host_id": ("process_index", lambda: process_index),
    "host_ids": ("process_indices", lambda: process_indices),
}


def _find(name: str) -> _Any:
    if name in _MODULES:
        try:
            return _importlib.import_module(f"arrax.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"arrax.{name}":
                raise
            raise AttributeError(f"arrax {__version__} has no module {name!r} yet") from None
    if name in _RENAMED:
        new, find = _RENAMED[name]
        _warnings.warn(f"arrax.{name} is deprecated: use arrax.{new}.", DeprecationWarning, stacklevel=2)
        return find()
    return _find_late(name)


if _typing.TYPE_CHECKING:
    from arrax.late import *  # noqa: F403
else:
    __getattr__ = _find


def __dir__() -> list[str]:
    folders = filter(_os.path.isdir, __path__)  # noqa: F405
    there = {name.partition(".")[0] for folder in folders for name in _os.listdir(folder)}
    return sorted({*_list_names(), *_HERE, *(there & {*_MODULES}), "__version__"})
