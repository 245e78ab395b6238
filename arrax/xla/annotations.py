"""Types for the annotations of public functions, beside ``Array``, ``ArrayLike`` and ``DTypeLike``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from arrax.core.partition_specs import PartitionSpec
from arrax.native import runtime

Shape = int | Sequence[int]  # lengths of axes; an int for a single one
Axes = int | Sequence[int]
DeviceLike = runtime.Device | runtime.Sharding
ShardingLike = runtime.Sharding | PartitionSpec  # a spec where a mesh is in force
OptionalDevice = DeviceLike | None
OptionalSharding = ShardingLike | None
OneAxis = int | None  # None: all elements as one axis
Tree = TypeVar("Tree")  # an array or a pytree of arrays, of which a result is another one
