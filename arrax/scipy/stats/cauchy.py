"""The distribution of Cauchy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.scipy.special.definition import cos_pi, sin_pi, with_slopes
from arrax.scipy.stats.definition import of_distribution, provided, standard
from arrax.xla.arrays import Array, ArrayLike


@of_distribution
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density: -log(pi (1 + z^2)) - log scale, with z = (x - loc) / scale."""
    size = jnp.abs(standard(x, loc, scale))
    large = size > 1e10  # beyond, 1 is nothing beside the square
    value = jnp.where(large, 2 * jnp.log(jnp.where(large, size, 1)), jnp.log1p(jnp.square(jnp.where(large, 1, size))))
    return -value - math.log(math.pi) - jnp.log(scale)


@of_distribution
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@of_distribution
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The distribution function, the angle of (-z, 1) over pi."""
    return jnp.arctan2(1, -standard(x, loc, scale)) / math.pi


@of_distribution
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the distribution function."""
    z = standard(x, loc, scale)
    return _log_of_share(z)


@of_distribution
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The survival function, 1 - cdf."""
    return jnp.arctan2(1, standard(x, loc, scale)) / math.pi


@of_distribution
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the survival function."""
    return _log_of_share(-standard(x, loc, scale))


def _log_of_share(z: Array) -> Array:
    """The logarithm of the distribution function, by that of the other tail where it is near 0."""
    above = z > 0
    low = jnp.log(jnp.arctan2(1, -jnp.where(above, 0.0, z)) / math.pi)
    return jnp.where(above, jnp.log1p(-jnp.arctan2(1, jnp.where(above, z, 0.0)) / math.pi), low)


@of_distribution
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of the distribution function."""
    return _quantile(q, loc, scale, -1)


@of_distribution
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of the survival function."""
    return _quantile(q, loc, scale, 1)


def _quantile(q: Any, loc: Any, scale: Any, sign: int) -> Array:
    return provided((q >= 0) & (q <= 1) & (scale > 0), loc + scale * (sign * _cotangent(q)))


@with_slopes(lambda ans, q: -math.pi * (1 + ans * ans))
def _cotangent(q: Array) -> Any:
    """cot(pi q) for q from 0 to 1."""
    sine = sin_pi(q)
    return jnp.where(sine == 0, jnp.where(q == 0, np.inf, -np.inf), cos_pi(q) / jnp.where(sine == 0, 1, sine))
