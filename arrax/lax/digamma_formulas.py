"""The digamma function, its derivative and its differences, as formulas in double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from arrax.lax.double_formulas import Real
from arrax.lax.gamma_pieces import LARGE, log_one_plus
from arrax.lax.log_gamma import STEPS, beyond_whole, down, half_turns, kept, raised, sine_of_half_turns

# fmt: off
# digamma(x) / (x - root) on 1 to 2
_DIGAMMA = (
    0.983570260441567, -0.2270640863346444, 0.03336889902393011, -0.005320077271596548, 0.0008788656937820505,
    -0.00014773492650606044, 2.5060543468359146e-05, -4.2721034029993324e-06, 7.302769272465923e-07,
    -1.2502886813559594e-07, 2.1425009322359472e-08, -3.673295918565179e-09, 6.299717236108931e-10,
    -1.080593028883266e-10, 1.853735192053638e-11, -3.18023536582553e-12, 5.456147570322795e-13, -9.360993131036438e-14,
    1.606064636295075e-14, -2.7555431377438815e-15, 4.727736178601912e-16, -8.11148420346509e-17, 1.391707769474154e-17,
    -2.3877901082188625e-18, 4.096797187161558e-19,
)
# fmt: on
_DIGAMMA_ROOT = 1.4616321449683622  # the nearest float
_DIGAMMA_AT_ROOT = -9.241265521729427e-17

# Of log x - 1/(2x) - digamma(x) in 1/x^2, from 1/x^2 on (DLMF 5.11.2).
_TAIL = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)

# Of trigamma(x) - 1/x - 1/(2x^2) in 1/x^2, over x (DLMF 5.15.8).
_TRIGAMMA_TAIL = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _digamma_of_positive(x: Real, precision: float) -> Real:
    """By the polynomial over its root between 1 and 2, the recurrence (DLMF 5.5.2), and Stirling's series for large x."""
    below = x < 1
    near = below.where(x + 1, x.minimum(LARGE))
    reduced, steps = down(near)
    low = near < 2
    start, count = low.where(near, reduced - 1), low.where(0, steps + 1)
    total = below.where(-1 / below.where(x, 1), 0)
    for k in range(1, STEPS + 2):
        taken = count >= k
        total = total + taken.where(1 / taken.where(near - k, 1), 0)
    series = start.maximum(1).minimum(2).chebyshev(1, 2, kept(_DIGAMMA, precision))
    small = total + ((start - _DIGAMMA_ROOT) * series + _DIGAMMA_AT_ROOT)
    large = x.maximum(LARGE)
    inverse = 1 / (large * large)
    far = large.log() - 0.5 / large - inverse.polynomial((0.0, *_TAIL))
    return (x < LARGE).where(small, x.equals(np.inf).where(np.inf, far))


def _cotangent(x: Real) -> Real:
    """cot(pi x), NaN at whole numbers."""
    r, sine, cosine, near = half_turns(x)
    whole = r.equals(0)
    cotangent = near.where(cosine / whole.where(1, sine), sine / cosine)
    return whole.where(np.nan, (r < 0).where(-cotangent, cotangent))


def _digamma_in_few_digits(x: Real) -> Real:
    """By raising the argument and Stirling's series: a third of the operations, and less than 1e-15 of error."""
    size = abs(x)
    above = raised(size)
    sums = above.q.polynomial((720, 588, 119, 7)) / above.product  # 1/x + 1/(x + 1) + … + 1/(x + 6)
    inverse = 1 / above.value
    tail = (inverse * inverse).polynomial((0.0, *_TAIL))
    positive = above.value.log() - 0.5 * inverse - tail - above.low.where(sums, 0)
    from_whole = beyond_whole(size)
    cotangent = sine_of_half_turns(0.5 - abs(from_whole)) / sine_of_half_turns(from_whole)
    reflected = from_whole.equals(0).where(np.nan, positive + 1 / size + math.pi * cotangent)
    value = (x < 0).where(reflected, size.equals(np.inf).where(np.inf, positive))
    return x.equals(0).where(-1 / x, value)


def digamma(x: Real, precision: float, order: int) -> Real:
    """The digamma function; below 0 by reflection (DLMF 5.5.4)."""
    if precision > 1e-13 and not order:
        return _digamma_in_few_digits(x)
    size = abs(x)
    inverse = 1 / x
    positive = _digamma_of_positive(size, precision)
    reflected = positive - inverse - math.pi * _cotangent(x)
    reflected = (size < 1e-16).where(-inverse - np.euler_gamma, reflected)
    negative = x.equals(-np.inf).where(np.nan, reflected)
    return x.equals(0).where(-inverse, (x < 0).where(negative, positive))


# ---- by raising the argument until Stirling's series holds, always by as much: nothing has to be selected ---------------


def _counting(series: Sequence[float], precision: float) -> tuple[int, list[float]]:
    """By how much the argument is raised, and the coefficients of powers of 1/x^2 that count there."""
    steps = int(LARGE) if precision < 1e-12 else 6
    return steps, [c for k, c in enumerate(series) if abs(c) > precision / 10 * steps ** (2 * k)]


def trigamma(x: Real, precision: float, order: int) -> Real:
    """The derivative of the digamma function; below 0 by reflection (DLMF 5.15.6, 5.15.5, 5.15.8)."""
    left = x < 0
    start = left.where(1 - x, x)
    steps, tail = _counting(_TRIGAMMA_TAIL, precision)
    total = 1 / (start * start)
    for k in range(1, steps):
        total = total + 1 / ((start + k) * (start + k))
    inverse = 1 / (start + steps)
    square = inverse * inverse
    total = total + inverse + square * (0.5 + inverse * square.polynomial(tail))
    _, sine, cosine, near = half_turns(x)
    sine = near.where(sine, cosine)
    return left.where(math.pi**2 / (sine * sine) - total, total)


def _rise(x: Real, d: Real, z: Real, precision: float) -> Real:
    """digamma(z) - digamma(x) for z = x + d, both at least 0, without a difference of what is close."""
    steps, tail = _counting(_TAIL, precision)
    total = d / z / x
    for k in range(1, steps):
        total = total + d / ((x + k) * (z + k))
    u, v = 1 / (x + steps), 1 / (z + steps)
    p, q = u * u, v * v
    value, quotient = u.like(tail[-1]), u.like(0)  # of the tail at p, and of its difference to that at q by p - q
    for coefficient in tail[-2::-1]:
        value, quotient = value * p + coefficient, quotient * q + value
    quotient = quotient * q + value
    return total + log_one_plus(d * u) + d * u * v * (0.5 + (u + v) * quotient)


def digamma_difference(x: Real, d: Real, precision: float, order: int) -> Real:
    """digamma(x + d) - digamma(x), with all digits where d is small beside x, too."""
    end = x + d
    known = end.finite() & x.finite()
    endless = x.equals(np.inf).where(d - d, d.equals(np.inf).where(d, np.nan))
    x, end, d = known.where(x, 1), known.where(end, 2), known.where(d, 1)
    left, over = x < 0, end < 0
    start, stop = left.where(1 - x, x), over.where(1 - end, end)
    value = _rise(start, (left & over).where(-d, (left | over).where(stop - start, d)), stop, precision)
    # where both are poles, what is taken from the other side is the same; elsewhere a pole gives NaN
    poles = left & over & x.equals(x.floor()) & end.equals(end.floor())
    for side, y, sign in ((left & ~poles, x, math.pi), (over & ~poles, end, -math.pi)):
        value = value + side.where(sign * _cotangent(side.where(y, 0.5)), 0)
    return known.where(value, endless)
