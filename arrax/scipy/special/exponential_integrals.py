"""Exponential integrals, and the sine and cosine integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.lax.expansions import upwards
from arrax.numpy_api.operands import strong_inexact
from arrax.scipy.special import coefficients as table
from arrax.scipy.special.definition import analytic, around_root, between, chebyshev, elementwise, with_slopes
from arrax.transforms.custom_jvp import custom_jvp
from arrax.xla.arrays import Array, ArrayLike


def _greatest(x: Array) -> float:
    """From here on exp(-x) is 0 and exp(x) infinite."""
    return 745.0 if x.dtype == np.float64 else 104.0


def _e1_positive(x: Array) -> Array:
    """E1(x) for x >= 0: the logarithm and a power series below 1, above that e^-x / x times a function of 1/x."""
    low, high = jnp.minimum(x, 1.0), jnp.clip(x, 1.0, _greatest(x))
    near = low * chebyshev(between(low, 0.0, 1.0), table.E1_NEAR) - np.euler_gamma - jnp.log(low)
    middle = chebyshev(between(1 / high, 0.25, 1.0), table.E1_1_TO_4)
    far = chebyshev(between(1 / high, 0.0, 0.25), table.E1_FAR)
    return jnp.where(x < 1, near, jnp.exp(-high) / high * jnp.where(high < 4, middle, far))


def _ei_positive(x: Array) -> Array:
    """Ei(x) for x >= 0; its zero is a factor where it is near."""
    low = jnp.minimum(x, 4.0)
    near = low * chebyshev(between(low, 0.0, 4.0), table.EI_NEAR) + np.euler_gamma + jnp.log(low)
    at_root = around_root(low, table.EI_ROOT, chebyshev(between(low, 0.2, 0.6), table.EI_AT_ROOT))
    near = jnp.where((low > 0.2) & (low < 0.6), at_root, near)
    high = jnp.clip(x, 4.0, _greatest(x))
    inverse = 1 / high
    factor = chebyshev(between(inverse, 0.0, 0.02), table.EI_FAR)
    for end, series in ((50, table.EI_20_TO_50), (20, table.EI_10_TO_20), (10, table.EI_4_TO_10)):
        start = {50: 20, 20: 10, 10: 4}[end]
        factor = jnp.where(high < end, chebyshev(between(inverse, 1 / end, 1 / start), series), factor)
    half = jnp.exp(0.5 * high)  # in two factors: exp(x) may be too large where exp(x) / x is not
    return jnp.where(x < 4, near, half * (half * inverse) * factor)


@with_slopes(lambda ans, x: jnp.exp(x) / x)
def _exponential_integral(x: Array) -> Array:
    positive = jnp.where(x == np.inf, np.inf, _ei_positive(jnp.abs(x)))
    return jnp.where(x < 0, -_e1_positive(jnp.abs(x)), positive)


@elementwise()
def expi(x: ArrayLike) -> Array:
    """The exponential integral Ei(x), the integral of e^t / t from minus infinity to x.

    Args:
      x: real array or number.
    Returns: array; minus infinity at 0.
    Example: ``special.expi(1.)`` is 1.8951. Source: ``scipy.special.expi``; DLMF 6.2.5, 6.6.1, 6.12.2.
    """
    return _exponential_integral(x)


@with_slopes(lambda ans, x: jnp.where(x < 0, np.nan, -jnp.exp(-x) / x))
def _e1(x: Array) -> Array:
    return jnp.where(x < 0, np.nan, _e1_positive(jnp.where(x < 0, 1, x)))


@elementwise(promote=strong_inexact)
def exp1(x: ArrayLike) -> Array:
    """The exponential integral E1(x), the integral of e^-t / t from x to infinity.

    Args:
      x: array or number from 0 on.
    Returns: array; infinite at 0, NaN for negative x, where it is complex.
    Example: ``special.exp1(1.)`` is 0.2194. Source: ``scipy.special.exp1``; DLMF 6.2.1, 6.6.2, 6.12.1.
    """
    return _e1(x)


# ---- E_n ----------------------------------------------------------------------------------------------------------------


_STEPS = 20  # orders below this come by the recurrence from E1


def _en_recurrence(n: Array, x: Array) -> Array:
    """For n from 1 to 20 and x up to 1, upwards from E1 (DLMF 8.19.12), which loses nothing there."""
    value, decay = _e1_positive(x), jnp.exp(-x)
    for k in range(1, _STEPS):
        value = jnp.where(k < n, (decay - x * value) / k, value)
    return value


def _en_series(n: Array, x: Array) -> Array:
    """DLMF 8.19.8 for n from 20 on and x up to 1, without the term of x^(n-1), which is of no account."""
    term, total = jnp.ones_like(x), 1 / (n - 1)
    for k in range(1, _STEPS - 1):
        term = term * (-x / k)
        total = total + jnp.where(n - 1 == k, 0, term / jnp.where(n - 1 == k, 1, n - 1 - k))
    return total


def _en_fraction(n: Array, x: Array, active: Array, precision: float) -> Array:
    """The continued fraction of DLMF 8.19.17 in its contracted form, from the last level up."""
    count = jnp.floor(20 + (95 if precision < 1e-13 else 22) / x)

    def level(number: Array, tail: Array) -> Array:
        return -number * (n - 1 + number) / (x + n + 2 * number + tail)

    return jnp.exp(-x) / (x + n + upwards(level, count, active))


def _en_slope(ans: Array, n: Array, x: ArrayLike) -> Array:
    """-E_(n-1)(x)"""
    zeroth = n == 0
    sound = jnp.where(zeroth, x, 1.0)
    return -jnp.where(zeroth, jnp.exp(-sound) * (sound + 1) / (sound * sound), _en(jnp.where(zeroth, 0, n - 1), x))


@analytic(0, _en_slope)
def _en(n: Array, x: Array, precision: float, order: int) -> Array:
    inside = (x > 0) & (n >= 1) & (x < np.inf)
    near, far = inside & (x <= 1), inside & (x > 1)
    few = n < _STEPS
    low = jnp.where(near, x, 0.5)
    below = jnp.where(few, _en_recurrence(jnp.where(few, n, 1), low), _en_series(jnp.where(few, _STEPS, n), low))
    high = _en_fraction(jnp.where(far, n, 1.0), jnp.where(far, x, 2.0), far, precision)
    at_zero = jnp.where(n > 1, 1 / jnp.where(n > 1, n - 1, 1), np.inf)
    value = jnp.where(x <= 1, below, high)
    value = jnp.where(x == np.inf, 0, jnp.where(x == 0, at_zero, value))
    value = jnp.where(n == 0, jnp.exp(-x) / jnp.abs(x), value)
    return jnp.where((x < 0) | (n < 0) | (n != jnp.floor(n)) | jnp.isnan(x), np.nan, value)


@elementwise(promote=strong_inexact, lists=True)
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The exponential integral E_n(x), the integral of e^(-xt) / t^n over t from 1 on.

    Args:
      n: array or number of integers from 0 on, which it cannot be differentiated in.
      x: array or number from 0 on.
    Returns: array; NaN outside of the domain, and for n that is not an integer.
    Example: ``special.expn(1, 1.)`` is 0.2194. Source: ``scipy.special.expn``; DLMF 8.19.
    """
    return _en(*jnp.broadcast_arrays(n, x))


# ---- Si and Ci ----------------------------------------------------------------------------------------------------------


def _sici_value(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    low = jnp.minimum(size, 4.0)
    square = between(low * low, 0.0, 16.0)
    si = low * chebyshev(square, table.SI_NEAR)
    ci = low * low * chebyshev(square, table.CI_NEAR) + (np.euler_gamma + jnp.log(low))
    roots = ((0.4, 0.9, table.CI_AT_ROOT_1), (3.0, 4.0, table.CI_AT_ROOT_2))
    for (start, end, series), root in zip(roots, table.CI_ROOTS, strict=True):
        at_root = around_root(low, root, chebyshev(between(low, start, end), series))
        ci = jnp.where((low > start) & (low < end), at_root, ci)
    high = jnp.maximum(jnp.where(jnp.isinf(size), 4.0, size), 4.0)
    inverse = jnp.square(1 / high)
    middle, far = between(inverse, 1 / 64, 1 / 16), between(inverse, 0.0, 1 / 64)
    f = jnp.where(high < 8, chebyshev(middle, table.SICI_F_MIDDLE), chebyshev(far, table.SICI_F_FAR)) / high
    g = jnp.where(high < 8, chebyshev(middle, table.SICI_G_MIDDLE), chebyshev(far, table.SICI_G_FAR)) * inverse
    sine, cosine = jnp.sin(high), jnp.cos(high)
    si = jnp.where(size < 4, si, 0.5 * math.pi - f * cosine - g * sine)
    ci = jnp.where(size < 4, ci, f * sine - g * cosine)
    si = jnp.where(jnp.isinf(size), 0.5 * math.pi, si)
    ci = jnp.where(jnp.isinf(size), jnp.where(x > 0, 0, np.nan), ci)
    si, ci = (jnp.where(jnp.isnan(x), np.nan, v) for v in (si, ci))
    return jnp.where(x < 0, -si, si), ci


_sici = custom_jvp(_sici_value)


@_sici.defjvp
def _sici_jvp(primals: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    small, square = jnp.abs(x) < 1e-3, x * x
    safe = jnp.where(small, 1, x)
    quotient = jnp.where(small, 1 - square / 6 * (1 - square / 20), jnp.sin(safe) / safe)
    return _sici(x), (quotient * t, jnp.cos(x) / x * t)


@elementwise(promote=strong_inexact)
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The sine integral, that of sin(t) / t from 0 to x, and the cosine integral, minus that of cos(t) / t from x on.

    Args:
      x: real array or number.
    Returns: ``(Si, Ci)``; of negative x, Ci is the real part.
    Example: ``special.sici(0.)`` is ``(0, -inf)``. Source: ``scipy.special.sici``; DLMF 6.2.9, 6.2.11, 6.2.19, 6.2.20.
    """
    return _sici(x)
