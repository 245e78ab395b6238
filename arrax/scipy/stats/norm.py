"""The normal distribution."""

from __future__ import annotations

import functools
import math
from typing import Any

from arrax import numpy as jnp
from arrax.core.types import typeof
from arrax.lax.conversion import convert
from arrax.numpy_api.operands import strong_inexact
from arrax.scipy.special.error_functions import log_normal_cdf, normal_cdf, normal_density, normal_quantile
from arrax.scipy.stats.definition import of_distribution, provided, standard
from arrax.xla.arrays import Array, ArrayLike

_firmly = functools.partial(of_distribution, promote=strong_inexact)


@of_distribution
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: -(z^2 + log 2 pi) / 2 - log scale, with z = (x - loc) / scale."""
    return -0.5 * (jnp.square(standard(x, loc, scale)) + math.log(2 * math.pi)) - jnp.log(scale)


@of_distribution
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density."""
    density = normal_density(standard(x, loc, scale))
    # The formula works on bits, which have no weak types.
    return convert(density, density.dtype, typeof(x).weak_type) / scale


@_firmly
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function."""
    return normal_cdf(standard(x, loc, scale))


@_firmly
def logcdf(x: Array, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the distribution function, exact in its lower tail."""
    return log_normal_cdf(standard(x, loc, scale))


@_firmly
def sf(x: Array, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The survival function, 1 - cdf."""
    return normal_cdf(-standard(x, loc, scale))


@_firmly
def logsf(x: Array, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the survival function, exact in its upper tail."""
    return log_normal_cdf(-standard(x, loc, scale))


@_firmly
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of the distribution function."""
    return provided(scale > 0, normal_quantile(q) * scale + loc)


@_firmly
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of the survival function."""
    return provided(scale > 0, -normal_quantile(q) * scale + loc)
