"""The normal distribution, cut at a and b (in units of the scale, seen from loc)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import numpy as jnp
from arrax.nn import activations
from arrax.scipy.special.definition import with_slopes
from arrax.scipy.special.error_functions import log_normal_cdf, normal_cdf
from arrax.scipy.stats.definition import inside, of_distribution, provided, standard
from arrax.xla.arrays import Array, ArrayLike


def _log_density(z: Array) -> Array:
    """The logarithm of the normal density, -inf with slope 0 at infinity."""
    endless = jnp.isinf(z)
    return jnp.where(endless, -np.inf, -0.5 * (jnp.square(jnp.where(endless, 0, z)) + math.log(2 * math.pi)))


@with_slopes(
    lambda ans, low, high: -jnp.exp(_log_density(low) - ans),
    lambda ans, low, high: jnp.exp(_log_density(high) - ans),
)
def _log_mass(low: Array, high: Array) -> Array:
    """log(Phi(high) - Phi(low)) for low <= high: of narrow intervals by the density in the middle, else by the tail on whose
    side both are, if they are on one."""
    middle, width = 0.5 * (low + high), high - low
    narrow = width * (1 + jnp.abs(middle)) < 3e-3
    middle, width = jnp.where(narrow, middle, 0), jnp.where(narrow, width, 1)
    beside = _log_density(middle) + jnp.log(width) + jnp.log1p(jnp.square(width) * (jnp.square(middle) - 1) / 24)
    return jnp.where(narrow, beside, _log_wide_mass(low, high))


def _log_wide_mass(low: Array, high: Array) -> Array:
    flip = low > 0
    low, high = jnp.where(flip, -high, low), jnp.where(flip, -low, high)
    apart = high > 0
    # both ends together: programs are large where these functions stand more than once
    below, above = log_normal_cdf(jnp.stack([jnp.where(apart, -1.0, low), jnp.where(apart, 0.0, high)]))
    difference = above - below
    same = ~(difference > 0)  # NaN for two infinities
    tails = above + activations.log1mexp(jnp.where(same, 1.0, difference))
    both = jnp.log1p(-jnp.sum(normal_cdf(jnp.stack([jnp.where(apart, low, -1.0), jnp.where(apart, -high, -1.0)])), 0))
    return jnp.where(apart, both, jnp.where(same, -np.inf, tails))


@of_distribution
def logpdf(x: ArrayLike, a: Array, b: Array, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density."""
    z = standard(x, loc, scale)
    mass = _log_mass(*jnp.broadcast_arrays(a, b))

    def value(z: Array) -> Any:
        return -0.5 * (z * z + math.log(2 * math.pi)) - jnp.log(scale) - mass

    return provided(a < b, inside((z >= a) & (z <= b), value, z, 0.0))


@of_distribution
def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def _log_shares(z: Array, a: ArrayLike, b: ArrayLike) -> tuple[Any, Any]:
    """The logarithms of the shares of the mass below and above z."""
    z, a, b = jnp.broadcast_arrays(z, a, b)
    under, over = z <= a, z >= b
    middle = jnp.where(jnp.isinf(a), jnp.where(jnp.isinf(b), 0, b - 1), jnp.where(jnp.isinf(b), a + 1, 0.5 * (a + b)))
    within = jnp.where(under | over, middle, z)
    low, high, whole = _log_mass(jnp.stack([a, within, a]), jnp.stack([within, b, b]))
    below = jnp.where(under, -np.inf, jnp.where(over, 0, low - whole))
    above = jnp.where(over, -np.inf, jnp.where(under, 0, high - whole))
    valid = (a < b) & ~jnp.isnan(z)
    return provided(valid, _of_pair(below, above)), provided(valid, _of_pair(above, below))


def _of_pair(share: Array, rest: Array) -> Array:
    """The logarithm of a share, which may be too small for a number, by that of the rest where it is most of the whole."""
    return jnp.where(share < -1, share, jnp.log1p(-jnp.exp(jnp.where(share < -1, -1.0, rest))))


@of_distribution
def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the distribution function."""
    return _log_shares(standard(x, loc, scale), a, b)[0]


@of_distribution
def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
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
