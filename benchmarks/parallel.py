"""Eight virtual devices: placing and moving arrays, calls over a mesh, programs per device."""

import itertools
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.case import Measured, Prepared, Repeated
from benchmarks.two_processes import measured

ENVIRONMENT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
LAYERS = (64, 128, 64, 8)


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated | Prepared | Measured]:
    """What moves, what is called, what is traced."""
    kind = lib.sharding.AxisType.Auto
    mesh = lib.make_mesh((4, 2), ("x", "y"), (kind, kind))
    spec = lib.sharding.PartitionSpec

    def over(*axes: Any) -> Any:
        return lib.sharding.NamedSharding(mesh, spec(*axes))

    host = np.ones((64, 64), np.float32)
    rows = lib.device_put(host, over("x"))
    yield from moves(lib, host, rows, over)
    yield from calls(lib, jnp, rows, over)
    yield from per_device(lib, jnp, mesh, spec, rows)
    yield from training(lib, jnp, over)
    yield from processes(lib)


def moves(lib: ModuleType, host: Any, rows: Any, over: Any) -> Iterator[Repeated]:
    """Arrays onto a mesh and over it."""
    targets = {"rows": over("x"), "a grid": over("x", "y"), "copies": over()}
    for name, target in targets.items():
        yield Repeated(f"device_put of an ndarray as {name}", lambda target=target: lib.device_put(host, target))
    for name, target in list(targets.items())[1:]:
        yield Repeated(f"rows laid out as {name}", lambda target=target: lib.device_put(rows, target))
    yield Repeated("an array over a mesh to the host", lambda: np.asarray(lib.device_put(host, over("x"))))
    yield Repeated("the pieces of an array", lambda: [shard.data for shard in rows.addressable_shards])


def calls(lib: ModuleType, jnp: ModuleType, rows: Any, over: Any) -> Iterator[Repeated]:
    """Compiled functions and single operations."""
    plus, summed = lib.jit(lambda x: x + 1), lib.jit(jnp.sum)
    asked = lib.jit(lambda x: x * 2, in_shardings=over("x"), out_shardings=over("x", "y"))
    grid = lib.device_put(rows, over("x", "y"))
    yield Repeated("a call on rows", lambda: plus(rows))
    # Results are awaited where devices communicate: the reference deadlocks where too many such calls wait.
    yield Repeated("a call with a sum over devices", lambda: lib.block_until_ready(summed(grid)))
    yield Repeated("a call with asked-for shardings", lambda: asked(rows))
    yield Repeated("an eager sum of two arrays", lambda: rows + rows)
    yield Repeated("an eager product", lambda: lib.block_until_ready(grid @ grid))
    yield Repeated("an eager slice", lambda: rows[3])


def per_device(lib: ModuleType, jnp: ModuleType, mesh: Any, spec: Any, rows: Any) -> Iterator[Repeated | Prepared]:
    """``shard_map`` and ``pmap``."""

    def body(x: Any) -> Any:
        return lib.lax.psum(jnp.sin(x), "x")

    mapped = lib.shard_map(body, mesh=mesh, in_specs=spec("x"), out_specs=spec())
    compiled, slope = lib.jit(mapped), lib.jit(lib.grad(lambda x: mapped(x).sum()))
    yield Repeated("a call of a compiled shard_map", lambda: lib.block_until_ready(compiled(rows)))
    yield Repeated("its gradient", lambda: lib.block_until_ready(slope(rows)))
    yield Prepared("tracing a shard_map", lambda: 0, lambda _: lib.make_jaxpr(new_map(lib, jnp, mesh, spec))(rows))
    stacked = lib.pmap(lambda x: x + 1)(np.ones((8, 16), np.float32))
    many = lib.pmap(lambda x: lib.lax.psum(x, "i"), axis_name="i")
    yield Repeated("a call of a pmap", lambda: lib.block_until_ready(many(stacked)))


def new_map(lib: ModuleType, jnp: ModuleType, mesh: Any, spec: Any) -> Any:
    """A function that was never traced."""
    return lib.shard_map(lambda x: lib.lax.psum(jnp.cos(x), "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec())


def training(lib: ModuleType, jnp: ModuleType, over: Any) -> Iterator[Repeated | Prepared]:
    """A step of a network with data and weights divided."""
    keys = lib.random.split(lib.random.key(0), len(LAYERS))
    sizes = zip(keys, LAYERS[:-1], LAYERS[1:], strict=False)
    weights = [lib.device_put(lib.random.normal(key, pair) / 8, over(None, "y")) for key, *pair in sizes]
    images = lib.device_put(lib.random.normal(keys[-1], (64, LAYERS[0])), over("x"))

    def loss(weights: Any, images: Any) -> Any:
        for matrix in weights:
            images = jnp.tanh(images @ matrix)
        return jnp.mean(images**2)

    def step_of(rate: float) -> Any:
        def step(weights: Any, images: Any) -> Any:
            slopes = lib.grad(loss)(weights, images)
            return [w - rate * s for w, s in zip(weights, slopes, strict=True)]

        return lib.jit(step)

    compiled, rates = step_of(0.1), itertools.count(2)
    yield Prepared(
        "the first call of a step that was never compiled",
        lambda: step_of(1 / next(rates) + time.time_ns() * 1e-25),
        lambda step: lib.block_until_ready(step(weights, images)),
    )
    yield Repeated("a step of training over data and weights", lambda: lib.block_until_ready(compiled(weights, images)))


def processes(lib: ModuleType) -> Iterator[Measured]:
    """Two processes that share a mesh of their devices."""
    found: dict[str, float] = {}

    def seconds(name: str) -> float:
        if name not in found:  # each round measures all of them once
            found.update(measured(lib.__name__))
        return found.pop(name)

    yield Measured("two processes: start, join, first sum", lambda: seconds("start"))
    yield Measured("two processes: a call", lambda: seconds("call"))
    yield Measured("two processes: a sum over all devices", lambda: seconds("sum"))
