"""The uniform distribution on [loc, loc + scale]."""

from __future__ import annotations

import functools
from typing import Any

from arrax import numpy as jnp
from arrax.numpy_api.operands import strong_inexact
from arrax.scipy.stats.definition import at_least, inside, of_distribution, provided, standard, weak_as_sums
from arrax.xla.arrays import Array, ArrayLike

_firmly = functools.partial(of_distribution, promote=strong_inexact)


@weak_as_sums
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density: -log scale."""
    z = standard(x, loc, scale)
    return inside((z >= 0) & (z <= 1), lambda z: 0 * z - jnp.log(scale), z, 0.5)


@weak_as_sums
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density."""
    z = standard(x, loc, scale)
    return inside((z >= 0) & (z <= 1), lambda z: 0 * z + 1 / scale, z, 0.5, 0.0)


@_firmly
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function."""
    z = at_least(standard(x, loc, scale), 0)
    return jnp.where(z > 1, 1.0, z)


@weak_as_sums
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of the distribution function."""
    return provided((q >= 0) & (q <= 1) & (scale > 0), q * scale + loc)
