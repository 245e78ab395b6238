"""Quotients and remainders of integers on the CPU by division of floats, which has vector instructions.

Of integers of up to 32 bits, a float64 quotient rounds to a whole number only where the exact one is whole: others differ
from the next whole number by 1 / y at least, and rounding changes them by less. So results are those of integer division.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.host_calls import native_or
from arrax.lax.cpu.expressions import Expression, spread

_LEAST_ELEMENTS = 1 << 14
_TYPES = frozenset("int8 uint8 int16 uint16 int32 uint32".split())


def _is_constant(value: Any) -> bool:
    """Whether a value is a number known to the compiler, which divides by multiplying then."""
    operation = builder.source(value)
    name = operation.name if operation is not None else None
    if name in ("stablehlo.broadcast_in_dim", "stablehlo.convert", "stablehlo.reshape"):
        return _is_constant(operation.operands[0])
    return name == "stablehlo.constant"


def quotient(x: Expression, y: Expression) -> Expression:
    """x / y, truncated, as the compiler defines it: all bits set at y = 0, and no overflow at y = -1."""
    dtype = x.aval.dtype
    wide = np.float64 if dtype.itemsize == 4 else np.float32
    answer = (x.to(wide) / y.to(wide)).to(dtype)
    answer = y.equals(0).where(answer.like(np.iinfo(dtype).max if dtype.kind == "u" else -1), answer)
    return y.equals(-1).where(-x, answer) if dtype.kind == "i" else answer


def remainder(x: Expression, y: Expression) -> Expression:
    """What a truncated quotient leaves: x where y is 0."""
    rest = x - quotient(x, y) * y
    return y.equals(0).where(x, rest)


def use_floats_for_integers(primitive: Any, formula: Callable[[Expression, Expression], Expression]) -> None:
    """Let programs on the CPU compute quotients or remainders of many integers by a formula, floats as before."""
    before = primitive.lower.get("cpu", primitive.lower[None])

    def rule(ctx: Any, *values: Any, **params: Any) -> list[Any] | None:
        out = ctx.avals_out[0]
        if out.size < _LEAST_ELEMENTS or out.dtype.name not in _TYPES or _is_constant(values[1]):
            return None
        operands = (spread(value, aval, out.shape) for value, aval in zip(values, ctx.avals_in, strict=True))
        return [formula(*operands).value]

    primitive.lower["cpu"] = native_or(before, rule)
