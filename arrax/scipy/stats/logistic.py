"""The logistic distribution."""

from __future__ import annotations

from typing import Any

from arrax import lax
from arrax import numpy as jnp
from arrax.scipy.special.logarithmic import log_odds
from arrax.scipy.stats.definition import of_distribution, provided, standard, weak_among_scalars, weak_as_sums
from arrax.xla.arrays import Array, ArrayLike


@weak_among_scalars
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: -|z| - 2 log(1 + exp(-|z|)) - log scale, with z = (x - loc) / scale."""
    size = jnp.abs(standard(x, loc, scale))
    return -size - 2 * jnp.log1p(jnp.exp(-size)) - jnp.log(scale)


@weak_among_scalars
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@weak_as_sums
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function."""
    return lax.logistic(standard(x, loc, scale))


@weak_as_sums
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The survival function, 1 - cdf."""
    return lax.logistic(-standard(x, loc, scale))


@of_distribution
def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of the distribution function."""
    return provided(scale > 0, log_odds(x) * scale + loc)


@of_distribution
def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of the survival function."""
    return provided(scale > 0, -log_odds(x) * scale + loc)
