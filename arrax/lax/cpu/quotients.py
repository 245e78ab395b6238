"""Quotients of floats on the CPU as they are; those of integers, and remainders, by floats, which have vector instructions.

Of integers of up to 32 bits, a float64 quotient rounds to a whole number only where the exact one is whole: others differ
from the next whole number by 1 / y at least, and rounding changes them by less. So results are those of integer division.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.program import JaxprEqn, Literal
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.cpu.expressions import Expression, broadcasted

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.xla.arrays import Array

_TYPES = frozenset("int8 uint8 int16 uint16 int32 uint32".split())


def quotient(x: Expression, y: Expression) -> Expression:
    """x / y, truncated, as the compiler defines it: all bits set at y = 0, and no overflow at y = -1."""
    dtype = x.aval.dtype
    wide = np.float64 if dtype.itemsize == 4 else np.float32
    answer = exact_quotient(x.to(wide), y.to(wide)).to(dtype)
    answer = y.equals(0).where(answer.like(np.iinfo(dtype).max if dtype.kind == "u" else -1), answer)
    return y.equals(-1).where(-x, answer) if dtype.kind == "i" else answer


def remainder(x: Expression, y: Expression) -> Expression:
    """What a truncated quotient leaves: x where y is 0."""
    rest = x - quotient(x, y) * y
    return y.equals(0).where(x, rest)


def exact_quotient(x: Expression, y: Expression) -> Expression:
    """x / y of floats as it is, whatever computed its operands.

    The compiler would make a product with 1 / y of it where many elements share y, which is one unit off for a third of
    them and zero for y beyond 2^126, and x / (y * z) of x / y / z, whose product may be infinite. It does not look through
    barriers, and takes them away before it fuses operations.
    """
    return x.behind_barrier() / y.behind_barrier()


def quotient_form(mul: Callable[[Any, Any], Any]) -> Rule:
    """The form of quotients of numbers that stand in the program.

    By a power of two: products with its inverse, which are the same bits. Of two such numbers: what it is, which the compiler
    would not find out behind the barriers of ``exact_quotient``.
    """

    def scaled(x: Array, factor: Array) -> list[Any]:
        return [mul(x, factor)]

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        x, y = eqn.invars
        if not isinstance(y, Literal) or not dtypes.is_float(y.aval.dtype):
            return None
        dtype = y.aval.dtype
        value, tiny = float(y.val), float(dtypes.finfo(dtype).smallest_normal)
        if isinstance(x, Literal):
            if dtype.itemsize < 4 or not value:
                return None
            with np.errstate(all="ignore"):
                number = dtype.type(x.val) / dtype.type(y.val)
            return Form(_given, (), [Literal(number, eqn.outvars[0].aval)]) if abs(number) >= tiny else None
        inverse = 1 / value if abs(math.frexp(value)[0]) == 0.5 else 0.0
        return Form(scaled, (), [x, Literal(dtype.type(inverse), y.aval)]) if abs(inverse) >= tiny else None

    return rule


def _given(number: Array) -> list[Any]:
    return [number]


def by_floats(
    general: Callable[..., Any],
    formula: Callable[[Expression, Expression], Expression],
    of_floats: Callable[[Expression, Expression], Expression] | None = None,
) -> Callable[..., Any]:
    """The CPU's lowering of a quotient or remainder: integers by a formula, floats by another, all else as elsewhere.

    So are integers by a number that stands in the program, which the compiler multiplies and shifts, and single integers.
    """

    def rule(ctx: LoweringContext, *values: Value, **params: Any) -> list[Value]:
        out = ctx.avals_out[0]
        by_formula = out.dtype.name in _TYPES and out.shape and not _is_by_number(ctx)
        chosen = formula if by_formula else of_floats if dtypes.is_float(out.dtype) else None
        if chosen is None:
            return general(ctx, *values, **params)
        operands = (broadcasted(value, aval, out.shape) for value, aval in zip(values, ctx.avals_in, strict=True))
        return [chosen(*operands).value]

    return rule


def _is_by_number(ctx: LoweringContext) -> bool:
    return ctx.eqn is not None and isinstance(ctx.eqn.invars[1], Literal)
