"""The distribution of Bernoulli: 1 with probability p, else 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.scipy.stats.definition import of_distribution, provided
from arrax.xla.arrays import Array


@of_distribution
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k."""
    x = k - loc
    yes, no = x == 1, x == 0
    value = jnp.where(yes, jnp.log(jnp.where(yes, p, 1.0)), jnp.where(no, jnp.log1p(-jnp.where(no, p, 0.0)), -np.inf))
    return provided((p >= 0) & (p <= 1) & ~jnp.isnan(x), value)


@of_distribution
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    x = k - loc
    value = jnp.where(x == 1, p, jnp.where(x == 0, 1 - p, 0.0))
    return provided((p >= 0) & (p <= 1) & ~jnp.isnan(x), value)


@of_distribution
def cdf(k: Any, p: Any) -> Any:
    """The distribution function."""
    value = jnp.where(k < 0, 0.0, jnp.where(k < 1, 1 - p, 1.0))
    return provided((p >= 0) & (p <= 1) & ~jnp.isnan(k), value)


@of_distribution
def ppf(q: Array, p: Array) -> Array:
    """The inverse of the distribution function: the least k whose distribution function is at least q."""
    value = jnp.where(q == 0, -1.0, jnp.where(q <= 1 - p, jnp.zeros_like(q), 1.0))
    return provided((p >= 0) & (p <= 1) & (q >= 0) & (q <= 1), value)
