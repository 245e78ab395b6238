"""The distribution of Dirichlet, of shapes alpha: shares that add up to 1."""

from __future__ import annotations

import numpy as np

from arrax import numpy as jnp
from arrax.scipy.special.gamma_functions import log_gamma
from arrax.scipy.special.logarithmic import times_log
from arrax.scipy.stats.definition import of_distribution, provided
from arrax.xla.arrays import Array, ArrayLike


@of_distribution
def logpdf(x: Array, alpha: Array) -> Array:
    """The logarithm of the density of the shares x, along the first axis; the last share may be left out.

    Args:
      x: array of shape ``(d, ...)`` or ``(d - 1, ...)``.
      alpha: vector of d positive numbers.
    Returns: array of the shape behind the first axis.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``stats.dirichlet.logpdf(jnp.array([0.5, 0.5]), jnp.ones(2))`` is 0. Source: ``scipy.stats.dirichlet.logpdf``.
    """
    if jnp.ndim(alpha) != 1:
        raise ValueError(f"dirichlet.logpdf: alpha must be a vector, got the shape {jnp.shape(alpha)}")
    if jnp.ndim(x) == 0 or jnp.shape(x)[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            f"dirichlet.logpdf: x must have {alpha.shape[0]} or {alpha.shape[0] - 1} rows, got the shape {jnp.shape(x)}"
        )
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1 - jnp.sum(x, 0, keepdims=True)])
    alpha = jnp.reshape(alpha, (-1,) + (1,) * (x.ndim - 1))
    slack = 1e-5 if x.dtype == np.float32 else 1e-10
    valid = jnp.all((x >= 0) & (x <= 1), 0) & (jnp.abs(jnp.sum(x, 0) - 1) < slack)
    norm = jnp.sum(log_gamma(alpha), 0) - log_gamma(jnp.sum(alpha, 0))
    exponents, shares = jnp.broadcast_arrays(alpha - 1, jnp.where(valid, x, 0.5))
    value = jnp.sum(times_log(exponents, shares), 0) - norm
    return provided(jnp.all(alpha > 0), jnp.where(valid, value, -np.inf))


@of_distribution
def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The density of the shares x, along the first axis; the last share may be left out.

    Args:
      x: array of shape ``(d, ...)`` or ``(d - 1, ...)``.
      alpha: vector of d positive numbers.
    Returns: array of the shape behind the first axis.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``stats.dirichlet.pdf(jnp.array([0.5, 0.5]), jnp.ones(2))`` is 1. Source: ``scipy.stats.dirichlet.pdf``.
    """
    return jnp.exp(logpdf(x, alpha))
