"""The distribution of Gumbel, of least values."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.nn import activations
from arrax.scipy.special.definition import log1p
from arrax.scipy.stats.definition import of_distribution, provided, standard


@of_distribution
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: z - exp(z) - log scale, with z = (x - loc) / scale."""
    z = standard(x, loc, scale)
    return z - jnp.exp(z) - jnp.log(scale)


@of_distribution
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@of_distribution
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function."""
    return -jnp.expm1(-jnp.exp(standard(x, loc, scale)))


@of_distribution
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function."""
    return activations.log1mexp(jnp.exp(standard(x, loc, scale)))


@of_distribution
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function, 1 - cdf."""
    return jnp.exp(-jnp.exp(standard(x, loc, scale)))


@of_distribution
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function, 1 - cdf."""
    return -jnp.exp(standard(x, loc, scale))


@of_distribution
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of the distribution function."""
    return provided(scale > 0, loc + scale * jnp.log(-log1p(-p)))
