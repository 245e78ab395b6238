"""The distribution of Poisson, of mean mu."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.scipy.special.gamma_functions import gammaincc, log_gamma
from arrax.scipy.special.logarithmic import times_log
from arrax.scipy.stats.definition import inside, is_whole, of_distribution, provided, weak_as_sums
from arrax.xla.arrays import Array, ArrayLike


@weak_as_sums
def logpmf(k: Array, mu: Array, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k: k log mu - mu - log k!."""
    x = k - loc
    value = inside((x >= 0) & is_whole(x), lambda x: times_log(x, mu) - log_gamma(x + 1) - mu, x, 0.0)
    return provided(mu >= 0, value)


@weak_as_sums
def pmf(k: Array, mu: Array, loc: ArrayLike = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, mu, loc))


@of_distribution
def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The distribution function, a regularized incomplete gamma function."""
    x = jnp.floor(k - loc)
    value = inside((x >= 0) & (x < np.inf), lambda x: gammaincc(x + 1, mu), x, 0.0, 0.0)
    return provided(mu >= 0, jnp.where(x == np.inf, 1.0, value))


@of_distribution
def entropy(mu: Array, loc: ArrayLike = 0) -> Array:
    """The entropy in nats; that of large means by its expansion in 1 / mu."""
    small = jnp.minimum(mu, 50.0)
    counts = np.arange(160.0)
    logs = times_log(*jnp.broadcast_arrays(counts.astype(mu.dtype), small[..., None]))
    logs = logs - np.array([math.lgamma(n + 1) for n in counts]).astype(mu.dtype) - small[..., None]
    exact = -jnp.sum(jnp.where(jnp.isinf(logs), 0, jnp.exp(logs) * jnp.where(jnp.isinf(logs), 0, logs)), -1)
    inverse = 1 / jnp.maximum(mu, 50.0)
    rest = inverse * (1 / 12 + inverse * (1 / 24 + inverse * (19 / 360 + inverse * (9 / 80))))
    large = 0.5 * jnp.log(2 * math.pi * math.e * jnp.maximum(mu, 50.0)) - rest
    return provided(mu >= 0, jnp.where(mu < 50, exact, large) + 0 * loc)
