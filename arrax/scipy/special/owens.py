"""Owen's T function."""

from __future__ import annotations

import math

import numpy as np

from arrax import numpy as jnp
from arrax.scipy.special.definition import elementwise, with_slopes
from arrax.scipy.special.error_functions import normal_cdf, normal_density
from arrax.xla.arrays import Array, ArrayLike

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_REACH = 9.0  # exp(-h^2 x^2 / 2) is below the precision from x = 9 / h on
_FAR = 100.0  # where the normal density is 0 in every dtype


def _narrow(h: Array, a: Array) -> Array:
    """T(h, a) for h >= 0 and 0 <= a <= 1 by Gauss's quadrature of 40 points over the part that counts."""
    end = jnp.minimum(a, _REACH / jnp.maximum(h, 1.0))
    total = jnp.zeros_like(h)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        x = end * (0.5 * (1 + node))
        total = total + weight * jnp.exp(-0.5 * (h * x) ** 2) / (1 + x * x)
    return total * end * normal_density(h) / (2 * math.sqrt(2 * math.pi))


def _t_value(h: Array, a: Array) -> Array:
    h, size = jnp.abs(h), jnp.abs(a)
    wide = size > 1
    ah = jnp.where(wide & (h > 0), jnp.minimum(size * h, _FAR), jnp.where(wide, 0.0, h))
    upper, other = normal_cdf(-h), normal_cdf(-ah)
    folded = _narrow(jnp.where(wide, ah, h), jnp.where(wide, 1 / jnp.where(wide, size, 1), size))
    value = jnp.where(wide, 0.5 * (upper + other) - upper * other - folded, folded)
    at_zero = jnp.arctan(size) / (2 * math.pi)
    value = jnp.where(h == 0, at_zero, value)
    value = jnp.where(jnp.isinf(size), 0.5 * upper, value)
    value = jnp.where(jnp.isinf(h), 0.0, value)
    value = jnp.where(a < 0, -value, value)
    return jnp.where(jnp.isnan(h) | jnp.isnan(a), np.nan, value)


_owens_t = with_slopes(
    lambda ans, h, a: -normal_density(h) * (normal_cdf(a * h) - 0.5),
    lambda ans, h, a: jnp.exp(-0.5 * (h * h + (a * h) ** 2)) / (2 * math.pi * (1 + a * a)),
)(_t_value)


@elementwise()
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T function: the probability that X > h and 0 < Y < a X, for independent normal X and Y.

    Args:
      h, a: real arrays or numbers.
    Example: ``special.owens_t(0., 1.)`` is 1/8. Source: ``scipy.special.owens_t``; Owen (1956), equations 2.2 to 2.4.
    """
    return _owens_t(*jnp.broadcast_arrays(h, a))
