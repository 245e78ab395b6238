"""Formulas of the tangent and of inverse trigonometric functions for float32 arguments, computed in float64.

Polynomials are such that their greatest error is least; it is far less than half a unit in the last place of a float32.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from arrax.lax.cpu.expressions import Expression

# Added to a whole number of moderate size, it brings that to the last bits.
TO_LAST_BITS = 1.5 * 2.0**52

_PI = 314159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707  # times 10^98
_PLACES = 300  # binary places of 1 / (2 pi) below
_PART_BITS = 29  # a product of so many bits with the 24 of a float32 is exact in float64
# Where a set of parts of 1 / (2 pi) begins: numbers of one range are multiples of its least number's last bit, and at most
# 2^26 times as large, so that the products with the first two parts are exact and the third leaves an error of 2^-59.
_RANGES = (24, 50, 76, 102)


def _in_parts(number: int) -> tuple[float, float, float]:
    """A number in units of ``2**-_PLACES`` as the sum of three floats, the first two of few bits."""
    parts = []
    for _ in range(2):
        last = max(number.bit_length() - _PART_BITS, 0)
        parts.append(number >> last << last)
        number -= parts[-1]
    return (*(math.ldexp(part, -_PLACES) for part in parts), math.ldexp(number, -_PLACES))  # type: ignore[return-value]


@functools.cache
def _turns_per_unit() -> list[tuple[float, float, float]]:
    """1 / (2 pi) in parts, then for each range without the bits whose products with its numbers are whole turns."""
    inverse = (10**98 << _PLACES) // (2 * _PI)
    return [_in_parts(inverse)] + [_in_parts(inverse % (1 << (_PLACES - (start - 23)))) for start in _RANGES]


_SINE = (  # sin(2 pi t) / t on [0, 1/8] by powers of t^2
    6.283185307151, -41.34170215055423, 81.6052038069487, -76.69777410484731, 41.46988900338257,
)  # fmt: skip
_COSINE = (  # cos(2 pi t) on [0, 1/8] by powers of t^2
    0.9999999999439367, -19.739208633034956, 64.93931074424374, -85.44229793711524, 59.20279497852301,
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


def _turns(x: Expression) -> list[Expression]:
    """x / (2 pi) less whole turns as the sum of three: all finite numbers are reduced exactly, the largest included.

    A table by exponent would be shorter, but the compiler computes the operand of a lookup anew for each use.
    """
    wide = x.to(np.float64)
    size = abs(wide)
    parts = [wide.like(part) for part in _turns_per_unit()[0]]
    for start, others in zip(_RANGES, _turns_per_unit()[1:], strict=True):
        far = size >= 2.0**start
        parts = [far.where(wide.like(other), part) for part, other in zip(parts, others, strict=True)]
    first, second, third = (wide * part for part in parts)
    return [first - (first + 0.5).floor(), second, third]


def _odd(x: Expression, coefficients: tuple[float, ...]) -> Expression:
    """x times a polynomial of x^2."""
    return x * (x * x).polynomial(coefficients)


def tangent(x: Expression) -> Expression:
    """tan(x), by the sine and the cosine of what is left of x after quarters of a turn"""
    first, second, third = _turns(x)
    quarters = ((first + second) * 4 + 0.5).floor()
    rest = ((first - quarters * 0.25) + second) + third
    sine_, cosine_ = _odd(rest, _SINE), (rest * rest).polynomial(_COSINE)
    parity = (quarters + TO_LAST_BITS).bits()  # its last bit is set if they are odd
    turned = (parity & 1).differs(0)
    answer = turned.where(cosine_, sine_) / turned.where(sine_, cosine_)
    return answer.to(np.float32).negated_by(parity)


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
