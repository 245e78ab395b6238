"""The multinomial distribution: how many of n trials have each outcome, these with probabilities p."""

from __future__ import annotations

import numpy as np

from arrax import numpy as jnp
from arrax.scipy.special.gamma_functions import log_gamma
from arrax.scipy.special.logarithmic import times_log
from arrax.scipy.stats.definition import is_whole, of_distribution
from arrax.xla.arrays import Array, ArrayLike


@of_distribution
def logpmf(x: Array, n: Array, p: ArrayLike) -> Array:
    """The logarithm of the probability of the counts x, along the last axis.

    Args:
      x: array of shape ``(..., d)``.
      n: how many trials there are, array of shape ``(...)``.
      p: probabilities, array of shape ``(..., d)``.
    Returns: array of the shape before the last axis.
    Example: ``stats.multinomial.logpmf(jnp.array([1., 1.]), 2, jnp.array([0.5, 0.5]))`` is -0.6931.
    Source: ``scipy.stats.multinomial.logpmf``.
    """
    valid = (n == jnp.sum(x, -1)) & jnp.all((x >= 0) & is_whole(x), -1)
    x, p = jnp.broadcast_arrays(jnp.maximum(x, 0), p)
    value = log_gamma(n + 1) + jnp.sum(times_log(x, p) - log_gamma(x + 1), -1)
    return jnp.where(valid, value, -np.inf)


@of_distribution
def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probability of the counts x, along the last axis.

    Args:
      x: array of shape ``(..., d)``.
      n: how many trials there are, array of shape ``(...)``.
      p: probabilities, array of shape ``(..., d)``.
    Returns: array of the shape before the last axis.
    Example: ``stats.multinomial.pmf(jnp.array([1., 1.]), 2, jnp.array([0.5, 0.5]))`` is 0.5.
    Source: ``scipy.stats.multinomial.pmf``.
    """
    return jnp.exp(logpmf(x, n, p))
