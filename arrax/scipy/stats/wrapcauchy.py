"""The distribution of Cauchy, wrapped around the circle; 0 < c < 1."""

from __future__ import annotations

import math
from typing import Any

from arrax import numpy as jnp
from arrax.scipy.stats.definition import inside, provided, weak_as_sums


@weak_as_sums
def logpdf(x: Any, c: Any) -> Any:
    """The logarithm of the density: log((1 - c^2) / (2 pi (1 + c^2 - 2 c cos x))) for x from 0 to 2 pi."""

    def value(x: Any) -> Any:
        below = jnp.square(1 - c) + 4 * c * jnp.square(jnp.sin(0.5 * x))
        return jnp.log((1 - c) * (1 + c) / (2 * math.pi * below))

    return provided((c > 0) & (c < 1), inside((x >= 0) & (x <= 2 * math.pi), value, x, 1.0))


@weak_as_sums
def pdf(x: Any, c: Any) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, c))
