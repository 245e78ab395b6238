"""Rounding to integers, and to fewer bits."""

# mypy: disable-error-code="has-type"
# (entries name each other inside their rules)

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from arrax.core.calls import as_index
from arrax.core.interpreter import Rounding, context
from arrax.interpreters.lowering import builder
from arrax.lax.families import elementwise
from arrax.lax.operand_checks import checked_operand, floating
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext


class RoundingMethod(enum.IntEnum):
    """Where a number halfway between two integers goes.

    Example: ``lax.round(jnp.array([0.5, 1.5]), lax.RoundingMethod.TO_NEAREST_EVEN)`` is ``[0.0, 2.0]``.
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


_OPERATIONS = {RoundingMethod.AWAY_FROM_ZERO: "round_nearest_afz", RoundingMethod.TO_NEAREST_EVEN: "round_nearest_even"}


def _round_lowering(ctx: LoweringContext, x: Value, *, rounding_method: RoundingMethod) -> list[Value]:
    return [builder.op(_OPERATIONS[rounding_method], ctx.avals_out[0], x)]


round_p = elementwise("round", [floating], _round_lowering, rounding=Rounding.NONE, jvp=[None])


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Elementwise nearest integer, in the operand's dtype.

    Args:
      x: floating array.
      rounding_method: where halves go: away from zero, or to the even neighbour.
    Returns: array of the same shape and dtype; its derivative is zero.
    Raises:
      ValueError: an unknown method.
    Example: ``lax.round(jnp.array([0.5, 1.5, -0.5]))`` is ``[1, 2, -1]``. Source: StableHLO ``round_nearest_afz``.
    """
    params = {"rounding_method": RoundingMethod(rounding_method)}
    return context.interpreter.process(round_p, (checked_operand("round", x),), params)


round.primitive = round_p  # type: ignore[attr-defined]


# ---- fewer bits ----------------------------------------------------------------------------------------------------


_ALL = 64  # no dtype has more bits


def _precision_lowering(ctx: LoweringContext, x: Value, *, exponent_bits: int, mantissa_bits: int) -> list[Value]:
    return [
        builder.op(
            "reduce_precision", ctx.avals_out[0], x,
            exponent_bits=builder.integer(min(exponent_bits, _ALL), 32),
            mantissa_bits=builder.integer(min(mantissa_bits, _ALL), 32),
        )
    ]  # fmt: skip


reduce_precision_p = elementwise(
    "reduce_precision", [floating], _precision_lowering,
    jvp=[lambda x, ans, t, **bits: reduce_precision_p.bind(t, **bits)],
    transpose=lambda ct, x, **bits: [reduce_precision_p.bind(ct, **bits)],
)  # fmt: skip


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to the numbers that a format with fewer bits has, keeping the dtype.

    Args:
      operand: floating array.
      exponent_bits: at least 1.
      mantissa_bits: bits of the fraction, at least 0.
    Returns: array of the same shape and dtype. Derivatives are rounded in the same way.
    Raises:
      ValueError: too few bits.
    Example: ``lax.reduce_precision(jnp.float32(1 / 3), 8, 7)`` rounds as bfloat16 does.
    """
    exponent_bits, mantissa_bits = as_index(exponent_bits), as_index(mantissa_bits)
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision needs at least 1 exponent bit, got exponent_bits={exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(f"reduce_precision cannot keep a negative number of bits, got mantissa_bits={mantissa_bits}")
    x = checked_operand("reduce_precision", operand)
    return reduce_precision_p.bind(x, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


reduce_precision.primitive = reduce_precision_p  # type: ignore[attr-defined]
