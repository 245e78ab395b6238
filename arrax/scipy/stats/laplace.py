"""The distribution of Laplace."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.scipy.stats.definition import of_distribution, standard


@of_distribution
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: -|z| - log(2 scale), with z = (x - loc) / scale."""
    return -jnp.abs(standard(x, loc, scale)) - jnp.log(2 * scale)


@of_distribution
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(-jnp.abs(standard(x, loc, scale))) / (2 * scale)


@of_distribution
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function."""
    z = standard(x, loc, scale)
    tail = 0.5 * jnp.exp(jnp.where(z > 0, -z, z))
    return jnp.where(z > 0, 1 - tail, tail)
