"""Formulas of powers, roots and remainders of float32 numbers, computed in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from arrax.lax.cpu.angles import TO_LAST_BITS
from arrax.lax.cpu.expressions import Expression, mended

Elsewhere = Callable[[], Expression]

_LOGARITHM = (  # log2((1 + s) / (1 - s)) / s for |s| up to 0.1716 by powers of s^2
    2.8853900817890694, 0.961796673804372, 0.577083528217262, 0.41167529588463, 0.34069111228040455,
)  # fmt: skip
_POWER_OF_TWO = (  # 2^f on [-1/2, 1/2]
    1.0000000005541783, 0.6931472057375518, 0.240226468905621, 0.05550328776334365, 0.009618488962568894,
    0.0013399931477389888, 0.0001534581114895836,
)  # fmt: skip
_LAST_BITS = int(np.float64(TO_LAST_BITS).view(np.int64))
_ROOT_OF_HALF_BITS = int(np.float64(math.sqrt(0.5)).view(np.int64)) & ~0xFFFFFFFF
_BEYOND = 1e300  # greater than any logarithm, so that its multiples count as infinite


def binary_logarithm(x: Expression) -> Expression:
    """log2 of numbers not below 0, by their exponent and a mantissa near 1; finite, but beyond all bounds, at 0 and infinity"""
    bits = x.bits()
    exponent = (bits - _ROOT_OF_HALF_BITS) >> 52
    mantissa = (bits - (exponent << 52)).floats()
    ratio = (mantissa - 1) / (mantissa + 1)
    whole = (exponent + _LAST_BITS).floats() - TO_LAST_BITS
    ordinary = whole + ratio * (ratio * ratio).polynomial(_LOGARITHM)
    ends = x.equals(0).where(x.like(-_BEYOND), x.least(_BEYOND))
    return (x.equals(0) | ~(x < math.inf)).where(ends, ordinary)


def power_of_two(x: Expression) -> Expression:
    """2^x for |x| up to 1000"""
    whole = (x + 0.5).floor()
    return ((x - whole).polynomial(_POWER_OF_TWO).bits() + ((whole + TO_LAST_BITS).bits() << 52)).floats()


def power(x: Expression, y: Expression, elsewhere: Elsewhere) -> Expression:
    """x^y"""
    base, exponent = x.to(np.float64), y.to(np.float64)
    size, times = abs(base), abs(exponent)
    product = exponent.greatest(-_BEYOND).least(_BEYOND) * binary_logarithm(size)
    answer = power_of_two(product.greatest(-1000).least(1000))
    half = times * 0.5
    negative = base.bits() < 0
    is_odd = times.floor().equals(times) & half.floor().differs(half)
    answer = (negative & is_odd).where(-answer, answer)
    no_root = (base < 0) & (size < math.inf) & times.floor().differs(times)
    answer = no_root.where(answer.like(math.nan), answer)
    return (times.equals(0) | base.equals(1)).where(answer.like(1), answer).to(np.float32)


_THIRD = 0x55555556  # times the 32 first bits, shifted by 32: a third of them
_BITS_OF_FIRST_GUESS = 0x2A9F7893


def cube_root(x: Expression, elsewhere: Elsewhere) -> Expression:
    """cbrt(x): a third of the exponent, found by dividing the bits by 3, then two steps of Halley's"""
    wide = x.to(np.float64)
    size = abs(wide)
    answer = ((((size.bits() >> 32) * _THIRD >> 32) + _BITS_OF_FIRST_GUESS) << 32).floats()
    for _ in range(2):
        cube = answer * answer * answer
        answer = answer * ((cube + (size + size)) / ((cube + cube) + size))
    return ((size > 0) & (size < math.inf)).where(answer, size).with_sign_of(wide).to(np.float32)


_LARGEST_QUOTIENT = 2.0**27  # up to here a float64 holds the product of quotient and divisor exactly


def remainder(x: Expression, y: Expression, elsewhere: Elsewhere) -> Expression:
    """x less a whole multiple of y, with the sign of x"""
    dividend, divisor = x.to(np.float64), abs(y.to(np.float64))
    size = abs(dividend)
    quotient = size / divisor
    answer = (size - quotient.floor() * divisor).with_sign_of(dividend).to(np.float32)
    fits = (quotient < _LARGEST_QUOTIENT) & (divisor < math.inf)
    return mended(answer, ~fits, elsewhere)
