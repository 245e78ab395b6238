"""The negative binomial distribution: how many trials fail before n have succeeded."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.scipy.special.gamma_quotients import log_beta_of_positive
from arrax.scipy.special.logarithmic import times_log, times_log1p
from arrax.scipy.stats.definition import inside, is_whole, of_distribution, provided
from arrax.xla.arrays import Array, ArrayLike


@of_distribution
def logpmf(k: Array, n: Array, p: Array, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k."""
    x = k - loc

    def value(x: ArrayLike) -> Any:
        count = -jnp.log(n + x) - log_beta_of_positive(*jnp.broadcast_arrays(n, x + 1))
        return count + times_log(n, p) + times_log1p(x, -p)

    valid = (n > 0) & (p > 0) & (p <= 1)
    return provided(valid, inside((x >= 0) & is_whole(x), value, x, 0.0))


@of_distribution
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))
