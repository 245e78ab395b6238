"""The generalized normal distribution, whose density falls as exp(-|x|^beta)."""

from __future__ import annotations

from typing import Any

from arrax import numpy as jnp
from arrax.scipy.special.gamma_functions import gammaincc, log_gamma
from arrax.scipy.stats.definition import of_distribution, provided


@of_distribution
def logpdf(x: Any, beta: Any) -> Any:
    """The logarithm of the density: log(beta / 2) - log Gamma(1 / beta) - |x|^beta."""
    return provided(beta > 0, jnp.log(0.5 * beta) - log_gamma(1 / beta) - jnp.abs(x) ** beta)


@of_distribution
def pdf(x: Any, beta: Any) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, beta))


@of_distribution
def cdf(x: Any, beta: Any) -> Any:
    """The distribution function."""
    size = jnp.abs(x) ** beta
    tail = 0.5 * gammaincc(1 / beta, size)
    return jnp.where(x > 0, 1 - tail, tail)
