"""Roots of polynomials, and polynomials through points (NumPy reference, routines.polynomials.poly1d)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.types import typeof
from arrax.lax import (
    arithmetic,
    concatenation,
    exponential,
    filled_arrays,
    linalg,
    selection,
    shapes,
    static_slicing,
)
from arrax.lax.conversion import convert
from arrax.lax.reductions import reduce_max, reduce_sum
from arrax.numpy_api.accumulations import cumprod
from arrax.numpy_api.api import api
from arrax.numpy_api.axis_order import matrix_transpose
from arrax.numpy_api.elementwise import abs, conj, divide, multiply, real, subtract
from arrax.numpy_api.elementwise_makers import constant
from arrax.numpy_api.filled_arrays import eye, zeros
from arrax.numpy_api.joining import concatenate
from arrax.numpy_api.logic import equal, less, logical_not
from arrax.numpy_api.manipulation import atleast_1d, expand_dims
from arrax.numpy_api.matrices import vander
from arrax.numpy_api.operands import check_arraylike, check_arraylike_or_none, promote_inexact
from arrax.numpy_api.polynomials import stripped
from arrax.numpy_api.products import matmul
from arrax.numpy_api.rearranging import roll
from arrax.numpy_api.reductions import sum
from arrax.numpy_api.routes import eager_operand
from arrax.numpy_api.selection import where
from arrax.numpy_api.sorting import argsort
from arrax.numpy_api.tensor_products import outer
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


@api()
def _companion_roots(p: ArrayLike) -> Array:
    """The eigenvalues of the companion matrix."""
    (p,) = promote_inexact(p)
    p = convert(p, typeof(p).dtype)
    degree = typeof(p).size - 1
    first = divide(arithmetic.neg(static_slicing.slice_in_dim(p, 1, degree + 1)), static_slicing.slice_in_dim(p, 0, 1))
    below = eye(degree - 1, degree, dtype=typeof(p).dtype)
    matrix = concatenation.concatenate([shapes.expand_dims(first, (0,)), below], 0)
    return linalg.eig(matrix, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@api()
def _roots_of_all(p: Array) -> Array:
    """The roots, with NaN last for each leading zero: the zeros go to the end, and as many of the least roots are NaN."""
    zeros_in_front = sum(cumprod(equal(p, 0)))
    found = _companion_roots(roll(p, -zeros_in_front))
    kept = less(argsort(argsort(abs(found), descending=True)), subtract(typeof(found).size, zeros_in_front))
    return where(kept, found, complex(np.nan, np.nan))[argsort(logical_not(kept))]


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The roots of a polynomial, as complex numbers.

    Args:
      p: vector of coefficients, highest power first.
      strip_zeros: look for zeros at the ends of ``p`` first, which traced coefficients don't allow; with False, the result
        has ``p.size - 1`` elements, of which those without a root are NaN and last.
    Raises:
      ConcretizationTypeError: traced coefficients with ``strip_zeros``.
      ValueError: more than one axis.
    Example: ``jnp.roots(jnp.array([1., -3., 2.]))`` is ``[2.+0.j, 1.+0.j]``. Source: ``numpy.roots``.
    """
    check_arraylike("roots", p)
    p = eager_operand("roots", p)
    p = atleast_1d(p)
    if typeof(p).ndim > 1:
        raise ValueError(f"roots: input must be a rank-1 array, got shape {typeof(p).shape}.")
    dtype = dtypes.canonicalize_dtype(dtypes.to_complex_dtype(typeof(p).dtype))
    if not strip_zeros:
        return _roots_of_all(p) if typeof(p).size > 1 else zeros(0, dtype)
    p, trailing = stripped(p)
    found = _companion_roots(p) if typeof(p).size > 1 else zeros(0, dtype)
    return concatenate([found, zeros(trailing, dtype)]) if trailing else found


def _squared_sizes(columns: Array) -> Array:
    return reduce_sum(real(multiply(columns, conj(columns))), (0,))


@api(static=("degree", "rcond"))
def _fitted(x: ArrayLike, y: ArrayLike, w: Any, degree: int, rcond: float | None) -> tuple[Any, Any, Any, Any, Any]:
    """(coefficients, sums of squared rests, rank, singular values, inverse of the normal matrix)."""
    values = promote_inexact(*(v for v in (x, y, w) if v is not None))
    dtype = typeof(values[0]).dtype
    x, y, *weights = (convert(v, dtype) for v in values)
    table = vander(x, degree + 1)
    flat = typeof(y).ndim == 1
    y = expand_dims(y, 1) if flat else y
    if weights:
        column = expand_dims(weights[0], 1)
        table, y = multiply(table, column), multiply(y, column)
    scale = exponential.sqrt(_squared_sizes(table))
    table = divide(table, expand_dims(scale, 0))
    limit = typeof(x).size * float(dtypes.finfo(dtype).eps) if rcond is None else rcond
    u, s, vh = linalg.svd(table, full_matrices=False)
    kept = arithmetic.gt(s, multiply(reduce_max(s, (0,)), constant(limit, s)))
    inverse = selection.select(kept, divide(constant(1, s), s), filled_arrays.full_like(s, 0))
    u, v = matrix_transpose(conj(u)), matrix_transpose(conj(vh))
    scaled = matmul(v, multiply(expand_dims(inverse, 1), matmul(u, y)))
    rests = _squared_sizes(subtract(y, matmul(table, scaled)))
    scaled_vh = multiply(expand_dims(arithmetic.square(inverse), 1), vh)
    normal = divide(matmul(v, scaled_vh), outer(scale, scale))
    coefficients = divide(scaled, expand_dims(scale, 1))
    if flat:
        coefficients = shapes.squeeze(coefficients, (1,))
    return coefficients, rests, reduce_sum(convert(kept, np.int32), (0,)), s, normal


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: OptionalArray = None,
    cov: bool | str = False,
) -> Array | tuple[Array, ...]:
    """The polynomial that fits points best, by least squares.

    Args:
      x: vector of places.
      y: vector of values, or matrix with a column per set of values.
      deg: degree, known while tracing.
      rcond: singular values below this share of the greatest count as zero.
      full: whether to return details of the fit.
      w: vector of weights of the (unsquared) distances.
      cov: whether to return the covariances of the coefficients; ``"unscaled"`` for weights that are 1 / deviation.
    Returns: coefficients, highest power first; with ``full``, (coefficients, sums of squared rests, rank, singular values,
      rcond); with ``cov``, (coefficients, covariances).
    Raises:
      ValueError: a negative degree; too few points for covariances.
      TypeError: shapes that don't fit.
    Example: ``jnp.polyfit(jnp.arange(3.), jnp.array([1., 3., 5.]), 1)`` is ``[2., 1.]``. Source: ``numpy.polyfit``.
    """
    check_arraylike("polyfit", x, y)
    check_arraylike_or_none("polyfit", w)
    degree = as_index(deg)
    if degree < 0:
        raise ValueError(f"polyfit: expected deg >= 0, got {deg}")
    own, values = typeof(x).shape, typeof(y).shape
    if len(own) != 1 or own[0] == 0:
        raise TypeError(f"polyfit: expected a non-empty 1D vector for x, got shape {own}")
    if len(values) not in (1, 2) or values[0] != own[0]:
        raise TypeError(f"polyfit: expected x and y to have the same length, got shapes {own} and {values}")
    if w is not None and typeof(w).shape != own:
        raise TypeError(f"polyfit: expected w to have the shape of x, got {typeof(w).shape} and {own}")
    limit = rcond if rcond is None else float(rcond)
    coefficients, rests, rank, singular, normal = _fitted(x, y, w, degree, limit)
    if full:
        eps = float(dtypes.finfo(typeof(coefficients).dtype).eps)
        used = constant(own[0] * eps if limit is None else limit, singular)
        return coefficients, rests, rank, singular, eager_operand("polyfit", used)
    if not cov:
        return coefficients
    return coefficients, _covariances(normal, rests, own[0] - degree - 1, cov == "unscaled", len(values) == 1)


def _covariances(normal: Array, rests: Array, freedom: int, unscaled: bool, flat: bool) -> Array:
    if unscaled:
        return normal if flat else expand_dims(normal, 2)
    if freedom <= 0:
        raise ValueError(
            "polyfit: the number of data points must exceed the number of coefficients to scale the covariances"
        )
    factors = divide(rests, constant(freedom, rests))
    if flat:
        return multiply(normal, shapes.squeeze(factors, (0,)))
    return multiply(expand_dims(normal, 2), factors)
