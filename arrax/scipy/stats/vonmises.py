"""The distribution of von Mises on the circle, of concentration kappa."""

from __future__ import annotations

import math

from arrax import lax
from arrax import numpy as jnp
from arrax.scipy.stats.definition import provided, weak_as_sums
from arrax.xla.arrays import Array, ArrayLike


@weak_as_sums
def logpdf(x: ArrayLike, kappa: Array) -> Array:
    """The logarithm of the density: kappa (cos x - 1) - log(2 pi exp(-kappa) I0(kappa))."""
    value = -2 * kappa * jnp.square(jnp.sin(0.5 * x)) - jnp.log(2 * math.pi * lax.bessel_i0e(kappa))
    return provided(kappa >= 0, value)


@weak_as_sums
def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The density."""
    return jnp.exp(logpdf(x, kappa))
