"""Logarithms of incomplete gamma and beta functions, also where the functions are too small for single precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.lax.incomplete_beta import betaincc
from arrax.scipy.special.definition import analytic
from arrax.scipy.special.gamma_functions import log_gamma
from arrax.scipy.special.gamma_quotients import log_beta_of_positive
from arrax.scipy.special.logarithmic import times_log, times_log1p
from arrax.xla.arrays import Array


def _log(share: Array, rest: Array) -> Array:
    """The logarithm of a share, by what is left of 1 where the share is most of it."""
    most, none = share > 0.5, share == 0
    least = jnp.where(none, -np.inf, jnp.log(jnp.where(most | none, 1.0, share)))
    return jnp.where(most, jnp.log1p(-jnp.where(most, rest, 0.0)), least)


def _gamma_density(a: Array, x: Array, ans: Array) -> Array:
    """The density of the gamma distribution, in proportion to exp(ans)."""
    return jnp.exp(times_log(a - 1, x) - x - log_gamma(a) - ans)


def _beta_density(a: Array, b: Array, x: Array, ans: Array) -> Array:
    """The density of the beta distribution, in proportion to exp(ans)."""
    return jnp.exp(times_log(a - 1, x) + times_log1p(b - 1, -x) - log_beta_of_positive(a, b) - ans)


@analytic(None, lambda ans, a, x: _gamma_density(a, x, ans))
def log_gammainc(a: Array, x: Array, precision: float, order: int) -> Array:
    """log P(a, x)."""
    return _log(lax.igamma(a, x), lax.igammac(a, x))


@analytic(None, lambda ans, a, x: -_gamma_density(a, x, ans))
def log_gammaincc(a: Array, x: Array, precision: float, order: int) -> Array:
    """log Q(a, x)."""
    return _log(lax.igammac(a, x), lax.igamma(a, x))


@analytic(None, None, lambda ans, a, b, x: _beta_density(a, b, x, ans))
def log_betainc(a: Any, b: Any, x: Any, precision: float, order: int) -> Any:
    """log I_x(a, b)."""
    return _log(lax.betainc(a, b, x), betaincc(a, b, x))


@analytic(None, None, lambda ans, a, b, x: -_beta_density(a, b, x, ans))
def log_betaincc(a: Array, b: Array, x: Array, precision: float, order: int) -> Array:
    """log (1 - I_x(a, b))."""
    return _log(betaincc(a, b, x), lax.betainc(a, b, x))
