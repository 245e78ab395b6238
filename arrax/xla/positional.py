"""Shardings by position: arrays of sets of devices, and the placement of arrays that ``pmap`` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.tracebacks import bound_methods
from arrax.native import runtime
from arrax.xla import tilings
from arrax.xla.devices import client_of, device_by_id, device_list

GSPMDSharding = runtime.GSPMDSharding
HloSharding = runtime.HloSharding
Device = Any
Shape = tuple[int, ...]


@bound_methods
class PositionalSharding(GSPMDSharding):  # type: ignore[valid-type,misc]
    """An array of sets of devices, congruent with the arrays that it lays out: each set holds one piece.

    Args:
      devices: sequence or ndarray of devices; their order and the first shape.
      memory_kind: kind of memory.
    Example: ``PositionalSharding(arrax.devices()).reshape(1, -1).replicate(0)``.
    """

    _order: tuple[Device, ...]
    _sets: np.ndarray  # of tuples of positions in ``_order``

    def __new__(cls, devices: Any, *, memory_kind: str | None = None) -> PositionalSharding:
        grid = np.asarray(devices, object)
        sets = np.empty(grid.size, object)
        sets[:] = [(number,) for number in range(grid.size)]
        return cls._make(tuple(grid.flat), sets.reshape(grid.shape), memory_kind)

    @classmethod
    def _make(cls, order: tuple[Device, ...], sets: np.ndarray, memory_kind: str | None) -> PositionalSharding:
        self = GSPMDSharding.__new__(cls)
        GSPMDSharding.__init__(self, device_list(order), _hlo_of(sets), memory_kind=memory_kind)
        self._order, self._sets = order, sets
        return self

    def __init__(self, devices: Any, *, memory_kind: str | None = None):
        pass  # ``__new__`` has done all

    shape = property(lambda self: self._sets.shape, doc="Shape of the array of sets.")
    ndim = property(lambda self: self._sets.ndim, doc="Its number of dimensions.")
    T = property(lambda self: self.transpose(), doc="The sharding transposed.")

    def reshape(self, *shape: Any) -> PositionalSharding:
        """The sharding with its sets in another shape."""
        return self._make(self._order, self._sets.reshape(*shape), self._memory_kind)

    def transpose(self, *axes: Any) -> PositionalSharding:
        """The sets with their axes permuted."""
        return self._make(self._order, self._sets.transpose(*axes), self._memory_kind)

    def replicate(self, axis: int | Sequence[int] | None = None, keepdims: bool = True) -> PositionalSharding:
        """Unions of sets along axes (all by default): their devices hold the same."""
        given = range(self.ndim) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        axes = sorted({a % self.ndim for a in given}) if self.ndim else []
        rest = [a for a in range(self.ndim) if a not in axes]
        moved = self._sets.transpose([*rest, *axes])
        kept = tuple(self.shape[a] for a in rest)
        groups = np.empty(int(np.prod(kept)), object)
        for index, row in enumerate(moved.reshape(len(groups), -1)):
            groups[index] = tuple(sorted(number for each in row for number in each))
        shape = tuple(1 if a in axes else n for a, n in enumerate(self.shape)) if keepdims else kept
        return self._make(self._order, groups.reshape(shape), self._memory_kind)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        if self.is_fully_replicated:
            return HloSharding.replicate()
        missing = self.ndim - num_dimensions
        if missing > 0 and set(self.shape[:missing]) == {1}:  # the last axes say how values of lower rank are cut
            return _hlo_of(self._sets.reshape(self.shape[missing:]))
        if missing:
            raise ValueError(
                f"Sharding {self!r} is only valid for values of rank {self.ndim}, but was applied to a value of rank "
                f"{num_dimensions}"
            )
        return self._hlo_sharding

    def with_memory_kind(self, kind: str) -> PositionalSharding:
        """The sharding over another kind of memory."""
        return self._make(self._order, self._sets, kind)

    def _key(self) -> tuple:
        return self._order, self.shape, tuple(self._sets.flat), self._memory_kind

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, PositionalSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        def text(numbers: tuple[int, ...]) -> str:
            devices = [self._order[number] for number in numbers]
            return f"{{{devices[0].platform.upper()} {', '.join(str(device.id) for device in devices)}}}"

        formats: Any = {"all": text}
        body = np.array2string(
            self._sets, prefix="PositionalSharding(", suffix=")", formatter=formats, max_line_width=10**9
        )
        return f"PositionalSharding({body})"

    def __reduce__(self) -> tuple:
        ids = tuple(device.id for device in self._order)
        return _rebuild, (self._order[0].platform, ids, self._sets, self._memory_kind)


def _hlo_of(sets: np.ndarray) -> Any:
    if sets.size == 1:
        return HloSharding.replicate()
    order = np.array([number for each in sets.flat for number in each], np.int64)
    copies = len(sets.flat[0])
    if copies == 1:
        return HloSharding.subgroup_with_device_ordering(order.reshape(sets.shape), [])
    kinds = [runtime.OpSharding.Type.REPLICATED]
    return HloSharding.subgroup_with_device_ordering(order.reshape(*sets.shape, copies), kinds)


def _rebuild(platform: str, ids: Sequence[int], sets: np.ndarray, memory_kind: str | None) -> PositionalSharding:
    return PositionalSharding._make(tuple(device_by_id(platform, number) for number in ids), sets, memory_kind)


@bound_methods
class PmapSharding(GSPMDSharding):  # type: ignore[valid-type,misc]
    """One axis of an array spread over devices, one row each: how ``pmap`` takes its arguments.

    Args:
      devices: sequence or ndarray of devices.
      sharding_spec: the axis that is spread, or None.
    Example: ``PmapSharding(arrax.devices()[:1]).num_devices`` is 1.
    """

    _order: tuple[Device, ...]
    sharding_spec: Any

    def __new__(cls, devices: Any, sharding_spec: Any = 0) -> PmapSharding:
        self = GSPMDSharding.__new__(cls)
        order = tuple(np.asarray(devices, object).flat)
        GSPMDSharding.__init__(self, device_list(order), HloSharding.replicate())
        self._order, self.sharding_spec = order, sharding_spec
        return self

    def __init__(self, devices: Any, sharding_spec: Any = 0):
        pass

    @classmethod
    def default(
        cls, shape: Shape, sharded_dim: int | None = 0, devices: Sequence[Device] | None = None
    ) -> PmapSharding:
        """The placement by which ``pmap`` takes arrays of a shape.

        Args:
          sharded_dim: the axis that is mapped; None for arrays that every device has.
          devices: which devices; by default the first ones, as many as the axis is long.
        Raises:
          ValueError: no axis of the shape, or too few devices.
        """
        if sharded_dim is not None and not 0 <= sharded_dim < len(shape):
            raise ValueError(f"PmapSharding.default: {sharded_dim} is no axis of an array of shape {tuple(shape)}")
        if devices is None:
            here = client_of().local_devices()
            devices = here if sharded_dim is None else here[: shape[sharded_dim]]
        if sharded_dim is not None and shape[sharded_dim] != len(devices):
            raise ValueError(
                f"PmapSharding.default: axis {sharded_dim} of shape {tuple(shape)} needs {shape[sharded_dim]} devices, there "
                f"are {len(devices)}"
            )
        return cls(np.asarray(devices, object), sharded_dim)

    devices = property(lambda self: np.asarray(self._order, object), doc="The devices, in order.")
    is_fully_replicated = property(lambda self: self.sharding_spec is None or len(self._order) == 1)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        if self.is_fully_replicated:
            return HloSharding.replicate()
        if self.sharding_spec >= num_dimensions:
            raise ValueError(f"{self!r} was applied to a value of rank {num_dimensions}")
        counts = [1] * num_dimensions
        counts[self.sharding_spec] = len(self._order)
        return HloSharding.iota_tile(counts)

    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of each piece."""
        return tilings.shard_shape(self, tuple(global_shape))

    def with_memory_kind(self, kind: str) -> Any:
        """Refused: arrays of ``pmap`` lie in the devices' own memory."""
        raise NotImplementedError("PmapSharding has no memory kinds")

    def __eq__(self, other: object) -> bool:
        mine = self._order, self.sharding_spec
        return self is other or isinstance(other, PmapSharding) and mine == (other._order, other.sharding_spec)

    def __hash__(self) -> int:
        return hash((self._order, self.sharding_spec))

    def __repr__(self) -> str:
        return f"PmapSharding(sharding_spec={self.sharding_spec}, device_ids={[device.id for device in self._order]})"

    def __reduce__(self) -> tuple:
        ids = tuple(device.id for device in self._order)
        return _rebuild_pmap, (self._order[0].platform, ids, self.sharding_spec)


def _rebuild_pmap(platform: str, ids: Sequence[int], sharding_spec: Any) -> PmapSharding:
    return PmapSharding([device_by_id(platform, number) for number in ids], sharding_spec)
