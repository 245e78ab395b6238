"""Eight virtual devices: placing and moving arrays, calls over a mesh, programs per device."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.case import Prepared, Repeated

ENVIRONMENT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
LAYERS = (64, 128, 64, 8)


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated | Prepared]:
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
    yield Repeated("a call with a sum over devices", lambda: summed(grid))
    yield Repeated("a call with asked-for shardings", lambda: asked(rows))
    yield Repeated("an eager sum of two arrays", lambda: rows + rows)
    yield Repeated("an eager product", lambda: grid @ grid)
    yield Repeated("an eager slice", lambda: rows[3])


def per_device(lib: ModuleType, jnp: ModuleType, mesh: Any, spec: Any, rows: Any) -> Iterator[Repeated | Prepared]:
    """``shard_map`` and ``pmap``."""

    def body(x: Any) -> Any:
        return lib.lax.psum(jnp.sin(x), "x")

    mapped = lib.shard_map(body, mesh=mesh, in_specs=spec("x"), out_specs=spec())
    compiled, slope = lib.jit(mapped), lib.jit(lib.grad(lambda x: mapped(x).sum()))
    yield Repeated("a call of a compiled shard_map", lambda: compiled(rows))
    yield Repeated("its gradient", lambda: slope(rows))
    yield Prepared("tracing a shard_map", lambda: 0, lambda _: lib.make_jaxpr(new_map(lib, jnp, mesh, spec))(rows))
    stacked = lib.pmap(lambda x: x + 1)(np.ones((8, 16), np.float32))
    many = lib.pmap(lambda x: lib.lax.psum(x, "i"), axis_name="i")
    yield Repeated("a call of a pmap", lambda: many(stacked))


def new_map(lib: ModuleType, jnp: ModuleType, mesh: Any, spec: Any) -> Any:
    """A function that was never traced."""
    return lib.shard_map(lambda x: lib.lax.psum(jnp.cos(x), "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec())


def training(lib: ModuleType, jnp: ModuleType, over: Any) -> Iterator[Repeated]:
    """A step of a network with data and weights divided."""
    keys = lib.random.split(lib.random.key(0), len(LAYERS))
    sizes = zip(keys, LAYERS[:-1], LAYERS[1:], strict=False)
    weights = [lib.device_put(lib.random.normal(key, pair) / 8, over(None, "y")) for key, *pair in sizes]
    images = lib.device_put(lib.random.normal(keys[-1], (64, LAYERS[0])), over("x"))

    def loss(weights: Any, images: Any) -> Any:
        for matrix in weights:
            images = jnp.tanh(images @ matrix)
        return jnp.mean(images**2)

    def step(weights: Any, images: Any) -> Any:
        slopes = lib.grad(loss)(weights, images)
        return [w - 0.1 * s for w, s in zip(weights, slopes, strict=True)]

    compiled = lib.jit(step)
    yield Repeated("a step of training over data and weights", lambda: lib.block_until_ready(compiled(weights, images)))
