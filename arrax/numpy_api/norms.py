"""Norms of vectors and matrices, and what singular values tell (NumPy reference, routines.linalg)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.lax import arithmetic, axis_order, filled_arrays, linalg, shapes
from arrax.lax.bitwise import bitwise_and, bitwise_not
from arrax.lax.conversion import convert
from arrax.lax.exponential import pow as power
from arrax.lax.exponential import sqrt
from arrax.lax.operand_checks import kind_of
from arrax.lax.reductions import reduce_max, reduce_min, reduce_or, reduce_sum
from arrax.lax.selection import select
from arrax.numpy_api.api import api
from arrax.numpy_api.linear_systems import inv
from arrax.numpy_api.operands import broadcast_to, canonical_axes, check_arraylike, strong_inexact
from arrax.numpy_api.reductions import static_axis, with_kept_axes
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

Axes = Sequence[int]


def _operand(name: str, x: ArrayLike) -> Array:
    check_arraylike(f"linalg.{name}", x)
    (x,) = strong_inexact(x)
    return x


def _root_of_squares(x: Array, axes: Axes) -> Array:
    """The root of the sum of squared magnitudes."""
    if kind_of(typeof(x).dtype) == "complex":
        squares = arithmetic.real_part(arithmetic.mul(x, arithmetic.conj(x)))
    else:
        squares = arithmetic.mul(x, x)
    return sqrt(reduce_sum(squares, axes))


def _maximum(x: Array, axes: Axes) -> Array:
    """The greatest of magnitudes, zero where there are none."""
    return reduce_max(x, axes) if all(typeof(x).shape[axis] for axis in axes) else reduce_sum(x, axes)


def _minmax(name: str, x: Array, axes: Axes, reduce: Callable[..., Any]) -> Array:
    if any(typeof(x).shape[axis] == 0 for axis in axes) and reduce is reduce_min:
        raise ValueError(f"linalg.{name}: there is no least element of no elements, shape {typeof(x).shape}")
    return reduce(x, axes)


def _vector(name: str, x: Array, order: Any, axes: Axes) -> Array:
    """A norm of vectors that lie along some axes."""
    if order is None or order == 2:
        return _root_of_squares(x, axes)
    magnitude = arithmetic.abs_(x)
    if isinstance(order, str | complex | np.complexfloating):
        raise ValueError(f"Invalid order '{order}' for vector norm.")
    if order == math.inf:
        return _maximum(magnitude, axes)
    if order == -math.inf:
        return _minmax(name, magnitude, axes, reduce_min)
    if order == 0:
        return reduce_sum(convert(arithmetic.ne(x, filled_arrays.full_like(x, 0)), typeof(magnitude).dtype), axes)
    if order == 1:
        return reduce_sum(magnitude, axes)
    exponent = arithmetic.scalar(order, magnitude)
    total = reduce_sum(power(magnitude, exponent), axes)
    return power(total, arithmetic.scalar(1 / order, total))


def _of_matrices(name: str, x: Array, order: Any, rows: int, columns: int) -> Array:
    """A norm of matrices that lie in two axes."""
    if order in (None, "f", "fro"):
        return _root_of_squares(x, (rows, columns))
    if order in (1, -1, math.inf, -math.inf):
        summed, kept = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = reduce_sum(arithmetic.abs_(x), (summed,))
        axis = (kept - (kept > summed),)
        return _maximum(sums, axis) if order > 0 else _minmax(name, sums, axis, reduce_min)
    if order not in (2, -2, "nuc"):
        raise ValueError(f"Invalid order '{order}' for matrix norm.")
    moved = axis_order.transpose(x, [i for i in range(typeof(x).ndim) if i not in (rows, columns)] + [rows, columns])
    values = linalg.svd(moved, compute_uv=False)
    last = (typeof(values).ndim - 1,)
    if order == "nuc":
        return reduce_sum(values, last)
    return _maximum(values, last) if order == 2 else _minmax(name, values, last, reduce_min)


@api(static=("order", "axis", "keepdims"))
def _norm(x: ArrayLike, order: Any, axis: Any, keepdims: bool) -> Array:
    x = _operand("norm", x)
    rank = typeof(x).ndim
    if axis is None and order is None:
        axes = tuple(range(rank))
        return with_kept_axes(_root_of_squares(x, axes), axes, keepdims)
    if axis is None and rank not in (1, 2):
        raise ValueError(
            f"Improper number of axes for norm: got {rank}; with an order and without an axis, norm takes 1 or 2."
        )
    axes = canonical_axes(axis, rank)
    if len(axes) not in (1, 2):
        raise ValueError(f"Improper number of axes for norm: axis={axis}. Pass one axis or two.")
    out = _vector("norm", x, order, axes) if len(axes) == 1 else _of_matrices("norm", x, order, *axes)
    return with_kept_axes(out, axes, keepdims)


@api(static=("ord", "axis", "keepdims"), stepwise=True)
def norm(
    x: ArrayLike, ord: int | float | str | None = None, axis: int | Axes | None = None, keepdims: bool = False
) -> Array:
    """Norms of vectors or matrices.

    Args:
      x: array.
      ord: of vectors any number (the exponent; by default 2; infinite ones give minima and maxima, 0 counts), of matrices
        ``"fro"`` (by default), ``"nuc"``, 1, -1, 2, -2 or an infinity.
      axis: one axis of vectors, or two of matrices; all of them by default.
      keepdims: keep the axes, with length 1.
    Raises:
      ValueError: an unknown order, or another number of axes.
    Example: ``jnp.linalg.norm(jnp.array([3., 4.]))`` is 5. Source: ``numpy.linalg.norm``.
    """
    return _norm(x, ord, static_axis(axis), bool(keepdims))


@api(static=("axis", "keepdims", "order"))
def _vector_norm(x: ArrayLike, axis: Any, keepdims: bool, order: Any) -> Array:
    x = _operand("vector_norm", x)
    axes = canonical_axes(axis, typeof(x).ndim)
    return with_kept_axes(_vector("vector_norm", x, order, axes), axes, keepdims)


def vector_norm(
    x: ArrayLike, /, *, axis: int | Axes | None = None, keepdims: bool = False, ord: int | float | str = 2
) -> Array:
    """Norms of vectors.

    Args:
      x: array.
      axis: the axes that make a vector, all by default.
      keepdims: keep the axes, with length 1.
      ord: the exponent.
    Raises:
      ValueError: an unknown order.
    Example: ``jnp.linalg.vector_norm(jnp.ones((2, 2)))`` is 2. Source: ``numpy.linalg.vector_norm``.
    """
    return _vector_norm(x, static_axis(axis), bool(keepdims), ord)


@api(static=("keepdims", "ord"))
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: int | float | str = "fro") -> Array:
    """Norms of the matrices on the last two axes.

    Args:
      x: array of shape ``(..., m, n)``.
      keepdims: keep the axes, with length 1.
      ord: ``"fro"`` (by default), ``"nuc"``, 1, -1, 2, -2 or an infinity.
    Raises:
      ValueError: an unknown order, or fewer than two axes.
    Example: ``jnp.linalg.matrix_norm(jnp.ones((2, 2)))`` is 2. Source: ``numpy.linalg.matrix_norm``.
    """
    x = _operand("matrix_norm", x)
    axes = canonical_axes((-2, -1), typeof(x).ndim)
    return with_kept_axes(_of_matrices("matrix_norm", x, ord, *axes), axes, keepdims)


@api(static=("p",))
def cond(x: ArrayLike, p: int | float | str | None = None) -> Array:
    """Condition numbers: the norm of a matrix times that of its inverse.

    Args:
      x: array of shape ``(..., m, n)``.
      p: order of the norm, by default 2.
    Raises:
      ValueError: fewer than two axes, no elements; matrices that are not square where the order needs an inverse.
    Example: ``jnp.linalg.cond(jnp.eye(2))`` is 1. Source: ``numpy.linalg.cond``.
    """
    x = _operand("cond", x)
    if typeof(x).ndim < 2:
        raise ValueError(f"linalg.cond: expected an array of at least two axes, got shape {typeof(x).shape}")
    if 0 in typeof(x).shape[-2:]:
        raise ValueError(f"linalg.cond: empty matrices have no condition number, got shape {typeof(x).shape}")
    axes = canonical_axes((-2, -1), typeof(x).ndim)
    if p in (None, 2, -2):
        values = linalg.svd(x, compute_uv=False)
        first, last = (reduce(values, (typeof(values).ndim - 1,)) for reduce in (reduce_max, reduce_min))
        number = arithmetic.div(last, first) if p == -2 else arithmetic.div(first, last)
    else:
        number = arithmetic.mul(_of_matrices("cond", x, p, *axes), _of_matrices("cond", inv(x), p, *axes))
    given = reduce_or(arithmetic.ne(x, x), axes)  # NaN comes out where it goes in; else it is that of no inverse
    lost = bitwise_and(arithmetic.ne(number, number), bitwise_not(given))
    return select(lost, filled_arrays.full_like(number, np.inf), number)


def matrix_rank(
    M: ArrayLike, tol: OptionalArray = None, hermitian: bool = False, *, rtol: OptionalArray = None
) -> Array:
    """Ranks: the numbers of singular values that are not nearly zero.

    Args:
      M: array of shape ``(..., m, n)``.
      tol: what counts as zero, absolutely.
      hermitian: take matrices for Hermitian.
      rtol: what counts as zero, relative to the largest; by default the precision times ``max(m, n)``.
    Returns: int array of shape ``(...)``; for fewer than two axes, 1 unless all elements are 0.
    Raises:
      ValueError: both ``rtol`` and ``tol``.
    Example: ``jnp.linalg.matrix_rank(jnp.ones((2, 2)))`` is 1. Source: ``numpy.linalg.matrix_rank``.
    """
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: give rtol or tol, not both")
    return _matrix_rank(M, rtol, tol, bool(hermitian))


@api(static=("hermitian",))
def _matrix_rank(a: ArrayLike, rtol: Any, tol: Any, hermitian: bool) -> Array:
    a = _operand("matrix_rank", a)
    if typeof(a).ndim < 2:
        return convert(
            reduce_max(arithmetic.ne(a, filled_arrays.full_like(a, 0)), tuple(range(typeof(a).ndim))), np.int32
        )
    values = arithmetic.abs_(linalg.eigh(a)[1]) if hermitian else linalg.svd(a, compute_uv=False)
    default = max(typeof(a).shape[-2:]) * float(dtypes.finfo(typeof(a).dtype).eps)
    tolerance = convert(tol if tol is not None else default if rtol is None else rtol, typeof(values).dtype)
    shape = shapes.broadcast_shapes(typeof(values).shape[:-1], typeof(tolerance).shape)
    values, cutoff = broadcast_to(values, (*shape, typeof(values).shape[-1])), broadcast_to(tolerance, shape)
    last = len(shape)
    if tol is None:
        cutoff = arithmetic.mul(reduce_max(values, (last,)), cutoff)
    above = arithmetic.gt(values, shapes.broadcast_in_dim(cutoff, typeof(values).shape, range(last)))
    return reduce_sum(convert(above, dtypes.canonicalize_dtype(np.int64)), (last,))
