"""Types for the annotations of rules. Only type checkers import it: the bindings of MLIR, which it names, load late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arrax.core.types import Zero
from arrax.native.mlir import ir
from arrax.xla.arrays import ArrayLike

Value = ir.Value[Any]  # of a program that is being lowered
Dims = Sequence[int | None]  # for each value, the axis of the examples; None where all have the same
Tangent = ArrayLike | Zero  # or a cotangent
