"""The generalized normal distribution, whose density falls as exp(-|x|^beta)."""

from __future__ import annotations

from arrax import dtypes
from arrax import numpy as jnp
from arrax.scipy.special.definition import with_slopes
from arrax.scipy.special.gamma_functions import gammaincc, log_gamma
from arrax.scipy.stats.definition import provided, weak_as_sums
from arrax.transforms.autodiff import jvp
from arrax.xla.arrays import Array, ArrayLike


@weak_as_sums
def logpdf(x: Array, beta: Array) -> Array:
    """The logarithm of the density: log(beta / 2) - log Gamma(1 / beta) - |x|^beta."""
    return provided(beta > 0, jnp.log(0.5 * beta) - log_gamma(1 / beta) - jnp.abs(x) ** beta)


@weak_as_sums
def pdf(x: Array, beta: Array) -> Array:
    """The density."""
    return provided(beta > 0, _density(x, beta))


def _density(x: ArrayLike, beta: ArrayLike) -> Array:
    return jnp.exp(jnp.log(0.5 * beta) - log_gamma(1 / beta) - jnp.abs(x) ** beta)


@weak_as_sums
def cdf(x: Array, beta: Array) -> Array:
    """The distribution function."""
    return provided(beta > 0, _share(x, beta))


def _share_below(x: Array, beta: Array) -> Array:
    size = jnp.abs(x)
    power = size**beta
    near = power < dtypes.finfo(power.dtype).eps  # where the density is even, though the power may be 0
    tail = 0.5 * jnp.where(near, 1 - size * jnp.exp(-log_gamma(1 + 1 / beta)), gammaincc(1 / beta, power))
    return jnp.where(x > 0, 1 - tail, tail)


def _slope_in_shape(ans: Array, x: Array, beta: Array) -> Array:
    away = jnp.where(x == 0, 1, x)  # at 0 the share is one half, whatever the shape
    slope = jvp(lambda beta: _share_below(away, beta), (beta,), (jnp.ones_like(beta),))[1]
    return jnp.where(x == 0, 0, slope)


_share = with_slopes(lambda ans, x, beta: _density(x, beta), _slope_in_shape)(_share_below)
