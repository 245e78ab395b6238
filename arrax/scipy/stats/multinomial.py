"""The multinomial distribution: how many of n trials have each outcome, these with probabilities p."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.scipy.special.gamma_functions import log_gamma
from arrax.scipy.special.logarithmic import times_log
from arrax.scipy.stats.definition import is_whole, of_distribution


@of_distribution
def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of the counts x, along the last axis."""
    valid = (n == jnp.sum(x, -1)) & jnp.all((x >= 0) & is_whole(x), -1)
    x, p = jnp.broadcast_arrays(jnp.maximum(x, 0), p)
    value = log_gamma(n + 1) + jnp.sum(times_log(x, p) - log_gamma(x + 1), -1)
    return jnp.where(valid, value, -np.inf)


@of_distribution
def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of the counts x, along the last axis."""
    return jnp.exp(logpmf(x, n, p))
