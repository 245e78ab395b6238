"""The gamma function, its logarithm, logarithmic derivatives, and quotients of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.types import typeof
from arrax.lax import digamma_formulas
from arrax.lax import log_gamma as formulas
from arrax.lax.double_formulas import Real
from arrax.lax.special import trigamma
from arrax.numpy_api.operands import as_operand, check_arraylike, concrete_int, own_promotion, strong_inexact
from arrax.scipy.special import coefficients as table
from arrax.scipy.special.definition import (
    analytic,
    between,
    chebyshev,
    elementwise,
    horner,
    sin_pi,
    with_slopes,
)
from arrax.xla.arrays import Array, ArrayLike

# Of log Gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2) in 1/x (DLMF 5.11).
_STIRLING = (
    -3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12,
)  # fmt: skip
_SHIFTS = 8  # from 10 on, Stirling's series have all digits


def _shifted(x: Array) -> tuple[Any, Any]:
    """x in [2, 10) less the integer that leaves it in [2, 3), and the integer."""
    steps = jnp.clip(jnp.floor(x) - 2, 0, _SHIFTS)
    return x - steps, steps


def _product_down(x: Array, steps: Array) -> Array:
    """(x - 1) (x - 2) … (x - steps)."""
    product = jnp.ones_like(x)
    for k in range(1, _SHIFTS + 1):
        product = product * jnp.where(k <= steps, x - k, 1)
    return product


# ---- log Gamma ------------------------------------------------------------------------------------------------------


def _stirling(x: Array) -> Array:
    inverse = 1 / x
    return horner(inverse * inverse, _STIRLING) * inverse


@analytic(lambda ans, x: digamma_function(x))
def log_gamma(x: Array, precision: float, order: int) -> Array:
    """log |Gamma(x)| of floating numbers."""
    return formulas.log_gamma(Real(x), precision, order).value


@elementwise()
def gammaln(x: ArrayLike) -> Array:
    """The logarithm of the magnitude of the gamma function.

    Args:
      x: real array or number.
    Returns: array; infinite at 0 and the negative integers.
    Example: ``special.gammaln(3.)`` is log 2. Source: ``scipy.special.gammaln``; DLMF 5.5, 5.11.
    """
    return log_gamma(x)


def _log_gamma_right(z: Array) -> Array:
    """log Gamma(z) for complex z of real part at least 1/2, on the branch that is real on the axis."""
    shift = jnp.zeros_like(z)
    for _ in range(_SHIFTS + 1):
        near = jnp.abs(z) < 10
        shift = shift + jnp.where(near, jnp.log(jnp.where(near, z, 1)), 0)
        z = jnp.where(near, z + 1, z)
    return (z - 0.5) * jnp.log(z) - z + 0.5 * math.log(2 * math.pi) + _stirling(z) - shift


def _log_sin_pi(z: Array) -> Array:
    """log sin(pi z), whose imaginary part follows that of z continuously, for imaginary parts of z of at least 0."""
    x, y = z.real, z.imag
    turned = jnp.exp(2j * math.pi * (x - jnp.round(x) + 1j * y).astype(z.dtype))
    return -1j * math.pi * z + jnp.log1p(-turned) + 0.5j * math.pi - math.log(2)


def _complex_log_gamma(z: ArrayLike) -> Array:
    lower = z.imag < 0
    z = jnp.where(lower, jnp.conj(z), z)
    left = z.real < 0.5
    right = _log_gamma_right(jnp.where(left, 1 - z, z))
    reflected = math.log(math.pi) - _log_sin_pi(z) - right
    out = jnp.where(left, reflected, right)
    return jnp.where(lower, jnp.conj(out), out)


@elementwise(complexes=True)
def loggamma(x: ArrayLike) -> Array:
    """The principal branch of the logarithm of the gamma function.

    Args:
      x: real or complex array or number.
    Returns: array; NaN for negative real numbers, whose gamma function may be negative: see ``gammaln``.
    Example: ``special.loggamma(3.)`` is log 2. Source: ``scipy.special.loggamma``; Hare (1997).
    """
    x = as_operand(x)
    if jnp.iscomplexobj(x):
        return _complex_log_gamma(x)
    return jnp.where(x < 0, np.nan, log_gamma(x))


# ---- Gamma ----------------------------------------------------------------------------------------------------------


def is_pole(x: Array) -> Array:
    """Whether the gamma function has a pole: at 0 and the negative integers."""
    return (x <= 0) & (x == jnp.floor(x))


@elementwise()
def gammasgn(x: ArrayLike) -> Array:
    """The sign of the gamma function.

    Args:
      x: real array or number.
    Returns: 1 or -1; the sign of a zero at zeros, NaN at negative integers.
    Example: ``special.gammasgn(-0.5)`` is -1. Source: ``scipy.special.gammasgn``.
    """
    return sign_of_gamma(x)


def sign_of_gamma(x: Any) -> Array:
    floor = jnp.floor(x)
    odd = floor - 2 * jnp.floor(floor / 2) != 0
    negative = jnp.where(odd, -1.0, 1.0)
    negative = jnp.where((floor == x) | jnp.isinf(x), np.nan, negative)
    out = jnp.where(x > 0, 1.0, jnp.where(x == 0, jnp.copysign(1.0, x), negative))
    return jnp.where(jnp.isnan(x), np.nan, out).astype(x.dtype)


def _gamma_positive(x: Array) -> Array:
    """Gamma(x) for x > 0; by x^x e^-x in two factors for large x, so that nothing overflows too early."""
    reduced, steps = _shifted(jnp.maximum(x, 2.0))
    small = x < 2
    rest = jnp.where(small, jnp.where(x < 1, x, x - 1), reduced - 2)
    near = 1 / (1 + rest * (1 - rest) * chebyshev(between(rest, 0.0, 1.0), table.RECIPROCAL_GAMMA))
    low = jnp.where(x < 1, near / jnp.where(x < 1, x, 1), near)
    middle = near * (reduced - 1) * _product_down(jnp.minimum(x, 10.0), steps)
    most = 172.0 if x.dtype == np.float64 else 36.0
    large = jnp.clip(x, 10.0, most)
    half = jnp.power(large, 0.5 * large - 0.25)
    far = math.sqrt(2 * math.pi) * half * (half * jnp.exp(-large)) * jnp.exp(_stirling(large))
    far = jnp.where(x >= most, np.inf, far)
    return jnp.where(small, low, jnp.where(x < 10, middle, far))


@with_slopes(lambda ans, x: ans * digamma(x))
def gamma_function(x: Array) -> Array:
    """Gamma(x) of floating numbers of 32 or 64 bits."""
    negative = x < 0
    tiny = jnp.abs(x) < (1e-8 if x.dtype == np.float32 else 1e-17)
    positive = _gamma_positive(jnp.where(tiny, 1, jnp.abs(x)))
    sine = sin_pi(x)
    reflected = -math.pi / jnp.where(sine == 0, np.nan, x * -sine) / -positive
    out = jnp.where(negative, reflected, positive)
    return jnp.where(tiny, 1 / jnp.where(tiny, x, 1), jnp.where(x == -np.inf, np.nan, out))


@elementwise(complexes=True, promote=strong_inexact)
def gamma(x: ArrayLike) -> Array:
    """The gamma function, the integral of t^(x-1) e^-t over positive t.

    Args:
      x: real or complex array or number.
    Returns: array; infinite at 0, NaN at negative integers.
    Example: ``special.gamma(5.)`` is 24. Source: ``scipy.special.gamma``; DLMF 5.5.3, 5.11.3.
    """
    return jnp.exp(_complex_log_gamma(x)) if jnp.iscomplexobj(x) else gamma_function(x)


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """The factorial n! = Gamma(n + 1).

    Args:
      n: real array or number.
      exact: must be False: arrays hold no integers of any size.
    Returns: floating array; 0 for negative n.
    Raises:
      NotImplementedError: ``exact``.
    Example: ``special.factorial(4.)`` is 24. Source: ``scipy.special.factorial``.
    """
    if exact:
        raise NotImplementedError("factorial: exact=True is not supported")
    check_arraylike("factorial", n)
    return _factorial(n)


@elementwise()
def _factorial(n: Array) -> Array:
    return jnp.where(n < 0, 0, whole_where(n == jnp.floor(n), gamma_function(jnp.where(n < 0, 0, n) + 1)))


def whole_where(condition: Array, value: Array) -> Array:
    """A value, rounded to the integer that it is meant to be, as long as the dtype holds all integers; slopes stay."""
    whole = condition & (value < 1 / np.finfo(value.dtype).eps)
    return value + lax.stop_gradient(jnp.where(whole, jnp.round(value) - value, 0))


# ---- logarithmic derivatives ------------------------------------------------------------------------------------------


@analytic(lambda ans, x: trigamma(x))
def digamma_function(x: Array, precision: float, order: int) -> Array:
    """The digamma function of floating numbers."""
    return digamma_formulas.digamma(Real(x), precision, order).value


@elementwise()
def digamma(x: ArrayLike) -> Array:
    """The digamma function, the derivative of log Gamma.

    Args:
      x: real array or number.
    Returns: array; NaN at negative integers.
    Example: ``special.digamma(1.)`` is -0.5772. Source: ``scipy.special.digamma``; DLMF 5.5.2, 5.11.2.
    """
    return digamma_function(x)


@elementwise()
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The n-th derivative of the digamma function.

    Args:
      n: array or number of integers from 0 on, which it cannot be differentiated in.
      x: real array or number.
    Example: ``special.polygamma(1, 1.)`` is pi^2 / 6. Source: ``scipy.special.polygamma``.
    """
    n, x = jnp.broadcast_arrays(n, x)
    return lax.polygamma(n, x)


# ---- of several dimensions ---------------------------------------------------------------------------------------------


@own_promotion
def multigammaln(a: ArrayLike, d: ArrayLike) -> Array:
    """The logarithm of the multivariate gamma function of dimension d.

    Args:
      a: real array or number, above (d - 1) / 2.
      d: the dimension, known while tracing.
    Example: ``special.multigammaln(3., 1)`` is log 2. Source: ``scipy.special.multigammaln``.
    """
    check_arraylike("multigammaln", a)
    dimension = concrete_int(d, "The dimension d of multigammaln")
    constant = dimension * (dimension - 1) / 4 * math.log(math.pi)
    a = jnp.asarray(a)
    if not jnp.issubdtype(a.dtype, jnp.inexact):
        a = a.astype(jnp.result_type(float))
    parts = jnp.expand_dims(a, -1) - np.arange(dimension).astype(typeof(a).dtype) / 2
    return jnp.sum(gammaln(parts), -1) + jnp.asarray(constant, a.dtype)


# ---- incomplete gamma and beta functions --------------------------------------------------------------------------------


@elementwise()
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized lower incomplete gamma function P(a, x).

    Args:
      a: positive array or number.
      x: array or number from 0 on.
    Returns: array; NaN outside of the domain. It can be differentiated in both.
    Example: ``special.gammainc(1., 1.)`` is 1 - 1/e. Source: ``scipy.special.gammainc``; DLMF 8.2.4.
    """
    return lax.igamma(*jnp.broadcast_arrays(a, x))


@elementwise()
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x). Args: as of ``gammainc``.

    Example: ``special.gammaincc(1., 1.)`` is 1/e. Source: ``scipy.special.gammaincc``; DLMF 8.2.4.
    """
    return lax.igammac(*jnp.broadcast_arrays(a, x))


@elementwise()
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function I_x(a, b).

    Args:
      a, b: positive arrays or numbers.
      x: array or number from 0 to 1.
    Returns: array; NaN outside of the domain. It can be differentiated in all three.
    Example: ``special.betainc(2., 2., 0.5)`` is 0.5. Source: ``scipy.special.betainc``; DLMF 8.17.2.
    """
    return lax.betainc(*jnp.broadcast_arrays(a, b, x))
