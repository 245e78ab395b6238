"""The exponential distribution from loc on, with mean loc + scale."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.nn import activations
from arrax.scipy.stats.definition import at_least, inside, provided, standard, weak_as_sums
from arrax.xla.arrays import Array, ArrayLike


@weak_as_sums
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density: -z - log scale, with z = (x - loc) / scale."""
    z = standard(x, loc, scale)
    return inside(z >= 0, lambda z: -z - jnp.log(scale), z, 1.0)


@weak_as_sums
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density."""
    z = standard(x, loc, scale)
    return inside(z >= 0, lambda z: jnp.exp(-z) / scale, z, 1.0, 0.0)


@weak_as_sums
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The distribution function."""
    return -jnp.expm1(-at_least(standard(x, loc, scale), 0))


@weak_as_sums
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the distribution function."""
    z = standard(x, loc, scale)
    return inside(z > 0, activations.log1mexp, z, 1.0)


@weak_as_sums
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The survival function, 1 - cdf."""
    return jnp.exp(-at_least(standard(x, loc, scale), 0))


@weak_as_sums
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the survival function."""
    return -at_least(standard(x, loc, scale), 0)


@weak_as_sums
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of the distribution function."""
    return provided((q >= 0) & (q <= 1) & (scale > 0), loc - scale * jnp.log1p(-q))
