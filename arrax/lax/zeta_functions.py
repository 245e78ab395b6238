"""The zeta function of Hurwitz and the polygamma functions, as formulas in double precision."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from arrax.lax.double_formulas import Flags, Real, where_any
from arrax.lax.gamma_pieces import LARGE, reciprocal_factorial, stirling

# B_2j / (2j)!, of the formula of Euler and Maclaurin
_BERNOULLI = [
    Fraction(1, 6), Fraction(-1, 30), Fraction(1, 42), Fraction(-1, 30), Fraction(5, 66), Fraction(-691, 2730), Fraction(7, 6),
    Fraction(-3617, 510), Fraction(43867, 798), Fraction(-174611, 330), Fraction(854513, 138),
]  # fmt: skip
_CORRECTIONS = [float(b / math.factorial(2 * j)) for j, b in enumerate(_BERNOULLI, 1)]


def _right(s: Real, q: Real, precision: float) -> Real:
    """The sum of (q + k)^-s over k from 0 on, for s > 1 and q > 0 (DLMF 25.11.28)."""
    shift, most = (9, 11) if precision < 1e-13 else (4, 8)  # terms before the rest is expanded, and of the expansion
    w = q + shift
    inverse = 1 / w
    correction, factor = s.like(0), s * inverse
    for j, coefficient in enumerate(_CORRECTIONS[:most], 1):
        correction = correction + coefficient * factor
        factor = factor * ((s + (2 * j - 1)) * inverse) * ((s + 2 * j) * inverse)
    power = w.power(-s, precision)
    # For large s the sum in brackets may overflow, where the power is 0.
    tail = power.equals(0).where(0, power * (w / (s - 1) + 0.5 + correction))
    for k in range(shift - 1, -1, -1):
        tail = tail + (q + k).power(-s, precision)
    return tail


def _odd(s: Real) -> Flags:
    return ~s.equals(2 * (0.5 * s).floor())


def _left(s: Real, q: Real, precision: float) -> Real:
    """The same for whole s and negative q: with the distances f and g to the whole numbers below and above q, terms of q and of
    1 - q make up those of f and g."""
    f, g = q - q.floor(), -(-q).floor() - q
    sign = _odd(s).where(-1, s.like(1))
    both = _right(s, f, precision) + sign * _right(s, g, precision)
    return both - sign * _right(s, 1 - q, precision)


def hurwitz_zeta(s: Real, q: Real, precision: float, order: int) -> Real:
    """The zeta function of Hurwitz, and of negative q where s is whole; NaN outside of the domain."""
    proper = (s > 1) & s.finite()
    right = proper & (q > 0) & q.finite()
    left = proper & (q < 0) & q.finite() & s.equals(s.floor()) & ~q.equals(q.floor())
    value = _right(right.where(s, 2), right.where(q, 1), precision)

    if order:  # in s there is none for negative q; that in q goes another way
        none = (s * q).exp() * np.nan  # of which every derivative is NaN
        return right.where(value, ((q.equals(np.inf) & (s > 1)) | (s.equals(np.inf) & (q > 1))).where(0, none))
    value = where_any(left, lambda: _left(left.where(s, 2), left.where(q, -0.5), precision), value)
    pole = (s >= 1) & (q <= 0) & q.equals(q.floor())
    large = s.equals(np.inf) & (q > 0)
    outside = pole.where(np.inf, (q.equals(np.inf) & (s > 1)).where(0, s.like(np.nan)))
    limit = (q < 1).where(np.inf, (q > 1).where(0, s.like(1)))
    outside = s.equals(1).where(np.inf, large.where(limit, outside))
    return (right | left).where(value, outside)


def polygamma_of_orders(m: Real, x: Real, precision: float, order: int) -> Real:
    """Polygamma functions of the orders from 1 on: (-1)^(m+1) m! zeta(m + 1, x).

    The factorial is multiplied in two factors, since it may overflow where the product does not.
    """
    whole = (m >= 1) & m.equals(m.floor()) & m.finite()
    n = whole.where(m, 1)
    few = n < LARGE
    many = few.where(LARGE, n)
    root = many.power(0.5 * many, precision)
    first = few.where(
        1 / reciprocal_factorial(few.where(n, 1)), root * (stirling(many) - many).exp() * (2 * math.pi * many).sqrt()
    )
    value = first * hurwitz_zeta(n + 1, x, precision, order) * few.where(1, root)
    value = _odd(n).where(value, -value)
    return whole.where(value, x.like(np.nan))
