"""The kinds of memory of devices."""

from __future__ import annotations

from typing import Any

from arrax.core.memory_spaces import MemorySpace
from arrax.native import runtime
from arrax.xla.devices import default_device, single_sharding

HOST_KINDS = ("pinned_host", "unpinned_host")  # the first that a device has is that of its host


def kind_in(space: MemorySpace, device: Any) -> str:
    """The kind of a device's memory in a space.

    Raises:
      ValueError: the space is any, or the device has none in it.
    """
    if space is MemorySpace.Device:
        return str(device.default_memory().kind)
    kinds = {memory.kind for memory in device.addressable_memories()}
    found = [kind for kind in HOST_KINDS if kind in kinds] if space is MemorySpace.Host else []
    if not found:
        raise ValueError(f"{space!r} is no memory in which {device} can hold arrays: it has {sorted(kinds)}")
    return found[0]


def sharding_in(space: MemorySpace, value: Any) -> Any:
    """The sharding of a value, in another space of memory."""
    if type(value) is runtime.ArrayImpl:
        sharding = value._sharding
        return sharding.with_memory_kind(kind_in(space, sharding._internal_device_list[0]))
    device = default_device()
    return single_sharding(device, kind_in(space, device))
