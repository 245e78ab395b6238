"""The beta-binomial distribution: the binomial one of n trials whose probability has the beta distribution."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.scipy.special.gamma_quotients import log_beta_of_positive
from arrax.scipy.stats.definition import inside, is_whole, of_distribution, provided
from arrax.xla.arrays import Array, ArrayLike


@of_distribution
def logpmf(k: Array, n: Array, a: Array, b: Array, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k."""
    x = k - loc

    def value(x: Array) -> Any:
        count = -jnp.log1p(n) - log_beta_of_positive(*jnp.broadcast_arrays(n - x + 1, x + 1))
        return (
            count
            + log_beta_of_positive(*jnp.broadcast_arrays(x + a, n - x + b))
            - log_beta_of_positive(*jnp.broadcast_arrays(a, b))
        )

    valid = (n >= 0) & is_whole(n) & (a > 0) & (b > 0)
    return provided(valid, inside((x >= 0) & (x <= n) & is_whole(x), value, x, 0.0))


@of_distribution
def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, a, b, loc))
