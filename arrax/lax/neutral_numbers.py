"""Sums with zero, which the compiler takes for their other operand, as they are not always: ``-0. + 0.`` is 0., and so is
``-0. - -0.``.

Where such a zero stands in the program, a barrier hides it from the compiler, which takes barriers away before it fuses
operations. Complex numbers are added up part by part, since the compiler would look at them once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.lax.families import lower_named, repeat_scalars

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext


def lower_sum(operation: str) -> Callable[..., list[Any]]:
    """The lowering of ``add`` or ``subtract``."""
    plain = lower_named(operation)

    def rule(ctx: LoweringContext, x: Value, y: Value) -> list[Any]:
        aval = ctx.avals_out[0]
        if not dtypes.is_inexact(aval.dtype):
            return plain(ctx, x, y)
        left = operation == "add" and _may_change(x, 0.0, aval.dtype)
        right = _may_change(y, 0.0 if operation == "add" else -0.0, aval.dtype)
        if not (left or right):
            return plain(ctx, x, y)
        x = builder.op("optimization_barrier", ctx.avals_in[0], x) if left else x
        y = builder.op("optimization_barrier", ctx.avals_in[1], y) if right else y
        if not dtypes.is_complex(aval.dtype):
            return plain(ctx, x, y)
        part, operands = ShapedArray(aval.shape, dtypes.real_dtype(aval.dtype)), repeat_scalars(ctx, (x, y))
        parts = [
            builder.op(operation, part, *(builder.op(name, part, operand) for operand in operands))
            for name in ("real", "imag")
        ]
        return [builder.op("complex", aval, *parts)]

    return rule


def _may_change(x: Value, zero: float, dtype: np.dtype) -> bool:
    """Whether a value is that zero everywhere, as far as is seen; any complex constant may be."""
    maker: Any = x.owner
    if getattr(maker, "name", None) == "stablehlo.broadcast_in_dim":
        maker = maker.operands[0].owner
    if getattr(maker, "name", None) != "stablehlo.constant" or maker.results[0].type.rank:
        return False
    if dtypes.is_complex(dtype):  # whose values cannot be read
        return True
    value = maker.attributes["value"].get_splat_value().value
    return value == 0 and math.copysign(1, value) == math.copysign(1, zero)
