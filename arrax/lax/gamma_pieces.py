"""Pieces of the incomplete gamma and beta functions, as formulas in double precision."""

from __future__ import annotations

import math

from arrax.lax.double_formulas import Real

LARGE = 10.0  # from here on Stirling's series has the digits of float64
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)  # DLMF 5.11.1

# fmt: off
# (1 / Gamma(1 + t) - 1) / (t (1 - t)) on 0 to 1, a Chebyshev series; so the reciprocal is exactly 1 at both ends
RECIPROCAL_GAMMA = (
    0.5068046290049328, -0.07849035310247823, -0.006758866874325832, 0.0012790434869623469, -4.629398386427396e-05,
    -4.338168174474035e-06, 5.326872422618005e-07, -1.7223345741053894e-08, -8.300542107118266e-10,
    1.0553994239967962e-10, -3.941584285103896e-12, -3.62068537325898e-14, 1.0744022855686715e-14, -5.000413375615106e-16,
    6.2452432035581305e-18, 5.185499052483791e-19,
)

# (1 + 2x) erfcx(x) in (x - 3.75) / (x + 3.75), a Chebyshev series
ERFCX = (
    1.1775789345674017, -0.004590054580646478, -0.08424913336651792, 0.05920993999819189, -0.026658668435305753,
    0.009074997670705265, -0.002413163540417608, 0.0004907758365258086, -6.916973302501206e-05, 4.13902798607301e-06,
    7.740383066198402e-07, -2.1886401049235919e-07, 1.0764999465653418e-08, 4.521959811203251e-09,
    -7.754400208916917e-10, -6.318088340868954e-11, 2.868795011810751e-11, 1.9455870045058792e-13,
    -9.654696577406747e-13, 3.252549607356751e-14, 3.34781276564948e-14, -1.864563270414633e-15,
    -1.2508038228200537e-15, 7.41676482293051e-17, 5.0664877294714545e-17, -2.251069315407191e-18,
    -2.1949947521627763e-18,
)
# fmt: on


def stirling(a: Real) -> Real:
    """log Gamma(a + 1) minus its leading part, a log a - a + log(2 pi a) / 2, for large a."""
    inverse = 1 / a
    return (inverse * inverse).polynomial(_STIRLING) * inverse


def reciprocal_factorial(a: Real, most: int = 10) -> Real:
    """1 / Gamma(a + 1) for a from 0 to ``most``: a polynomial, over the numbers by which the recurrence comes down to it."""
    rest = a - a.floor()
    product = a.maximum(1)
    for k in range(1, most - 1):
        product = product * (a - k).maximum(1)
    return (1 + rest * (1 - rest) * rest.chebyshev(0, 1, RECIPROCAL_GAMMA)) / product


def rounding_of_sum(a: Real, b: Real, total: Real) -> Real:
    """What a + b has more than its float ``total`` (Knuth)."""
    other = total - a
    return (a - (total - other)) + (b - other)


def scaled_complement(x: Real) -> Real:
    """exp(x^2) erfc(x) for x from 0 on. Shepherd and Laframboise (1981)."""
    far = x > 1e8
    sound = far.where(1, x)
    near = ((sound - 3.75) / (sound + 3.75)).chebyshev(-1, 1, ERFCX) / (1 + 2 * sound)
    return far.where(1 / math.sqrt(math.pi) / far.where(x, 1), near)


def _excess_near_0(x: Real) -> Real:
    """(x - log(1 + x)) / x^2 for |x| < 0.3: with s = x / (2 + x), log(1 + x) is 2 (s + s^3/3 + s^5/5 + …)."""
    inverse = 1 / (2 + x)
    s = x * inverse
    tail = (s * s).polynomial([1 / odd for odd in range(3, 25, 2)])
    return inverse * (1 - 2 * (s * inverse) * tail)


def excess(x: Real) -> Real:
    """(x - log(1 + x)) / x^2, smooth at 0."""
    near = abs(x) < 0.3
    far = near.where(1, x)
    return near.where(_excess_near_0(near.where(x, 0)), (far - (1 + far).log()) / (far * far))


def log_one_plus(x: Real) -> Real:
    """log(1 + x), with all digits below 0, too: the compiler's own loses two for x around -0.4."""
    near = abs(x) < 0.3
    small = near.where(x, 0)
    return near.where(small - small * small * _excess_near_0(small), (1 + near.where(1, x)).log())
