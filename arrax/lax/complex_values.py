"""Complex numbers by their parts: what elementary functions give at infinities, NaN and signed zeros.

The compiler's formulas multiply infinities by zeros, forget the sign of a zero that says which side of a branch cut is
meant, and so on. Here the parts of its answers are put right, as the C standard (annex G) has them. Real numbers pay
nothing for that: lowering rules of theirs stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import abs_, complex_, eq, imag, is_finite, lt, ne, neg, real_part, scalar
from arrax.lax.bitcast import bitcast_convert_type
from arrax.lax.bitwise import bitwise_and, bitwise_not, bitwise_or
from arrax.lax.filled_arrays import full_like
from arrax.lax.selection import select

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.xla.arrays import Array, ArrayLike

Rule = Callable[..., Sequence[Any]]
Parts = tuple[Any, Any]
both, either, unless = bitwise_and, bitwise_or, bitwise_not


def corrected(rule: Rule, limits: Callable[[Any, Any, Any, Any], Parts]) -> Rule:
    """A lowering rule whose complex answers are put right.

    Args:
      rule: lowering rule of real and complex numbers.
      limits: function of the parts of the argument and of the rule's answer; it returns the parts of the right one.
    """

    def whole(z: Array, answer: Array) -> Array:
        return complex_(*limits(real_part(z), imag(z), real_part(answer), imag(answer)))

    def lower(ctx: LoweringContext, z: Value, **params: Any) -> Sequence[Value]:
        answers = rule(ctx, z, **params)
        (aval,) = ctx.avals_in
        if not dtypes.is_complex(aval.dtype):
            return answers
        return lower_fun(whole, multiple_results=False)(ctx.replace(avals_in=(aval, aval)), z, *answers)

    return lower


def by_parts(rule: Rule, formula: Callable[[Any, Any], Parts]) -> Rule:
    """A lowering rule of real numbers, and a formula of the parts of complex ones."""

    def whole(z: Array) -> Array:
        return complex_(*formula(real_part(z), imag(z)))

    def lower(ctx: LoweringContext, z: Value, **params: Any) -> Sequence[Value]:
        is_complex = dtypes.is_complex(ctx.avals_in[0].dtype)
        return lower_fun(whole, multiple_results=False)(ctx, z) if is_complex else rule(ctx, z, **params)

    return lower


# ---- questions about real numbers ------------------------------------------------------------------------------------


def is_nan(x: Array) -> Array:
    """Whether numbers are NaN."""
    return ne(x, x)


def is_infinite(x: Array) -> Array:
    """Whether numbers are infinities."""
    return eq(abs_(x), scalar(np.inf, x))


def is_zero(x: Array) -> Array:
    """Whether numbers are zeros, of either sign."""
    return eq(x, scalar(0, x))


def is_negative(x: Array) -> Array:
    """The sign bit of floating numbers of 16 bits and more, zeros and NaN included."""
    bits = bitcast_convert_type(x, np.dtype(f"int{dtypes.itemsize_bits(typeof(x).dtype)}"))
    return lt(bits, scalar(0, bits))


def signed(magnitude: Array, sign: Array) -> Array:
    """Numbers with the signs of others."""
    size = abs_(magnitude)
    return select(is_negative(sign), neg(size), size)


def pick(mask: Array, value: ArrayLike, other: Array) -> Array:
    """A value, maybe a Python number, where a mask holds; elsewhere the other."""
    return select(mask, full_like(other, value) if isinstance(value, int | float) else value, other)


# ---- the functions ---------------------------------------------------------------------------------------------------


def exp_limits(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """exp of infinite numbers in no direction, and of real ones."""
    nowhere, below = both(is_infinite(x), unless(is_finite(y))), is_negative(x)
    re = pick(nowhere, pick(below, 0.0, x), re)
    im = pick(nowhere, pick(below, 0.0, full_like(x, np.nan)), im)
    return re, pick(is_zero(y), y, im)


def expm1_limits(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """exp - 1 of infinite numbers in no direction, and of real ones."""
    nowhere, below = both(is_infinite(x), unless(is_finite(y))), is_negative(x)
    re = pick(nowhere, pick(below, -1.0, x), re)
    im = pick(nowhere, pick(below, 0.0, full_like(x, np.nan)), im)
    return pick(both(is_zero(x), is_zero(y)), 0.0, re), pick(is_zero(y), y, im)


def log_limits(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The logarithm of numbers with an infinite part, whatever the other one is."""
    return pick(either(is_infinite(x), is_infinite(y)), np.inf, re), im


def sqrt_limits(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The square root on both sides of the cut, and of numbers with an infinite part."""
    imaginary, unknown = is_infinite(y), is_nan(y)
    re = pick(either(imaginary, both(unknown, eq(x, scalar(np.inf, x)))), np.inf, re)
    im = pick(both(unknown, eq(x, scalar(-np.inf, x))), np.inf, signed(im, y))
    return re, pick(imaginary, y, im)


def asin_limits(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The arc sine on both sides of the cuts, and of NaN."""
    unknown = both(is_finite(x), is_nan(y))
    return pick(both(is_zero(x), is_nan(y)), x, signed(re, x)), pick(unknown, np.nan, signed(im, y))


def acos_limits(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The arc cosine on both sides of the cuts, and of NaN."""
    unknown = both(is_finite(x), is_nan(y))
    return pick(both(is_zero(x), is_nan(y)), np.pi / 2, re), pick(unknown, np.nan, neg(signed(im, y)))


def acosh_limits(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The inverse hyperbolic cosine on both sides of the cut, and of NaN."""
    re = pick(both(is_finite(x), is_nan(y)), np.nan, re)
    return re, pick(both(is_zero(x), is_nan(y)), np.pi / 2, signed(im, y))


def asinh_limits(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The inverse hyperbolic sine on both sides of the cuts, and of NaN."""
    unknown = both(is_nan(x), is_finite(y))
    im = pick(unknown, pick(is_zero(y), y, full_like(y, np.nan)), signed(im, y))
    return pick(unknown, np.nan, signed(re, x)), im


def atanh_limits(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The inverse hyperbolic tangent on both sides of the cuts, and of NaN."""
    x_unknown, y_unknown, far = is_nan(x), is_nan(y), is_infinite(y)
    unknown = either(both(x_unknown, unless(far)), both(y_unknown, is_finite(x)))
    re = pick(both(x_unknown, far), 0.0, pick(unknown, np.nan, signed(re, x)))
    im = pick(either(y_unknown, both(x_unknown, unless(far))), np.nan, signed(im, y))
    return pick(both(is_zero(x), y_unknown), x, re), im


def atan_limits(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The arc tangent: the inverse hyperbolic tangent with the axes swapped."""
    im, re = atanh_limits(y, x, im, re)
    return re, im
