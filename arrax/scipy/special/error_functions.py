"""Error functions, their inverses, the normal distribution function, and relatives of complex arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.calls import as_index
from arrax.core.types import typeof
from arrax.lax.conversion import convert
from arrax.numpy_api.creation import array_of
from arrax.numpy_api.operands import as_operand, check_arraylike, strong_inexact
from arrax.scipy.special import coefficients as table
from arrax.scipy.special.definition import between, chebyshev, elementwise, exp_square, horner, with_slopes
from arrax.transforms.custom_jvp import custom_jvp
from arrax.xla.arrays import Array, ArrayLike

_ROOT_PI = math.sqrt(math.pi)
_ROOT_HALF = math.sqrt(0.5)


@elementwise()
def erf(x: ArrayLike) -> Array:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.

    Args:
      x: real array or number.
    Example: ``special.erf(0.)`` is 0. Source: ``scipy.special.erf``; DLMF 7.2.1.
    """
    return lax.erf(x)


# ---- erfc and erfcx -------------------------------------------------------------------------------------------------


def _scaled_right(x: Array) -> Array:
    """exp(x^2) erfc(x) for x >= 0. Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x" (1981)."""
    far = x > 1e8
    sound = jnp.where(far, 1.0, x)
    value = chebyshev((sound - 3.75) / (sound + 3.75), table.ERFCX) / (1 + 2 * sound)
    return jnp.where(far, 1 / _ROOT_PI / jnp.where(far, x, 1), value)


# (-1)^k (2k + 1)!! / 2^k, of the derivative of the asymptotic series (DLMF 7.12.1), its highest power first
_SLOPES = (2111.484375, -324.84375, 59.0625, -13.125, 3.75, -1.5, 1.0)


def _scaled_slope(ans: Array, x: Array) -> Array:
    """2 x erfcx(x) - 2 / sqrt(pi); for large x by the series, as the two cancel."""
    large = x > (30 if x.dtype == np.float64 else 10)
    inverse = 1 / jnp.square(jnp.where(large, x, 1e3))
    return jnp.where(large, -inverse * horner(inverse, _SLOPES) / _ROOT_PI, 2 * x * ans - 2 / _ROOT_PI)


@with_slopes(_scaled_slope)
def scaled_complement(x: Array) -> Array:
    """exp(x^2) erfc(x) of floating numbers of 32 or 64 bits."""
    right = _scaled_right(jnp.abs(x))
    most = 27.0 if x.dtype == np.float64 else 9.5
    left = jnp.where(x < -most, np.inf, 2 * exp_square(jnp.clip(x, -most, 0), 1.0) - right)
    return jnp.where(x < 0, left, right)


@elementwise(complexes=True, promote=strong_inexact)
def erfcx(x: ArrayLike) -> Array:
    """The scaled complementary error function, exp(x^2) erfc(x).

    Args:
      x: real or complex array or number.
    Example: ``special.erfcx(0.)`` is 1. Source: ``scipy.special.erfcx``; DLMF 7.2.2.
    """
    x = as_operand(x)
    return faddeeva(1j * x) if jnp.iscomplexobj(x) else scaled_complement(x)


def _gaussian(x: Array) -> Array:
    """exp(-x^2)."""
    most = 28.0 if x.dtype == np.float64 else 11.0
    return exp_square(jnp.clip(x, -most, most), -1.0)


def _complement(x: Array) -> Array:
    """erfc; its tails by the scaled one, which keeps its digits."""
    tail = _gaussian(x) * _scaled_right(jnp.maximum(jnp.abs(x), 1.0))
    middle = 1 - lax.erf(jnp.clip(x, -1.0, 1.0))
    return jnp.where(x > 1, tail, jnp.where(x < -1, 2 - tail, middle))


complement = with_slopes(lambda ans, x: -2 / _ROOT_PI * _gaussian(x))(_complement)


@elementwise()
def erfc(x: ArrayLike) -> Array:
    """The complementary error function, 1 - erf(x).

    Args:
      x: real array or number.
    Example: ``special.erfc(0.)`` is 1. Source: ``scipy.special.erfc``; DLMF 7.2.2.
    """
    return convert(complement(x), typeof(x).dtype, typeof(x).weak_type)  # the digits that it goes by are not weak


# ---- the normal distribution ------------------------------------------------------------------------------------------


def _half_gaussian(x: Array) -> Array:
    """exp(-x^2 / 2)."""
    most = 40.0 if x.dtype == np.float64 else 15.0
    return exp_square(jnp.clip(x, -most, most), -0.5)


def normal_density(x: Array) -> Array:
    """exp(-x^2 / 2) / sqrt(2 pi)."""
    return _half_gaussian(x) * (1 / math.sqrt(2 * math.pi))


def _normal_value(x: Array) -> Array:
    """Phi(x): by the scaled complement in the tails, as x / sqrt(2) has no rounding there that exp would enlarge."""
    tail = 0.5 * _half_gaussian(x) * _scaled_right(jnp.maximum(jnp.abs(x), 1.0) * _ROOT_HALF)
    middle = 0.5 + 0.5 * lax.erf(jnp.clip(x, -1.0, 1.0) * _ROOT_HALF)
    return jnp.where(x < -1, tail, jnp.where(x > 1, 1 - tail, middle))


normal_cdf = with_slopes(lambda ans, x: normal_density(x))(_normal_value)


@elementwise(promote=strong_inexact, lists=True)
def ndtr(x: ArrayLike) -> Array:
    """The distribution function of the normal distribution.

    Args:
      x: real array or number.
    Example: ``special.ndtr(0.)`` is 0.5. Source: ``scipy.special.ndtr``.
    """
    return normal_cdf(x)


def _log_normal_value(x: Array) -> Array:
    low = jnp.log(0.5 * _scaled_right(-jnp.minimum(x, -1.0) * _ROOT_HALF)) - 0.5 * jnp.square(jnp.minimum(x, -1.0))
    return jnp.where(x < -1, low, jnp.log1p(-_normal_value(-jnp.maximum(x, -1.0))))


def _log_normal_slope(ans: Any, x: Any) -> Any:
    """The density over the distribution function: by the scaled complement in the lower tail."""
    below, above = jnp.where(x < 0, x, 0), jnp.where(x < 0, 0, x)
    ratio = math.sqrt(2 / math.pi) / scaled_complement(-below * _ROOT_HALF)
    return jnp.where(x < 0, ratio, normal_density(above) / normal_cdf(above))


log_normal_cdf = with_slopes(_log_normal_slope)(_log_normal_value)


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of the distribution function of the normal distribution, with all digits in both tails.

    Args:
      x: real array or number.
      series_order: accepted: no series is cut off here.
    Raises:
      ValueError: a series_order that is not positive.
    Example: ``special.log_ndtr(0.)`` is -log 2. Source: ``scipy.special.log_ndtr``.
    """
    if as_index(series_order) <= 0:
        raise ValueError(f"log_ndtr: series_order must be positive, got {series_order}")
    x = array_of(x)
    check_arraylike("log_ndtr", x)
    return _log_ndtr(x)


@elementwise(promote=strong_inexact)
def _log_ndtr(x: Array) -> Array:
    return log_normal_cdf(x)


# ---- inverses -----------------------------------------------------------------------------------------------------------


def _upper_quantile(p: Array) -> Any:
    """The x > 0 of tail probability p <= 0.1, by r = sqrt(-log p)."""
    r = jnp.sqrt(-jnp.log(p))
    if p.dtype == np.float32:
        return r * chebyshev(between((r - 1) / (r + 1), 0.2, 8.375 / 10.375), table.QUANTILE_TAIL_SINGLE)
    near = chebyshev(between(r, 1.5, 3.0), table.QUANTILE_TAIL_NEAR)
    middle = chebyshev(between(r, 3.0, 8.0), table.QUANTILE_TAIL_MIDDLE)
    far = chebyshev(between(r, 8.0, 28.0), table.QUANTILE_TAIL_FAR)
    return r * jnp.where(r < 3, near, jnp.where(r < 8, middle, far))


def _quantile(q: Any, tail: Any) -> Array:
    """The x whose distribution function is 1/2 + q; ``tail`` is 1/2 - |q|, exactly."""
    inside = jnp.clip(q, -0.425, 0.425)
    middle = q * chebyshev(between(inside * inside, 0.0, 0.425**2), table.QUANTILE_MIDDLE)
    outside = jnp.sign(q) * _upper_quantile(jnp.where(tail > 0, jnp.minimum(tail, 0.1), 0.1))
    outside = jnp.where(tail == 0, jnp.copysign(np.inf, q), outside)
    out = jnp.where(jnp.abs(q) <= 0.425, middle, outside)
    return jnp.where(tail >= 0, out, np.nan)


@with_slopes(lambda ans, x: x * ans)
def _reciprocal_density(x: Any) -> Any:
    return 1 / normal_density(x)


normal_quantile = with_slopes(lambda ans, p: _reciprocal_density(ans))(
    lambda p: _quantile(p - 0.5, jnp.minimum(p, 1 - p))
)
inverse_error_function = with_slopes(lambda ans, y: 0.5 * _ROOT_PI * jnp.exp(ans * ans))(
    lambda y: _ROOT_HALF * _quantile(0.5 * y, 0.5 * (1 - jnp.abs(y)))
)


@elementwise(promote=strong_inexact)
def ndtri(p: ArrayLike) -> Array:
    """The inverse of the distribution function of the normal distribution.

    Args:
      p: array or number from 0 to 1.
    Returns: array; infinite at 0 and 1, NaN outside.
    Example: ``special.ndtri(0.5)`` is 0. Source: ``scipy.special.ndtri``; variables as in Wichura, AS 241 (1988).
    """
    return normal_quantile(p)


@elementwise()
def erfinv(x: ArrayLike) -> Array:
    """The inverse of the error function.

    Args:
      x: array or number from -1 to 1.
    Returns: array; infinite at -1 and 1, NaN outside.
    Example: ``special.erfinv(0.)`` is 0. Source: ``scipy.special.erfinv``.
    """
    return inverse_error_function(x)


# ---- Dawson's integral and w --------------------------------------------------------------------------------------------


def _dawson_slope(ans: Array, x: Array) -> Array:
    """1 - 2 x F(x); for large x by the series, whose terms are those of erfcx, all of one sign (DLMF 7.12)."""
    large = jnp.abs(x) > (30 if x.dtype == np.float64 else 6)
    inverse = -1 / jnp.square(jnp.where(large, x, 1e3))
    return jnp.where(large, 0.5 * inverse * horner(inverse, _SLOPES), 1 - 2 * x * ans)


@with_slopes(_dawson_slope)
def dawson(x: Array) -> Array:
    """Dawson's integral of floating numbers of 32 or 64 bits."""
    size = jnp.abs(x)
    near = x * chebyshev(between(jnp.minimum(size, 2) ** 2, 0.0, 4.0), table.DAWSON_NEAR)
    sound = jnp.maximum(size, 2)
    middle = chebyshev(between(sound, 2.0, 5.0), table.DAWSON_MIDDLE)
    far = chebyshev(between(jnp.square(1 / jnp.maximum(size, 5)), 0.0, 0.04), table.DAWSON_FAR)
    return jnp.where(size < 2, near, jnp.sign(x) * jnp.where(size < 5, middle, far) / sound)


@elementwise(promote=strong_inexact)
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral, exp(-x^2) times the integral of exp(t^2) from 0 to x.

    Args:
      x: real array or number.
    Example: ``special.dawsn(0.)`` is 0. Source: ``scipy.special.dawsn``; DLMF 7.2.5.
    """
    return dawson(x)


_POINTS = 11
_STEP = math.sqrt(math.pi / (_POINTS + 1))


def _rule(z: Array, offset: float) -> Array:
    """The trapezoidal rule for the integral of exp(-t^2) / (z - t), the points symmetric about 0."""
    total, square = jnp.zeros_like(z), z * z
    for k in range(_POINTS + 1):
        point = (k + offset) * _STEP
        weight = math.exp(-point * point) * (0.5 if point == 0 else 1.0)
        total = total + weight / (square - point * point)
    return (2j * _STEP / math.pi) * z * total


def _upper_right_w(z: Array) -> Array:
    """w(z) in the first quadrant by the trapezoidal rule, or that between its points, with the residue of its pole.

    Al Azah and Chandler-Wilde, "Computation of the complex error function using modified trapezoidal rules" (2021).
    """
    x, y = z.real, z.imag
    index = x / _STEP
    fraction = index - jnp.floor(index)
    whole = (fraction >= 0.25) & (fraction <= 0.75) & (y < x)  # far from the points 0, h, 2h, …
    # Where the integral's line is far from the pole, nothing has to be added.
    far = (y >= jnp.maximum(x, math.pi / _STEP)) | (y > 30) | (x > 1e3)
    huge = x + y > 1e8
    sound = jnp.where(huge, 1, z)
    value = jnp.where(whole, _rule(sound, 0.0), _rule(sound, 0.5))
    value = jnp.where(huge, 1j / _ROOT_PI / jnp.where(huge, z, 1), value)
    near = jnp.where(far, 0, z)
    decay = jnp.exp(-near * near)
    phase = jnp.exp((2j * math.pi / _STEP) * near)  # of magnitude below 1
    sign = jnp.where(whole, -1.0, 1.0)
    return value + jnp.where(far, 0, 2 * decay * sign * phase / (1 + sign * phase))


def _faddeeva(z: Array) -> Array:
    lower, left = z.imag < 0, z.real < 0
    folded = lax.complex(jnp.abs(z.real), jnp.abs(z.imag))
    w = _upper_right_w(folded)
    w = jnp.where(left, jnp.conj(w), w)  # w(-conj z) = conj w(z)
    # w(z) = 2 exp(-z^2) - w(-z) in the lower half
    w = jnp.where(lower, 2 * jnp.exp(-z * z) - jnp.conj(w), w)
    return w


@with_slopes(lambda ans, z: 2j / _ROOT_PI - 2 * z * ans)
def faddeeva(z: Array) -> Array:
    """w(z) of complex numbers."""
    return _faddeeva(z)


@elementwise(complexes=True, promote=strong_inexact)
def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function, w(z) = exp(-z^2) erfc(-i z).

    Args:
      z: real or complex array or number.
    Returns: complex array.
    Example: ``special.wofz(0.)`` is 1. Source: ``scipy.special.wofz``; DLMF 7.2.3.
    """
    if not jnp.iscomplexobj(z):
        z = lax.complex(z, jnp.zeros_like(z))
    return faddeeva(z)


# ---- Fresnel integrals --------------------------------------------------------------------------------------------------


def _fresnel_phase(x: ArrayLike) -> tuple[Any, Any]:
    """sin and cos of pi x^2 / 2, the square taken modulo 4 before it is rounded."""
    whole = jnp.round(x)
    rest = x - whole
    whole_square = (whole - 2 * jnp.floor(whole / 2)) ** 2  # 0 or 1 modulo 4, as (2n)^2 = 0 and (2n + 1)^2 = 1
    # x^2 = whole^2 + 2 whole rest + rest^2, and whole rest is exact: its factors share the digits of x
    product = 2 * whole * rest
    product = product - 4 * jnp.round(product / 4)
    angle = 0.5 * math.pi * (whole_square + product + rest * rest)
    return jnp.sin(angle), jnp.cos(angle)


def _fresnel_value(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    low = jnp.minimum(size, 1.6)
    fourth = between(low**4, 0.0, 1.6**4)
    near = low**3 * chebyshev(fourth, table.FRESNEL_S), low * chebyshev(fourth, table.FRESNEL_C)
    high = jnp.clip(size, 1.6, 1e9 if x.dtype == np.float64 else 1e4)
    inverse = 1 / (high * high) ** 2
    middle, far = between(inverse, 1 / 81, 1.6**-4), between(inverse, 0.0, 1 / 81)
    f = jnp.where(high < 3, chebyshev(middle, table.FRESNEL_F_MIDDLE), chebyshev(far, table.FRESNEL_F_FAR))
    g = jnp.where(high < 3, chebyshev(middle, table.FRESNEL_G_MIDDLE), chebyshev(far, table.FRESNEL_G_FAR))
    f, g = f / (math.pi * high), g / (math.pi**2 * high**3)
    sine, cosine = _fresnel_phase(high)
    outer = 0.5 - f * cosine - g * sine, 0.5 + f * sine - g * cosine
    settled = size > high
    both = (jnp.where(size < 1.6, n, jnp.where(settled, 0.5, o)) for n, o in zip(near, outer, strict=True))
    return tuple(jnp.where(x < 0, -v, v) + 0 * jnp.where(jnp.isnan(x), x, 0) for v in both)  # type: ignore[return-value]


_fresnel = custom_jvp(_fresnel_value)


@_fresnel.defjvp
def _fresnel_jvp(primals: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    sine, cosine = _fresnel_phase(x)
    return _fresnel(x), (sine * t, cosine * t)


@elementwise(promote=strong_inexact)
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """The Fresnel integrals: those of sin(pi t^2 / 2) and of cos(pi t^2 / 2) from 0 to x.

    Args:
      x: real array or number.
    Returns: ``(S, C)``, arrays of the shape of ``x``.
    Example: ``special.fresnel(0.)`` is two zeros. Source: ``scipy.special.fresnel``; DLMF 7.2.7, 7.2.8, 7.5.3, 7.5.4.
    """
    return _fresnel(x)
