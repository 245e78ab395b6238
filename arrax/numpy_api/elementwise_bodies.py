"""The bodies of those elementwise functions that no single operation is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.interpreters.lowering.module import lower_fun
from arrax.interpreters.staging import literal
from arrax.lax import arithmetic, bitwise, exponential, families, operand_checks, rounding, selection, trigonometric
from arrax.lax.barriers import stop_gradient
from arrax.lax.complex_values import is_negative
from arrax.lax.conversion import convert
from arrax.lax.operand_checks import bools, check_dtype, kind_of, real
from arrax.lax.shape_slots import broadcast_to_shape
from arrax.numpy_api.elementwise_makers import constant, is_bool, is_complex, is_float
from arrax.numpy_api.operands import (
    refuse_complex,
)
from arrax.xla.arrays import Array, ArrayLike


def sum_(x: ArrayLike, y: ArrayLike) -> Array:
    return bitwise.bitwise_or(x, y) if is_bool(x) else arithmetic.add(x, y)


def product(x: ArrayLike, y: ArrayLike) -> Array:
    return bitwise.bitwise_and(x, y) if is_bool(x) else arithmetic.mul(x, y)


def absolute(x: Array) -> Array:
    return x if kind_of(typeof(x).dtype) in ("bool", "unsigned") else arithmetic.abs_(x)


def fabs(x: Array) -> Array:
    refuse_complex("fabs", x)
    return arithmetic.abs_(x)


def sign_of(x: Array) -> Array:
    if not (is_float(x) or is_complex(x)):
        return arithmetic.sign(x)
    return select(arithmetic.eq(x, constant(0, x)), constant(0, x), arithmetic.sign(x))  # -0 has no sign


def rounding_of(name: str, operation: Any) -> Callable[[Any], Any]:
    """Integers and bools are round already."""

    def rounded(x: Array) -> Array:
        refuse_complex(name, x)
        check_dtype(name, typeof(x), real | bools)
        return operation(x) if is_float(x) else x

    return rounded


def truncate(x: Array) -> Array:
    zero = constant(0, x)
    return selection.select(arithmetic.lt(x, zero), arithmetic.ceil(x), arithmetic.floor(x))


def floor_divide(x: ArrayLike, y: ArrayLike) -> Array:
    refuse_complex("floor_divide", x)
    kind = kind_of(typeof(x).dtype)
    if kind == "unsigned":
        return arithmetic.div(x, y)
    if kind == "signed":
        quotient = arithmetic.div(x, y)
        wrong_side = bitwise.bitwise_and(
            arithmetic.ne(arithmetic.sign(x), arithmetic.sign(y)), arithmetic.ne(arithmetic.rem(x, y), constant(0, x))
        )
        return select(wrong_side, arithmetic.sub(quotient, constant(1, quotient)), quotient)
    return _float_floor_divide(x, y)


def select(mask: Array, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    shape = typeof(mask).shape
    return selection.select(mask, broadcast_to_shape(on_true, shape), broadcast_to_shape(on_false, shape))


def _float_floor_divide(x: ArrayLike, y: ArrayLike) -> Array:
    """The quotient of what the remainder leaves over, which is exact where ``floor(x / y)`` may round up.

    With infinities and zeros it is ``x / y``, as the array API standard says: 1 // -inf is -0.
    """
    nearest = rounding.RoundingMethod.TO_NEAREST_EVEN
    # The rounded ratio serves where it is infinite, NaN or a zero; rounding makes the derivative 0 there as elsewhere.
    ratio, rest = rounding.round(arithmetic.div(x, y), nearest), arithmetic.rem(x, y)
    zero = constant(0, ratio)
    quotient = arithmetic.div(arithmetic.sub(x, rest), y)
    opposite = bitwise.bitwise_and(arithmetic.ne(arithmetic.sign(y), arithmetic.sign(rest)), arithmetic.ne(rest, zero))
    quotient = select(opposite, arithmetic.sub(quotient, constant(1, quotient)), quotient)
    whole = rounding.round(quotient, nearest)
    whole = select(arithmetic.eq(whole, zero), arithmetic.mul(ratio, zero), whole)  # a zero of the right sign
    ordinary = bitwise.bitwise_and(arithmetic.is_finite(rest), arithmetic.is_finite(y))
    return select(ordinary, whole, ratio)


def is_infinite(x: Array) -> Array:
    return arithmetic.eq(arithmetic.abs_(x), constant(np.inf, x))


def _is_nan(x: Array) -> Array:
    return arithmetic.ne(x, x)


def copysign(magnitude: ArrayLike, sign: Array) -> Array:
    if dtypes.is_complex(typeof(sign).dtype):
        raise TypeError("copysign requires real numbers, got complex ones")
    shape = max(typeof(magnitude).shape, typeof(sign).shape, key=len)
    magnitude, sign = broadcast_to_shape(magnitude, shape), broadcast_to_shape(sign, shape)
    positive = arithmetic.abs_(magnitude)
    return select(sign_bit(sign), arithmetic.neg(positive), positive)


def sign_bit(x: Array) -> Array:
    """The sign of floating numbers, zeros and NaN included."""
    if dtypes.itemsize_bits(typeof(x).dtype) < 16:
        x = convert(x, np.float32)
    return is_negative(x)


def remainder_of(x: Array, y: Array) -> Array:
    if is_float(x):
        return remainder_p.bind(x, y)
    y = _nonzero_divisor(y)
    return _towards_divisor(arithmetic.rem(x, y), y)


def fmod(x: Array, y: Array) -> Array:
    return arithmetic.rem(x, y if is_float(x) else _nonzero_divisor(y))


def _nonzero_divisor(y: Array) -> Array:
    """Integers with ones for zeros: as in NumPy, nothing remains of a division by zero."""
    if literal(y):  # a number that stands in the program, and is not 0
        return y
    return select(arithmetic.eq(y, constant(0, y)), constant(1, y), y)


def _towards_divisor(remainder: Array, y: Array) -> Array:
    """A remainder of the sign of the dividend, moved to the side of the divisor."""
    zero = constant(0, remainder)
    opposite = bitwise.bitwise_and(
        arithmetic.ne(arithmetic.lt(remainder, zero), arithmetic.lt(y, zero)), arithmetic.ne(remainder, zero)
    )
    return select(opposite, arithmetic.add(remainder, y), remainder)


def _float_remainder(x: Array, y: Array) -> Array:
    moved = _towards_divisor(arithmetic.rem(x, y), y)
    zero = constant(0, moved)
    return select(arithmetic.eq(moved, zero), copysign(zero, y), moved)


def _make_remainder() -> Any:
    """A primitive, since the sign of a remainder of zero must not change the derivative."""
    primitive = families.elementwise(
        "remainder", [operand_checks.floating] * 2, lower_fun(_float_remainder, multiple_results=False), cost=8,
        jvp=[lambda x, y, ans, t: t, lambda x, y, ans, t: arithmetic.neg(arithmetic.mul(t, _whole_divisors(x, y, ans)))],
    )  # fmt: skip
    primitive.meaning = _float_remainder
    return primitive


def _whole_divisors(x: Array, y: Array, remainder: Array) -> Array:
    """How many divisors the remainder leaves out: -1 where it is an infinite divisor itself."""
    is_divisor = bitwise.bitwise_and(is_infinite(y), arithmetic.eq(remainder, y))
    return select(is_divisor, constant(-1, x), floor_divide(x, y))


def logaddexp(x: Array, y: ArrayLike) -> Array:
    if is_complex(x):
        high = select(arithmetic.ge(arithmetic.real_part(x), arithmetic.real_part(y)), x, y)
        low = select(arithmetic.ge(arithmetic.real_part(x), arithmetic.real_part(y)), y, x)
        found = arithmetic.add(high, exponential.log1p(exponential.exp(arithmetic.sub(low, high))))
        return arithmetic.complex_(arithmetic.real_part(found), _principal(arithmetic.imag(found)))
    return logaddexp_p.bind(x, y)


def _principal(angle: Array) -> Array:
    """An angle in (-pi, pi]; those that are there already keep their bits."""
    turn = constant(2 * np.pi, angle)
    turns = arithmetic.ceil(arithmetic.div(arithmetic.sub(angle, constant(np.pi, angle)), turn))
    return arithmetic.sub(angle, arithmetic.mul(turns, turn))


def _make_logaddexp(name: str, power: Callable[[Any], Any], log1p: Callable[[Any], Any]) -> Any:
    """The logarithm of a sum of powers.

    Args:
      power: of the base.
      log1p: the logarithm to that base of one more than a number.
    """

    def value(x: Array, y: Array) -> Any:
        delta = arithmetic.sub(x, y)
        smooth = arithmetic.add(arithmetic.max_(x, y), log1p(power(arithmetic.neg(arithmetic.abs_(delta)))))
        return select(_is_nan(delta), arithmetic.add(x, y), smooth)

    weight = lambda one, ans: power(arithmetic.sub(_finite_or_zero(one), _finite_or_zero(ans)))  # noqa: E731
    primitive = families.elementwise(
        name, [operand_checks.floating] * 2, lower_fun(value, multiple_results=False), cost=12,
        jvp=[lambda x, y, ans, t: arithmetic.mul(t, weight(x, ans)), lambda x, y, ans, t: arithmetic.mul(t, weight(y, ans))],
    )  # fmt: skip
    primitive.meaning = value
    return primitive


def _log2_of_one_more(x: Array) -> Array:
    return arithmetic.div(exponential.log1p(x), constant(np.log(2), x))


def _finite_or_zero(x: ArrayLike) -> Array:
    """Replace +inf, whose differences would be NaN, by zero."""
    return select(arithmetic.eq(x, constant(np.inf, x)), constant(0, x), x)


def sinc(x: Array) -> Array:
    """sin(pi x) / (pi x); near zero its series, which has the right derivatives of all orders there."""
    scaled = arithmetic.mul(constant(np.pi, x), x)
    near = arithmetic.lt(arithmetic.abs_(scaled), constant(1, arithmetic.abs_(scaled)))
    safe = select(near, constant(1, x), scaled)
    square = arithmetic.square(select(near, scaled, constant(0, x)))
    series = constant(0, x)
    for k in range(_SINC_TERMS - 1, -1, -1):
        series = arithmetic.add(arithmetic.mul(series, square), constant((-1.0) ** k / math.factorial(2 * k + 1), x))
    return select(near, series, arithmetic.div(trigonometric.sin(safe), safe))


_SINC_TERMS = 12  # the next is below 1e-25 where the series serves


def heaviside(x: Array, y: Array) -> Array:
    zero, one = constant(0, x), constant(1, x)
    shape = typeof(x).shape or typeof(y).shape
    x = broadcast_to_shape(x, shape)
    at_zero = select(arithmetic.eq(x, zero), y, one)
    below = select(arithmetic.lt(x, zero), zero, at_zero)
    return select(_is_nan(x), constant(np.nan, x), below)


def hypot(x: Array, y: Array) -> Array:
    refuse_complex("hypot", x)
    infinite = bitwise.bitwise_or(is_infinite(x), is_infinite(y))
    x, y = (arithmetic.abs_(select(infinite, constant(0, length), length)) for length in (x, y))
    high = arithmetic.max_(x, y)
    nothing = arithmetic.eq(high, constant(0, high))
    # a unit without a slope, so that derivatives of any order are right where both lengths are equal, too
    unit = stop_gradient(select(nothing, constant(1, high), high))
    parts = [arithmetic.square(arithmetic.div(length, unit)) for length in (x, y)]
    root = arithmetic.mul(unit, exponential.sqrt(select(nothing, constant(1, high), arithmetic.add(*parts))))
    value = select(nothing, high, root)
    return select(infinite, constant(np.inf, value), value)


def arctan2(x: Array, y: Array) -> Array:
    return trigonometric.atan2(x, y)


def fmax(x: Array, y: Array) -> Array:
    shape = max(typeof(x).shape, typeof(y).shape, key=len)
    x, y = broadcast_to_shape(x, shape), broadcast_to_shape(y, shape)
    if is_complex(x):
        return _unless_nan(x, y, arithmetic.max_(x, y))
    return select(bitwise.bitwise_or(arithmetic.gt(x, y), _is_nan(y)), x, y)


def fmin(x: Array, y: Array) -> Array:
    shape = max(typeof(x).shape, typeof(y).shape, key=len)
    x, y = broadcast_to_shape(x, shape), broadcast_to_shape(y, shape)
    if is_complex(x):
        return _unless_nan(x, y, arithmetic.min_(x, y))
    return select(bitwise.bitwise_or(arithmetic.lt(x, y), _is_nan(y)), x, y)


def _unless_nan(x: Array, y: Array, chosen: Array) -> Array:
    return select(_is_nan(y), x, select(_is_nan(x), y, chosen))


def scaled_by(factor: float) -> Callable[[Any], Any]:
    return lambda x: arithmetic.mul(x, constant(factor, x))


def conjugate(x: Array) -> Array:
    return arithmetic.conj(x) if is_complex(x) else x


def negative(x: Array) -> Array:
    if is_bool(x):
        raise TypeError(
            "The arrax.numpy boolean negative, the `-` operator, is not supported, use the `~` operator instead."
        )
    return arithmetic.neg(x)


def log_base(base: float) -> Callable[[Any], Any]:
    def operation(x: Array) -> Any:
        if is_complex(x):
            logarithm = exponential.log(x)
            parts = (arithmetic.real_part(logarithm), arithmetic.imag(logarithm))
            return arithmetic.complex_(*(arithmetic.div(part, constant(np.log(base), part)) for part in parts))
        return arithmetic.div(exponential.log(x), constant(np.log(base), x))

    return operation


def true_divide(x: ArrayLike, y: ArrayLike) -> Array:
    return arithmetic.div(x, y)


logaddexp_p = _make_logaddexp("logaddexp", exponential.exp, exponential.log1p)
logaddexp2_p = _make_logaddexp("logaddexp2", exponential.exp2, _log2_of_one_more)
remainder_p = _make_remainder()


def logaddexp2(x1: Array, x2: Array) -> Array:
    if not is_complex(x1):
        return logaddexp2_p.bind(x1, x2)
    ln2 = constant(np.log(2), x1)
    return arithmetic.div(logaddexp(arithmetic.mul(x1, ln2), arithmetic.mul(x2, ln2)), ln2)
