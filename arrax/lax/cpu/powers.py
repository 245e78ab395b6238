"""Formulas of roots and logarithms of float32 numbers, computed in float64; and of cube roots of these."""

from __future__ import annotations

import math

import numpy as np

from arrax.lax.cpu.angles import TO_LAST_BITS
from arrax.lax.cpu.expressions import Expression

_LOGARITHM = (  # log2((1 + s) / (1 - s)) / s for |s| up to 0.1716 by powers of s^2
    2.8853900817890694, 0.961796673804372, 0.577083528217262, 0.41167529588463, 0.34069111228040455,
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
    ends = x.equals(0).where(x.like(-_BEYOND), x.minimum(_BEYOND))
    return (x.equals(0) | ~(x < math.inf)).where(ends, ordinary)


_SMALL = 2.0**-10  # up to here, asinh(x) is x - x^3 / 6 to the last digit of a float32


def inverse_hyperbolic_sine(x: Expression) -> Expression:
    """asinh(x) = log(1 + s) with s = |x| + x^2 / (1 + sqrt(1 + x^2))"""
    wide = x.to(np.float64)
    size, square = abs(wide), wide * wide
    excess = size + square / ((square + 1).sqrt() + 1)
    answer = binary_logarithm(excess + 1) * math.log(2)
    answer = (size < _SMALL).where(size - size * square * (1 / 6), answer)
    return (size < math.inf).where(answer, size).with_sign_of(wide).to(np.float32)


_THIRD = 0x55555556  # times the 32 first bits, shifted by 32: a third of them
_BITS_OF_FIRST_GUESS = 0x2A9F7893


def cube_root(x: Expression) -> Expression:
    """cbrt(x): a third of the exponent, found by dividing the bits by 3, then two steps of Halley's"""
    wide = x.to(np.float64)
    size = abs(wide)
    answer = _nearly_cube_root(size)
    return ((size > 0) & (size < math.inf)).where(answer, size).with_sign_of(wide).to(np.float32)


def cube_root_of_double(x: Expression) -> Expression:
    """The same of a float64, with a last step of Newton's; the smallest and largest numbers are scaled first."""
    size = abs(x)
    small, large = size < 2.0**-960, size > 2.0**960
    scaled = small.where(size * 2.0**108, large.where(size * 2.0**-108, size))
    nearly = _nearly_cube_root(scaled)
    square = nearly * nearly
    answer = nearly - (square * nearly - scaled) / (square * 3)
    answer = small.where(answer * 2.0**-36, large.where(answer * 2.0**36, answer))
    return ((scaled > 0) & (size < math.inf)).where(answer, scaled).with_sign_of(x)


def _nearly_cube_root(size: Expression) -> Expression:
    """To some 47 bits."""
    answer = ((((size.bits() >> 32) * _THIRD >> 32) + _BITS_OF_FIRST_GUESS) << 32).floats()
    for _ in range(2):
        cube = answer * answer * answer
        answer = answer * ((cube + (size + size)) / ((cube + cube) + size))
    return answer
