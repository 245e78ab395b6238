"""Formulas of powers, roots and remainders of float32 numbers, computed in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from arrax.lax.cpu.angles import TO_LAST_BITS
from arrax.lax.cpu.expressions import Expression, mended

Elsewhere = Callable[[], Expression]

_LOGARITHM = (  # log2((1 + s) / (1 - s)) / s for |s| up to 0.1716 by powers of s^2
    2.8853900817778486, 0.9617966941147083, 0.5770779422006818, 0.41220925730861246, 0.3199057846055971,
    0.28289615257748085,
)  # fmt: skip
_POWER_OF_TWO = (  # 2^f on [-1/2, 1/2]
    0.9999999999595622, 0.6931471805568341, 0.24022651213495422, 0.055504109063177154, 0.009618025613598036,
    0.0013333478480888061, 0.00015469729140704658, 1.5303699001378845e-05,
)  # fmt: skip
_LAST_BITS = int(np.float64(TO_LAST_BITS).view(np.int64))
_ONE_BITS = int(np.float64(1).view(np.int64))
_ROOT_OF_HALF_BITS = int(np.float64(math.sqrt(0.5)).view(np.int64)) & ~0xFFFFFFFF


def _logarithm(x: Expression) -> Expression:
    """log2 of numbers greater than 0, by their exponent and a mantissa near 1"""
    bits = x.bits()
    exponent = (bits - _ROOT_OF_HALF_BITS) >> 52
    mantissa = (bits - (exponent << 52)).floats()
    ratio = (mantissa - 1) / (mantissa + 1)
    return ((exponent + _LAST_BITS).floats() - TO_LAST_BITS) + ratio * (ratio * ratio).polynomial(_LOGARITHM)


def _power_of_two(x: Expression) -> Expression:
    """2^x for |x| up to 1000"""
    whole = (x + 0.5).floor()
    scale = (((whole + TO_LAST_BITS).bits() << 52) + _ONE_BITS).floats()
    return (x - whole).polynomial(_POWER_OF_TWO) * scale


def power(x: Expression, y: Expression, elsewhere: Elsewhere) -> Expression:
    """x^y"""
    base, exponent = x.to(np.float64), y.to(np.float64)
    size, times = abs(base), abs(exponent)
    ordinary = (size > 0) & (size < math.inf)
    # Elsewhere the logarithm is that of infinity or NaN, which they are themselves, or of zero.
    ends = size.equals(0).where(size.like(-math.inf), size)
    logarithm = ordinary.where(_logarithm(size), ends)
    answer = _power_of_two((exponent * logarithm).greatest(-1000).least(1000))
    half = times * 0.5
    is_whole, is_even = times.floor().equals(times), half.floor().equals(half)
    answer = ((base < 0) & (size < math.inf) & ~is_whole).where(answer.like(math.nan), answer)
    negative = (base.bits() < 0) & is_whole & ~is_even
    answer = negative.where(-answer, answer)
    is_one = times.equals(0) | base.equals(1) | (size.equals(1) & times.equals(math.inf))
    return is_one.where(answer.like(1), answer).to(np.float32)


def cube_root(x: Expression, elsewhere: Elsewhere) -> Expression:
    """cbrt(x)"""
    wide = x.to(np.float64)
    size = abs(wide)
    ordinary = (size > 0) & (size < math.inf)
    answer = _power_of_two(_logarithm(size) * (1 / 3))
    return ordinary.where(answer, size).with_sign_of(wide).to(np.float32)


_LARGEST_QUOTIENT = 2.0**27  # up to here a float64 holds the product of quotient and divisor exactly


def remainder(x: Expression, y: Expression, elsewhere: Elsewhere) -> Expression:
    """x less a whole multiple of y, with the sign of x"""
    dividend, divisor = x.to(np.float64), abs(y.to(np.float64))
    size = abs(dividend)
    quotient = size / divisor
    answer = (size - quotient.floor() * divisor).with_sign_of(dividend).to(np.float32)
    fits = (quotient < _LARGEST_QUOTIENT) & (divisor < math.inf)
    return mended(answer, ~fits, elsewhere)
