"""Elementwise functions of real and complex numbers (NumPy reference, routines.math): one table row per function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.types import typeof
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax import arithmetic, bitwise, exponential, families, rounding, structure, trigonometric
from arrax.lax.barriers import stop_gradient
from arrax.lax.complex_values import is_negative
from arrax.lax.conversion import convert
from arrax.lax.families import broadcast_to_shape, kind_of
from arrax.lax.shapes import full_like
from arrax.numpy_api.api import api
from arrax.numpy_api.elementwise_makers import binary, constant, is_bool, is_complex, is_float, kept, unary
from arrax.numpy_api.operands import (
    as_operand,
    broadcast_operands,
    check_arraylike,
    promote_dtypes,
    promote_inexact,
    promote_numeric,
    refuse_complex,
    refuse_out,
)
from arrax.xla.arrays import Array, ArrayLike


def _sum(x: Any, y: Any) -> Any:
    return bitwise.bitwise_or(x, y) if is_bool(x) else arithmetic.add(x, y)


def _product(x: Any, y: Any) -> Any:
    return bitwise.bitwise_and(x, y) if is_bool(x) else arithmetic.mul(x, y)


# ---- pieces with a body of their own ---------------------------------------------------------------------------------


def _absolute(x: Any) -> Any:
    return x if kind_of(typeof(x).dtype) in ("bool", "unsigned") else arithmetic.abs_(x)


def _fabs(x: Any) -> Any:
    refuse_complex("fabs", x)
    return arithmetic.abs_(x)


def _sign(x: Any) -> Any:
    if not is_float(x):
        return arithmetic.sign(x)
    return _select(arithmetic.eq(x, constant(0, x)), constant(0, x), arithmetic.sign(x))  # -0 has no sign


def _rounded(name: str, operation: Any) -> Callable[[Any], Any]:
    """Integers and bools are round already."""

    def rounded(x: Any) -> Any:
        refuse_complex(name, x)
        return operation(x) if is_float(x) else x

    return rounded


def _truncate(x: Any) -> Any:
    zero = constant(0, x)
    return structure.select(arithmetic.lt(x, zero), arithmetic.ceil(x), arithmetic.floor(x))


def _floor_divide(x: Any, y: Any) -> Any:
    refuse_complex("floor_divide", x)
    kind = kind_of(typeof(x).dtype)
    if kind == "unsigned":
        return arithmetic.div(x, y)
    if kind == "signed":
        quotient = arithmetic.div(x, y)
        wrong_side = bitwise.bitwise_and(
            arithmetic.ne(arithmetic.sign(x), arithmetic.sign(y)), arithmetic.ne(arithmetic.rem(x, y), constant(0, x))
        )
        return _select(wrong_side, arithmetic.sub(quotient, constant(1, quotient)), quotient)
    return _float_floor_divide(x, y)


def _select(mask: Any, on_true: Any, on_false: Any) -> Any:
    shape = typeof(mask).shape
    return structure.select(mask, broadcast_to_shape(on_true, shape), broadcast_to_shape(on_false, shape))


def _float_floor_divide(x: Any, y: Any) -> Any:
    """The quotient of what the remainder leaves over, which is exact where ``floor(x / y)`` may round up.

    With infinities and zeros it is ``x / y``, as the array API standard says: 1 // -inf is -0.
    """
    nearest = rounding.RoundingMethod.TO_NEAREST_EVEN
    # The rounded ratio serves where it is infinite, NaN or a zero; rounding makes the derivative 0 there as elsewhere.
    ratio, rest = rounding.round(arithmetic.div(x, y), nearest), arithmetic.rem(x, y)
    zero = constant(0, ratio)
    quotient = arithmetic.div(arithmetic.sub(x, rest), y)
    opposite = bitwise.bitwise_and(arithmetic.ne(arithmetic.sign(y), arithmetic.sign(rest)), arithmetic.ne(rest, zero))
    quotient = _select(opposite, arithmetic.sub(quotient, constant(1, quotient)), quotient)
    whole = rounding.round(quotient, nearest)
    whole = _select(arithmetic.eq(whole, zero), arithmetic.mul(ratio, zero), whole)  # a zero of the right sign
    ordinary = bitwise.bitwise_and(arithmetic.is_finite(rest), arithmetic.is_finite(y))
    return _select(ordinary, whole, ratio)


def _is_infinite(x: Any) -> Any:
    return arithmetic.eq(arithmetic.abs_(x), constant(np.inf, x))


def _is_nan(x: Any) -> Any:
    return arithmetic.ne(x, x)


def _copysign(magnitude: Any, sign: Any) -> Any:
    if dtypes.is_complex(typeof(sign).dtype):
        raise TypeError("copysign requires real numbers, got complex ones")
    shape = max(typeof(magnitude).shape, typeof(sign).shape, key=len)
    magnitude, sign = broadcast_to_shape(magnitude, shape), broadcast_to_shape(sign, shape)
    positive = arithmetic.abs_(magnitude)
    return _select(_sign_bit(sign), arithmetic.neg(positive), positive)


def _sign_bit(x: Any) -> Any:
    """The sign of floating numbers, zeros and NaN included."""
    if dtypes.itemsize_bits(typeof(x).dtype) < 16:
        x = convert(x, np.float32)
    return is_negative(x)


def _remainder(x: Any, y: Any) -> Any:
    if is_float(x):
        return remainder_p.bind(x, y)
    y = _nonzero_divisor(y)
    return _towards_divisor(arithmetic.rem(x, y), y)


def _fmod(x: Any, y: Any) -> Any:
    return arithmetic.rem(x, y if is_float(x) else _nonzero_divisor(y))


def _nonzero_divisor(y: Any) -> Any:
    """Integers with ones for zeros: as in NumPy, nothing remains of a division by zero."""
    return _select(arithmetic.eq(y, constant(0, y)), constant(1, y), y)


def _towards_divisor(remainder: Any, y: Any) -> Any:
    """A remainder of the sign of the dividend, moved to the side of the divisor."""
    zero = constant(0, remainder)
    opposite = bitwise.bitwise_and(
        arithmetic.ne(arithmetic.lt(remainder, zero), arithmetic.lt(y, zero)), arithmetic.ne(remainder, zero)
    )
    return _select(opposite, arithmetic.add(remainder, y), remainder)


def _float_remainder(x: Any, y: Any) -> Any:
    moved = _towards_divisor(arithmetic.rem(x, y), y)
    zero = constant(0, moved)
    return _select(arithmetic.eq(moved, zero), _copysign(zero, y), moved)


def _make_remainder() -> Any:
    """A primitive, since the sign of a remainder of zero must not change the derivative."""
    return families.elementwise(
        "remainder", [families.floating] * 2, lower_fun(_float_remainder, multiple_results=False),
        jvp=[lambda x, y, ans, t: t, lambda x, y, ans, t: arithmetic.neg(arithmetic.mul(t, _floor_divide(x, y)))],
    )  # fmt: skip


def _logaddexp(x: Any, y: Any) -> Any:
    if is_complex(x):
        high = _select(arithmetic.ge(arithmetic.real_part(x), arithmetic.real_part(y)), x, y)
        low = _select(arithmetic.ge(arithmetic.real_part(x), arithmetic.real_part(y)), y, x)
        found = arithmetic.add(high, exponential.log1p(exponential.exp(arithmetic.sub(low, high))))
        return arithmetic.complex_(arithmetic.real_part(found), _principal(arithmetic.imag(found)))
    return logaddexp_p.bind(x, y)


def _principal(angle: Any) -> Any:
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

    def value(x: Any, y: Any) -> Any:
        delta = arithmetic.sub(x, y)
        smooth = arithmetic.add(arithmetic.max_(x, y), log1p(power(arithmetic.neg(arithmetic.abs_(delta)))))
        return _select(_is_nan(delta), arithmetic.add(x, y), smooth)

    weight = lambda one, ans: power(arithmetic.sub(_finite_or_zero(one), _finite_or_zero(ans)))  # noqa: E731
    return families.elementwise(
        name, [families.floating] * 2, lower_fun(value, multiple_results=False),
        jvp=[lambda x, y, ans, t: arithmetic.mul(t, weight(x, ans)), lambda x, y, ans, t: arithmetic.mul(t, weight(y, ans))],
    )  # fmt: skip


def _log2_of_one_more(x: Any) -> Any:
    return arithmetic.div(exponential.log1p(x), constant(np.log(2), x))


def _finite_or_zero(x: Any) -> Any:
    """Replace +inf, whose differences would be NaN, by zero."""
    return _select(arithmetic.eq(x, constant(np.inf, x)), constant(0, x), x)


def _sinc(x: Any) -> Any:
    """sin(pi x) / (pi x); near zero its series, which has the right derivatives of all orders there."""
    scaled = arithmetic.mul(constant(np.pi, x), x)
    near = arithmetic.lt(arithmetic.abs_(scaled), constant(1, arithmetic.abs_(scaled)))
    safe = _select(near, constant(1, x), scaled)
    square = arithmetic.square(_select(near, scaled, constant(0, x)))
    series = constant(0, x)
    for k in range(_SINC_TERMS - 1, -1, -1):
        series = arithmetic.add(arithmetic.mul(series, square), constant((-1.0) ** k / math.factorial(2 * k + 1), x))
    return _select(near, series, arithmetic.div(trigonometric.sin(safe), safe))


_SINC_TERMS = 12  # the next is below 1e-25 where the series serves


def _heaviside(x: Any, y: Any) -> Any:
    zero, one = constant(0, x), constant(1, x)
    shape = typeof(x).shape or typeof(y).shape
    x = broadcast_to_shape(x, shape)
    at_zero = _select(arithmetic.eq(x, zero), y, one)
    below = _select(arithmetic.lt(x, zero), zero, at_zero)
    return _select(_is_nan(x), constant(np.nan, x), below)


def _hypot(x: Any, y: Any) -> Any:
    refuse_complex("hypot", x)
    x, y = arithmetic.abs_(x), arithmetic.abs_(y)
    infinite = bitwise.bitwise_or(_is_infinite(x), _is_infinite(y))
    high, low = arithmetic.max_(x, y), arithmetic.min_(x, y)
    zero = constant(0, high)
    safe = _select(arithmetic.eq(high, zero), constant(1, high), high)
    ratio = arithmetic.div(low, safe)
    root = arithmetic.mul(high, exponential.sqrt(arithmetic.add(constant(1, high), arithmetic.square(ratio))))
    value = _select(arithmetic.eq(high, zero), high, root)
    return _select(infinite, constant(np.inf, value), value)


def _arctan2(x: Any, y: Any) -> Any:
    return trigonometric.atan2(x, y)


def _fmax(x: Any, y: Any) -> Any:
    shape = max(typeof(x).shape, typeof(y).shape, key=len)
    x, y = broadcast_to_shape(x, shape), broadcast_to_shape(y, shape)
    if is_complex(x):
        return _unless_nan(x, y, arithmetic.max_(x, y))
    return _select(bitwise.bitwise_or(arithmetic.gt(x, y), _is_nan(y)), x, y)


def _fmin(x: Any, y: Any) -> Any:
    shape = max(typeof(x).shape, typeof(y).shape, key=len)
    x, y = broadcast_to_shape(x, shape), broadcast_to_shape(y, shape)
    if is_complex(x):
        return _unless_nan(x, y, arithmetic.min_(x, y))
    return _select(bitwise.bitwise_or(arithmetic.lt(x, y), _is_nan(y)), x, y)


def _unless_nan(x: Any, y: Any, chosen: Any) -> Any:
    return _select(_is_nan(y), x, _select(_is_nan(x), y, chosen))


def _scaled(factor: float) -> Callable[[Any], Any]:
    return lambda x: arithmetic.mul(x, constant(factor, x))


def _conjugate(x: Any) -> Any:
    return arithmetic.conj(x) if is_complex(x) else x


def _negative(x: Any) -> Any:
    if is_bool(x):
        raise TypeError(
            "The arrax.numpy boolean negative, the `-` operator, is not supported, use the `~` operator instead."
        )
    return arithmetic.neg(x)


def _log_base(base: float) -> Callable[[Any], Any]:
    def operation(x: Any) -> Any:
        if is_complex(x):
            logarithm = exponential.log(x)
            parts = (arithmetic.real_part(logarithm), arithmetic.imag(logarithm))
            return arithmetic.complex_(*(arithmetic.div(part, constant(np.log(base), part)) for part in parts))
        return arithmetic.div(exponential.log(x), constant(np.log(base), x))

    return operation


def _true_divide(x: Any, y: Any) -> Any:
    return arithmetic.div(x, y)


logaddexp_p = _make_logaddexp("logaddexp", exponential.exp, exponential.log1p)
logaddexp2_p = _make_logaddexp("logaddexp2", exponential.exp2, _log2_of_one_more)
remainder_p = _make_remainder()


def _logaddexp2(x1: Any, x2: Any) -> Any:
    if not is_complex(x1):
        return logaddexp2_p.bind(x1, x2)
    ln2 = constant(np.log(2), x1)
    return arithmetic.div(_logaddexp(arithmetic.mul(x1, ln2), arithmetic.mul(x2, ln2)), ln2)


# fmt: off
add          = binary("add",      _sum,           promote_dtypes, "sum, x1 + x2 (logical or of bools)", universal=True)
subtract     = binary("subtract", arithmetic.sub, promote_dtypes, "difference, x1 - x2", universal=True)
multiply     = binary("multiply", _product,       promote_dtypes, "product, x1 x2 (logical and of bools)", universal=True)
divide       = binary("divide",   _true_divide,   promote_inexact, "quotient x1 / x2, a floating number")
true_divide  = divide
floor_divide = binary("floor_divide", _floor_divide, promote_numeric, "quotient rounded down")
remainder    = binary("remainder", _remainder, promote_numeric, "remainder of the sign of the divisor")
mod          = remainder
fmod         = binary("fmod", _fmod, promote_numeric, "remainder of the sign of the dividend")
maximum      = binary("maximum", arithmetic.max_, promote_dtypes, "greater of two values, NaN if either is", universal=True)
minimum      = binary("minimum", arithmetic.min_, promote_dtypes, "lesser of two values, NaN if either is", universal=True)
fmax         = binary("fmax", _fmax, promote_dtypes, "greater of two values, ignoring NaN", by_name=True)
fmin         = binary("fmin", _fmin, promote_dtypes, "lesser of two values, ignoring NaN", by_name=True)
arctan2      = binary("arctan2", _arctan2, promote_inexact, "angle of the point (x2, x1)")
atan2        = arctan2
hypot        = binary("hypot", _hypot, promote_inexact, "length of the vector (x1, x2)")
logaddexp    = binary("logaddexp", _logaddexp, promote_inexact, "log(exp(x1) + exp(x2)) without overflow", universal=True)
logaddexp2   = binary("logaddexp2", _logaddexp2, promote_inexact, "log2(2**x1 + 2**x2) without overflow", universal=True)
heaviside    = binary("heaviside", _heaviside, promote_inexact, "step function: 0 below zero, x2 at zero, 1 above")
copysign     = binary("copysign", _copysign, promote_inexact, "x1 with the sign of x2")
nextafter    = binary("nextafter", bitwise.nextafter, promote_inexact, "next number after x1 towards x2")

positive     = unary("positive", lambda x: x, kept, "the value itself")
negative     = unary("negative", _negative, kept, "negation, -x", universal=True)
absolute     = unary("absolute", _absolute, kept, "magnitude, |x|")
abs          = absolute
fabs         = unary("fabs", _fabs, promote_inexact, "magnitude as a floating number")
sign         = unary("sign", _sign, promote_numeric, "sign: -1, 0, 1")
reciprocal   = unary("reciprocal", lambda x: arithmetic.div(constant(1, x), x), promote_inexact, "1 / x")
square       = unary("square", arithmetic.square, promote_numeric, "square, x x")
sqrt         = unary("sqrt", exponential.sqrt, promote_inexact, "square root")
cbrt         = unary("cbrt", exponential.cbrt, promote_inexact, "cube root")
exp          = unary("exp", exponential.exp, promote_inexact, "exponential")
exp2         = unary("exp2", exponential.exp2, promote_inexact, "power of two")
expm1        = unary("expm1", exponential.expm1, promote_inexact, "exp(x) - 1, accurate near 0")
log          = unary("log", exponential.log, promote_inexact, "natural logarithm")
log2         = unary("log2", _log_base(2), promote_inexact, "logarithm to base 2")
log10        = unary("log10", _log_base(10), promote_inexact, "logarithm to base 10")
log1p        = unary("log1p", exponential.log1p, promote_inexact, "log(1 + x), accurate near 0")
sin          = unary("sin", trigonometric.sin, promote_inexact, "sine")
cos          = unary("cos", trigonometric.cos, promote_inexact, "cosine")
tan          = unary("tan", trigonometric.tan, promote_inexact, "tangent")
arcsin       = unary("arcsin", trigonometric.asin, promote_inexact, "arc sine")
arccos       = unary("arccos", trigonometric.acos, promote_inexact, "arc cosine")
arctan       = unary("arctan", trigonometric.atan, promote_inexact, "arc tangent")
sinh         = unary("sinh", trigonometric.sinh, promote_inexact, "hyperbolic sine")
cosh         = unary("cosh", trigonometric.cosh, promote_inexact, "hyperbolic cosine")
tanh         = unary("tanh", trigonometric.tanh, promote_inexact, "hyperbolic tangent")
arcsinh      = unary("arcsinh", trigonometric.asinh, promote_inexact, "inverse hyperbolic sine")
arccosh      = unary("arccosh", trigonometric.acosh, promote_inexact, "inverse hyperbolic cosine")
arctanh      = unary("arctanh", trigonometric.atanh, promote_inexact, "inverse hyperbolic tangent")
asin, acos, atan = arcsin, arccos, arctan
asinh, acosh, atanh = arcsinh, arccosh, arctanh
sinc         = unary("sinc", _sinc, promote_inexact, "sin(pi x) / (pi x)")
floor        = unary("floor", _rounded("floor", arithmetic.floor), kept, "greatest integer not above x")
ceil         = unary("ceil", _rounded("ceil", arithmetic.ceil), kept, "least integer not below x")
trunc        = unary("trunc", _rounded("trunc", _truncate), kept, "nearest integer towards zero", by_name=True)
rint         = unary("rint", lambda x: _rint(x), kept, "nearest integer, halves to even")
deg2rad      = unary("deg2rad", _scaled(np.pi / 180), promote_inexact, "degrees to radians")
rad2deg      = unary("rad2deg", _scaled(180 / np.pi), promote_inexact, "radians to degrees")
degrees, radians = rad2deg, deg2rad
conjugate    = unary("conjugate", _conjugate, kept, "complex conjugate")
conj         = conjugate
signbit      = unary("signbit", lambda x: _signbit(x), kept, "test for a set sign bit")
# fmt: on


@api()
def real(val: ArrayLike, /) -> Array:
    """Real part, elementwise.

    Args:
      val: array or number.
    Example: ``jnp.real(1 + 2j)`` is 1. Source: ``numpy.real``.
    """
    check_arraylike("real", val)
    val = as_operand(val)
    return arithmetic.real_part(val) if is_complex(val) else val


@api()
def imag(val: ArrayLike, /) -> Array:
    """Imaginary part, elementwise: zeros of real numbers.

    Args:
      val: array or number.
    Example: ``jnp.imag(1 + 2j)`` is 2. Source: ``numpy.imag``.
    """
    check_arraylike("imag", val)
    val = as_operand(val)
    return arithmetic.imag(val) if is_complex(val) else full_like(val, 0)


def _rint(x: Any) -> Any:
    if is_complex(x):
        parts = (arithmetic.real_part(x), arithmetic.imag(x))
        return arithmetic.complex_(*(rounding.round(part, rounding.RoundingMethod.TO_NEAREST_EVEN) for part in parts))
    (x,) = promote_inexact(x)
    return rounding.round(x, rounding.RoundingMethod.TO_NEAREST_EVEN)


def _signbit(x: Any) -> Any:
    kind = kind_of(typeof(x).dtype)
    if kind == "floating":
        return _sign_bit(x)
    refuse_complex("signbit", x)
    if kind in ("unsigned", "bool"):
        return full_like(x, False, np.bool_)
    return arithmetic.lt(x, constant(0, x))


@api()
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Any, Any]:
    """Quotient rounded down and remainder, elementwise.

    Args:
      x1, x2: arrays or numbers that broadcast: dividend and divisor.
    Example: ``jnp.divmod(7, 3)`` is ``(2, 1)``. Source: ``numpy.divmod``.
    """
    check_arraylike("divmod", x1, x2)
    x1, x2 = broadcast_operands("divmod", *promote_numeric(x1, x2))
    return _floor_divide(x1, x2), _remainder(x1, x2)


@api()
def modf(x: ArrayLike, /, out: None = None) -> tuple[Any, Any]:
    """Fractional and integral part, both of the sign of ``x``, elementwise.

    Args:
      x: array or number.
      out: None: arrays cannot be overwritten.
    Example: ``jnp.modf(2.5)`` is ``(0.5, 2.)``. Source: ``numpy.modf``.
    """
    refuse_out("modf", out)
    check_arraylike("modf", x)
    (x,) = promote_inexact(x)
    whole = _truncate(x)
    fraction = _select(_is_infinite(x), constant(0, x), arithmetic.sub(x, whole))
    return _copysign(fraction, x), whole


@api(static=("deg",))
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Angle of complex numbers in the plane, in radians or degrees.

    Args:
      z: array or number.
      deg: True for degrees.
    Example: ``jnp.angle(1j)`` is pi / 2. Source: ``numpy.angle``.
    """
    check_arraylike("angle", z)
    whole = kind_of(typeof(z).dtype) in ("signed", "unsigned", "bool")
    (z,) = (convert(z, dtypes.canonicalize_dtype(float), typeof(z).weak_type),) if whole else promote_inexact(z)
    parts = (arithmetic.imag(z), arithmetic.real_part(z)) if is_complex(z) else (full_like(z, 0), z)
    radians_ = trigonometric.atan2(*parts)
    return arithmetic.mul(radians_, constant(180 / np.pi, radians_)) if deg else radians_


@api(static=("decimals",))
def _round(a: Any, decimals: int) -> Any:
    dtype = typeof(a).dtype
    if kind_of(dtype) in ("signed", "unsigned", "bool"):
        if decimals < 0 and kind_of(dtype) != "bool":
            return _round_integers(a, 10**-decimals)
        return a
    if is_complex(a):
        parts = [_round(part, decimals) for part in (arithmetic.real_part(a), arithmetic.imag(a))]
        return arithmetic.complex_(*parts)
    if decimals == 0:
        return rounding.round(a, rounding.RoundingMethod.TO_NEAREST_EVEN)
    limits = dtypes.finfo(dtype)
    if decimals > np.log10(float(limits.max)):  # elements have no such decimals
        return a
    if -decimals > np.log10(float(limits.max)):
        return arithmetic.mul(a, constant(0, a))
    factor = constant(10.0 ** (decimals if decimals > 0 else -decimals), a)
    there, back = (arithmetic.mul, arithmetic.div) if decimals > 0 else (arithmetic.div, arithmetic.mul)
    scaled = there(a, factor)
    found = back(rounding.round(scaled, rounding.RoundingMethod.TO_NEAREST_EVEN), factor)
    # Where it overflows, elements have no decimals; steps have no slope there either.
    return _select(arithmetic.is_finite(scaled), found, stop_gradient(a))


def _round_integers(a: Any, scale: int) -> Any:
    """To multiples of a power of ten, halves to the even one."""
    dtype = typeof(a).dtype
    if scale // 2 > dtypes.iinfo(dtype).max:
        return full_like(a, 0)
    half, one = constant(scale // 2, a), constant(1, a)
    if scale > dtypes.iinfo(dtype).max:  # 100 of an int8: zero but for what would not fit
        return full_like(a, 0)
    quotient = arithmetic.div(a, constant(scale, a))
    rest = arithmetic.sub(a, arithmetic.mul(quotient, constant(scale, a)))
    size = arithmetic.abs_(rest) if kind_of(dtype) == "signed" else rest
    odd = arithmetic.ne(bitwise.bitwise_and(quotient, one), constant(0, a))
    further = bitwise.bitwise_or(arithmetic.gt(size, half), bitwise.bitwise_and(arithmetic.eq(size, half), odd))
    step = arithmetic.sign(a) if kind_of(dtype) == "signed" else full_like(a, 1)
    rounded = arithmetic.add(quotient, _select(further, step, constant(0, a)))
    return arithmetic.mul(rounded, constant(scale, a))


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Round to a number of decimals, halves to even.

    Args:
      a: array or number.
      decimals: how many; negative ones round to tens, hundreds and so on.
      out: None: arrays cannot be overwritten.
    Example: ``jnp.round(1.25, 1)`` is 1.2. Source: ``numpy.round``.
    """
    check_arraylike("round", a)
    refuse_out("round", out)
    return _round(a, as_index(decimals))


around = round


def fix(x: ArrayLike, out: None = None) -> Array:
    """Nearest integer towards zero, elementwise.

    Args:
      x: array or number.
      out: None: arrays cannot be overwritten.
    Example: ``jnp.fix(-1.5)`` is -1. Source: ``numpy.fix``.
    """
    refuse_out("fix", out)
    check_arraylike("fix", x)
    return trunc(x)
