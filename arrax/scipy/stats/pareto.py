"""The distribution of Pareto of exponent b: from loc + scale on."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.nn import activations
from arrax.scipy.stats.definition import at_least, inside, of_distribution, provided, standard, weak_as_sums


def _times(b: Any, logarithm: Any) -> Any:
    """b log z; 0 at the start of the support, also for infinite b, whose distribution lies there."""
    return jnp.where(jnp.isinf(b) & (logarithm == 0), 0.0, b * logarithm)


@of_distribution
def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: log b - (b + 1) log z - log scale, with z = (x - loc) / scale."""
    z = standard(x, loc, scale)
    value = inside(z >= 1, lambda z: jnp.log(b) - _times(b + 1, jnp.log(z)) - jnp.log(scale), z, 2.0)
    return provided(b > 0, value)


@of_distribution
def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, b, loc, scale))


def _logarithm(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    """b log z, 0 below the support."""
    return provided(b > 0, _times(b, jnp.log(at_least(standard(x, loc, scale), 1))))


@of_distribution
def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function, 1 - z^-b."""
    return -jnp.expm1(-_logarithm(x, b, loc, scale))


@weak_as_sums
def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function."""
    power = _logarithm(x, b, loc, scale)
    return inside(power > 0, activations.log1mexp, power, 1.0)


@of_distribution
def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function, z^-b."""
    return jnp.exp(-_logarithm(x, b, loc, scale))


@of_distribution
def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function."""
    return -_logarithm(x, b, loc, scale)


@of_distribution
def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of the distribution function."""
    valid = (q >= 0) & (q <= 1) & (scale > 0) & (b > 0)
    return provided(valid, loc + scale * jnp.where(q == 1, np.inf, jnp.exp(-jnp.log1p(-q) / b)))
