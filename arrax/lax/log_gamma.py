"""The logarithm of the gamma function, as a formula in double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arrax.lax.double_formulas import Flags, Real
from arrax.lax.gamma_pieces import LARGE, stirling

# fmt: off
# log Gamma(x) / (x - 1) on 1/2 to 3/2
_LOG_GAMMA_AROUND_1 = (
    -0.633011426275031, 0.4405675574678963, -0.057857409449912446, 0.010513973690267811, -0.002163989092091715,
    0.0004744402338724658, -0.00010799644528099427, 2.5201155299530276e-05, -5.986014498026819e-06,
    1.4410616180293054e-06, -3.5060690575761177e-07, 8.603823016763753e-08, -2.126510912478688e-08,
    5.287778091463614e-09, -1.3217135752166157e-09, 3.3186698554450495e-10, -8.365902567746219e-11,
    2.116338666160694e-11, -5.370507653794381e-12, 1.3666688100545857e-12, -3.486660039885161e-13,
    8.915622432767707e-14, -2.28454959350908e-14, 5.86514671522212e-15, -1.5084071183968602e-15, 3.885614648428306e-16,
    -1.0024188186640361e-16, 2.5896418565384152e-17, -6.69867474095857e-18, 1.7348373407131055e-18,
    -4.497954546916509e-19, 1.1674191440825725e-19,
)

# log Gamma(x) / (x - 2) on 3/2 to 3
_LOG_GAMMA_AROUND_2 = (
    0.48362763659842517, 0.22408351337696908, -0.016061611364725618, 0.0016796351005504537, -0.000206207082576848,
    2.7619482587698902e-05, -3.902432064395172e-06, 5.712600238782988e-07, -8.57232441585347e-08,
    1.3098706178370361e-08, -2.0291174319191596e-09, 3.177019404112652e-10, -5.0168902255267044e-11,
    7.977607508944761e-12, -1.2759320707466868e-12, 2.0507506001786822e-13, -3.309998326505828e-14,
    5.362087191185866e-15, -8.714427500704616e-16, 1.4203170417419452e-16, -2.3208252786405174e-17,
    3.801021892031957e-18, -6.238290254064288e-19, 1.0257883130864376e-19,
)

# fmt: on
STEPS = int(LARGE) - 2
# Of sin(pi u) / u and cos(pi u) in u^2
_SINE = [(-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(10)]
_COSINE = [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(10)]
# Of sin(pi r) / r in r^2 on 0 to 1/2, to 1e-13
_SINE_OF_HALF = (
    3.141592653589636, -5.167712779988138, 2.5501640359146416, -0.599264434062856, 0.08214479560514781,
    -0.007364008675462431, 0.0004474962396281106,
)  # fmt: skip


def kept(series: Sequence[float], precision: float) -> list[float]:
    """The coefficients of a Chebyshev series that count."""
    return [coefficient for coefficient in series if abs(coefficient) > precision / 1000]


def beyond_whole(x: Real) -> Real:
    """By how much a number is more than the nearest whole one, from -1/2 to 1/2."""
    return x - (x + 0.5).floor()


def sine_of_half_turns(r: Real) -> Real:
    """sin(pi r) for r from -1/2 to 1/2, in the digits of float32 with room to spare."""
    return r * (r * r).polynomial(_SINE_OF_HALF)


def half_turns(x: Real) -> tuple[Real, Real, Real, Flags]:
    """r in [-1/2, 1/2], by which x is more than a whole number; sine and cosine of pi u, and whether u is |r|, else 1/2 - |r|."""
    r = beyond_whole(x)
    near = abs(r) <= 0.25
    u = near.where(abs(r), 0.5 - abs(r))
    square = u * u
    return r, u * square.polynomial(_SINE), square.polynomial(_COSINE), near


def down(x: Real) -> tuple[Real, Real]:
    """x in [2, 10) less the whole number that leaves it in [2, 3), and that number."""
    steps = (x.floor() - 2).maximum(0).minimum(STEPS)
    return x - steps, steps


def _log_gamma_of_positive(x: Real, precision: float) -> Real:
    """Its zeros 1 and 2 are factors, so that the relative error stays small beside them; each part has the same logarithm."""
    small, around_one, middle = x < 0.5, x < 1.5, x < LARGE
    base = small.where(x, x - 1)
    series = base.maximum(-0.5).minimum(0.5).chebyshev(-0.5, 0.5, kept(_LOG_GAMMA_AROUND_1, precision))
    reduced, steps = down(x.maximum(1.5).minimum(LARGE))
    product = x.like(1)
    for k in range(1, STEPS + 1):
        product = product * (steps >= k).where(x - k, 1)
    large = x.maximum(LARGE)
    logarithm = around_one.where(small.where(x, 1), middle.where(product, large)).log()
    near_one = base * series - logarithm
    series = reduced.maximum(1.5).minimum(3).chebyshev(1.5, 3, kept(_LOG_GAMMA_AROUND_2, precision))
    far = (large - 0.5) * (logarithm - 1) + (0.5 * math.log(2 * math.pi) - 0.5) + stirling(large)
    far = x.equals(np.inf).where(np.inf, far)
    return around_one.where(near_one, middle.where((reduced - 2) * series + logarithm, far))


RAISE = 7  # from here on Stirling's series has the digits of float32 with room to spare


class Raised(NamedTuple):
    """Numbers from 0 on that are at least 7, or have been raised by 7.

    Attributes:
      low: which have been raised. value: the raised numbers.
      q: x (x + 6), and 1 for numbers that are high. middle: x + 3, of which ``q`` is the square less 9.
    """

    low: Flags
    value: Real
    q: Real
    middle: Real

    @property
    def product(self) -> Real:
        """x (x + 1) … (x + 6)."""
        return self.q * (self.q + 5) * (self.q + 8) * self.middle

    @property
    def leading(self) -> Real:
        """log Gamma of the raised numbers, but for Stirling's series."""
        return (self.value - 0.5) * self.value.log() - self.value + 0.5 * math.log(2 * math.pi)


def raised(x: Real) -> Raised:
    """Numbers from 0 on, raised where Stirling's series needs it."""
    low = x < RAISE
    start = low.where(x, 1)
    return Raised(low, low.where(x + RAISE, x), start * (start + 6), start + 3)


def _log_gamma_in_few_digits(x: Real) -> Real:
    """By raising the argument (DLMF 5.5.1) and Stirling's series: a third of the operations, and less than 1e-15 of error."""
    size = abs(x)
    sine = abs(sine_of_half_turns(beyond_whole(size)))
    above = raised(size)
    series = above.leading + stirling(above.value)
    left, product = x < 0, above.low.where(above.product, 1)
    shift = left.where(product * (math.pi / (size * sine)), product).log()
    value = left.where(shift - series, series - shift)
    value = size.equals(np.inf).where(np.inf, value)
    return (x.equals(1) | x.equals(2)).where(0, value)


def log_gamma(x: Real, precision: float, order: int) -> Real:
    """log |Gamma(x)|; below 0 by reflection (DLMF 5.5.3)."""
    if precision > 1e-13 and not order:
        return _log_gamma_in_few_digits(x)
    size = abs(x)
    _, sine, cosine, near = half_turns(size)
    product = size * near.where(sine, cosine)
    pole = product.equals(0) | size.equals(np.inf)
    positive = _log_gamma_of_positive(size, precision)
    reflected = pole.where(np.inf, math.log(math.pi) - pole.where(1, product).log() - positive)
    reflected = (size < 1e-100).where(positive, reflected)  # whose square is not a number
    return (x < 0).where(reflected, x.equals(0).where(np.inf, positive))
