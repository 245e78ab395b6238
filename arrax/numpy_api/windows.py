"""Window functions (NumPy reference, routines.window)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.lax import arithmetic, exponential, filled_arrays, shapes, special
from arrax.lax.conversion import convert
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.elementwise_makers import constant
from arrax.numpy_api.operands import check_arraylike, known_size, promote_inexact, refuse_complex
from arrax.transforms.custom_jvp import custom_jvp
from arrax.xla.arrays import Array, ArrayLike


def _window(M: int, values: Callable[..., Any]) -> Array:
    """A window of known length, whose values NumPy computes."""
    points = np.asarray(values(known_size(M, f"jnp.{values.__name__}", "M"))).astype(
        dtypes.canonicalize_dtype(np.float64)
    )
    return asarray(points)


def bartlett(M: int) -> Array:
    """The triangular window of Bartlett.

    Args:
      M: number of points, known while tracing.
    Example: ``jnp.bartlett(3)`` is ``[0., 1., 0.]``. Source: ``numpy.bartlett``.
    """
    return _window(M, np.bartlett)


def blackman(M: int) -> Array:
    """The window of Blackman: three terms of cosines.

    Args:
      M: number of points, known while tracing.
    Example: ``jnp.blackman(3)``. Source: ``numpy.blackman``.
    """
    return _window(M, np.blackman)


def hamming(M: int) -> Array:
    """The window of Hamming: a cosine on a pedestal.

    Args:
      M: number of points, known while tracing.
    Example: ``jnp.hamming(3)``. Source: ``numpy.hamming``.
    """
    return _window(M, np.hamming)


def hanning(M: int) -> Array:
    """The window of von Hann: a raised cosine.

    Args:
      M: number of points, known while tracing.
    Example: ``jnp.hanning(3)`` is ``[0., 1., 0.]``. Source: ``numpy.hanning``.
    """
    return _window(M, np.hanning)


@api()
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind and order 0, elementwise.

    Args:
      x: array or number.
    Raises:
      TypeError: complex numbers.
    Example: ``jnp.i0(0.)`` is 1. Source: ``numpy.i0``.
    """
    check_arraylike("i0", x)
    (x,) = promote_inexact(x)
    refuse_complex("i0", x)
    return _bessel_i0(convert(x, typeof(x).dtype, typeof(x).weak_type))


def _grown(scaled: Callable[[Any], Any]) -> Callable[..., Array]:
    """A scaled function times exp(size), in two factors: exp may be too large where the product is not."""

    @special.at_least_single
    def grown(x: Array, size: Array) -> Array:
        half = exponential.exp(arithmetic.mul(size, constant(0.5, size)))
        return arithmetic.mul(half, arithmetic.mul(half, scaled(x)))

    return grown


_even, _odd = _grown(special.bessel_i0e), _grown(special.bessel_i1e)


@custom_jvp
def _bessel_i0(x: ArrayLike) -> Array:
    return _even(x, arithmetic.abs_(x))


@_bessel_i0.defjvp
def _bessel_i0_jvp(primals: tuple[float, ...], tangents: tuple[Array, ...]) -> tuple[Any, Any]:
    """The derivative is the function of order 1: a product of what overflows, which a difference would not survive."""
    (x,), (t,) = primals, tangents
    size = arithmetic.max_(x, arithmetic.neg(x))  # like the magnitude, but with the derivative 0 at 0
    return _bessel_i0(x), arithmetic.mul(t, _odd(x, size))


@api(static=("M",))
def _kaiser(beta: ArrayLike, M: int) -> Array:
    dtype = dtypes.canonicalize_dtype(np.float64)
    beta = convert(beta, dtype)
    if M == 1:
        return filled_arrays.full((1,), 1, dtype)
    half = 0.5 * (M - 1)
    indices = arithmetic.div(arithmetic.sub(filled_arrays.iota(dtype, M), constant(half, beta)), constant(half, beta))
    inside = arithmetic.max_(arithmetic.sub(constant(1, beta), arithmetic.square(indices)), constant(0, beta))
    values = i0(arithmetic.mul(shapes.broadcast_in_dim(beta, (M,), ()), exponential.sqrt(inside)))
    return arithmetic.div(values, shapes.broadcast_in_dim(i0(beta), (M,), ()))


def kaiser(M: int, beta: ArrayLike) -> Array:
    """The window of Kaiser, made of Bessel functions.

    Args:
      M: number of points, known while tracing.
      beta: shape parameter, a number (also a traced one).
    Example: ``jnp.kaiser(3, 2.)``. Source: ``numpy.kaiser``.
    """
    check_arraylike("kaiser", beta)
    if typeof(beta).ndim or dtypes.is_complex(typeof(beta).dtype):
        raise TypeError(f"kaiser: beta must be a real number, got {typeof(beta).str_short(True)}")
    return _kaiser(beta, max(known_size(M, "jnp.kaiser", "M"), 0))
