"""Formulas of trigonometric functions and their inverses for float32 arguments, computed in float64.

Coefficients are those of the polynomials that agree with the functions at Chebyshev's points; what they leave is far less
than half a unit in the last place of a float32.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable

import numpy as np

from arrax.lax.cpu.expressions import Expression, looked_up

Elsewhere = Callable[[], Expression]

# Added to a whole number of moderate size, it brings that to the last bits.
TO_LAST_BITS = 1.5 * 2.0**52

_PI_DIGITS = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707"


def _in_parts(number: decimal.Decimal, bits: int) -> list[float]:
    """A number as the sum of three floats, of which the first two are multiples of 2^-bits and of 2^-2bits."""
    first = decimal.Decimal(round(number * 2**bits)) / 2**bits
    second = decimal.Decimal(round((number - first) * 4**bits)) / 4**bits
    return [float(first), float(second), float(number - first - second)]


def _folding() -> np.ndarray:
    """For each exponent of a float32: a factor that leaves its numbers moderate, and what multiples of 2 pi leave of them.

    Of a power of two 2^e, multiples of 2 pi leave t; so of m 2^e they leave m t, for whole numbers m. The factor t / 2^e is
    a sum of three floats; the products of the first two with a float32 are exact.
    """
    factors = np.zeros((3, 256))
    factors[0] = 1
    for biased in range(127 + 23, 255):
        power = decimal.Decimal(2) ** (biased - 127 - 23)
        left = power - round(power / (2 * _PI)) * 2 * _PI
        if left != power:
            factors[:, biased] = np.ldexp(_in_parts(left, 26), 127 + 23 - biased)
    return factors


with decimal.localcontext() as _exactly:
    _exactly.prec = 150
    _PI = decimal.Decimal(_PI_DIGITS)
    _PI_PARTS = _in_parts(_PI, 25)  # products of the first two with whole numbers of 25 bits are exact
    _FACTORS = _folding()


_SINE = (  # sin(x) / x on [0, pi/2] by powers of x^2
    0.9999999999829079, -0.16666666616789771, 0.00833333097324863, -0.00019840861056042455, 2.752526342288838e-06,
    -2.3889103098752917e-08,
)  # fmt: skip
_SHORT_SINE = (  # the same on [0, pi/4]
    0.999999999995651, -0.16666666631449367, 0.008333328768714132, -0.00019839198061858107, 2.7173072987982805e-06,
)  # fmt: skip
_SHORT_COSINE = (  # cos(x) on [0, pi/4] by powers of x^2
    0.9999999999522513, -0.49999999613316676, 0.04166661654283429, -0.0013886613473905705, 2.4379412344861213e-05,
)  # fmt: skip
_ARC_TANGENT = (  # atan(x) / x on [0, 1] by powers of x^2
    0.9999999999293016, -0.3333333129085777, 0.1999990110129012, -0.14283813245671934, 0.11091922902426976,
    -0.08974171736743607, 0.07228277842402048, -0.05395667328411947, 0.03382621230472675, -0.015828319131590735,
    0.004732483163631211, -0.0006633953501780828,
)  # fmt: skip


def _folded(x: Expression) -> list[Expression]:
    """A number that has the same sine and cosine as x and is not large, as the sum of three."""
    exponent, wide = (x.bits() >> 23) & 255, x.to(np.float64)
    return [wide * looked_up(table, exponent) for table in _FACTORS]


def _reduced(parts: list[Expression], turns: Expression) -> Expression:
    """What is left after so many times pi."""
    first, second, third = (part - turns * pi for part, pi in zip(parts, _PI_PARTS, strict=True))
    return (first + second) + third


def _odd(x: Expression, coefficients: tuple[float, ...]) -> Expression:
    """x times a polynomial of x^2."""
    return x * (x * x).polynomial(coefficients)


def _flipped(answer: Expression, parity: Expression) -> Expression:
    """The answer, negated where the last bit of an integer is set."""
    return (answer.bits() ^ (parity << 63)).floats()


def sine(x: Expression, elsewhere: Elsewhere) -> Expression:
    """sin(x)"""
    parts = _folded(x)
    turns = (parts[0] * (1 / math.pi) + 0.5).floor()
    rest = _reduced(parts, turns)
    return _flipped(_odd(rest, _SINE), (turns + TO_LAST_BITS).bits()).to(np.float32)


def cosine(x: Expression, elsewhere: Elsewhere) -> Expression:
    """cos(x)"""
    parts = _folded(x)
    turns = (parts[0] * (1 / math.pi)).floor()
    rest = -_reduced(parts, turns + 0.5)
    return _flipped(_odd(rest, _SINE), (turns + TO_LAST_BITS).bits()).to(np.float32)


def tangent(x: Expression, elsewhere: Elsewhere) -> Expression:
    """tan(x), by the sine and the cosine of what is left of x after multiples of pi/2"""
    parts = _folded(x)
    turns = (parts[0] * (2 / math.pi) + 0.5).floor()
    rest = _reduced(parts, turns * 0.5)
    sine_, cosine_ = _odd(rest, _SHORT_SINE), (rest * rest).polynomial(_SHORT_COSINE)
    parity = (turns + TO_LAST_BITS).bits()
    turned = (parity & 1).differs(0)
    answer = _flipped(turned.where(cosine_, sine_), parity) / turned.where(sine_, cosine_)
    return answer.to(np.float32)


def _angle(across: Expression, along: Expression) -> Expression:
    """The angle in [0, pi/2] of a point whose coordinates are not negative; that of the origin is 0."""
    steep = across > along
    longer = across.greatest(along)
    ratio = across.least(along) / longer
    ratio = longer.equals(0).where(ratio.like(0), ratio)
    answer = _odd(ratio, _ARC_TANGENT)
    return steep.where(answer.like(math.pi / 2) - answer, answer)


def arc_tangent(x: Expression, elsewhere: Elsewhere) -> Expression:
    """atan(x)"""
    wide = x.to(np.float64)
    size = abs(wide)
    steep = size > 1
    ratio = steep.where(size.like(1) / size, size)
    answer = _odd(ratio, _ARC_TANGENT)
    return steep.where(answer.like(math.pi / 2) - answer, answer).with_sign_of(wide).to(np.float32)


def arc_tangent_of_point(y: Expression, x: Expression, elsewhere: Elsewhere) -> Expression:
    """atan2(y, x)"""
    across, along = y.to(np.float64), x.to(np.float64)
    tall, wide = abs(across), abs(along)
    ratio_is_one = (tall.equals(math.inf)) & (wide.equals(math.inf))
    one = tall.like(1)
    angle = _angle(ratio_is_one.where(one, tall), ratio_is_one.where(one, wide))
    behind = along.bits() < 0
    return behind.where(angle.like(math.pi) - angle, angle).with_sign_of(across).to(np.float32)


def _other_leg(x: Expression) -> Expression:
    """sqrt(1 - x^2), which is NaN where x is beyond 1"""
    return ((x.like(1) - x) * (x + 1)).sqrt()


def arc_sine(x: Expression, elsewhere: Elsewhere) -> Expression:
    """asin(x)"""
    wide = x.to(np.float64)
    size = abs(wide)
    return _angle(size, _other_leg(size)).with_sign_of(wide).to(np.float32)


def arc_cosine(x: Expression, elsewhere: Elsewhere) -> Expression:
    """acos(x)"""
    wide = x.to(np.float64)
    size = abs(wide)
    angle = _angle(_other_leg(size), size)
    return (wide < 0).where(angle.like(math.pi) - angle, angle).to(np.float32)
