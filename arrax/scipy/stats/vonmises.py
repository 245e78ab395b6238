"""The distribution of von Mises on the circle, of concentration kappa."""

from __future__ import annotations

import math
from typing import Any

from arrax import lax
from arrax import numpy as jnp
from arrax.scipy.stats.definition import of_distribution, provided


@of_distribution
def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density: kappa (cos x - 1) - log(2 pi exp(-kappa) I0(kappa))."""
    value = -2 * kappa * jnp.square(jnp.sin(0.5 * x)) - jnp.log(2 * math.pi * lax.bessel_i0e(kappa))
    return provided(kappa >= 0, value)


@of_distribution
def pdf(x: Any, kappa: Any) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, kappa))
