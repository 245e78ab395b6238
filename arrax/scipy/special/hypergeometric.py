"""Hypergeometric functions of real arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.lax.expansions import expand
from arrax.scipy.special.definition import elementwise, with_slopes
from arrax.scipy.special.gamma_functions import (
    digamma_function,
    gamma_function,
    is_pole,
    log_gamma,
    sign_of_gamma,
)
from arrax.xla.arrays import Array, ArrayLike

# ---- 1F1 ------------------------------------------------------------------------------------------------------------


def _series(numerators: list[Any], b: Any, x: Any, active: Any) -> Any:
    """The hypergeometric series with one denominator, until the sum changes no more."""

    def step(number: Any, order: Any, term: Any, total: Any) -> list[Any]:
        term = term * x / number / (b + (number - 1))
        for a in numerators:
            term = term * (a + (number - 1))
        return [term, total + term]

    one = jnp.ones_like(x)
    return expand(lambda order: [one, one], step, b, active).value


def _asymptotic(a: Any, b: Any, x: Any, active: Any) -> Any:
    """DLMF 13.7.1 without its factor, for large positive x: the sum of (b - a)_n (1 - a)_n / (n! x^n), to its least term."""

    def step(number: Any, order: Any, term: Any, total: Any) -> list[Any]:
        factor = (b - a + (number - 1)) * (number - a) / (number * x)
        term = jnp.where(jnp.abs(factor) < 1, term * factor, 0)
        return [term, total + term]

    one = jnp.ones_like(x)
    return expand(lambda order: [one, one], step, b, active).value


def _gamma_quotient(top: Any, bottom: Any) -> Any:
    """Gamma(top) / Gamma(bottom), 0 where only the lower one has a pole."""
    pole = is_pole(bottom)
    safe = jnp.where(pole, 1.0, bottom)
    sign = sign_of_gamma(top) * sign_of_gamma(safe)
    moderate = (jnp.abs(top) < 20) & (jnp.abs(safe) < 20)
    direct = gamma_function(jnp.where(moderate, top, 1.0)) / gamma_function(jnp.where(moderate, safe, 1.0))
    value = jnp.where(moderate, direct, sign * jnp.exp(log_gamma(top) - log_gamma(safe)))
    return jnp.where(pole, 0.0, value)


def _gamma_quotients(*pairs: tuple[Any, Any]) -> Any:
    """Several quotients at once, which takes as many equations as one."""
    return _gamma_quotient(*(jnp.stack([pair[n] for pair in pairs]) for n in (0, 1)))


def _kummer(a: Any, b: Any, x: Any) -> Any:
    """1F1 for x of any sign; negative ones by Kummer's transformation (DLMF 13.2.39)."""
    negative = x < 0
    order, size = jnp.where(negative, b - a, a), jnp.abs(x)
    ends = is_pole(order)  # a polynomial
    large = (size > 50 + jnp.abs(a) + jnp.abs(b) + a * a / 4) & ~ends
    finite = jnp.isfinite(x) & jnp.isfinite(a) & jnp.isfinite(b)
    near = _series([order], b, jnp.where(large, 1.0, size), finite & ~large)
    far = _asymptotic(order, b, jnp.where(large, size, 100.0), finite & large)
    power = jnp.where(large, size, 1.0)
    half = jnp.where(negative, 1.0, jnp.exp(0.5 * power))  # exp(x) may be too large where its product is not
    far = half * (half * (jnp.power(power, order - b) * _gamma_quotient(b, jnp.where(large, order, 1.0)) * far))
    scaled = jnp.where(negative, jnp.exp(jnp.where(negative, x, 0)), 1.0) * near
    return jnp.where(large, far, scaled)


def _hyp1f1_value(a: Any, b: Any, x: Any) -> Any:
    out = _kummer(a, b, x)
    out = jnp.where(a == b, jnp.exp(x), out)
    out = jnp.where((a == 0) | (x == 0), 1.0, out)
    pole = is_pole(b) & ~(is_pole(a) & (a >= b))
    out = jnp.where(pole & (a != 0) & (x != 0), np.inf, out)
    return jnp.where(jnp.isnan(a) | jnp.isnan(b) | jnp.isnan(x), np.nan, out)


def _slope_by_parameter(fun: Any, index: int) -> Any:
    """The derivative in a parameter by a central difference of fourth order, whose error is near the precision's 4/5 power."""

    def slope(ans: Any, *operands: Any) -> Any:
        p = operands[index]
        step = jnp.maximum(jnp.abs(p), 1) * (1e-3 if p.dtype == np.float64 else 2e-2)

        def at(factor: float) -> Any:
            return fun(*operands[:index], p + factor * step, *operands[index + 1 :])

        return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)

    return slope


_hyp1f1 = with_slopes(
    lambda ans, a, b, x: _slope_by_parameter(_hyp1f1, 0)(ans, a, b, x),
    lambda ans, a, b, x: _slope_by_parameter(_hyp1f1, 1)(ans, a, b, x),
    lambda ans, a, b, x: a / b * _hyp1f1(a + 1, b + 1, x),
)(_hyp1f1_value)


@elementwise()
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The confluent hypergeometric function 1F1(a; b; x), the sum of (a)_n x^n / ((b)_n n!).

    Args:
      a, b, x: real arrays or numbers.
    Returns: array; infinite where b is 0 or a negative integer and the series does not end before.
    Example: ``special.hyp1f1(1., 1., 1.)`` is e. Source: ``scipy.special.hyp1f1``; DLMF 13.2.2, 13.2.39, 13.7.1.
    """
    return _hyp1f1(*jnp.broadcast_arrays(a, b, x))


# ---- 2F1 ------------------------------------------------------------------------------------------------------------


def _at_one(a: Any, b: Any, c: Any) -> Any:
    """Gauss's sum (DLMF 15.4.20), and infinity where it does not converge."""
    first, second = _gamma_quotients((c, c - a), (c - a - b, c - b))
    value = first * second
    return jnp.where(c - a - b > 0, value, np.inf)


def _around_one(a: Any, b: Any, c: Any, x: Any, active: Any) -> Any:
    """The series in 1 - x (DLMF 15.8.4), where c - a - b is no integer."""
    rest, y = c - a - b, 1 - x
    g = _gamma_quotients((c, c - a), (rest, c - b), (c, a), (-rest, b))
    first, second = g[0] * g[1], g[2] * g[3] * jnp.power(y, rest)
    return first * _series([a, b], 1 - rest, y, active) + second * _series([c - a, c - b], 1 + rest, y, active)


_LOGARITHMIC_TERMS = 80  # at 1 - x up to 1/4, for parameters of moderate size


def _around_one_by_logarithm(a: Any, b: Any, m: Any, x: Any) -> Any:
    """F(a, b; a + b + m; x) for whole m from 0 on, near x = 1 (DLMF 15.8.10, 15.8.12)."""
    y = 1 - x
    log, one = jnp.log(y), jnp.ones_like(x)

    def step(n: Any, state: Any) -> Any:
        finite, low, high, psi, series = state
        k = n.astype(x.dtype)
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
    g = _gamma_quotients((whole, b + m), (a + b + m, a + m), (a + b + m, a), (one, b), (one, m + 1))
    first = g[0] * g[1] * finite
    second = jnp.where(m % 2 == 1, -1.0, 1.0) * jnp.power(y, m) * g[2] * g[3] * g[4] * series
    return jnp.where(m > 0, first, 0) - second


def _hyp2f1_value(a: Any, b: Any, c: Any, x: Any) -> Any:
    negative = x < 0
    # Pfaff's transformation (DLMF 15.8.1) takes the negative axis to [0, 1).
    swap = jnp.abs(b) < jnp.abs(a)
    a, b = jnp.where(swap, b, a), jnp.where(swap, a, b)
    second, index = jnp.where(negative, c - b, b), jnp.where(negative, x / jnp.where(negative, x - 1, 1), x)
    rest = c - a - second
    ends = is_pole(a) | is_pole(second)
    distance = jnp.abs(rest - jnp.round(rest))
    close = (index > 0.75) & (index < 1) & (distance > 1e-3) & ~ends
    inside = (jnp.abs(index) < 1) | (ends & jnp.isfinite(index))
    shifted = _around_one(a, second, c, jnp.where(close, index, 0.8), close)
    # Euler's transformation (DLMF 15.8.1) where it makes the series fall faster, or end.
    faster = (rest < 0) & ~ends & ~close & (index > 0.5)
    whole = (distance == 0) & (index > 0.75) & (index < 1) & ~ends & (jnp.abs(rest) < 30)
    up = rest < 0
    top, other = jnp.where(up, c - a, a), jnp.where(up, c - second, second)
    sound = [jnp.where(whole, v, safe) for v, safe in ((top, 1.0), (other, 1.0), (jnp.abs(rest), 1.0), (index, 0.8))]
    logarithmic = _around_one_by_logarithm(*sound) * jnp.where(whole & up, jnp.power(1 - sound[3], rest), 1.0)
    close = close | whole
    shifted = jnp.where(whole, logarithmic, shifted)
    first, other = jnp.where(faster, c - a, a), jnp.where(faster, c - second, second)
    direct = _series([first, other], c, jnp.where(inside & ~close, index, 0.0), inside & ~close)
    direct = direct * jnp.where(faster, jnp.power(jnp.where(faster, 1 - index, 1.0), rest), 1.0)
    value = jnp.where(close, shifted, direct)
    value = jnp.where((index == 1) & ~ends, _at_one(a, second, c), value)
    value = value * jnp.where(negative, jnp.power(jnp.where(negative, 1 - x, 1.0), -a), 1.0)
    value = jnp.where((index > 1) & ~ends, np.inf, value)
    pole = is_pole(c) & ~((is_pole(a) & (a >= c)) | (is_pole(b) & (b >= c)))
    value = jnp.where(pole, np.inf, value)
    value = jnp.where((x == 0) | (a == 0) | (b == 0), 1.0, value)
    return jnp.where(jnp.isnan(a) | jnp.isnan(b) | jnp.isnan(c) | jnp.isnan(x), np.nan, value)


_hyp2f1 = with_slopes(
    *[lambda ans, *operands, place=place: _slope_by_parameter(_hyp2f1, place)(ans, *operands) for place in range(3)],
    lambda ans, a, b, c, x: a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x),
)(_hyp2f1_value)


@elementwise()
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """The hypergeometric function of Gauss, 2F1(a, b; c; x), the sum of (a)_n (b)_n x^n / ((c)_n n!).

    Args:
      a, b, c, x: real arrays or numbers.
    Returns: array; infinite above 1, unless the series ends, and where c is 0 or a negative integer.
    Example: ``special.hyp2f1(1., 1., 2., 0.5)`` is 2 log 2. Source: ``scipy.special.hyp2f1``; DLMF 15.2, 15.8.
    """
    return _hyp2f1(*jnp.broadcast_arrays(a, b, c, x))
