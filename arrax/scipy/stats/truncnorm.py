"""The normal distribution, cut at a and b (in units of the scale, seen from loc)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.nn import activations
from arrax.scipy.special.definition import log1p
from arrax.scipy.special.error_functions import log_normal_cdf, normal_cdf
from arrax.scipy.stats.definition import inside, log_of_share, of_distribution, provided, standard


def _log_mass(low: Any, high: Any) -> Any:
    """log(Phi(high) - Phi(low)) for low <= high, by the tail on whose side both are, if they are on one."""
    flip = low > 0
    low, high = jnp.where(flip, -high, low), jnp.where(flip, -low, high)
    apart = high > 0
    tail_low, tail_high = jnp.where(apart, -1.0, low), jnp.where(apart, 0.0, high)
    above = log_normal_cdf(tail_high)
    difference = above - log_normal_cdf(tail_low)
    same = difference <= 0
    tails = above + activations.log1mexp(jnp.where(same, 1.0, difference))
    both = log1p(-(normal_cdf(jnp.where(apart, low, -1.0)) + normal_cdf(jnp.where(apart, -high, -1.0))))
    return jnp.where(apart, both, jnp.where(same, -np.inf, tails))


@of_distribution
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    z = standard(x, loc, scale)
    mass = _log_mass(*jnp.broadcast_arrays(a, b))

    def value(z: Any) -> Any:
        return -0.5 * (z * z + math.log(2 * math.pi)) - jnp.log(scale) - mass

    return provided(a < b, inside((z >= a) & (z <= b), value, z, 0.0))


@of_distribution
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def _log_shares(z: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The logarithms of the shares of the mass below and above z."""
    z, a, b = jnp.broadcast_arrays(jnp.clip(z, a, b), a, b)
    whole = _log_mass(a, b)
    below = jnp.where(z == b, 0, _log_mass(a, z) - whole)
    above = jnp.where(z == a, 0, _log_mass(z, b) - whole)
    first = log_of_share(jnp.exp(below), jnp.exp(above)), log_of_share(jnp.exp(above), jnp.exp(below))
    # a share that is too small for a number has a logarithm yet
    low, high = jnp.where(below < -1, below, first[0]), jnp.where(above < -1, above, first[1])
    return provided(a < b, low), provided(a < b, high)


@of_distribution
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function."""
    return _log_shares(standard(x, loc, scale), a, b)[0]


@of_distribution
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function."""
    return jnp.exp(logcdf(x, a, b, loc, scale))


@of_distribution
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function."""
    return _log_shares(standard(x, loc, scale), a, b)[1]


@of_distribution
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function, 1 - cdf."""
    return jnp.exp(logsf(x, a, b, loc, scale))
