"""The geometric distribution: the number of the first trial that succeeds, from 1 on."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.scipy.special.logarithmic import times_log1p
from arrax.scipy.stats.definition import inside, is_whole, of_distribution, provided


@of_distribution
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k: log p + (k - 1) log(1 - p)."""
    x = k - loc
    value = inside((x >= 1) & is_whole(x), lambda x: times_log1p(x - 1, -p) + jnp.log(p), x, 1.0)
    return provided((p > 0) & (p <= 1), value)


@of_distribution
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, p, loc))
