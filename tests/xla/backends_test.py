"""Clients of platforms: looking them up, compile options, platforms of libraries."""

import functools
import os
import subprocess
import sys

import numpy as np
import pytest

import arrax
from arrax.extend import backend, mlir
from arrax.lib import xla_bridge, xla_client
from arrax.xla import plugins

CPU = arrax.devices("cpu")[0].client


def test_clients_are_found_by_name():
    assert backend.backends()["cpu"] is CPU and backend.get_backend("cpu") is CPU and backend.get_backend(CPU) is CPU
    assert xla_bridge.get_backend() is arrax.devices()[0].client
    assert xla_bridge.default_backend() == arrax.default_backend()
    assert backend.get_default_device() == arrax.devices()[0]
    assert backend.backend_xla_version("cpu") is None
    with pytest.raises(RuntimeError, match="Unknown backend nowhere"):
        backend.get_backend("nowhere")


@pytest.mark.parametrize(
    ("replicas", "partitions", "assignment", "ids"),
    [(1, 2, [0, 1], "Computation0{0} Computation1{1}"), (2, 1, [0, 1], "Computation0{0 1}"), (1, 1, arrax.devices()[:1], "{0}")],
)  # fmt: skip
def test_compile_options_say_which_devices_run_a_program(replicas, partitions, assignment, ids):
    options = xla_bridge.get_compile_options(replicas, partitions, assignment)
    assert (options.num_replicas, options.num_partitions) == (replicas, partitions)
    assert ids in str(options.device_assignment)
    assert options.executable_build_options.use_spmd_partitioning == (partitions > 1)


def test_compile_options_take_options_of_the_compiler_and_refuse_other_shapes():
    options = backend.get_compile_options(1, 1, env_options_overrides={"xla_embed_ir_in_executable": "True"})
    assert dict(options.env_option_overrides) == {"xla_embed_ir_in_executable": "True"}
    with pytest.raises(ValueError, match=r"shape \(3, 1\), expected \(2, 1\)"):
        backend.get_compile_options(2, 1, [[0], [1], [2]])


def test_a_program_of_mlir_can_be_compiled_by_hand():
    module = arrax.jit(lambda x: x * 2).lower(np.ones(3, np.float32)).compiler_ir()
    with module.context:
        portable = mlir.serialize_portable_artifact(module, "1.0.0")
        again = mlir.deserialize_portable_artifact(portable, module.context)
        assert isinstance(again, mlir.ir.Module) and "stablehlo.multiply" in str(again)
    options = backend.get_compile_options(1, 1, [[arrax.devices("cpu")[0].id]])
    executable = CPU.compile_and_load(again, xla_client.DeviceList(tuple(CPU.devices()[:1])), options, [])
    (result,) = executable.execute_sharded(
        [arrax.device_put(np.ones(3, np.float32), CPU.devices()[0])]
    ).consume_with_handlers([lambda arrays: arrays])
    np.testing.assert_array_equal(np.asarray(result), [[2, 2, 2]])


def test_dialects_are_modules():
    assert mlir.dialects.stablehlo.AddOp and "func" in dir(mlir.dialects) and mlir.passmanager.PassManager
    with pytest.raises(AttributeError, match="no such dialect"):
        _ = mlir.dialects.nothing


PROGRAM = """
import functools
import arrax
from arrax.extend import backend
from arrax.native import runtime

def start(): return runtime.xla_client.make_cpu_client(num_devices=3)
def fail(): raise ValueError("no chip here")

backend.register_backend_factory("mychip", start, priority=500)
backend.register_backend_factory("yours", fail, priority=600)
backend.register_backend_factory("none", lambda: None)
assert arrax.device_count() == 3 and sorted(backend.backends()) == ["cpu", "mychip"]

@functools.cache
def remembered(n): return n

assert backend.register_backend_cache(remembered, "numbers") is remembered
remembered(1)
before = backend.get_backend("cpu")
ones = arrax.jit(lambda: arrax.numpy.ones(2))
print(ones())
backend.clear_backends()
assert remembered.cache_info().currsize == 0 and backend.get_backend("cpu") is not before
print(ones() + 1)
backend.clear_in_memory_compilation_cache()
try:
    backend.register_backend_factory("late", start)
except RuntimeError as error:
    print(error)
"""


def test_libraries_add_platforms_and_clients_are_forgotten():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["[1. 1.]", "[2. 2.]"] and "late comes too late" in done.stdout


FORGOTTEN = """
import arrax
from arrax.extend import backend
from arrax.sharding import NamedSharding, PartitionSpec as P

def placed():
    return arrax.device_put(arrax.numpy.arange(4.), NamedSharding(arrax.make_mesh((2,), ("x",)), P("x")))

old = placed()
backend.clear_backends()
for x in (old, placed(), old):  # equal programs for devices of equal numbers
    print(arrax.jit(lambda x: x * 2)(x), arrax.shard_map(lambda x: x + 1, mesh=x.sharding.mesh, in_specs=P("x"), out_specs=P("x"))(x))
try:
    old + placed()
except ValueError as error:
    print(error)
"""


def test_devices_that_were_forgotten_are_told_from_new_ones():
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "ARRAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", FORGOTTEN], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    *values, error = done.stdout.strip().split("\n")
    assert values == ["[0. 2. 4. 6.] [1. 2. 3. 4.]"] * 3 and "forgotten by clear_backends" in error


def test_a_cache_needs_to_be_clearable():
    with pytest.raises(TypeError, match="the cache for shapes has no method cache_clear"):
        backend.register_backend_cache({}, "shapes")
    assert backend.register_backend_cache(functools.cache(abs), "numbers")


def test_devices_of_cuda_are_chosen_by_number():
    assert plugins.visible_devices("all") == {} and plugins.visible_devices("0, 2") == {"visible_devices": [0, 2]}
    with pytest.raises(ValueError, match="must be 'all' or numbers"):
        plugins.visible_devices("first")
