"""The binomial distribution: how many of n trials succeed, each with probability p."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.scipy.special.gamma_quotients import log_beta_of_positive
from arrax.scipy.special.logarithmic import times_log, times_log1p
from arrax.scipy.stats.definition import inside, is_whole, provided, weak_as_sums
from arrax.xla.arrays import Array, ArrayLike


@weak_as_sums
def logpmf(k: Array, n: Array, p: Array, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k."""
    x = k - loc

    def value(x: Array) -> Any:
        a, b = jnp.broadcast_arrays(n - x + 1, x + 1)
        return times_log(x, p) + times_log1p(n - x, -p) - jnp.log1p(n) - log_beta_of_positive(a, b)

    valid = (p >= 0) & (p <= 1) & (n >= 0) & is_whole(n)
    return provided(valid, inside((x >= 0) & (x <= n) & is_whole(x), value, x, 0.0))


@weak_as_sums
def pmf(k: Array, n: Array, p: Array, loc: ArrayLike = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))
