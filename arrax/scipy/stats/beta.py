"""The beta distribution of shapes a and b on [loc, loc + scale]."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.lax.incomplete_beta import betaincc
from arrax.scipy.special.gamma_functions import betainc
from arrax.scipy.special.gamma_quotients import log_beta_of_positive
from arrax.scipy.special.log_shares import log_betainc, log_betaincc
from arrax.scipy.special.logarithmic import times_log, times_log1p
from arrax.scipy.stats.definition import inside, of_distribution, provided, standard
from arrax.xla.arrays import Array, ArrayLike


@of_distribution
def logpdf(x: ArrayLike, a: Array, b: Array, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density: (a - 1) log z + (b - 1) log(1 - z) - log B(a, b) - log scale."""
    z = standard(x, loc, scale)

    def value(z: Array) -> Any:
        return (
            times_log(a - 1, z)
            + times_log1p(b - 1, -z)
            - log_beta_of_positive(*jnp.broadcast_arrays(a, b))
            - jnp.log(scale)
        )

    # at the borders the density is 0 or infinite, with no slope, where it is not that of an even distribution
    beside = jnp.where((z == 0) & (a < 1) | (z == 1) & (b < 1), np.inf - jnp.log(scale), -np.inf)
    support = ((z > 0) | (z == 0) & (a == 1)) & ((z < 1) | (z == 1) & (b == 1))
    return provided((a > 0) & (b > 0), inside(support, value, z, 0.5, beside))


@of_distribution
def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def _share(function: Any, ends: tuple[float, float], z: Any, a: Any, b: Any) -> Array:
    """The share on one side of z, or its logarithm, with its values below and above the support."""
    value = inside((z > 0) & (z < 1), lambda z: function(a, b, z), z, 0.5, ends[0])
    return provided((a > 0) & (b > 0), jnp.where(z >= 1, ends[1], value))


@of_distribution
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function, a regularized incomplete beta function."""
    return _share(betainc, (0.0, 1.0), standard(x, loc, scale), a, b)


@of_distribution
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function."""
    return _share(log_betainc, (-np.inf, 0.0), standard(x, loc, scale), a, b)


@of_distribution
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function, 1 - cdf."""
    z, a, b = jnp.broadcast_arrays(standard(x, loc, scale), a, b)
    return _share(betaincc, (1.0, 0.0), z, a, b)


@of_distribution
def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the survival function."""
    return _share(log_betaincc, (0.0, -np.inf), standard(x, loc, scale), a, b)
