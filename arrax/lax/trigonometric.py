"""Trigonometric and hyperbolic operations."""

# mypy: disable-error-code="has-type"
# (entries name each other inside their rules)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.types import typeof
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax.accuracy import unary_with_accuracy
from arrax.lax.arithmetic import abs_, add, div, gt, mul, neg, scalar, square, sub
from arrax.lax.complex_values import (
    Parts,
    acos_limits,
    acosh_limits,
    asin_limits,
    asinh_limits,
    atan_limits,
    atanh_limits,
    both,
    by_parts,
    corrected,
    either,
    is_finite,
    is_infinite,
    is_nan,
    is_zero,
    pick,
    signed,
    unless,
)
from arrax.lax.cpu import angles, hyperbolic
from arrax.lax.cpu.expressions import by_formula
from arrax.lax.exponential import exp, expm1, rsqrt
from arrax.lax.families import binary, lower_named, unary
from arrax.lax.filled_arrays import full_like
from arrax.lax.operand_checks import inexact
from arrax.lax.selection import select

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.xla.arrays import Array

# ---- complex numbers by their parts ----------------------------------------------------------------------------------


def _hyperbolic(x: Array, u: Array, v: Array) -> Parts:
    """(sinh x · u, cosh x · v) with u, v of magnitude up to 1: accurate near 0, and without overflow where it can be."""
    size = abs_(x)
    less = expm1(size)
    more, half = add(less, scalar(1, x)), exp(mul(size, scalar(0.5, x)))
    one_half, large = scalar(0.5, x), gt(size, scalar(20 if typeof(x).dtype == np.float32 else 40, x))
    sinh_x = signed(mul(add(less, div(less, more)), one_half), x)
    cosh_x = mul(add(more, div(scalar(1, x), more)), one_half)
    far = [mul(mul(mul(one_half, side), w), half) for side, w in ((signed(half, x), u), (half, v))]
    return select(large, far[0], mul(sinh_x, u)), select(large, far[1], mul(cosh_x, v))


def _sinh_parts(x: Array, y: Array) -> Parts:
    re, im = _hyperbolic(x, cos(y), sin(y))
    nowhere = both(unless(is_finite(y)), either(is_zero(x), is_infinite(x)))
    return pick(nowhere, x, re), pick(is_zero(y), y, im)


def _cosh_parts(x: Array, y: Array) -> Parts:
    im, re = _hyperbolic(x, sin(y), cos(y))
    nowhere = unless(is_finite(y))
    flat = pick(is_nan(x), y, mul(y, signed(full_like(x, 1), x)))
    im = pick(is_zero(y), flat, pick(both(nowhere, is_zero(x)), x, im))
    return pick(both(nowhere, is_infinite(x)), np.inf, re), im


def _tanh_parts(x: Array, y: Array) -> Parts:
    """Kahan's formula, with t = tan y and s = sinh x: far out it is ±1 and 4 sin y cos y e^(-2|x|)."""
    size, t = abs_(x), tan(y)
    less = expm1(size)
    more, slope, one = add(less, scalar(1, x)), add(square(t), scalar(1, x)), full_like(x, 1)
    s = signed(mul(add(less, div(less, more)), scalar(0.5, x)), x)
    cosh_x = mul(add(more, div(one, more)), scalar(0.5, x))
    below = add(mul(slope, square(s)), one)
    far = gt(size, scalar(9 if typeof(x).dtype == np.float32 else 20, x))
    small = mul(mul(scalar(4, x), div(t, slope)), exp(mul(scalar(-2, x), size)))
    re = select(far, signed(add(one, mul(small, scalar(0, x))), x), div(mul(mul(slope, cosh_x), s), below))
    im = select(far, small, div(t, below))
    endless = is_infinite(x)
    re, im = pick(endless, signed(one, x), re), pick(endless, pick(is_finite(y), small, full_like(x, 0)), im)
    return pick(is_zero(x), x, re), pick(is_zero(y), y, im)


def _sin_parts(x: Array, y: Array) -> Parts:
    im, re = _sinh_parts(y, x)
    return re, im


def _cos_parts(x: Array, y: Array) -> Parts:
    re, im = _cosh_parts(y, x)
    return re, neg(im)


def _tan_parts(x: Array, y: Array) -> Parts:
    im, re = _tanh_parts(y, x)
    return re, im


# ---- the operations --------------------------------------------------------------------------------------------------

# fmt: off
sin   = unary_with_accuracy("sin",  inexact, "sine", cost=8,   doc="sine", parts=_sin_parts,
                            jvp=lambda x, ans, t: mul(t, cos(x)))
cos   = unary_with_accuracy("cos",  inexact, "cosine", cost=8, doc="cosine", parts=_cos_parts,
                            jvp=lambda x, ans, t: neg(mul(t, sin(x))))
tan   = unary_with_accuracy("tan",  inexact, "tan", cost=8,    doc="tangent", parts=_tan_parts,
                            jvp=lambda x, ans, t: add(t, mul(t, square(ans))))
tanh  = unary_with_accuracy("tanh", inexact, "tanh", cost=2,   doc="hyperbolic tangent", parts=_tanh_parts,
                            jvp=lambda x, ans, t: mul(t, sub(scalar(1, ans), square(ans))))

asin  = unary("asin",  inexact, corrected(lower_named("chlo.asin"), asin_limits), cost=8,  doc="arc sine",
              jvp=lambda x, ans, t: mul(t, rsqrt(_one_minus_square(x))))
acos  = unary("acos",  inexact, corrected(lower_named("chlo.acos"), acos_limits), cost=8,  doc="arc cosine",
              jvp=lambda x, ans, t: mul(t, neg(rsqrt(_one_minus_square(x)))))
atan  = unary("atan",  inexact, corrected(lower_named("chlo.atan"), atan_limits), cost=8,  doc="arc tangent",
              jvp=lambda x, ans, t: div(t, add(square(x), scalar(1, x))))
atan2 = binary("atan2", inexact, "atan2", cost=24,     doc="angle of the point (y, x): the arc tangent of x / y",
               jvp=(lambda x, y, ans, t: mul(t, div(y, add(square(x), square(y)))),
                    lambda x, y, ans, t: mul(t, div(neg(x), add(square(x), square(y))))))

sinh  = unary("sinh",  inexact, by_parts(lower_named("chlo.sinh"), _sinh_parts), cost=8,  doc="hyperbolic sine",
              jvp=lambda x, ans, t: mul(t, cosh(x)))
cosh  = unary("cosh",  inexact, by_parts(lower_named("chlo.cosh"), _cosh_parts), cost=8,  doc="hyperbolic cosine",
              jvp=lambda x, ans, t: mul(t, sinh(x)))
asinh = unary("asinh", inexact, corrected(lower_named("chlo.asinh"), asinh_limits), cost=8,  doc="inverse hyperbolic sine",
              jvp=lambda x, ans, t: mul(t, rsqrt(add(square(x), scalar(1, x)))))
acosh = unary("acosh", inexact, corrected(lower_named("chlo.acosh"), acosh_limits), cost=8,  doc="inverse hyperbolic cosine",
              jvp=lambda x, ans, t: mul(t, mul(rsqrt(sub(x, scalar(1, x))), rsqrt(add(x, scalar(1, x))))))
atanh = unary("atanh", inexact, corrected(lower_named("chlo.atanh"), atanh_limits), cost=8,  doc="inverse hyperbolic tangent",
              jvp=lambda x, ans, t: div(t, _one_minus_square(x)))
# fmt: on


def _atan_of_float64(ctx: LoweringContext, x: Value) -> list[Value]:
    """By the angle of (x, 1), where the compiler must not know that 1: else it makes other code of it for few elements."""
    (aval,) = ctx.avals_in
    if aval.dtype != np.float64:
        return atan.primitive.lower[None](ctx, x)
    is_number = builder.compare("EQ", aval.shape, x, x)
    return [builder.op("atan2", aval, x, builder.op("select", aval, is_number, builder.full(1, aval), x))]


def _tan_of_float64(ctx: LoweringContext, x: Value, **accuracy: Any) -> list[Value]:
    """The sine by the cosine: the compiler itself takes that in some loops, and a function of its own elsewhere."""
    (aval,) = ctx.avals_in
    if aval.dtype != np.float64 or any(value is not None for value in accuracy.values()):
        return tan.primitive.lower[None](ctx, x, **accuracy)
    return [builder.op("divide", aval, builder.op("sine", aval, x), builder.op("cosine", aval, x))]


for _operation, _formula in (
    (asin, angles.arc_sine), (acos, angles.arc_cosine),
    (atan2, angles.arc_tangent_of_point), (sinh, hyperbolic.sine), (cosh, hyperbolic.cosine), (asinh, hyperbolic.inverse_sine),
    (acosh, hyperbolic.inverse_cosine), (atanh, hyperbolic.inverse_tangent),
):  # fmt: skip
    _operation.primitive.lower["cpu"] = by_formula(_operation.primitive.lower[None], _formula)
atan.primitive.lower["cpu"] = by_formula(_atan_of_float64, angles.arc_tangent)
tan.primitive.lower["cpu"] = by_formula(_tan_of_float64, angles.tangent)


def _factors_multiplied(x: Array) -> Array:
    return mul(sub(scalar(1, x), x), add(scalar(1, x), x))


# 1 - x^2 without cancellation near 1, and with a derivative that does not cancel near 0.
_one_minus_square = unary(
    "one_minus_square", inexact, cached_lower_fun(_factors_multiplied, "one_minus_square"),
    jvp=lambda x, ans, t: neg(mul(t, add(x, x))), doc="1 - x^2",
)  # fmt: skip
_one_minus_square.primitive.meaning = _factors_multiplied
