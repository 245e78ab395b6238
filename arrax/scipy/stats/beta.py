"""The beta distribution of shapes a and b on [loc, loc + scale]."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.scipy.special.gamma_functions import betainc, log_beta
from arrax.scipy.special.logarithmic import times_log, times_log1p
from arrax.scipy.stats.definition import inside, log_of_share, of_distribution, provided, standard


@of_distribution
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: (a - 1) log z + (b - 1) log(1 - z) - log B(a, b) - log scale."""
    z = standard(x, loc, scale)

    def value(z: Any) -> Any:
        return times_log(a - 1, z) + times_log1p(b - 1, -z) - log_beta(*jnp.broadcast_arrays(a, b)) - jnp.log(scale)

    return provided((a > 0) & (b > 0), inside((z >= 0) & (z <= 1), value, z, 0.5))


@of_distribution
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


@of_distribution
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function, a regularized incomplete beta function."""
    return betainc(a, b, jnp.clip(standard(x, loc, scale), 0, 1))


@of_distribution
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function."""
    return log_of_share(cdf(x, a, b, loc, scale), sf(x, a, b, loc, scale))


@of_distribution
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function, 1 - cdf."""
    return betainc(b, a, 1 - jnp.clip(standard(x, loc, scale), 0, 1))


@of_distribution
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function."""
    return log_of_share(sf(x, a, b, loc, scale), cdf(x, a, b, loc, scale))
