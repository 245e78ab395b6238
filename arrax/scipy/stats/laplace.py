"""The distribution of Laplace."""

from __future__ import annotations

from arrax import numpy as jnp
from arrax.scipy.stats.definition import of_distribution, standard
from arrax.xla.arrays import Array, ArrayLike


@of_distribution
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density: -|z| - log(2 scale), with z = (x - loc) / scale."""
    return -jnp.abs(standard(x, loc, scale)) - jnp.log(2 * scale)


@of_distribution
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density."""
    return jnp.exp(-jnp.abs(standard(x, loc, scale))) / (2 * scale)


@of_distribution
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The distribution function."""
    z = standard(x, loc, scale)
    tail = 0.5 * jnp.exp(jnp.where(z > 0, -z, z))
    return jnp.where(z > 0, 1 - tail, tail)
