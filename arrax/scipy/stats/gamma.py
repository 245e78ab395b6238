"""The gamma distribution of shape a."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.scipy.special.gamma_functions import gammainc, gammaincc, log_gamma
from arrax.scipy.special.log_shares import log_gammainc, log_gammaincc
from arrax.scipy.special.logarithmic import times_log
from arrax.scipy.stats.definition import inside, of_distribution, provided, standard, weak_as_sums
from arrax.xla.arrays import Array, ArrayLike


def _share(function: Any, ends: tuple[float, float], z: Array, a: Array) -> Array:
    """The share on one side of z, or its logarithm, with its values at both ends of the support; also of infinite shapes."""
    value = inside((z > 0) & (z < np.inf), lambda z: function(a, z), z, 1.0, ends[0])
    return provided(a > 0, jnp.where(z == np.inf, ends[1], value))


@of_distribution
def logpdf(x: ArrayLike, a: Array, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density: (a - 1) log z - z - log Gamma(a) - log scale, with z = (x - loc) / scale."""
    z = standard(x, loc, scale)
    # at 0 the density is 0 or infinite, with no slope, but for the exponential one
    beside = jnp.where((z == 0) & (a < 1), np.inf - jnp.log(scale), -np.inf)
    support = (z > 0) | (z == 0) & (a == 1)
    value = inside(support, lambda z: times_log(a - 1, z) - z - log_gamma(a) - jnp.log(scale), z, 1.0, beside)
    return provided(a > 0, value)


@of_distribution
def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density."""
    return jnp.exp(logpdf(x, a, loc, scale))


@of_distribution
def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function, a regularized incomplete gamma function."""
    return _share(gammainc, (0.0, 1.0), standard(x, loc, scale), a)


@of_distribution
def logcdf(x: ArrayLike, a: Array, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the distribution function."""
    return _share(log_gammainc, (-np.inf, 0.0), standard(x, loc, scale), a)


@weak_as_sums
def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function, 1 - cdf."""
    return _share(gammaincc, (1.0, 0.0), standard(x, loc, scale), a)


@weak_as_sums
def logsf(x: ArrayLike, a: Array, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the survival function."""
    return _share(log_gammaincc, (0.0, -np.inf), standard(x, loc, scale), a)
