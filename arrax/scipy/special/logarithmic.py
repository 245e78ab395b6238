"""Functions made of logarithms: x log y and similar ones, entropies, logits, transformations of Box and Cox, the dilogarithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.nn import normalization
from arrax.numpy_api import exponential_sums
from arrax.numpy_api.operands import as_operand, inexact_as_first, strong_inexact
from arrax.scipy.special import coefficients as table
from arrax.scipy.special.definition import chebyshev, elementwise, horner, with_slopes
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike

# ---- x log y --------------------------------------------------------------------------------------------------------


def _quotient(x: Array, y: Array) -> Array:
    """x / y, 0 where both are 0; its own slope in x stays 1 / y where x alone is 0."""
    both = (x == 0) & (y == 0)
    return jnp.where(both, 0, x / jnp.where(both, 1, y))


@with_slopes(
    lambda ans, x, y: jnp.log(y),
    lambda ans, x, y: _quotient(x, y),
)
def times_log(x: Array, y: Array) -> Array:
    """x log y, 0 where x is 0 and y is no NaN."""
    zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(zero, 0, x * jnp.log(jnp.where(zero, 1, y)))


@with_slopes(
    lambda ans, x, y: jnp.log1p(y),
    lambda ans, x, y: _quotient(x, 1 + y),
)
def times_log1p(x: Array, y: Array) -> Array:
    """x log(1 + y), 0 where x is 0 and y is no NaN."""
    zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(zero, 0, x * jnp.log1p(jnp.where(zero, 0, y)))


@elementwise(complexes=True)
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """``x log(y)``, which is 0 where x is 0, whatever y is.

    Args:
      x, y: arrays or numbers.
    Example: ``special.xlogy(0., 0.)`` is 0. Source: ``scipy.special.xlogy``.
    """
    return times_log(x, y)


@elementwise(complexes=True)
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """``x log(1 + y)``, which is 0 where x is 0, whatever y is.

    Args:
      x, y: arrays or numbers.
    Example: ``special.xlog1py(0., -1.)`` is 0. Source: ``scipy.special.xlog1py``.
    """
    return times_log1p(x, y)


@elementwise()
def entr(x: ArrayLike) -> Array:
    """``-x log(x)``: 0 at 0, minus infinity for negative x.

    Args:
      x: real array or number.
    Example: ``special.entr(1.)`` is 0. Source: ``scipy.special.entr``.
    """
    return _entropy(jnp.asarray(x))


@with_slopes(lambda ans, x: jnp.where(x < 0, 0, -1 - jnp.log(jnp.where(x < 0, 1, x))))
def _entropy(x: Array) -> Array:
    return jnp.where(x < 0, -np.inf, -times_log(jnp.where(x < 0, 1, x), jnp.where(x < 0, 1, x)))


def _log_of_quotient(p: Array, q: Array) -> Array:
    """log(p / q) of positive numbers: by one logarithm, of 1 and the difference, which is exact where they are close."""
    high, low = jnp.maximum(p, q), jnp.minimum(p, q)
    tiny = float(np.finfo(p.dtype).tiny)
    scaled = high * tiny
    far = scaled > low  # so that the quotient may be out of range
    log = jnp.log1p((jnp.where(far, scaled, high) - low) / low) + jnp.where(far, -math.log(tiny), 0)
    return jnp.where(p < q, -log, log)


@with_slopes(
    lambda ans, p, q: jnp.where((p > 0) & (q > 0), 1 + jnp.log(jnp.where(p > 0, p, 1) / jnp.where(q > 0, q, 1)), 0),
    lambda ans, p, q: jnp.where((p > 0) & (q > 0), -p / jnp.where(q > 0, q, 1), 0),
)
def _relative(p: Array, q: Array) -> Array:
    """p log(p / q), where both are positive or p is 0; infinite elsewhere."""
    both, none = (p > 0) & (q > 0), (p == 0) & (q >= 0)
    outside = jnp.where(none, 0, jnp.where(jnp.isnan(p) | jnp.isnan(q), np.nan, np.inf))
    return jnp.where(both, p * _log_of_quotient(p, q), outside)


@elementwise(promote=inexact_as_first)
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """``p log(p / q)``, the terms of the relative entropy; 0 where p is 0, infinite outside of the domain.

    Args:
      p, q: arrays or numbers from 0 on.
    Example: ``special.rel_entr(1., 1.)`` is 0. Source: ``scipy.special.rel_entr``.
    """
    return _relative(p, q)


@elementwise(promote=inexact_as_first)
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """``p log(p / q) - p + q``, which is never negative; infinite outside of the domain.

    Args:
      p, q: arrays or numbers from 0 on.
    Example: ``special.kl_div(1., 1.)`` is 0. Source: ``scipy.special.kl_div``.
    """
    p, q = jnp.broadcast_arrays(p, q)
    d = (p - q) / jnp.where(q == 0, 1, q)
    close = jnp.abs(d) < 0.35
    small = jnp.where(close, d, 0.0)
    series = horner(small, [(-1.0) ** k / (k * (k - 1)) for k in range(34, 1, -1)])  # (1 + d) log(1 + d) - d
    both = (p > 0) & (q > 0)
    value = jnp.where(close & both, q * small * small * series, _relative(p, q) - p + q)
    defined = both | ((p == 0) & (q >= 0)) | jnp.isnan(p) | jnp.isnan(q)
    return jnp.where(defined, value, np.inf)


# ---- logits ---------------------------------------------------------------------------------------------------------------


@with_slopes(lambda ans, p: 1 / p + 1 / (1 - p))
def log_odds(p: Any) -> Any:
    """log(p / (1 - p)); beside 1/2 by the distance from it, which is exact."""
    middle = (p > 0.3) & (p < 0.65)
    safe = jnp.where(middle, p, 0.5)
    near = jnp.log1p((2 * safe - 1) / (1 - safe))
    return jnp.where(middle, near, jnp.log(p / (1 - p)))


@elementwise(complexes=True)
def logit(x: ArrayLike) -> Array:
    """``log(x / (1 - x))``, the inverse of ``expit``.

    Args:
      x: array or number from 0 to 1, or complex.
    Returns: array; infinite at 0 and 1, NaN elsewhere outside of them, for real numbers.
    Example: ``special.logit(0.5)`` is 0. Source: ``scipy.special.logit``.
    """
    x = as_operand(x)
    return jnp.log(x / (1 - x)) if jnp.iscomplexobj(x) else log_odds(x)


@elementwise(complexes=True)
def expit(x: ArrayLike) -> Array:
    """The logistic function, ``1 / (1 + exp(-x))``.

    Args:
      x: array or number.
    Example: ``special.expit(0.)`` is 0.5. Source: ``scipy.special.expit``.
    """
    return lax.logistic(x)


# ---- Box and Cox ----------------------------------------------------------------------------------------------------------


def _power_slope(log: Array, power: Array) -> Array:
    """(exp(power log) - 1) / power, and log where the power is 0."""
    exponent = power * jnp.where((power == 0) & ~jnp.isfinite(log), 0, log)
    # Where the exponent is tiny, three terms of the series have all digits, and derivatives in the power stay right.
    small = jnp.abs(exponent) < 1e-3
    tiny = jnp.where(small, exponent, 0)
    series = jnp.where(small, log, 0) * (1 + tiny / 2 * (1 + tiny / 3 * (1 + tiny / 4 * (1 + tiny / 5))))
    safe = jnp.where(small, 1, power)
    return jnp.where(small, series, jnp.expm1(safe * jnp.where(small, 1, log)) / safe)


@elementwise(complexes=True)
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """``(x^lmbda - 1) / lmbda``, and ``log(x)`` where ``lmbda`` is 0.

    Args:
      x: array or number from 0 on, or complex.
      lmbda: the power, an array or number.
    Returns: array; NaN for negative x.
    Example: ``special.boxcox(4., 0.5)`` is 2. Source: ``scipy.special.boxcox``; Box and Cox (1964).
    """
    x = as_operand(x)
    if jnp.iscomplexobj(x):
        return _power_slope(jnp.log(x), as_operand(lmbda))
    return _transformed(jnp.where(x < 0, np.nan, x), 0.0, lmbda)


@elementwise(complexes=True)
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """``((1 + x)^lmbda - 1) / lmbda``, and ``log(1 + x)`` where ``lmbda`` is 0.

    Args:
      x: array or number from -1 on, or complex.
      lmbda: the power, an array or number.
    Returns: array; NaN for x below -1.
    Example: ``special.boxcox1p(3., 0.5)`` is 2. Source: ``scipy.special.boxcox1p``.
    """
    x = as_operand(x)
    if jnp.iscomplexobj(x):
        return _power_slope(jnp.log1p(x), as_operand(lmbda))
    return _transformed(jnp.where(x < -1, np.nan, x), -1.0, lmbda)


def _transformed(x: ArrayLike, smallest: float, power: ArrayLike) -> Any:
    x, power = jnp.broadcast_arrays(x, power)
    at_end = x == smallest
    safe = jnp.where(at_end, 1.0, x)
    log = jnp.log(safe) if smallest == 0 else jnp.log1p(safe)
    # Powers are put aside where x is not at the end: the slope of 1 / power may be infinite, and times 0 it is NaN.
    ends = jnp.where(power > 0, -1 / jnp.where(at_end & (power > 0), power, 1), -np.inf)
    return jnp.where(at_end & ~jnp.isnan(power), ends, _power_slope(log, power))


# ---- the dilogarithm ------------------------------------------------------------------------------------------------------


def _spence_curvature(ans: Any, x: Any) -> Any:
    """The derivative of log(x) / (1 - x), infinite at 0."""
    w = x - 1
    small = jnp.abs(w) < 1e-3
    series = 1 / 2 - w * (2 / 3 - w * (3 / 4 - w * (4 / 5)))
    return jnp.where(x == 0, np.inf, jnp.where(small, series, (1 / x + ans) / jnp.where(small, 1, -w)))


@with_slopes(_spence_curvature)
def _spence_slope(x: Any) -> Any:
    """log(x) / (1 - x), which is -1 at 1."""
    w = x - 1
    small = jnp.abs(w) < 1e-3
    series = -(1 - w * (1 / 2 - w * (1 / 3 - w * (1 / 4 - w / 5))))
    return jnp.where(small, series, jnp.log(x) / jnp.where(small, 1, -w))


@with_slopes(lambda ans, x: _spence_slope(x))
def _spence(x: Array) -> Array:
    large = x > 1.5
    inner = jnp.where(large, 1 / jnp.where(large, x, 1), x)  # in [0, 1.5]
    small = inner < 0.5
    w = jnp.where(small, -inner, inner - 1)  # 1 - inner, less 1: in [-1/2, 1/2]
    series = -w * chebyshev(2 * jnp.clip(w, -0.5, 0.5), table.SPENCE)
    safe = jnp.where(small, inner, 0.5)
    folded = math.pi**2 / 6 - jnp.where(safe == 0, 0, jnp.log(jnp.where(safe == 0, 1, safe)) * jnp.log1p(-safe))
    value = jnp.where(small, folded - series, series)
    log = jnp.log(jnp.where(large, x, 1))
    value = jnp.where(large, -value - 0.5 * log * log, value)
    return jnp.where(x < 0, np.nan, value)


@elementwise(promote=strong_inexact, lists=True)
def spence(x: ArrayLike) -> Array:
    """Spence's function, the integral of log(t) / (1 - t) from 1 to x: the dilogarithm Li2(1 - x).

    Args:
      x: array or number from 0 on.
    Returns: array; NaN for negative x.
    Example: ``special.spence(1.)`` is 0. Source: ``scipy.special.spence``; DLMF 25.12.
    """
    return _spence(x)


# ---- sums of exponentials ---------------------------------------------------------------------------------------------------

logsumexp = exponential_sums.logsumexp


def softmax(x: ArrayLike, /, *, axis: Axes | None = None) -> Array:
    """``exp(x) / sum(exp(x))`` along axes, by default all.

    Args:
      x: array.
      axis: axis, tuple of axes, or None for all.
    Example: ``special.softmax(jnp.zeros(2))`` is halves. Source: ``scipy.special.softmax``.
    """
    return normalization.softmax(x, axis)


def log_softmax(x: ArrayLike, /, *, axis: Axes | None = None) -> Array:
    """``log(softmax(x))`` along axes, by default all.

    Args:
      x: array.
      axis: axis, tuple of axes, or None for all.
    Example: ``special.log_softmax(jnp.zeros(2))`` is -log 2. Source: ``scipy.special.log_softmax``.
    """
    return normalization.log_softmax(x, axis)
