"""Hypergeometric functions of real arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.lax.expansions import iterate
from arrax.numpy_api.operands import strong_inexact
from arrax.scipy.special.definition import analytic, elementwise, where_any
from arrax.scipy.special.double_double import Pair, add, choose, divide, exact_sum, exactly, multiply
from arrax.scipy.special.gamma_functions import (
    digamma_function,
    gamma_function,
    is_pole,
    log_gamma,
    sign_of_gamma,
)
from arrax.xla.arrays import Array, ArrayLike

# ---- 1F1 ------------------------------------------------------------------------------------------------------------


class _Effort(NamedTuple):
    """The relative error that is of no account, and how often the function will be differentiated."""

    precision: float
    order: int


def _series(numerators: list[Pair], b: Pair, x: Pair, active: Array, effort: _Effort, first: Array) -> Array:
    """The hypergeometric series with one denominator, until the sum changes no more, from the term ``first`` on.

    Where large terms cancel it is summed again with twice the digits, but not for derivatives.
    """

    def step(number: Array, term: Array, largest: Array, total: Array) -> list[Any]:
        term = term * x.high / number / (b.high + (number - 1))
        for a in numerators:
            term = term * (a.high + (number - 1))
        return [term, jnp.maximum(largest, jnp.abs(term)), total + term]

    one = jnp.ones_like(x.high)
    _, largest, total = iterate([one, one, one], step, active, effort.precision / 4, effort.order, first)
    if effort.order:
        return total
    lost = active & (largest * _EPSILON > 4 * effort.precision * jnp.abs(total)) & jnp.isfinite(largest)
    return where_any(lost, lambda: _series_of_pairs(numerators, b, x, lost, effort, first), total)


_EPSILON = float(np.finfo(np.float64).eps)


def _series_of_pairs(numerators: list[Pair], b: Pair, x: Pair, active: Array, effort: _Effort, first: Array) -> Array:
    def step(number: Array, term: Array, term_low: Array, total_low: Array, total: Array) -> list[Any]:
        before = exactly(number - 1)
        divisor = multiply(add(b, before), exactly(number * jnp.ones_like(total)))
        factor = divide(x, divisor)
        for a in numerators:
            factor = multiply(factor, add(a, before))
        term_pair = multiply(Pair(term, term_low), factor)
        total_pair = add(Pair(total, total_low), term_pair)
        return [*term_pair, total_pair.low, total_pair.high]

    one, zero = jnp.ones_like(x.high), jnp.zeros_like(x.high)
    return iterate([one, zero, zero, one], step, active, effort.precision / 4, 0, first)[-1]


def _asymptotic(a: Array, b: Array, x: Array, active: Array, effort: _Effort) -> Array:
    """DLMF 13.7.1 without its factor, for large positive x: the sum of (b - a)_n (1 - a)_n / (n! x^n), to its least term."""

    def step(number: Array, term: Array, total: Array) -> list[Any]:
        factor = (b - a + (number - 1)) * (number - a) / (number * x)
        term = jnp.where(jnp.abs(factor) < 1, term * factor, 0)
        return [term, total + term]

    one = jnp.ones_like(x)
    return iterate([one, one], step, active, effort.precision / 4, effort.order)[-1]


_LARGEST_LOGARITHM = 700.0  # whose exponential is finite


def _gamma_quotient_at_pole(top: Array, bottom: Array) -> Array:
    """Gamma(top) / Gamma(bottom) at poles of the lower one, where it is 0, with its slopes.

    1 / Gamma(z) is Gamma(1 - z) sin(pi z) / pi (DLMF 5.5.3).
    """
    distance = bottom - jnp.round(bottom)
    sine = jnp.where(bottom % 2 == 1, -distance, distance) * (1 - jnp.square(np.pi * distance) / 6)
    logarithm = log_gamma(top) + log_gamma(jnp.where(bottom > 0, 1.0, 1 - bottom))
    return sign_of_gamma(top) * jnp.exp(jnp.minimum(logarithm, _LARGEST_LOGARITHM)) * sine


def _gamma_quotient(top: Array, bottom: Array, order: int = 0) -> Array:
    """Gamma(top) / Gamma(bottom), 0 where only the lower one has a pole; to be differentiated ``order`` times."""
    pole = is_pole(bottom)
    safe = jnp.where(pole, 1.0, bottom)
    sign = sign_of_gamma(top) * sign_of_gamma(safe)
    moderate = (jnp.abs(top) < 20) & (jnp.abs(safe) < 20)
    direct = gamma_function(jnp.where(moderate, top, 1.0)) / gamma_function(jnp.where(moderate, safe, 1.0))
    value = jnp.where(moderate, direct, sign * jnp.exp(log_gamma(top) - log_gamma(safe)))
    return jnp.where(pole, _gamma_quotient_at_pole(top, bottom) if order else 0.0, value)


def _gamma_quotients(order: int, *pairs: tuple[Any, Any]) -> Array:
    """Several quotients at once, which takes as many equations as one."""
    tops, bottoms = (jnp.stack([pair[n] for pair in pairs]) for n in (0, 1))
    return _gamma_quotient(tops, bottoms, order)


def _kummer(a: Array, b: Array, x: Array, effort: _Effort) -> Array:
    """1F1 for x of any sign; negative ones by Kummer's transformation (DLMF 13.2.39)."""
    negative = x < 0
    numerator = choose(negative, exact_sum(b, -a), exactly(a))
    order, size = numerator.high, jnp.abs(x)
    ends = is_pole(order)  # a polynomial
    falls = size > 50 + 2 * jnp.abs((b - order) * (1 - order))  # from the first term on
    leads = size - (jnp.abs(b) + 2 * jnp.abs(order)) * jnp.log(jnp.maximum(size, 1)) > 40  # over the second solution
    large = ((falls & leads) | (size > 600)) & ~ends  # at about 700 the series would overflow
    finite = jnp.isfinite(x) & jnp.isfinite(a) & jnp.isfinite(b)
    low = jnp.where(large, 1.0, size)
    first = jnp.maximum(-order, 0) + (2 * low + 40 if effort.order else low)
    near = _series([numerator], exactly(b), exactly(low), finite & ~large, effort, first)
    scaled = jnp.where(negative, jnp.exp(jnp.where(negative, x, 0)), 1.0) * near

    def far() -> Array:
        power = jnp.where(large, size, 100.0)
        series = _asymptotic(order, b, power, finite & large, effort)
        half = jnp.where(negative, 1.0, jnp.exp(0.5 * power))  # exp(x) may be too large where its product is not
        quotient = _gamma_quotient(b, jnp.where(large, order, 1.0))
        return half * (half * (jnp.power(power, order - b) * quotient * series))

    return where_any(large, far, scaled)


@analytic(None, None, lambda ans, a, b, x: a / b * _hyp1f1(a + 1, b + 1, x))
def _hyp1f1(a: Array, b: Array, x: Array, precision: float, order: int) -> Array:
    out = _kummer(a, b, x, _Effort(precision, order))
    if not order:
        out = jnp.where(a == b, jnp.exp(x), out)
        out = jnp.where((a == 0) | (x == 0), 1.0, out)
    pole = is_pole(b) & ~(is_pole(a) & (a >= b))
    out = jnp.where(pole & (a != 0) & (x != 0), np.inf, out)
    return jnp.where(jnp.isfinite(a) & jnp.isfinite(b) & ~jnp.isnan(x), out, np.nan)


@elementwise(promote=strong_inexact, lists=True)
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The confluent hypergeometric function 1F1(a; b; x), the sum of (a)_n x^n / ((b)_n n!).

    Args:
      a, b, x: real arrays or numbers.
    Returns: array; infinite where b is 0 or a negative integer and the series does not end before.
    Example: ``special.hyp1f1(1., 1., 1.)`` is e. Source: ``scipy.special.hyp1f1``; DLMF 13.2.2, 13.2.39, 13.7.1.
    """
    return _hyp1f1(*jnp.broadcast_arrays(a, b, x))


# ---- 2F1 ------------------------------------------------------------------------------------------------------------


def _at_one(a: Array, b: Array, c: Array, order: int) -> Array:
    """Gauss's sum (DLMF 15.4.20), and infinity where it does not converge."""
    first, second = _gamma_quotients(order, (c, c - a), (c - a - b, c - b))
    value = first * second
    return jnp.where(c - a - b > 0, value, np.inf)


def _around_one(a: Array, b: Array, c: Array, y: Array, active: Array, effort: _Effort) -> Array:
    """The series in y = 1 - x (DLMF 15.8.4), where c - a - b is not an integer; NaN where a sum in x is better."""
    rest = c - a - b
    g = _gamma_quotients(effort.order, (c, c - a), (rest, c - b), (c, a), (-rest, b))
    first, second = g[0] * g[1], g[2] * g[3] * jnp.power(y, rest)
    lowest = jnp.zeros_like(y) + (80 if effort.order else 0)
    over = [exactly(jnp.stack(both)) for both in ((a, c - a), (b, c - b))]
    below, power = exactly(jnp.stack([1 - rest, 1 + rest])), exactly(jnp.stack([y, y]))
    series = _series(over, below, power, jnp.stack([active] * 2), effort, jnp.stack([lowest] * 2))
    return _unless_cancelled(first * series[0], -second * series[1], y)


def _unless_cancelled(first: Array, second: Array, y: Array) -> Array:
    """``first - second``, and NaN where digits cancel and x = 1 - y is far enough from 1 for the sum in powers of x."""
    value = first - second
    return jnp.where((jnp.abs(value) * 16 < jnp.abs(second)) & (y > 0.02), np.nan, value)


_LOGARITHMIC_TERMS = 80  # at 1 - x up to 1/4, for parameters of moderate size


def _around_one_by_logarithm(a: Array, b: Array, m: Array, y: Array) -> Array:
    """F(a, b; a + b + m; x) for whole m from 0 on, near x = 1 by y = 1 - x (DLMF 15.8.10, 15.8.12)."""
    log, one = jnp.log(y), jnp.ones_like(y)

    def step(n: Array, state: tuple[Array, ...]) -> tuple[Any, ...]:
        finite, low, high, psi, series = state
        k = n.astype(y.dtype)
        finite = finite + jnp.where(k < m, low, 0)
        below = jnp.where(k + 1 < m, (k + 1) * (1 - m + k), 1)
        low = low * (a + k) * (b + k) / below * y
        series = series + high * (log - psi)
        psi = psi + 1 / (k + 1) + 1 / (k + m + 1) - 1 / (a + m + k) - 1 / (b + m + k)
        high = high * (a + m + k) * (b + m + k) / ((k + 1) * (k + m + 1)) * y
        return finite, low, high, psi, series

    psis = digamma_function(jnp.stack([one, m + 1, a + m, b + m]))
    psi = psis[0] + psis[1] - psis[2] - psis[3]
    start = (0 * one, one, one, psi, 0 * one)
    finite, _, _, _, series = lax.fori_loop(0, _LOGARITHMIC_TERMS, step, start)
    whole = jnp.where(m > 0, m, 1.0)
    g = _gamma_quotients(0, (whole, b + m), (a + b + m, a + m), (a + b + m, a), (one, b), (one, m + 1))
    first = g[0] * g[1] * finite
    second = jnp.where(m % 2 == 1, -1.0, 1.0) * jnp.power(y, m) * g[2] * g[3] * g[4] * series
    return _unless_cancelled(jnp.where(m > 0, first, 0), second, y)


@analytic(None, None, None, lambda ans, a, b, c, x: a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x))
def _hyp2f1(a: Array, b: Array, c: Array, x: Array, precision: float, order: int) -> Array:
    effort = _Effort(precision, order)
    negative = x < 0
    # Pfaff's transformation (DLMF 15.8.1) takes the negative axis to [0, 1).
    swap = jnp.abs(b) < jnp.abs(a)
    a, b = jnp.where(swap, b, a), jnp.where(swap, a, b)
    swapped = choose(negative, exact_sum(c, -b), exactly(b))
    argument = choose(negative, divide(exactly(x), exact_sum(jnp.where(negative, x, 0), -1.0)), exactly(x))
    second, point = swapped.high, argument.high
    below = jnp.where(negative, 1 / jnp.where(negative, 1 - x, 1), 1 - x)  # 1 - point
    rest = c - a - second
    ends = is_pole(a) | is_pole(second)
    distance = jnp.abs(rest - jnp.round(rest))
    far = 0.9 if precision < 1e-13 else 0.75  # where all terms are positive
    high = (point > jnp.where((a > 0) & (second > 0), far, 0.75)) & (point < 1) & ~ends
    # The series in 1 - x loses digits where c - a - b is nearly whole: that in x is taken as far as is practical.
    close, whole = high & (distance > jnp.where(point < 0.95, 0.1, 1e-3)), high & (distance == 0) & (jnp.abs(rest) < 30)
    if order:  # the formula for whole numbers cannot be differentiated in them
        whole = jnp.zeros_like(whole)
    value = jnp.full_like(x, np.nan)
    value = where_any(close, lambda: _around_one(a, second, c, jnp.where(close, below, 0.2), close, effort), value)
    if not order:
        value = where_any(whole, lambda: _around_one_of_whole(a, second, c, below, whole), value)
    summed = ((jnp.abs(point) < 1) | (ends & jnp.isfinite(point))) & jnp.isnan(value)
    # Euler's transformation (DLMF 15.8.1) where it makes the series fall faster, or end.
    faster = (rest < 0) & ~ends & summed & (point > 0.5)
    first = choose(faster, exact_sum(c, -a), exactly(a))
    other = choose(faster, choose(negative, exactly(b), exact_sum(c, -b)), swapped)
    start = jnp.maximum(jnp.maximum(-first.high, -other.high), 0) * (jnp.abs(point) < 1) + (150 if order else 0)
    argument = choose(summed, argument, exactly(jnp.zeros_like(x)))
    direct = _series([first, other], exactly(c), argument, summed, effort, jnp.where(summed, start, 0.0))
    direct = direct * jnp.where(faster, jnp.power(jnp.where(faster, below, 1.0), rest), 1.0)
    value = jnp.where(jnp.isnan(value), direct, value)
    value = where_any((point == 1) & ~ends, lambda: _at_one(a, second, c, order), value)
    value = value * jnp.where(negative, jnp.power(jnp.where(negative, 1 - x, 1.0), -a), 1.0)
    value = jnp.where((point > 1) & ~ends, np.inf, value)
    pole = is_pole(c) & ~((is_pole(a) & (a >= c)) | (is_pole(b) & (b >= c)))
    value = jnp.where(pole, np.inf, value)
    if not order:
        value = jnp.where((x == 0) | (a == 0) | (b == 0), 1.0, value)
    return jnp.where(jnp.isfinite(a) & jnp.isfinite(b) & jnp.isfinite(c) & ~jnp.isnan(x), value, np.nan)


def _around_one_of_whole(a: Array, b: Array, c: Array, y: Array, whole: Array) -> Array:
    """The function near x = 1 where c - a - b is a whole number; a negative one by Euler's transformation."""
    rest = c - a - b
    up = rest < 0
    operands = jnp.where(up, c - a, a), jnp.where(up, c - b, b), jnp.abs(rest), y
    sound = [jnp.where(whole, v, safe) for v, safe in zip(operands, (1.0, 1.0, 1.0, 0.2), strict=True)]
    return _around_one_by_logarithm(*sound) * jnp.where(whole & up, jnp.power(sound[3], rest), 1.0)


@elementwise(promote=strong_inexact)
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """The hypergeometric function of Gauss, 2F1(a, b; c; x), the sum of (a)_n (b)_n x^n / ((c)_n n!).

    Args:
      a, b, c, x: real arrays or numbers.
    Returns: array; infinite above 1, unless the series ends, and where c is 0 or a negative integer.
    Example: ``special.hyp2f1(1., 1., 2., 0.5)`` is 2 log 2. Source: ``scipy.special.hyp2f1``; DLMF 15.2, 15.8.
    """
    return _hyp2f1(*jnp.broadcast_arrays(a, b, c, x))
