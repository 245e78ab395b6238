"""The logarithm of the gamma function and its derivative, the digamma function, as formulas in double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence

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

# digamma(x) / (x - root) on 1 to 2
_DIGAMMA = (
    0.983570260441567, -0.2270640863346444, 0.03336889902393011, -0.005320077271596548, 0.0008788656937820505,
    -0.00014773492650606044, 2.5060543468359146e-05, -4.2721034029993324e-06, 7.302769272465923e-07,
    -1.2502886813559594e-07, 2.1425009322359472e-08, -3.673295918565179e-09, 6.299717236108931e-10,
    -1.080593028883266e-10, 1.853735192053638e-11, -3.18023536582553e-12, 5.456147570322795e-13, -9.360993131036438e-14,
    1.606064636295075e-14, -2.7555431377438815e-15, 4.727736178601912e-16, -8.11148420346509e-17, 1.391707769474154e-17,
    -2.3877901082188625e-18, 4.096797187161558e-19,
)

# Of log x - 1/(2x) - digamma(x) in 1/x^2, from 1/x^2 on (DLMF 5.11.2).
_DIGAMMA_TAIL = (0.0, 1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
# fmt: on
_DIGAMMA_ROOT = 1.4616321449683622  # the nearest float
_DIGAMMA_AT_ROOT = -9.241265521729427e-17
_STEPS = int(LARGE) - 2
# Of sin(pi u) / u and cos(pi u) in u^2
_SINE = [(-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(10)]
_COSINE = [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(10)]


def _kept(series: Sequence[float], precision: float) -> list[float]:
    """The coefficients of a Chebyshev series that count."""
    return [coefficient for coefficient in series if abs(coefficient) > precision / 1000]


def _half_turns(x: Real) -> tuple[Real, Real, Real, Flags]:
    """r in [-1/2, 1/2], by which x is more than a whole number; sine and cosine of pi u, and whether u is |r|, else 1/2 - |r|."""
    r = x - (x + 0.5).floor()
    near = abs(r) <= 0.25
    u = near.where(abs(r), 0.5 - abs(r))
    square = u * u
    return r, u * square.polynomial(_SINE), square.polynomial(_COSINE), near


def _down(x: Real) -> tuple[Real, Real]:
    """x in [2, 10) less the whole number that leaves it in [2, 3), and that number."""
    steps = (x.floor() - 2).maximum(0).minimum(_STEPS)
    return x - steps, steps


def _log_gamma_of_positive(x: Real, precision: float) -> Real:
    """Its zeros 1 and 2 are factors, so that the relative error stays small beside them."""
    small = x < 0.5
    base = small.where(x, x - 1)
    series = base.maximum(-0.5).minimum(0.5).chebyshev(-0.5, 0.5, _kept(_LOG_GAMMA_AROUND_1, precision))
    around_one = base * series - small.where(x, 1).log()
    inner = x.maximum(1.5).minimum(LARGE)
    reduced, steps = _down(inner)
    product = x.like(1)
    for k in range(1, _STEPS + 1):
        product = product * (steps >= k).where(inner - k, 1)
    series = reduced.maximum(1.5).minimum(3).chebyshev(1.5, 3, _kept(_LOG_GAMMA_AROUND_2, precision))
    middle = (reduced - 2) * series + product.log()
    large = x.maximum(LARGE)
    far = (large - 0.5) * (large.log() - 1) + (0.5 * math.log(2 * math.pi) - 0.5) + stirling(large)
    far = x.equals(np.inf).where(np.inf, far)
    return (x < 1.5).where(around_one, (x < LARGE).where(middle, far))


def log_gamma(x: Real, precision: float, order: int) -> Real:
    """log |Gamma(x)|; below 0 by reflection (DLMF 5.5.3)."""
    size = abs(x)
    _, sine, cosine, near = _half_turns(size)
    product = size * near.where(sine, cosine)
    pole = product.equals(0) | size.equals(np.inf)
    positive = _log_gamma_of_positive(size, precision)
    reflected = pole.where(np.inf, math.log(math.pi) - pole.where(1, product).log() - positive)
    reflected = (size < 1e-100).where(positive, reflected)  # whose square is no number
    return (x < 0).where(reflected, x.equals(0).where(np.inf, positive))


def _digamma_of_positive(x: Real, precision: float) -> Real:
    """By the polynomial over its root between 1 and 2, the recurrence (DLMF 5.5.2), and Stirling's series for large x."""
    below = x < 1
    near = below.where(x + 1, x.minimum(LARGE))
    reduced, steps = _down(near)
    low = near < 2
    start, count = low.where(near, reduced - 1), low.where(0, steps + 1)
    total = below.where(-1 / below.where(x, 1), 0)
    for k in range(1, _STEPS + 2):
        taken = count >= k
        total = total + taken.where(1 / taken.where(near - k, 1), 0)
    series = start.maximum(1).minimum(2).chebyshev(1, 2, _kept(_DIGAMMA, precision))
    small = total + ((start - _DIGAMMA_ROOT) * series + _DIGAMMA_AT_ROOT)
    large = x.maximum(LARGE)
    inverse = 1 / (large * large)
    far = large.log() - 0.5 / large - inverse.polynomial(_DIGAMMA_TAIL)
    return (x < LARGE).where(small, x.equals(np.inf).where(np.inf, far))


def digamma(x: Real, precision: float, order: int) -> Real:
    """The digamma function; below 0 by reflection (DLMF 5.5.4)."""
    size = abs(x)
    r, sine, cosine, near = _half_turns(x)
    whole = r.equals(0)
    cotangent = near.where(cosine / whole.where(1, sine), sine / cosine)
    cotangent = whole.where(np.nan, (r < 0).where(-cotangent, cotangent))
    inverse = 1 / x
    positive = _digamma_of_positive(size, precision)
    reflected = positive - inverse - math.pi * cotangent
    reflected = (size < 1e-16).where(-inverse - np.euler_gamma, reflected)
    negative = x.equals(-np.inf).where(np.nan, reflected)
    return x.equals(0).where(-inverse, (x < 0).where(negative, positive))
