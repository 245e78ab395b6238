"""Exponentials, logarithms, powers and roots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import Primitive, Rounding, context
from arrax.core.program import JaxprEqn
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.lowering import builder
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.accuracy import unary_with_accuracy
from arrax.lax.arithmetic import (
    abs_,
    add,
    complex_,
    div,
    eq,
    ge,
    imag,
    integer_pow,
    mul,
    ne,
    real_part,
    scalar,
    square,
    sub,
)
from arrax.lax.bitwise import bitwise_and, bitwise_not
from arrax.lax.complex_values import Parts, exp_limits, expm1_limits, log_limits, sqrt_limits
from arrax.lax.conversion import convert_element_type, convert_ir
from arrax.lax.cpu import cube_roots
from arrax.lax.cpu.expressions import Expression, by_formula
from arrax.lax.cpu.logarithm import log_one_plus
from arrax.lax.families import elementwise, repeat_scalars
from arrax.lax.filled_arrays import full_like
from arrax.lax.operand_checks import checked_operand, floating, inexact, integers, kind_of, match_scalars
from arrax.lax.selection import select
from arrax.lax.shape_slots import broadcast_to_shape
from arrax.xla import compat
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext

_LOG_2 = math.log(2)


_POWER_OF_TWO = (  # (2^f - 1) / f for |f| up to 1/2 by powers of f, to 0.04 units in the last place of the power
    0.6931472028534668, 0.2402264791386492, 0.05550332472561159, 0.009618437324867113, 0.0013398874028927032,
    0.0001535337115017299,
)  # fmt: skip


def _exp2_lowering(ctx: LoweringContext, x: Value) -> list[Value]:
    out = ctx.avals_out[0]
    aval = ShapedArray(out.shape, np.float32) if out.dtype.itemsize < 4 else ShapedArray(out.shape, out.dtype)
    return [convert_ir(_two_to(convert_ir(x, out, aval), aval), aval, out)]


def _exp2_formula(x: Expression) -> Expression:
    return Expression(_two_to(x.value, x.aval), x.aval)


def _two_to(x: Value, aval: ShapedArray) -> Value:
    """2^x = 2^n 2^f with n the integer nearest to x: exact at integers."""
    info = np.finfo(aval.dtype)

    def op(name: str, left: Value, right: float | Value) -> Value:
        return builder.op(name, aval, left, right if hasattr(right, "type") else builder.full(right, aval))

    x = op("minimum", x, info.maxexp + 1)
    x = op("maximum", x, info.minexp - info.nmant - 2)
    whole = builder.op("round_nearest_even", aval, x)
    rest = op("subtract", x, whole)
    if aval.dtype == np.float32:
        result: Any = builder.full(_POWER_OF_TWO[-1], aval)
        for coefficient in (*_POWER_OF_TWO[-2::-1], 1.0):
            result = op("add", op("multiply", result, rest), coefficient)
    else:
        result = builder.op("exponential", aval, op("multiply", rest, _LOG_2))
    for factor in _powers_of_two(whole, aval):
        result = op("multiply", result, factor)
    # The compiler's library computes sums together with the products before them, but not with what is before those.
    nan = builder.compare("NE", aval.shape, x, x)
    return builder.op("select", aval, nan, x, result)


def _powers_of_two(whole: Value, aval: ShapedArray) -> list[Value]:
    """Two normal numbers whose product is 2^n, for integral floats n: halves of n are put into exponents.

    The sum of n and a number in whose last bit ones are has n in its last bits.
    """
    info = np.finfo(aval.dtype)
    bits = ShapedArray(aval.shape, np.dtype(f"int{8 * aval.dtype.itemsize}"))
    ones = np.asarray(1.5 * 2.0**info.nmant, aval.dtype)

    def op(name: str, left: Value, right: int | Value) -> Value:
        return builder.op(name, bits, left, right if hasattr(right, "type") else builder.full(right, bits))

    sum_ = builder.op("add", aval, whole, builder.full(ones[()], aval))
    integer = op("subtract", builder.op("bitcast_convert", bits, sum_), int(ones.view(bits.dtype)))
    half = op("shift_right_arithmetic", integer, 1)
    biased = (op("add", part, info.maxexp - 1) for part in (half, op("subtract", integer, half)))
    return [builder.op("bitcast_convert", aval, op("shift_left", part, info.nmant)) for part in biased]


def _exp2_parts(x: Array, y: Array) -> Parts:
    size, turn = exp2(x), _turn(mul(y, scalar(_LOG_2, y)))
    return exp_limits(x, y, mul(size, real_part(turn)), mul(size, imag(turn)))


def _expm1_parts(x: Array, y: Array) -> Parts:
    """e^x cos y - 1, which is (e^x - 1) cos y - 2 sin²(y/2), and e^x sin y."""
    turn, half = _turn(y), imag(_turn(mul(y, scalar(0.5, y))))
    re = sub(mul(expm1(x), real_part(turn)), mul(scalar(2, x), square(half)))
    return expm1_limits(x, y, re, mul(exp(x), imag(turn)))


def _turn(y: Array) -> Array:
    """cos y + i sin y."""
    return exp(complex_(full_like(y, 0), y))


# fmt: off
exp   = unary_with_accuracy("exp",   inexact, "exponential", cost=2, doc="exponential, e^x", limits=exp_limits,
                            jvp=lambda x, ans, t: mul(t, ans))
exp2  = unary_with_accuracy("exp2",  inexact, _exp2_lowering, cost=2, doc="power of two, 2^x", parts=_exp2_parts,
                            jvp=lambda x, ans, t: mul(t, mul(ans, scalar(_LOG_2, ans))))
expm1 = unary_with_accuracy("expm1", inexact, "exponential_minus_one", cost=8, doc="e^x - 1, accurate near 0", parts=_expm1_parts,
                            jvp=lambda x, ans, t: mul(t, exp(x)))  # the result and 1 cancel far below 0
log   = unary_with_accuracy("log",   inexact, "log", cost=2, doc="natural logarithm", limits=log_limits,
                            jvp=lambda x, ans, t: div(t, x))
log1p = unary_with_accuracy("log1p", inexact, "log_plus_one", cost=8, doc="log(1 + x), accurate near 0", limits=log_limits,
                            jvp=lambda x, ans, t: div(t, add(x, scalar(1, x))))
logistic = unary_with_accuracy("logistic", inexact, "logistic", cost=2, doc="logistic function, 1 / (1 + e^-x)",
                               jvp=lambda x, ans, t: mul(mul(t, ans), sub(scalar(1, ans), ans)))
sqrt  = unary_with_accuracy("sqrt",  inexact, "sqrt", rounding=Rounding.NONE, cost=2, doc="square root", limits=sqrt_limits,
                            jvp=lambda x, ans, t: div(t, add(ans, ans)))
rsqrt = unary_with_accuracy("rsqrt", inexact, "rsqrt", cost=2, doc="reciprocal square root, 1 / sqrt(x)",
                            jvp=lambda x, ans, t: mul(t, mul(scalar(-0.5, x), div(ans, x))))
cbrt  = unary_with_accuracy("cbrt",  floating, "cbrt", cost=8, doc="cube root",
                            jvp=lambda x, ans, t: div(mul(t, integer_pow(ans, -2)), scalar(3, ans)))
# fmt: on


def _form_beside_nan(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of exponentials on the CPU in a program in which NaN stands.

    The compiler takes it for granted that exponentials of small floats are of numbers. Where it sees that an operand is
    NaN, as in ``exp(where(flag, x, nan))`` or ``exp(x.at[1].set(nan))``, it leaves these elements of the result unwritten.
    """
    aval = eqn.outvars[0].aval
    if not around.holds_nan or kind_of(aval.dtype) != "floating" or aval.dtype.itemsize > 4:
        return None
    return Form(_nan_of_nan, (("primitive", eqn.primitive), ("params", tuple(eqn.params.items()))))


def _nan_of_nan(x: Array, *, primitive: Primitive, params: tuple[tuple[str, Any], ...]) -> list[Any]:
    return [select(ne(x, x), x, primitive.bind(x, **dict(params)))]


exp.primitive.forms["cpu"] = logistic.primitive.forms["cpu"] = _form_beside_nan
if compat.LOG1P_BY_FORMULA:
    log1p.primitive.lower["cpu"] = by_formula(log1p.primitive.lower[None], log_one_plus, ("float64",))
exp2.primitive.lower["cpu"] = by_formula(exp2.primitive.lower[None], _exp2_formula)
cbrt.primitive.lower["cpu"] = by_formula(
    by_formula(cbrt.primitive.lower[None], cube_roots.cube_root), cube_roots.cube_root_of_double, ("float64",)
)

# ---- powers --------------------------------------------------------------------------------------------------------


def _pow_dtype(base: np.dtype, exponent: np.dtype) -> np.dtype:
    if exponent != base and kind_of(exponent) not in ("signed", "unsigned"):
        raise TypeError(
            "pow takes a floating or complex base, and an exponent of the same dtype or an integer one, got "
            f"{base.name} and {exponent.name}."
        )
    return base


def _pow_lowering(ctx: LoweringContext, x: Value, y: Value) -> list[Value]:
    out, (_, exponent) = ctx.avals_out[0], ctx.avals_in
    x, y = repeat_scalars(ctx, (x, y))
    if exponent.dtype == out.dtype:
        return [builder.op("power", out, x, y)]
    wide = ShapedArray(out.shape, np.float32) if out.dtype.itemsize < 4 else out
    y = convert_ir(y, ShapedArray(out.shape, exponent.dtype), wide)
    return [convert_ir(builder.op("power", wide, convert_ir(x, out, wide), y), wide, out)]


def _pow_jvp_base(x: ArrayLike, y: ArrayLike, ans: Array, t: ArrayLike) -> Array:
    """y x^(y-1), which is 0 at exponent 0 even where x is 0; elsewhere it has a slope in y there."""
    none = eq(y, scalar(0, y))
    if typeof(y).dtype == typeof(x).dtype:
        none = bitwise_and(*_repeated_alike(none, bitwise_not(_has_inverse(x))))
    one = _repeated(full_like(y, 1), none)
    lowered = select(none, one, _repeated(sub(y, scalar(1, y)), none))
    slope = mul(convert_element_type(y, typeof(x).dtype), pow(x, lowered))
    return mul(t, select(_repeated(none, slope), full_like(slope, 0), slope))


def _has_inverse(x: ArrayLike) -> Array:
    """Whether 1/x is a finite number, or 0."""
    size = abs_(x)
    return ge(size, scalar(float(dtypes.finfo(typeof(x).dtype).tiny), size))


def _pow_jvp_exponent(x: ArrayLike, y: ArrayLike, ans: Array, t: ArrayLike) -> Array:
    """log(x) x^y, which is taken as 0 at base 0."""
    return mul(t, mul(log(select(eq(x, scalar(0, x)), full_like(x, 1), x)), ans))


def _repeated(x: Array, like: Array) -> Array:
    """A value (maybe a scalar) repeated to the shape of ``like``."""
    return broadcast_to_shape(x, typeof(like).shape)


def _repeated_alike(x: Array, y: Array) -> tuple[Array, Array]:
    """Two values, of which one may be a scalar, in the shape of the other."""
    return (_repeated(x, y), y) if typeof(y).shape else (x, _repeated(y, x))


pow_p = elementwise(
    "pow", [inexact, inexact | integers], _pow_lowering, cost=24, jvp=[_pow_jvp_base, _pow_jvp_exponent],
    result=_pow_dtype, same_dtypes=False,
)  # fmt: skip


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise power, x^y.

    The derivative in ``x`` is 0 at exponent 0, whatever ``x``; that in ``y`` is 0 at base 0.

    Args:
      x: floating or complex array.
      y: exponents: an array of the same dtype, or of integers.
    Returns: array of ``x``'s dtype.
    Raises:
      TypeError: other dtypes, or shapes that differ.
    Example: ``lax.pow(jnp.array([2., 3.]), 2)`` is ``[4, 9]``. Source: StableHLO ``power``.
    """
    x, y = checked_operand("pow", x), checked_operand("pow", y)
    if kind_of(typeof(y).dtype) not in ("signed", "unsigned"):
        x, y = match_scalars("pow", x, y)
    return context.interpreter.process(pow_p, (x, y), {})


pow.primitive = pow_p  # type: ignore[attr-defined]
