"""Elementwise functions of real and complex numbers (NumPy reference, routines.math): one table row per function."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.types import typeof
from arrax.lax import arithmetic, bitwise, exponential, rounding, trigonometric
from arrax.lax.barriers import stop_gradient
from arrax.lax.conversion import convert
from arrax.lax.filled_arrays import full_like
from arrax.lax.operand_checks import kind_of
from arrax.numpy_api import elementwise_bodies as bodies
from arrax.numpy_api.api import api
from arrax.numpy_api.elementwise_makers import binary, constant, is_complex, is_float, kept, unary
from arrax.numpy_api.operands import (
    as_operand,
    broadcast_operands,
    check_arraylike,
    firm_inexact,
    promote_dtypes,
    promote_inexact,
    promote_numeric,
    refuse_complex,
    refuse_out,
    strong_inexact,
)
from arrax.xla.arrays import Array, ArrayLike

# fmt: off
add          = binary("add",      bodies.sum_,           promote_dtypes, "sum, x1 + x2 (logical or of bools)", universal=True)
subtract     = binary("subtract", arithmetic.sub, promote_dtypes, "difference, x1 - x2", universal=True)
multiply     = binary("multiply", bodies.product,       promote_dtypes, "product, x1 x2 (logical and of bools)", universal=True)
divide       = binary("divide",   bodies.true_divide,   promote_inexact, "quotient x1 / x2, a floating number")
true_divide  = divide
floor_divide = binary("floor_divide", bodies.floor_divide, promote_numeric, "quotient rounded down")
remainder    = binary("remainder", bodies.remainder_of, promote_numeric, "remainder of the sign of the divisor")
mod          = remainder
fmod         = binary("fmod", bodies.fmod, promote_numeric, "remainder of the sign of the dividend")
maximum      = binary("maximum", arithmetic.max_, promote_dtypes, "greater of two values, NaN if either is", universal=True)
minimum      = binary("minimum", arithmetic.min_, promote_dtypes, "lesser of two values, NaN if either is", universal=True)
fmax         = binary("fmax", bodies.fmax, promote_dtypes, "greater of two values, ignoring NaN", by_name=True)
fmin         = binary("fmin", bodies.fmin, promote_dtypes, "lesser of two values, ignoring NaN", by_name=True)
arctan2      = binary("arctan2", bodies.arctan2, promote_inexact, "angle of the point (x2, x1)")
atan2        = arctan2
hypot        = binary("hypot", bodies.hypot, firm_inexact, "length of the vector (x1, x2)")
logaddexp    = binary("logaddexp", bodies.logaddexp, promote_inexact, "log(exp(x1) + exp(x2)) without overflow", universal=True)
logaddexp2   = binary("logaddexp2", bodies.logaddexp2, firm_inexact, "log2(2**x1 + 2**x2) without overflow", universal=True)
heaviside    = binary("heaviside", bodies.heaviside, firm_inexact, "step function: 0 below zero, x2 at zero, 1 above")
copysign     = binary("copysign", bodies.copysign, promote_inexact, "x1 with the sign of x2")
nextafter    = binary("nextafter", bitwise.nextafter, promote_inexact, "next number after x1 towards x2")

positive     = unary("positive", lambda x: x, kept, "the value itself")
negative     = unary("negative", bodies.negative, kept, "negation, -x", universal=True)
absolute     = unary("absolute", bodies.absolute, kept, "magnitude, |x|")
abs          = absolute
fabs         = unary("fabs", bodies.fabs, promote_inexact, "magnitude as a floating number")
sign         = unary("sign", bodies.sign_of, kept, "sign: -1, 0, 1")
reciprocal   = unary("reciprocal", lambda x: arithmetic.div(constant(1, x), x), promote_inexact, "1 / x")
square       = unary("square", arithmetic.square, promote_numeric, "square, x x")
sqrt         = unary("sqrt", exponential.sqrt, promote_inexact, "square root")
cbrt         = unary("cbrt", exponential.cbrt, promote_inexact, "cube root")
exp          = unary("exp", exponential.exp, promote_inexact, "exponential")
exp2         = unary("exp2", exponential.exp2, promote_inexact, "power of two")
expm1        = unary("expm1", exponential.expm1, promote_inexact, "exp(x) - 1, accurate near 0")
log          = unary("log", exponential.log, promote_inexact, "natural logarithm")
log2         = unary("log2", bodies.log_base(2), strong_inexact, "logarithm to base 2")
log10        = unary("log10", bodies.log_base(10), strong_inexact, "logarithm to base 10")
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
sinc         = unary("sinc", bodies.sinc, promote_inexact, "sin(pi x) / (pi x)")
floor        = unary("floor", bodies.rounding_of("floor", arithmetic.floor), kept, "greatest integer not above x")
ceil         = unary("ceil", bodies.rounding_of("ceil", arithmetic.ceil), kept, "least integer not below x")
trunc        = unary("trunc", bodies.rounding_of("trunc", bodies.truncate), kept, "nearest integer towards zero", by_name=True)
rint         = unary("rint", lambda x: _rint(x), kept, "nearest integer, halves to even")
deg2rad      = unary("deg2rad", bodies.scaled_by(np.pi / 180), promote_inexact, "degrees to radians")
rad2deg      = unary("rad2deg", bodies.scaled_by(180 / np.pi), promote_inexact, "radians to degrees")
degrees, radians = rad2deg, deg2rad
conjugate    = unary("conjugate", bodies.conjugate, kept, "complex conjugate")
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


def _rint(x: Array) -> Array:
    if is_complex(x):
        parts = (arithmetic.real_part(x), arithmetic.imag(x))
        return arithmetic.complex_(*(rounding.round(part, rounding.RoundingMethod.TO_NEAREST_EVEN) for part in parts))
    (x,) = promote_inexact(x) if is_float(x) else (convert(x, dtypes.canonicalize_dtype(np.float64)),)
    return rounding.round(x, rounding.RoundingMethod.TO_NEAREST_EVEN)


def _signbit(x: Array) -> Array:
    kind = kind_of(typeof(x).dtype)
    if kind == "floating":
        return bodies.sign_bit(x)
    refuse_complex("signbit", x)
    if kind in ("unsigned", "bool"):
        return full_like(x, False, np.bool_)
    return arithmetic.lt(x, constant(0, x))


@api()
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """Quotient rounded down and remainder, elementwise.

    Args:
      x1, x2: arrays or numbers that broadcast: dividend and divisor.
    Example: ``jnp.divmod(7, 3)`` is ``(2, 1)``. Source: ``numpy.divmod``.
    """
    check_arraylike("divmod", x1, x2)
    x1, x2 = broadcast_operands("divmod", *promote_numeric(x1, x2))
    return bodies.floor_divide(x1, x2), bodies.remainder_of(x1, x2)


@api()
def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Fractional and integral part, both of the sign of ``x``, elementwise.

    Args:
      x: array or number.
      out: None: arrays cannot be overwritten.
    Example: ``jnp.modf(2.5)`` is ``(0.5, 2.)``. Source: ``numpy.modf``.
    """
    refuse_out("modf", out)
    check_arraylike("modf", x)
    (x,) = promote_inexact(x)
    whole = bodies.truncate(x)
    infinite = bodies.is_infinite(x)
    fraction = bodies.select(infinite, constant(0, x), arithmetic.sub(x, whole))
    # Zeros have the sign of x, and the slope 1 all the same, which copysign would turn.
    finite = bodies.select(infinite, constant(0, x), x)
    here = stop_gradient(finite)
    zero = bodies.select(bodies.sign_bit(x), arithmetic.neg(arithmetic.sub(here, finite)), arithmetic.sub(finite, here))
    return bodies.select(arithmetic.eq(fraction, constant(0, x)), zero, fraction), whole


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
    if not is_complex(z):
        (z,) = (convert(z, dtypes.canonicalize_dtype(float)),) if whole else strong_inexact(z)
    parts = (arithmetic.imag(z), arithmetic.real_part(z)) if is_complex(z) else (full_like(z, 0), z)
    radians_ = trigonometric.atan2(*parts)
    return arithmetic.mul(radians_, constant(180 / np.pi, radians_)) if deg else radians_


@api(static=("decimals",))
def _round(a: ArrayLike, decimals: int) -> Any:
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
    return bodies.select(arithmetic.is_finite(scaled), found, stop_gradient(a))


def _round_integers(a: ArrayLike, scale: int) -> Array:
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
    rounded = arithmetic.add(quotient, bodies.select(further, step, constant(0, a)))
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
