"""How shardings tile arrays: the compiler's own descriptions, and the pieces that each device holds."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax.core.meshes import MeshDescription
from arrax.core.partition_specs import PartitionSpec, entry_names, fitted_entries, spec_names
from arrax.native import runtime
from arrax.xla.devices import device_list

HloSharding = runtime.HloSharding
Index = tuple[slice, ...]


class IndivisibleError(ValueError):
    """An axis of an array cannot be divided into as many equal parts as a sharding asks for."""


class Tiling(NamedTuple):
    """How an array of some rank is cut.

    Attributes:
      counts: number of pieces along each axis.
      places: integers, shape (number of devices, rank): which piece each device holds, in the order of the devices.
    """

    counts: tuple[int, ...]
    places: np.ndarray


@functools.lru_cache(4096)
def spec_to_hlo(mesh: MeshDescription, spec: Sequence[Any], rank: int) -> runtime.HloSharding:
    """The compiler's description of a spec over a mesh.

    Raises:
      ValueError: the spec divides more axes than the array has.
    """
    sizes = dict(mesh.shape_tuple)
    names = list(map(entry_names, fitted_entries(f"Sharding NamedSharding(mesh={mesh}, spec={spec})", spec, rank)))
    used = [name for group in names for name in group]
    counts = [math.prod(sizes[name] for name in group) for group in names]
    if math.prod(counts) == 1:
        return HloSharding.replicate()
    rest = [name for name in mesh.axis_names if name not in used]
    order = [mesh.axis_names.index(name) for name in (*used, *rest)]
    left = math.prod(sizes[name] for name in rest)
    if left == 1:
        return HloSharding.iota_tile(counts, list(mesh.axis_sizes), order)
    kinds = [runtime.OpSharding.Type.REPLICATED]
    return HloSharding.iota_tile([*counts, left], list(mesh.axis_sizes), order, kinds)


def tiling_of(hlo: runtime.HloSharding, rank: int, devices: int) -> Tiling:
    """The tiling that a description of the compiler means for arrays of a rank."""
    if not hlo.is_tiled():
        return Tiling((1,) * rank, np.zeros((devices, rank), np.int64))
    shape = tuple(hlo.tile_assignment_dimensions())
    order = np.asarray(hlo.tile_assignment_devices())
    positions = np.empty((devices, rank), np.int64)
    positions[order] = np.stack(np.unravel_index(np.arange(order.size), shape), -1)[:, :rank]
    return Tiling(shape[:rank], positions)


@functools.lru_cache(4096)
def tiling(sharding: runtime.Sharding, rank: int) -> Tiling:
    """The tiling of arrays of a rank under a sharding."""
    return tiling_of(sharding._to_xla_hlo_sharding(rank), rank, sharding.num_devices)


def shard_shape(sharding: runtime.Sharding, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of each piece.

    Raises:
      IndivisibleError: an axis that cannot be divided equally. ValueError: too few axes.
    """
    counts = tiling(sharding, len(shape)).counts
    for axis, (size, count) in enumerate(zip(shape, counts, strict=True)):
        if size % count:
            raise IndivisibleError(
                f"Sharding {sharding} implies that array axis {axis} is partitioned {count} times, but the dimension size "
                f"is {size} (full shape: {shape}, per-dimension tiling factors: {list(counts)} should evenly divide the "
                f"shape). The size of dimension {axis} should be divisible by {count}, but it is equal to {size}"
            )
    return tuple(size // count for size, count in zip(shape, counts, strict=True))


@functools.lru_cache(4096)
def indices(sharding: runtime.Sharding, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """The piece of an array that each device holds, in the order of the devices.

    Raises:
      IndivisibleError: an axis that cannot be divided equally.
    """
    lengths = shard_shape(sharding, shape)
    counts, positions = tiling(sharding, len(shape))
    return tuple(
        tuple(
            slice(None) if count == 1 else slice(int(p) * length, (int(p) + 1) * length)
            for p, length, count in zip(index, lengths, counts, strict=True)
        )
        for index in positions
    )


@functools.lru_cache(4096)
def distinct_pieces(sharding: Any, shape: tuple[int, ...]) -> tuple[tuple[int, Index], ...]:
    """Of the devices that hold equal pieces of an array one each: its number, and the piece."""
    first: dict[tuple, tuple[int, Index]] = {}
    for number, index in enumerate(indices(sharding, shape)):
        first.setdefault(tuple((s.start, s.stop) for s in index), (number, index))
    return tuple(first.values())


@functools.lru_cache(4096)
def hlo_to_spec(mesh: MeshDescription, hlo: Any, rank: int) -> PartitionSpec | None:
    """The spec over a mesh that a description of the compiler means, without trailing Nones; None where no spec does."""
    counts, positions = tiling_of(hlo, rank, mesh.size)
    grid = positions.reshape(*mesh.axis_sizes, rank)
    entries: list[Any] = []
    for axis, count in enumerate(counts):
        strides = []
        for number, name in enumerate(mesh.axis_names):
            if mesh.axis_sizes[number] > 1:
                step = int(
                    grid[(0,) * number + (1,) + (0,) * (grid.ndim - 2 - number) + (axis,)] - grid[..., axis].flat[0]
                )
                strides += [(step, name)] if step else []
        names = tuple(name for _, name in sorted(strides, key=lambda pair: -pair[0]))
        entries.append(names if count > 1 else None)
    while entries and not entries[-1]:
        entries.pop()
    spec = PartitionSpec(*entries)
    used = spec_names(spec)
    if len(set(used)) < len(used):
        return None
    again = tiling_of(spec_to_hlo(mesh, spec, rank), rank, mesh.size)
    return spec if again.counts == counts and np.array_equal(again.places, positions) else None


def with_axis(hlo: Any, axis: int) -> Any:
    """The description for arrays with one more axis, which is not divided."""
    if not hlo.is_tiled():
        return hlo
    order = np.asarray(hlo.tile_assignment_devices(), np.int64).reshape(hlo.tile_assignment_dimensions())
    kinds = [runtime.OpSharding.Type.REPLICATED] if hlo.replicate_on_last_tile_dim() else []
    return HloSharding.subgroup_with_device_ordering(np.expand_dims(order, axis), kinds)


def _devices_in_order(sharding: Any) -> Any:
    """The devices of a sharding, as something that compares; of one over an abstract mesh, that mesh."""
    mesh = getattr(sharding, "mesh", None)
    if mesh is not None and mesh._internal_device_list is None:
        return mesh
    own = getattr(sharding, "_internal_device_list", None)
    return device_list(tuple(sharding._device_assignment)) if own is None else own


def same_tiling(first: Any, second: Any, rank: int) -> bool:
    """Whether two shardings place arrays of a rank alike on the same devices, in the same memory."""
    if first is second:
        return True
    if _devices_in_order(first) != _devices_in_order(second) or first.memory_kind != second.memory_kind:
        return False
    one, other = tiling(first, rank), tiling(second, rank)
    return one.counts == other.counts and np.array_equal(one.places, other.places)
