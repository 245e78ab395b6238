"""Zeta functions and Bernoulli numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.core.calls import as_index
from arrax.lax.double_formulas import Real
from arrax.lax.gamma_pieces import stirling
from arrax.numpy_api.operands import check_arraylike
from arrax.scipy.special.definition import analytic, elementwise, sin_pi
from arrax.scipy.special.gamma_functions import gamma_function
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

_BORWEIN_TERMS = 22  # with errors below (3 + sqrt 8)^-22
_FINITE = 258  # the last Bernoulli number that float64 holds


@cache
def _bernoulli_numbers(n: int) -> tuple[Fraction, ...]:
    """B_0, …, B_n, exactly, by the sums over binomial coefficients that are 0 (DLMF 24.5.3)."""
    numbers = [Fraction(1)]
    for m in range(1, n + 1):
        if m > 1 and m % 2:
            numbers.append(Fraction(0))
            continue
        total = sum((math.comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0))
        numbers.append(-total / (m + 1))
    return tuple(numbers)


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers B_0, …, B_n, where B_1 is -1/2.

    Args:
      n: the last one's index, from 0 on, known while tracing.
    Returns: floating vector of n + 1 numbers.
    Raises:
      ValueError: a negative n.
    Example: ``special.bernoulli(2)`` is ``[1, -1/2, 1/6]``. Source: ``scipy.special.bernoulli``; DLMF 24.2.
    """
    last = as_index(n)
    if last < 0:
        raise ValueError(f"bernoulli: n must not be negative, got {last}")
    values = np.zeros(last + 1)
    values[2::4], values[4::4] = np.inf, -np.inf
    values[: _FINITE + 1] = [float(b) for b in _bernoulli_numbers(min(last, _FINITE))]
    with np.errstate(over="ignore"):
        return jnp.asarray(values.astype(dtypes.canonicalize_dtype(np.float64)))


# ---- zeta -----------------------------------------------------------------------------------------------------------


@cache
def _borwein_weights() -> tuple[float, ...]:
    """The weights of the alternating sum 1 - 2^-s + 3^-s - … in Borwein's second algorithm."""
    n, total, sums = _BORWEIN_TERMS, Fraction(0), []
    for i in range(n + 1):
        total += Fraction(n * math.factorial(n + i - 1) * 4**i, math.factorial(n - i) * math.factorial(2 * i))
        sums.append(total)
    return tuple(float(1 - d / sums[-1]) for d in sums[:-1])


def _zeta_right(s: Array) -> Array:
    """zeta(s) for 0 <= s < 1 and near: the alternating sum over 1 - 2^(1-s).

    Borwein, "An efficient algorithm for the Riemann zeta function" (2000).
    """
    total = jnp.zeros_like(s)
    for k, weight in reversed(list(enumerate(_borwein_weights()))):
        total = total + (-1) ** k * weight * jnp.exp(-s * math.log(k + 1))
    return -total / jnp.expm1((1 - s) * math.log(2))


@analytic(None)
def _riemann(s: Array, precision: float, order: int) -> Array:
    """zeta(s) of real s; that of negative ones by the functional equation (DLMF 25.4.1)."""
    negative = s < -1e-4
    mirrored = jnp.where(negative, 1 - s, s)
    right = lax.zeta(jnp.where(mirrored > 1, mirrored, 2.0), jnp.ones_like(s))
    right = jnp.where(mirrored > 1, right, _zeta_right(jnp.where(mirrored > 1, 0.5, mirrored)))
    sine = sin_pi(0.5 * jnp.where(negative, s, -1.0))  # of pi s / 2, with zeros at even s
    m = jnp.where(negative, mirrored, 2.0)
    few, many = jnp.where(m < 10, m, 10.0), jnp.where(m < 10, 10.0, m)
    # Gamma(m) / (2 pi)^m, by Stirling's series where one of the two may be out of range
    rounding = 1 - 1.2868963854075868e-16 * many  # what the float of 2 pi e is off, to the power of m
    power = jnp.power(many / (2 * math.pi * math.e), many) * rounding
    large = jnp.sqrt(2 * math.pi / many) * power * jnp.exp(stirling(Real(many)).value)
    factor = jnp.where(m < 10, gamma_function(few) * jnp.power(2 * math.pi, -few), large)
    reflected = jnp.where((sine == 0) & jnp.isinf(factor), 0, 2 * sine * factor * right)
    out = jnp.where(negative, reflected, right)
    return jnp.where(s == 1, np.inf, jnp.where(s == -np.inf, np.nan, out))


def zeta(x: ArrayLike, q: OptionalArray = None) -> Array:
    """The zeta function: the sum of (n + q)^-x over n from 0 on (Hurwitz); with q = 1, that of Riemann.

    Args:
      x: real array or number.
      q: real array or number; None is 1, and then x may be below 1, too.
    Returns: array; infinite at x = 1. It can be differentiated in both.
    Example: ``special.zeta(2., 1.)`` is pi^2 / 6. Source: ``scipy.special.zeta``; DLMF 25.2, 25.11.
    """
    if q is None:
        check_arraylike("zeta", x)
        return _zeta_of_riemann(x)
    check_arraylike("zeta", x, q)
    return _zeta_of_hurwitz(x, q)


@elementwise()
def _zeta_of_riemann(x: Array) -> Array:
    return _riemann(x)


@elementwise()
def _zeta_of_hurwitz(x: Array, q: Array) -> Array:
    return lax.zeta(*jnp.broadcast_arrays(x, q))
