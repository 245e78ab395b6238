"""Quotients of gamma functions: the beta function, rising factorials, binomial coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from arrax import numpy as jnp
from arrax.lax import digamma_formulas
from arrax.lax.barriers import stop_gradient
from arrax.lax.double_formulas import TWO_PI, Real
from arrax.lax.gamma_pieces import LARGE, excess, log_one_plus, reciprocal_factorial, rounding_of_sum, stirling
from arrax.lax.log_gamma import RAISE, raised
from arrax.numpy_api.operands import check_arraylike, strong_inexact
from arrax.scipy.special.definition import analytic, elementwise, sin_pi, where_any
from arrax.scipy.special.gamma_functions import gamma_function, is_pole, sign_of_gamma, whole_where
from arrax.xla.arrays import Array, ArrayLike

# ---- the beta function ------------------------------------------------------------------------------------------------


class _Beta(NamedTuple):
    value: Real
    log: Real


def _positive_beta(a: Real, b: Real, precision: float) -> _Beta:
    """B(a, b) of positive numbers and its logarithm: by gamma functions up to 10, by Stirling's series of the larger ones."""
    small, big = a.minimum(b), a.maximum(b)
    few, many = big < LARGE, small >= LARGE
    p, q = few.where(small, 1), few.where(big, 1)
    total = p + q
    lesser = many.where(1, small)
    gamma = 1 / (lesser * reciprocal_factorial(lesser))
    # Gamma(big) / Gamma(small + big) is power^small e^exponent
    low, high = few.where(1, small), few.where(LARGE, big)
    ratio = low / high
    exponent = low * ratio * excess(ratio) - (low - 0.5) * log_one_plus(ratio) + (stirling(high) - stirling(low + high))
    # where both are large, Gamma(small) is taken with it
    large = many.where(low, LARGE)
    exponent = many.where(stirling(large) + exponent - low, exponent)
    power = many.where(ratio, 1 / high)
    logarithm = few.where(total + 0.5, power).log()  # one for both: they cost most to compile
    close = 1 + rounding_of_sum(p, q, total) * logarithm
    direct = gamma * total * reciprocal_factorial(total, 20) / (q * reciprocal_factorial(q) * close)
    gamma = few.where(direct, many.where((TWO_PI / large).sqrt(), gamma))
    value = power.power(low, precision) * exponent.exp() * gamma
    log = few.where(0, exponent + low * logarithm) + gamma.log()
    return _Beta(few.where(direct, value), log)


def _positive_log_beta(a: Real, b: Real, precision: float, order: int) -> Real:
    if precision < 1e-13 or order:
        return _positive_beta(a, b, precision).log
    small, big = a.minimum(b), a.maximum(b)
    first, second, both = raised(small), raised(big), raised(small + big)
    # Stirling's formula for the smaller one, and the difference of those for the larger one and the sum
    rise = (second.low & ~both.low).where(small - RAISE, small)
    log = first.leading - (second.value - 0.5) * log_one_plus(rise / second.value) - rise * (both.value.log() - 1)
    log = log + (stirling(first.value) + stirling(second.value) - stirling(both.value))
    products = [each.low.where(each.product, 1) for each in (both, first, second)]
    log = log + (products[0] / (products[1] * products[2])).log()
    return (small.equals(1) & big.equals(1)).where(0, log)


class _Reflected(NamedTuple):
    """B(a, b) = factor() B(first, second)^(1 or -1) with positive operands, by Gamma(z) Gamma(1 - z) = pi / sin(pi z).

    The factor is 1 but for some of the negative ones.
    """

    first: Array
    second: Array
    negative: Array
    factor: Callable[[], Array]
    inverse: Array


def _reflected(a: Array, b: Array) -> _Reflected:
    ordered = a < b
    low, high = jnp.where(ordered, a, b), jnp.where(ordered, b, a)
    total = low + high
    one, both, short = low < 0, high < 0, total < 0
    inverse = (one & ~short) | both
    first = jnp.where(inverse, 1 - low, jnp.where(one, high, low))
    second = jnp.where(both, 1 - high, jnp.where(inverse, total, jnp.where(one, 1 - total, high)))

    def factor() -> Array:
        sines = [jnp.where(use, sin_pi(x), 1.0) for use, x in ((one, low), (both, high), (short, total))]
        quotient = sines[2] / (sines[0] * sines[1])
        return quotient * jnp.where(inverse, math.pi / jnp.where(both, 1 - total, high), 1.0)

    return _Reflected(first, second, one, factor, inverse)


class _Poles(NamedTuple):
    """What is known of B(a, b) where a or b is 0 or a negative integer, and operands that do no harm there.

    It is finite where the other one is a positive integer and the sum is a pole, too: (-1)^b B(1 - a - b, b) for the pole a.
    """

    a: Any
    b: Any
    infinite: Any
    sign: Any


def _at_poles(a: Array, b: Array) -> _Poles:
    some = is_pole(a) | is_pole(b)
    swap = is_pole(b)
    pole, other = jnp.where(swap, b, a), jnp.where(swap, a, b)
    finite = some & (other == jnp.floor(other)) & (other > 0) & (1 - pole - other > 0)
    first = jnp.where(finite, 1 - pole - other, jnp.where(some, 1.0, a))
    second = jnp.where(finite, other, jnp.where(some, 1.0, b))
    return _Poles(first, second, some & ~finite, jnp.where(finite & (second % 2 == 1), -1.0, 1.0))


@analytic(None, None)
def _digamma_difference(x: Array, d: Array, precision: float, order: int) -> Array:
    """digamma(x + d) - digamma(x) of floating numbers of one dtype."""
    return digamma_formulas.digamma_difference(Real(x), Real(d), precision, order).value


@analytic(lambda ans, a, b: -_digamma_difference(a, b), lambda ans, a, b: -_digamma_difference(b, a))
def log_beta(a: Array, b: Array, precision: float, order: int) -> Array:
    """log |B(a, b)| of floating numbers of one dtype."""
    known = _at_poles(a, b)
    parts = _reflected(known.a, known.b)
    log = _positive_log_beta(Real(parts.first), Real(parts.second), precision, order).value
    value = jnp.where(parts.inverse, -log, log)
    value = where_any(parts.negative, lambda: value + jnp.log(jnp.abs(parts.factor())), value)
    value = jnp.where(_is_nothing(a, b), -np.inf, value)
    value = jnp.where((jnp.maximum(a, b) == np.inf) & (jnp.minimum(a, b) < 0), np.inf, value)
    return jnp.where(known.infinite, jnp.where(jnp.isnan(a + b), np.nan, np.inf), value)


@analytic(lambda ans, a, b: -_digamma_difference(a, b), lambda ans, a, b: -_digamma_difference(b, a))
def log_beta_of_positive(a: Array, b: Array, precision: float, order: int) -> Array:
    """log B(a, b) of positive numbers, without the reflections that others need; of others it is not determined."""
    log = _positive_log_beta(Real(a), Real(b), precision, order).value
    return jnp.where(jnp.maximum(a, b) == np.inf, -np.inf, log)


def _is_nothing(a: Array, b: Array) -> Array:
    """Whether B(a, b) is 0 as one of the two is infinite."""
    return (jnp.maximum(a, b) == np.inf) & (jnp.minimum(a, b) > 0)


@analytic(lambda ans, a, b: -ans * _digamma_difference(a, b), lambda ans, a, b: -ans * _digamma_difference(b, a))
def beta_function(a: Array, b: Array, precision: float, order: int) -> Array:
    """B(a, b) of floating numbers of one dtype."""
    known = _at_poles(a, b)
    parts = _reflected(known.a, known.b)
    value = _positive_beta(Real(parts.first), Real(parts.second), precision).value.value
    value = jnp.where(parts.inverse, 1 / value, value)
    value = known.sign * where_any(parts.negative, lambda: parts.factor() * value, value)
    value = jnp.where(_is_nothing(a, b), 0.0, value)
    least = jnp.where(a < b, a, b)
    value = jnp.where((jnp.maximum(a, b) == np.inf) & (least < 0), sign_of_gamma(least) * np.inf, value)
    return jnp.where(known.infinite, jnp.where(jnp.isnan(a + b), np.nan, np.inf), value)


@elementwise()
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """The logarithm of the magnitude of the beta function.

    Args:
      a, b: real arrays or numbers.
    Example: ``special.betaln(2., 3.)`` is -2.4849. Source: ``scipy.special.betaln``; DLMF 5.12.1, 5.5.3.
    """
    return log_beta(a, b)


@elementwise(promote=strong_inexact)
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function, Gamma(a) Gamma(b) / Gamma(a + b).

    Args:
      a, b: real arrays or numbers.
    Example: ``special.beta(2., 3.)`` is 1/12. Source: ``scipy.special.beta``; DLMF 5.12.1, 5.5.3.
    """
    return beta_function(a, b)


# ---- rising factorials ------------------------------------------------------------------------------------------------


def _positive_rising(z: Real, m: Real, precision: float) -> Real:
    """Gamma(z + m) / Gamma(z) where both are positive: the parts below 10 by gamma functions, above by Stirling's series."""
    total = z + m
    lost = rounding_of_sum(z, m, total)
    start, end = z.maximum(LARGE), total.maximum(LARGE)
    inside = (z >= LARGE) & (total >= LARGE)
    steps = inside.where(m, end - start)
    ratio = steps / start
    log = log_one_plus(ratio)
    exponent = start * ((1 + ratio) * log - ratio) - 0.5 * log + (stirling(end) - stirling(start))
    value = start.power(steps, precision) * exponent.exp()
    below, above = z.minimum(LARGE), total.minimum(LARGE)
    value = value * (below * reciprocal_factorial(below, 11)) / (above * reciprocal_factorial(above, 11))
    return value * inside.where(1, 1 + lost * (total + 0.5).log())


@analytic(None, None)
def _rising(z: Array, m: Array, precision: float, order: int) -> Array:
    total = z + m
    both = is_pole(z) & is_pole(total)  # (-1)^m Gamma(1 - z) / Gamma(1 - z - m)
    left, right = (z < 0) | is_pole(z), (total < 0) | both
    sines = [jnp.where(use & ~both, sin_pi(x), 1.0) for use, x in ((left, z), (right, total))]
    # reflected on both sides, the quotient is one of positive numbers; on one side, it is a product of gamma functions
    apart = ((left != right) | is_pole(z) | is_pole(total)) & ~both
    start = jnp.where(apart, 1.0, jnp.where(left, 1 - total, z))
    value = _positive_rising(Real(start), Real(jnp.where(apart, 1.0, m)), precision).value
    value = value * sines[0] / sines[1]
    value = jnp.where(both & (jnp.abs(m) % 2 == 1), -value, value)

    def crossed() -> Array:
        pairs = jnp.stack([jnp.where(left, 1 - z, 1 - total), jnp.where(left, total, z)])
        product = jnp.prod(gamma_function(jnp.where(apart, pairs, 1.0)), 0)
        return jnp.where(left, product * sines[0] / math.pi, math.pi / (sines[1] * product))

    value = where_any(apart, crossed, value)
    value = jnp.where(is_pole(z) & ~both & jnp.isnan(value), 0.0, value)
    value = jnp.where(is_pole(total) & ~is_pole(z), np.inf, value)
    endless = jnp.where(m > 0, sign_of_gamma(z) * np.inf, np.nan)
    value = jnp.where(jnp.isinf(m) & ~is_pole(z), endless, value)
    value = jnp.where((z == np.inf) & jnp.isfinite(m), jnp.where(m > 0, np.inf, 0.0), value)
    whole = jnp.where((m == 0) & jnp.isfinite(value), 1 - value, 0)  # without its slope
    value = jnp.where((m == 0) & ~jnp.isfinite(value), 1.0, value + stop_gradient(whole))
    return jnp.where(jnp.isnan(z + m) & (m != 0), np.nan, value)


@elementwise(promote=strong_inexact)
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """The rising factorial, Gamma(z + m) / Gamma(z).

    Args:
      z, m: real arrays or numbers.
    Example: ``special.poch(2., 3.)`` is 24. Source: ``scipy.special.poch``; DLMF 5.2.4, 5.5.3.
    """
    return _rising(z, m)


# ---- binomial coefficients ----------------------------------------------------------------------------------------------


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """How many ways there are to take k of N things.

    Args:
      N, k: real arrays or numbers.
      repetition: whether a thing may be taken more than once.
    Returns: floating array; 0 where k > N or one is negative. Integers give integers, as far as the dtype holds them.
    Example: ``special.comb(5, 2)`` is 10. Source: ``scipy.special.comb``.
    """
    check_arraylike("comb", N, k)
    return _comb_repeated(N, k) if repetition else _comb(N, k)


@analytic(None, None)
def _choices(n: Array, k: Array, precision: float, order: int) -> Array:
    unknown, valid = jnp.isnan(n + k), (k <= n) & (n >= 0) & (k >= 0)
    n, k = jnp.where(valid, n, 1), jnp.where(valid, k, 0)
    beta_value = _positive_beta(Real(1 + n - k), Real(1 + k), precision).value.value
    value = 1 / ((n + 1) * beta_value)
    value = jnp.where(valid, whole_where((n == jnp.floor(n)) & (k == jnp.floor(k)), value), 0)
    return jnp.where(unknown, np.nan, value)


@elementwise()
def _comb(N: Array, k: Array) -> Array:
    return _choices(N, k)


@elementwise()
def _comb_repeated(N: Array, k: Array) -> Array:
    return jnp.where((k == 0) & (N >= 0), 1, jnp.where((N < 0) | (k < 0), 0, _choices(N + k - 1, k)))
