"""Formulas of hyperbolic functions and their inverses for float32 arguments, computed in float64."""

from __future__ import annotations

import math

import numpy as np

from arrax.lax.cpu.expressions import Expression

_LOGARITHM = (  # log2(1 + f) / f on [sqrt(1/2) - 1, sqrt(2) - 1]
    1.4426950417994178, -0.7213475156210839, 0.48089788928921323, -0.3606741546382516, 0.28857617159904964,
    -0.2404670085809423, 0.20504337936070433, -0.17891155609285544, 0.1720602037149755, -0.16904959023695126,
    0.09701114566855343,
)  # fmt: skip
_POWER_OF_TWO = (  # 2^f on [-1/2, 1/2]
    1.0000000005545295, 0.6931472057360399, 0.2402264688794058, 0.055503287789434724, 0.009618489248677819,
    0.001339993058394928, 0.00015345733569660188,
)  # fmt: skip
_HYPERBOLIC_SINE = (  # sinh(x) / x on [0, 1] by powers of x^2
    1.0000000000459757, 0.16666666430249158, 0.008333352592788069, 0.0001983581246674138, 2.8185238463687754e-06,
)  # fmt: skip
_ROOT_OF_HALF_BITS = int(np.float64(math.sqrt(0.5)).view(np.int64)) & ~0xFFFFFFFF
_BIAS = 1023
_WHOLE_BITS = int(np.float64(2.0**52).view(np.int64))  # with a whole number in the last bits, 2^52 more than that


def _natural_logarithm(x: Expression) -> Expression:
    """log of positive finite numbers, by their exponent and a mantissa near 1"""
    bits = x.bits() + ((_BIAS << 52) - _ROOT_OF_HALF_BITS)
    mantissa = ((bits & ((1 << 52) - 1)) + _ROOT_OF_HALF_BITS).floats() - 1
    exponent = ((bits >> 52) | _WHOLE_BITS).floats() - (2.0**52 + _BIAS)
    return (exponent + mantissa * mantissa.polynomial(_LOGARITHM)) * math.log(2)


def _exponential(x: Expression) -> Expression:
    """e^x of numbers that are not negative, infinite beyond 693"""
    x = (x * (1 / math.log(2))).minimum(1000)
    whole = (x + 0.5).floor()
    return ((x - whole).polynomial(_POWER_OF_TWO).bits() + ((whole + 2.0**52).bits() << 52)).floats()


def sine(x: Expression) -> Expression:
    """sinh(x), by powers of x up to 1 and powers of e beyond"""
    wide = x.to(np.float64)
    size = abs(wide)
    power = _exponential(size)
    near = size * (size * size).polynomial(_HYPERBOLIC_SINE)
    answer = (size < 1).where(near, (power - power.like(1) / power) * 0.5)
    return answer.with_sign_of(wide).to(np.float32)


def cosine(x: Expression) -> Expression:
    """cosh(x)"""
    power = _exponential(abs(x.to(np.float64)))
    return ((power + power.like(1) / power) * 0.5).to(np.float32)


_SMALL = 2.0**-10  # up to here two terms of the series of asinh and atanh have all digits of a float32


def inverse_sine(x: Expression) -> Expression:
    """asinh(x) = log(x + sqrt(x^2 + 1))"""
    wide = x.to(np.float64)
    size, square = abs(wide), wide * wide
    answer = _natural_logarithm(size + (square + 1).sqrt())
    answer = (size < _SMALL).where(size - size * square * (1 / 6), answer)
    return (size < math.inf).where(answer, size).with_sign_of(wide).to(np.float32)


def inverse_cosine(x: Expression) -> Expression:
    """acosh(x) = log(x + sqrt(x^2 - 1)), NaN below 1"""
    wide = x.to(np.float64)
    answer = _natural_logarithm(wide + ((wide - 1) * (wide + 1)).sqrt())
    answer = (wide < math.inf).where(answer, wide)
    return (wide < 1).where(answer.like(math.nan), answer).to(np.float32)


def inverse_tangent(x: Expression) -> Expression:
    """atanh(x) = log((1 + x) / (1 - x)) / 2, NaN beyond 1"""
    wide = x.to(np.float64)
    size, square = abs(wide), wide * wide
    answer = _natural_logarithm((size + 1) / (size.like(1) - size)) * 0.5
    answer = (size < _SMALL).where(size + size * square * (1 / 3), answer)
    end = size.equals(1).where(size.like(math.inf), math.nan)
    return (size < 1).where(answer, end).with_sign_of(wide).to(np.float32)
