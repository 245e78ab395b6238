"""Student's t distribution with df degrees of freedom."""

from __future__ import annotations

import math
from typing import Any

from arrax import numpy as jnp
from arrax.scipy.special.gamma_quotients import log_beta_of_positive
from arrax.scipy.stats.definition import of_distribution, provided, standard
from arrax.xla.arrays import Array, ArrayLike


@of_distribution
def logpdf(x: ArrayLike, df: Array, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density: -(df + 1)/2 log(1 + z^2/df) - log(sqrt(df) B(1/2, df/2)) - log scale.

    For infinite ``df`` it is that of the normal distribution.
    """
    z = standard(x, loc, scale)
    endless = jnp.isinf(df)
    shape = jnp.where(endless, 1.0, df)
    half = 0.5 * shape
    norm = log_beta_of_positive(*jnp.broadcast_arrays(jnp.full_like(half, 0.5), half)) + 0.5 * jnp.log(shape)
    size = jnp.abs(z) / jnp.sqrt(shape)
    far = size > 1e10  # where 1 is nothing beside the square, and the square may be infinite
    near = jnp.where(far, 0.0, z)
    log_term = jnp.where(
        far, 2 * jnp.log(jnp.where(far, jnp.abs(z), 1.0)) - jnp.log(shape), jnp.log1p(near * near / shape)
    )
    value = -(half + 0.5) * log_term - norm
    normal = -0.5 * (jnp.where(endless, z, 0.0) ** 2 + math.log(2 * math.pi))
    return provided(df > 0, jnp.where(endless, normal, value) - jnp.log(scale))


@of_distribution
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, df, loc, scale))
