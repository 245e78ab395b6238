"""Spaces of memory that arrays may lie in."""

from __future__ import annotations

import enum


class MemorySpace(enum.Enum):
    """The memory of the device, or that of its host.

    Example: ``arrax.typeof(arrax.device_put(1.0, arrax.memory.Space.Host)).memory_space`` is ``MemorySpace.Host``.
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    __hash__ = object.__hash__  # types are looked up by their fields all the time

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"


HOST_KIND = "pinned_host"  # of the memory that types call that of the host


def space_of_kind(kind: str | None) -> MemorySpace:
    """What types say of values in a kind of memory."""
    return MemorySpace.Host if kind == HOST_KIND else MemorySpace.Device


class _MemoriesInTypes:
    """Whether any type says of another memory than that of devices: only then operations look for it."""

    other_than_device = False


memories_in_types = _MemoriesInTypes()
