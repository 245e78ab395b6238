"""What we use of jaxlib's runtime: arrays, shardings, devices, clients, the call path, pytrees, configuration cells."""

import importlib
import os

# first: it refuses versions of jaxlib that may lack what follows
from arrax.native.versions import jaxlib_version as jaxlib_version

# isort: split
# weakref_lru_cache must be imported before typed ndarray types are registered, or the process dies (see xla/startup.py).
from jaxlib import _hlo as _hlo  # type: ignore[attr-defined,unused-ignore]
from jaxlib import _jax as _jax  # type: ignore[attr-defined,unused-ignore]
from jaxlib import utils as native_utils  # type: ignore[attr-defined]  # noqa: F401
from jaxlib import xla_client as xla_client
from jaxlib.version import _git_hash as _git_hash
from jaxlib.weakref_lru_cache import weakref_lru_cache as weakref_lru_cache  # type: ignore[import-not-found,unused-ignore]

Array = _jax.Array
ArrayCopySemantics = _jax.ArrayCopySemantics
ArrayImpl = _jax.ArrayImpl
Client = _jax.Client
Device = _jax.Device
DeviceList = _jax.DeviceList
GSPMDSharding = _jax.GSPMDSharding
HostBufferSemantics = _jax.HostBufferSemantics
LoadedExecutable = _jax.LoadedExecutable
RuntimeFault = _jax.JaxRuntimeError
NamedSharding = _jax.NamedSharding
PjitFunctionCache = _jax.PjitFunctionCache
Sharding = _jax.Sharding
SingleDeviceSharding = _jax.SingleDeviceSharding
Traceback = _jax.Traceback
Buffer, ExecutionContext, ExecutionStage = _jax.ffi.Buffer, _jax.ffi.ExecutionContext, _jax.ffi.ExecutionStage
approx_top_k_reduction_output_size = _jax.approx_top_k_reduction_output_size
array_result_handler = _jax.array_result_handler
batched_copy_array_to_devices_with_sharding = _jax.batched_copy_array_to_devices_with_sharding
batched_block_until_ready = _jax.batched_block_until_ready
batched_device_put = _jax.batched_device_put
buffer_to_dlpack_managed_tensor = _jax.buffer_to_dlpack_managed_tensor
collect_garbage = _jax.collect_garbage
config_cells = _jax.config
dlpack_managed_tensor_to_buffer = _jax.dlpack_managed_tensor_to_buffer
guard_lib = _jax.guard_lib
hlo_module_cost_analysis = _jax.hlo_module_cost_analysis
hlo_module_from_text = _hlo.hlo_module_from_text
ifrt_programs = _jax.ifrt_programs
call_states = _jax.jax_jit
pjit = _jax.pjit
pytree = _jax.pytree
set_tracer_class = _jax.set_tracer_class

PyTreeDef = pytree.PyTreeDef
Config = config_cells.Config
unset = config_cells.unset
trace_context = config_cells.trace_context
PjitFunction = _jax.PjitFunction
HloSharding = xla_client.HloSharding
Layout = xla_client.Layout
OpSharding = xla_client.OpSharding
CompileOptions = xla_client.CompileOptions
DeviceAssignment = xla_client.DeviceAssignment

extension_version: int = xla_client._version  # by which libraries ask what the runtime can do
include_dir = os.path.join(os.path.dirname(xla_client.__file__), "include")
jaxlib_build = f"{jaxlib_version} {_git_hash}"


def gpu_kernels(modules):  # type: ignore[no-untyped-def]
    """(platform, name, capsule, version) of the custom-call targets in jaxlib's modules of GPU kernels."""
    for module in modules:
        for platform, targets in importlib.import_module(f"jaxlib.{module}").registrations().items():
            for name, value, *version in targets:
                yield platform, name, value, (version or [1])[0]
