"""The distribution of Gumbel, of greatest values."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.scipy.stats.definition import (
    exponential,
    log_of_extreme,
    log_of_rise,
    of_distribution,
    provided,
    standard,
    weak_as_sums,
)
from arrax.xla.arrays import Array, ArrayLike


@weak_as_sums
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density: -z - exp(-z) - log scale, with z = (x - loc) / scale."""
    return log_of_extreme(-standard(x, loc, scale)) - jnp.log(scale)


@weak_as_sums
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density."""
    power = exponential(-standard(x, loc, scale))
    return power * jnp.exp(-power) / scale


@weak_as_sums
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The distribution function."""
    return jnp.exp(-exponential(-standard(x, loc, scale)))


@weak_as_sums
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the distribution function."""
    return -jnp.exp(-standard(x, loc, scale))


@of_distribution
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The survival function, 1 - cdf."""
    return -jnp.expm1(-exponential(-standard(x, loc, scale)))


@weak_as_sums
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the survival function, 1 - cdf."""
    return log_of_rise(-standard(x, loc, scale))


@weak_as_sums
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of the distribution function."""
    return provided(scale > 0, loc - scale * jnp.log(-jnp.log(p)))
