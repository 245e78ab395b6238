"""Formulas of trigonometric functions and their inverses for float32 arguments, computed in float64.

Polynomials are such that their greatest error is least; it is far less than half a unit in the last place of a float32.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from arrax.lax.cpu.expressions import Expression, looked_up

# Added to a whole number of moderate size, it brings that to the last bits.
TO_LAST_BITS = 1.5 * 2.0**52

_PI = 314159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707
_UNITS = 10**98


def _in_parts(number: int, bits: int) -> list[float]:
    """A number, given in units of ``1 / _UNITS``, as the sum of two floats, the first a multiple of 2^-bits."""
    first = (2 * number * 2**bits + _UNITS) // (2 * _UNITS)
    return [first / 2**bits, (number * 2**bits - first * _UNITS) / (_UNITS * 2**bits)]


def _folding() -> np.ndarray:
    """For each exponent of a float32: a factor that leaves its numbers moderate, and what multiples of 2 pi leave of them.

    Of a power of two 2^e, multiples of 2 pi leave t; so of m 2^e they leave m t, for whole numbers m. The factor t / 2^e is
    a sum of two floats; the product of the first with a float32 is exact.
    """
    factors = np.zeros((2, 256))
    factors[0] = 1
    for biased in range(127 + 23, 255):
        power = 2 ** (biased - 127 - 23) * _UNITS
        left = power - (power + _PI) // (2 * _PI) * 2 * _PI
        if left != power:
            factors[:, biased] = np.ldexp(_in_parts(left, 26), 127 + 23 - biased)
    return factors


@functools.cache
def _constants() -> tuple[list[float], np.ndarray]:
    """Pi in two parts, and the factors of ``_folding``; made at the first use."""
    return _in_parts(_PI, 25), _folding()  # products of the first part with whole numbers of 25 bits are exact


_SHORT_SINE = (  # the same on [0, pi/4]
    0.99999999999545, -0.16666666630432306, 0.008333328688788534, -0.0001983917794255417, 2.7171489841528518e-06,
)  # fmt: skip
_SHORT_COSINE = (  # cos(x) on [0, pi/4] by powers of x^2
    0.9999999999439109, -0.49999999571384884, 0.04166661321723899, -0.0013886528668369202, 2.437263573919817e-05,
)  # fmt: skip
_ARC_SINE = (  # asin(x) / x on [0, 1/2] by powers of x^2
    1.0000000002545848, 0.1666665694494448, 0.0750060409916172, 0.04450308620030509, 0.03190080886169988,
    0.014139470640181617, 0.03788561523386136,
)  # fmt: skip
_ARC_TANGENT = (  # atan(x) / x on [0, 1] by powers of x^2
    0.9999999996282765, -0.3333332393547061, 0.19999604638698829, -0.14279159639957248, 0.11054501220021544,
    -0.08798772135953482, 0.06716108064026108, -0.04435750768416624, 0.022274368658691257, -0.007199391485031015,
    0.0010911124579671139,
)  # fmt: skip


def _folded(x: Expression) -> list[Expression]:
    """A number that has the same sine and cosine as x and is not large, as the sum of two."""
    exponent, wide = (x.bits() >> 23) & 255, x.to(np.float64)
    return [wide * looked_up(table, exponent) for table in _constants()[1]]


def _reduced(parts: list[Expression], turns: Expression) -> Expression:
    """What is left after so many times pi."""
    first, second = (part - turns * pi for part, pi in zip(parts, _constants()[0], strict=True))
    return first + second


def _odd(x: Expression, coefficients: tuple[float, ...]) -> Expression:
    """x times a polynomial of x^2."""
    return x * (x * x).polynomial(coefficients)


def _flipped(answer: Expression, parity: Expression) -> Expression:
    """The answer, negated where the last bit of an integer is set."""
    return (answer.bits() ^ (parity << 63)).floats()


def tangent(x: Expression) -> Expression:
    """tan(x), by the sine and the cosine of what is left of x after multiples of pi/2"""
    parts = _folded(x)
    turns = (parts[0] * (2 / math.pi) + 0.5).floor()
    rest = _reduced(parts, turns * 0.5)
    sine_, cosine_ = _odd(rest, _SHORT_SINE), (rest * rest).polynomial(_SHORT_COSINE)
    parity = (turns + TO_LAST_BITS).bits()
    turned = (parity & 1).differs(0)
    answer = _flipped(turned.where(cosine_, sine_), parity) / turned.where(sine_, cosine_)
    return answer.to(np.float32)


def arc_tangent(x: Expression) -> Expression:
    """atan(x)"""
    wide = x.to(np.float64)
    size = abs(wide)
    steep = size > 1
    answer = _odd(steep.where(size.like(1) / size, size), _ARC_TANGENT)
    return steep.where(answer.like(math.pi / 2) - answer, answer).with_sign_of(wide).to(np.float32)


def arc_tangent_of_point(y: Expression, x: Expression) -> Expression:
    """atan2(y, x)"""
    across, along = y.to(np.float64), x.to(np.float64)
    height, width = abs(across), abs(along)
    steep = height > width
    less, more = steep.where(width, height), steep.where(height, width)
    same = more.equals(0).where(less.like(0), less.like(1))
    ratio = less.equals(more).where(same, less / more)  # two infinities, two zeros
    answer = _odd(ratio, _ARC_TANGENT)
    answer = steep.where(answer.like(math.pi / 2) - answer, answer)
    left = along.bits() < 0
    return left.where(answer.like(math.pi) - answer, answer).with_sign_of(across).to(np.float32)


def _arc_sine(x: Expression) -> Expression:
    """asin(x): by half the angle's complement where x is large; NaN beyond 1"""
    size = abs(x)
    large = size > 0.5
    square = large.where((size.like(1) - size) * 0.5, size * size)
    angle = large.where(square.sqrt(), size) * square.polynomial(_ARC_SINE)
    return large.where(angle.like(math.pi / 2) - angle * 2, angle).with_sign_of(x)


def arc_sine(x: Expression) -> Expression:
    """asin(x)"""
    return _arc_sine(x.to(np.float64)).to(np.float32)


def arc_cosine(x: Expression) -> Expression:
    """acos(x)"""
    angle = _arc_sine(x.to(np.float64))
    return (angle.like(math.pi / 2) - angle).to(np.float32)
