"""Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.calls import as_index
from arrax.lax.special import one_over_argument
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, promote_inexact, refuse_complex
from arrax.scipy.special.definition import elementwise, with_slopes
from arrax.transforms.custom_jvp import custom_jvp
from arrax.xla.arrays import Array, ArrayLike


@elementwise()
def i0e(x: ArrayLike) -> Array:
    """``exp(-|x|) I_0(x)``, the scaled modified Bessel function of order 0.

    Args:
      x: real array or number.
    Example: ``special.i0e(0.)`` is 1. Source: ``scipy.special.i0e``; DLMF 10.25.2.
    """
    return lax.bessel_i0e(x)


@elementwise()
def i1e(x: ArrayLike) -> Array:
    """``exp(-|x|) I_1(x)``, the scaled modified Bessel function of order 1.

    Args:
      x: real array or number.
    Example: ``special.i1e(0.)`` is 0. Source: ``scipy.special.i1e``; DLMF 10.25.2.
    """
    return lax.bessel_i1e(x)


def _grown(x: Array, scaled: Array) -> Array:
    """A scaled function times exp(|x|), in two factors: exp may be too large where the product is not."""
    half = jnp.exp(0.5 * jnp.abs(x))
    return half * (half * scaled)


@with_slopes(lambda ans, x: _i1(x))
def _i0(x: Array) -> Array:
    return _grown(x, lax.bessel_i0e(x))


def _i1_slope(ans: Array, x: Array) -> Array:
    """I0(x) - I1(x) / x; infinite where both are."""
    even = _i0(x)
    over = jnp.isinf(even)
    return jnp.where(over, even, even - one_over_argument(x, jnp.where(over, 0, ans), jnp.ones_like(x)))


@with_slopes(_i1_slope)
def _i1(x: Array) -> Array:
    near = x * one_over_argument(x, x, jnp.ones_like(x))
    return jnp.where(jnp.abs(x) < 1, near, _grown(x, lax.bessel_i1e(x)))


@elementwise()
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0.

    Args:
      x: real array or number.
    Example: ``special.i0(0.)`` is 1. Source: ``scipy.special.i0``; DLMF 10.25.2.
    """
    return _i0(x)


@elementwise()
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1.

    Args:
      x: real array or number.
    Example: ``special.i1(0.)`` is 0. Source: ``scipy.special.i1``; DLMF 10.25.2.
    """
    return _i1(x)


# ---- J_0, …, J_v ----------------------------------------------------------------------------------------------------

_FAR = 25.0  # from here on, Hankel's expansions have all digits


def _hankel(z: ArrayLike, order: int) -> Array:
    """J_order(z) for large z (DLMF 10.17.3): cos and sin of z - (order/2 + 1/4) pi, by those of z and their sum and difference."""
    mu, inverse = 4 * order * order, 1 / z
    p, q, term = jnp.ones_like(z), jnp.zeros_like(z), 1.0
    power = jnp.ones_like(z)
    for k in range(1, 21):
        term = term * (mu - (2 * k - 1) ** 2) / (8 * k)
        power = power * inverse
        signed = term * (-1) ** (k // 2)
        p, q = (p, q + signed * power) if k % 2 else (p + signed * power, q)
    sine, cosine = jnp.sin(z), jnp.cos(z)
    if order == 0:
        cos_shifted, sin_shifted = cosine + sine, sine - cosine
    else:
        cos_shifted, sin_shifted = sine - cosine, -(sine + cosine)
    return (p * cos_shifted - q * sin_shifted) / jnp.sqrt(math.pi * z)


def _upward(z: Array, v: int) -> list[Any]:
    """J_0, …, J_v by the recurrence upwards, which is stable below order z."""
    values = [_hankel(z, 0), _hankel(z, 1)]
    for n in range(1, v):
        values.append(2 * n / z * values[n] - values[n - 1])
    return values[: v + 1]


def _downward(z: Array, v: int, start: int) -> list[Any]:
    """J_0, …, J_v by Miller's recurrence downwards from an order where J is negligible, normed by J_0 + 2 (J_2 + …) = 1."""
    tiny = jnp.full_like(z, 1e-280 if z.dtype == np.float64 else 1e-30)
    doubled = 2 / z

    def body(i: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        above, here, total, kept = carry
        n = start - i  # ``here`` is that of order n
        below = doubled * n.astype(z.dtype) * here - above
        much = jnp.abs(below) > (1e200 if z.dtype == np.float64 else 1e20)
        scale = jnp.where(much, 1e-200 if z.dtype == np.float64 else 1e-20, 1.0).astype(z.dtype)
        above, here, total, kept = (x * scale for x in (here, below, total, kept))
        order = n - 1
        total = total + jnp.where(order == 0, 1.0, jnp.where(order % 2 == 0, 2.0, 0.0)).astype(z.dtype) * here
        kept = jnp.where((jnp.arange(v + 1) == order).reshape((-1,) + (1,) * z.ndim), here, kept)
        return above, here, total, kept

    empty = jnp.zeros((v + 1, *z.shape), z.dtype)
    _, _, total, kept = lax.fori_loop(0, start, body, (jnp.zeros_like(z), tiny, jnp.zeros_like(z), empty))
    return list(kept / total)


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions of the first kind, of the orders 0 to v.

    Args:
      z: real array or number.
      v: the greatest order, from 0 on, known while tracing.
      n_iter: the least number of steps of the recurrence downwards; as many more as the digits need are made.
    Returns: array of shape ``(v + 1, *z.shape)``.
    Raises:
      ValueError: a negative order.
    Example: ``special.bessel_jn(0., v=1)`` is ``[1, 0]``. Source: DLMF 10.6.1, 10.17.3, 3.6.
    """
    check_arraylike("bessel_jn", z)
    if as_index(v) < 0:
        raise ValueError(f"bessel_jn: v must not be negative, got {v}")
    return _bessel_jn(z, v=as_index(v), n_iter=as_index(n_iter))


@api(static=("v", "n_iter"))
def _bessel_jn(z: ArrayLike, *, v: int, n_iter: int) -> Array:
    (z,) = promote_inexact(z)
    refuse_complex("bessel_jn", z)
    z = jnp.asarray(z)
    work = z if z.dtype.itemsize >= 4 else z.astype(np.float32)
    return _orders(v, n_iter)(work).astype(z.dtype)


@cache
def _orders(v: int, n_iter: int) -> Callable[[Any], Any]:
    """The function of the orders 0 to v, whose derivatives are differences of neighbours (DLMF 10.6.1)."""
    fun = custom_jvp(partial(_values, v=v, n_iter=n_iter))

    @fun.defjvp
    def jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Any, Any]:
        (z,), (t,) = primals, tangents
        more = _orders(v + 1, n_iter)(z)
        below = jnp.concatenate([-more[1:2], more[:v]])
        return fun(z), 0.5 * (below - more[1:]) * t

    return fun


def _values(z: Array, v: int, n_iter: int) -> Array:
    size = jnp.abs(z)
    far = size >= _FAR
    start = max(n_iter, v + 60, int(_FAR) + 45)
    start += start % 2
    zero = size == 0
    near = jnp.where(zero, 1.0, jnp.where(far & (size > v), 1.0, size))
    low = jnp.stack(_downward(near, v, start))
    above = jnp.where(far, size, _FAR)
    high = jnp.stack(_upward(above, v) if v else [_hankel(above, 0)])
    out = jnp.where(far & (size > v), high, low)
    orders = jnp.arange(v + 1).reshape((-1,) + (1,) * z.ndim)
    out = jnp.where(zero, (orders == 0).astype(z.dtype), out)
    return jnp.where((z < 0) & (orders % 2 == 1), -out, out)
