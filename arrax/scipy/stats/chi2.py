"""The chi-squared distribution with df degrees of freedom: the gamma distribution of shape df / 2 and scale 2."""

from __future__ import annotations

from typing import Any

from arrax.scipy.stats import gamma
from arrax.scipy.stats.definition import of_distribution
from arrax.xla.arrays import Array, ArrayLike


@of_distribution
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    return gamma.logpdf(x, df / 2, loc, 2 * scale)


@of_distribution
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return gamma.pdf(x, df / 2, loc, 2 * scale)


@of_distribution
def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function."""
    return gamma.cdf(x, df / 2, loc, 2 * scale)


@of_distribution
def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function."""
    return gamma.logcdf(x, df / 2, loc, 2 * scale)


@of_distribution
def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function, 1 - cdf."""
    return gamma.sf(x, df / 2, loc, 2 * scale)


@of_distribution
def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the survival function."""
    return gamma.logsf(x, df / 2, loc, 2 * scale)
