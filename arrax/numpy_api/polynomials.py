"""Polynomials as vectors of coefficients, highest power first (NumPy reference, routines.polynomials.poly1d)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.errors import ConcretizationTypeError
from arrax.core.types import typeof
from arrax.lax import arithmetic, concatenation, filled_arrays, linalg, shapes, static_slicing
from arrax.lax.control_flow.scans import scan
from arrax.lax.conversion import convert
from arrax.numpy_api.adding_removing import trim_zeros
from arrax.numpy_api.api import api
from arrax.numpy_api.convolutions import convolve
from arrax.numpy_api.creation import array
from arrax.numpy_api.elementwise import add, divide, multiply, subtract
from arrax.numpy_api.filled_arrays import full_like, ones, zeros
from arrax.numpy_api.joining import concatenate
from arrax.numpy_api.manipulation import atleast_1d, broadcast_to
from arrax.numpy_api.operands import check_arraylike, promote_dtypes, promote_inexact
from arrax.numpy_api.rearranging import known
from arrax.numpy_api.routes import eager_operand
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


def _vector(name: str, p: ArrayLike) -> Array:
    p = eager_operand(name, p)
    if typeof(p).ndim > 1:
        raise ValueError(f"{name}: coefficients must be a vector, got shape {typeof(p).shape}")
    return atleast_1d(p)


# ---- values ---------------------------------------------------------------------------------------------------------


@api(static=("unroll",))
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """The value of a polynomial, by Horner's scheme.

    Args:
      p: coefficients, highest power first; further axes hold several polynomials.
      x: array of places.
      unroll: how many steps of the scheme are written out in the program.
    Raises:
      ValueError: a scalar for ``p``.
    Example: ``jnp.polyval(jnp.array([1, 0, 2]), 3)`` is 11. Source: ``numpy.polyval``.
    """
    check_arraylike("polyval", p, x)
    unroll = as_index(unroll)
    p, x = promote_dtypes(p, x)
    p, x = convert(p, typeof(p).dtype), convert(x, typeof(x).dtype)
    if typeof(p).ndim == 0:
        raise ValueError("polyval requires coefficients p of at least one axis, got a scalar")
    length = typeof(p).shape[0]
    shape = shapes.broadcast_shapes(typeof(p).shape[1:], typeof(x).shape)
    x, y = broadcast_to(x, shape), filled_arrays.full(shape, 0, typeof(x).dtype)

    def step(y: Array, coefficient: Array) -> tuple[Any, Any]:
        return add(multiply(y, x), broadcast_to(coefficient, shape)), None

    if length <= max(unroll, 1):
        for i in range(length):
            y, _ = step(y, shapes.squeeze(static_slicing.slice_in_dim(p, i, i + 1), (0,)))
        return y
    return scan(step, y, p, unroll=unroll)[0]


# ---- arithmetic -----------------------------------------------------------------------------------------------------


def _aligned(name: str, a1: ArrayLike, a2: ArrayLike) -> tuple[Any, Any]:
    """Two vectors of coefficients of equal length: zeros in front of the shorter one."""
    check_arraylike(name, a1, a2)
    a1, a2 = _vector(name, a1), _vector(name, a2)
    length = max(typeof(a1).size, typeof(a2).size)

    def lengthened(p: Array) -> Array:
        missing = length - typeof(p).size
        return concatenate([full_like(p, 0, shape=(missing,)), p]) if missing else p

    return lengthened(a1), lengthened(a2)


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials.

    Args:
      a1, a2: coefficients, highest power first.
    Example: ``jnp.polyadd(jnp.array([1, 2]), jnp.array([3]))`` is ``[1, 5]``. Source: ``numpy.polyadd``.
    """
    return add(*_aligned("polyadd", a1, a2))


def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials.

    Args:
      a1, a2: coefficients, highest power first.
    Example: ``jnp.polysub(jnp.array([1, 2]), jnp.array([3]))`` is ``[1, -1]``. Source: ``numpy.polysub``.
    """
    return subtract(*_aligned("polysub", a1, a2))


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials.

    Args:
      a1, a2: coefficients, highest power first.
      trim_leading_zeros: drop zeros in front first (not for traced coefficients).
    Example: ``jnp.polymul(jnp.array([1, 1]), jnp.array([1, -1]))`` is ``[1., 0., -1.]``. Source: ``numpy.polymul``.
    """
    check_arraylike("polymul", a1, a2)
    a1, a2 = _vector("polymul", a1), _vector("polymul", a2)
    if trim_leading_zeros:
        a1, a2 = (_trimmed(p) for p in (a1, a2))
    a1, a2 = promote_inexact(a1, a2)
    return convolve(a1, a2) if typeof(a1).size and typeof(a2).size else zeros(1, typeof(a1).dtype)


def _trimmed(p: Any) -> Any:
    p = trim_zeros(p, "f")
    return p if typeof(p).size else zeros(1, typeof(p).dtype)


@api()
def _polydiv(u: Array, v: Array) -> tuple[Any, Any]:
    u, v = promote_inexact(u, v)
    m, n = typeof(u).size - 1, typeof(v).size - 1
    if m < n:
        return full_like(u, 0, shape=(1,)), u
    quotient = []
    lead = static_slicing.slice_in_dim(v, 0, 1)
    for k in range(m - n + 1):  # one coefficient of the quotient after the other
        factor = divide(static_slicing.slice_in_dim(u, k, k + 1), lead)
        quotient.append(factor)
        rest = subtract(static_slicing.slice_in_dim(u, k, k + n + 1), multiply(factor, v))
        u = concatenation.concatenate(
            [static_slicing.slice_in_dim(u, 0, k), rest, static_slicing.slice_in_dim(u, k + n + 1, m + 1)], 0
        )
    cancelled = static_slicing.slice_in_dim(u, 0, m - n + 1)
    zero = subtract(cancelled, cancelled)  # or NaN, where the division was none
    return concatenation.concatenate(quotient, 0), concatenation.concatenate(
        [zero, static_slicing.slice_in_dim(u, m - n + 1, m + 1)], 0
    )


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Quotient and remainder of two polynomials.

    Args:
      u, v: coefficients of the dividend and the divisor, highest power first.
      trim_leading_zeros: drop zeros in front of the remainder (not for traced coefficients).
    Returns: (quotient, remainder, as long as the dividend).
    Example: ``jnp.polydiv(jnp.array([1., 0., -1.]), jnp.array([1., 1.]))[0]`` is ``[1., -1.]``. Source: ``numpy.polydiv``.
    """
    check_arraylike("polydiv", u, v)
    quotient, rest = _polydiv(_vector("polydiv", u), _vector("polydiv", v))
    return quotient, _trimmed(rest) if trim_leading_zeros else rest


# ---- derivatives and integrals --------------------------------------------------------------------------------------


def _order(name: str, m: int) -> int:
    order = as_index(m)
    if order < 0:
        raise ValueError(f"{name}: the order must be positive, got {m}")
    return order


def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The derivative of a polynomial.

    Args:
      p: coefficients, highest power first.
      m: how many times, known while tracing.
    Raises:
      ValueError: a negative number.
    Example: ``jnp.polyder(jnp.array([1, 2, 3]))`` is ``[2., 2.]``. Source: ``numpy.polyder``.
    """
    check_arraylike("polyder", p)
    order = _order("polyder", m)
    (p,) = promote_inexact(_vector("polyder", p))
    length = typeof(p).size
    if order == 0:
        return p
    if order >= length:
        return zeros(0, typeof(p).dtype)
    powers = np.arange(length - 1, order - 1, -1.0)
    factors = np.prod([powers - k for k in range(order)], axis=0)
    return multiply(static_slicing.slice_in_dim(p, 0, length - order), factors.astype(typeof(p).dtype))


def polyint(p: ArrayLike, m: int = 1, k: OptionalArray = None) -> Array:
    """The integral of a polynomial.

    Args:
      p: coefficients, highest power first.
      m: how many times, known while tracing.
      k: constants of integration: one number for all, or a vector of ``m`` of them; by default zeros.
    Raises:
      ValueError: a negative number, or another number of constants.
    Example: ``jnp.polyint(jnp.array([2., 1.]))`` is ``[1., 1., 0.]``. Source: ``numpy.polyint``.
    """
    check_arraylike("polyint", p)
    order = _order("polyint", m)
    constants = atleast_1d(eager_operand("polyint", 0 if k is None else k))
    p, constants = promote_inexact(_vector("polyint", p), constants)
    if typeof(constants).ndim > 1 or (typeof(constants).size not in (1, order) and order > 0):
        raise ValueError("polyint: k must be a scalar or a rank-1 array of length 1 or m.")
    if order == 0:
        return p
    constants = broadcast_to(constants, (order,))
    whole = concatenate([p, constants])
    length = typeof(p).size
    divisors = np.ones(length + order)
    for step in range(1, order + 1):
        count = length + step - 1
        divisors[:count] *= np.arange(count, 0, -1)
    return divide(whole, divisors.astype(typeof(whole).dtype))


# ---- roots ----------------------------------------------------------------------------------------------------------


def poly(seq_of_zeros: ArrayLike) -> Array:
    """The coefficients of the polynomial with given roots and leading coefficient 1.

    Args:
      seq_of_zeros: vector of roots; or a square matrix, whose characteristic polynomial is given.
    Raises:
      ValueError: another shape.
    Example: ``jnp.poly(jnp.array([1., 2.]))`` is ``[1., -3., 2.]``. Source: ``numpy.poly``.
    """
    check_arraylike("poly", seq_of_zeros)
    if typeof(seq_of_zeros).ndim == 2:
        seq_of_zeros = _eigenvalues(seq_of_zeros)
    (roots_,) = promote_inexact(_vector("poly", seq_of_zeros))
    dtype = typeof(roots_).dtype
    count = typeof(roots_).size
    if count == 0:
        return ones((), dtype)
    return _poly(roots_)


@api()
def _eigenvalues(matrix: ArrayLike) -> Array:
    (matrix,) = promote_inexact(matrix)
    rows, columns = typeof(matrix).shape
    if rows != columns:
        raise ValueError(f"poly: input must be a vector or a non-empty square matrix, got shape {(rows, columns)}")
    return linalg.eig(matrix, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@api()
def _poly(roots_: Array) -> Array:
    dtype = typeof(roots_).dtype
    coefficients = filled_arrays.full((1,), 1, dtype)
    zero = filled_arrays.full((1,), 0, dtype)
    for i in range(typeof(roots_).size):
        root = static_slicing.slice_in_dim(convert(roots_, dtype), i, i + 1)
        shifted = concatenation.concatenate([coefficients, zero], 0)
        product = concatenation.concatenate([zero, multiply(coefficients, root)], 0)
        coefficients = arithmetic.sub(shifted, product)
    return coefficients


def _known_coefficients(p: Array) -> np.ndarray:
    values = known(p)
    if values is None:
        raise ConcretizationTypeError(
            p,
            "jnp.roots must look at the coefficients for zeros at the ends: pass strip_zeros=False in compiled functions.",
        )
    return values


def stripped(p: Array) -> tuple[Any, int]:
    """Coefficients without zeros at either end, and how many there were at the end."""
    filled = np.flatnonzero(_known_coefficients(p))
    if not filled.size:
        return array([], dtype=dtypes.to_inexact_dtype(typeof(p).dtype)), 0
    first, last = int(filled[0]), int(filled[-1])
    return static_slicing.slice_in_dim(p, first, last + 1), typeof(p).size - 1 - last
