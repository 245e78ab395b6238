"""Spaces of memory that arrays may lie in."""

from __future__ import annotations

import enum


class MemorySpace(enum.Enum):
    """The memory of the device, or that of its host.

    Example: ``arrax.device_put(1.0, arrax.memory.Space.Device).sharding.memory_kind`` is ``'device'``.
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"
