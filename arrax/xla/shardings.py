"""Shardings that hold devices: what the runtime's sharding classes lack."""

from __future__ import annotations

from typing import Any

from arrax.native import runtime
from arrax.xla.arrays import attach
from arrax.xla.devices import single_sharding

Sharding = runtime.Sharding
SingleDeviceSharding = runtime.SingleDeviceSharding


def _whole(self: Any, shape: tuple[int, ...]) -> dict[Any, tuple[slice, ...]]:
    """The index of the piece of an array that each device holds: all of it."""
    return {self._device: (slice(None),) * len(shape)}


def _equivalent(self: Any, other: Any, ndim: int) -> bool:
    """True where arrays of the rank lie alike under both shardings."""
    return isinstance(other, SingleDeviceSharding) and self._device == other._device


# fmt: off
SINGLE_DEVICE: dict[str, Any] = {
    "__repr__": lambda self: f"SingleDeviceSharding(device={self._device!r}, memory_kind={self._memory_kind})",
    "device_set": property(lambda self: {self._device}, doc="The devices."),
    "addressable_devices": property(lambda self: {self._device}, doc="The devices of this process."),
    "num_devices": property(lambda self: 1, doc="Number of devices."),
    "memory_kind": property(lambda self: self._memory_kind, doc="Kind of memory."),
    "is_fully_replicated": property(lambda self: True, doc="Whether each device holds the whole array."),
    "is_fully_addressable": property(lambda self: True, doc="Whether all devices belong to this process."),
    "devices_indices_map": _whole, "addressable_devices_indices_map": _whole, "is_equivalent_to": _equivalent,
    "shard_shape": lambda self, global_shape: tuple(global_shape),
    "with_memory_kind": lambda self, kind: single_sharding(self._device, kind),
    "__reduce__": lambda self: (SingleDeviceSharding, (self._device,)),
}
# fmt: on

attach(SingleDeviceSharding, SINGLE_DEVICE)
