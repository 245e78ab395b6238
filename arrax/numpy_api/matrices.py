"""Building matrices, their triangles and diagonals, and grids (NumPy reference, routines.array-creation)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.interpreter import Tracer
from arrax.core.lengths import is_below
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import arithmetic, axis_order, filled_arrays, selection, shape_arguments, shapes, static_slicing
from arrax.lax.conversion import convert
from arrax.lax.reductions import reduce_or, reduce_sum
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.axis_order import moveaxis
from arrax.numpy_api.manipulation import ravel, reshape
from arrax.numpy_api.operands import check_arraylike, promote_numeric, refuse_out, requested
from arrax.numpy_api.powers import power
from arrax.numpy_api.reductions import sum_dtype
from arrax.numpy_api.routes import eager_operand, eager_operands, shape_of
from arrax.xla.arrays import Array, ArrayLike


def _triangle_mask(rows: int, columns: int, k: int) -> Array:
    """True on and below the k-th diagonal."""
    row = filled_arrays.broadcasted_iota(np.int32, (rows, columns), 0)
    column = filled_arrays.broadcasted_iota(np.int32, (rows, columns), 1)
    return arithmetic.ge(arithmetic.add(row, convert(k, np.int32)), column)


@api(static=("rows", "columns", "dtype"))
def _tri(k: int, rows: int, columns: int, dtype: np.dtype) -> Array:
    return convert(_triangle_mask(rows, columns, k), dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: OptionalDType = None) -> Array:
    """A matrix with ones on and below a diagonal.

    Args:
      N, M: rows and columns (as many as rows by default).
      k: which diagonal: above the main one where positive.
      dtype: by default float32 (float64 with x64).
    Example: ``jnp.tri(2)`` is ``[[1., 0.], [1., 1.]]``. Source: ``numpy.tri``.
    """
    chosen = dtypes.canonicalize_dtype(np.float64) if dtype is None else dtypes.check_user_dtype("tri", dtype)
    rows, columns = shape_arguments.canonical_shape((N, N if M is None else M), "tri")
    known = not isinstance(k, Tracer | host.ArrayImpl)
    if known:
        k = as_index(k)
    if is_below(rows * columns, host.MAX_ELEMENTS + 1, False) and host.evaluating() and known:
        return host.new(np.tri(rows, columns, k, dtype=np.bool_).astype(chosen))
    return _tri(k, rows, columns, chosen)


@api(static=("k", "lower"), host=lambda values, k, lower: np.tril(values, k) if lower else np.triu(values, k))
def _triangle(m: Array, k: int, lower: bool) -> Array:
    shape, dtype = typeof(m).shape, typeof(m).dtype
    mask = _triangle_mask(shape[-2], shape[-1], k if lower else k - 1)
    broadcasted = shapes.broadcast_in_dim(mask, shape, (len(shape) - 2, len(shape) - 1))
    zero = filled_arrays.full_like(m, 0)
    out = selection.select(broadcasted, m, zero) if lower else selection.select(broadcasted, zero, m)
    return convert(out, dtype, typeof(m).weak_type)


def _triangle_of(name: str, m: ArrayLike, k: int) -> Array:
    m = eager_operand(name, m)
    if typeof(m).ndim < 2:
        raise ValueError(f"Argument to {name} must be at least 2D, got shape {shape_of(m)}")
    return _triangle(m, as_index(k), name == "tril")


@api(static=("k",), stepwise=True)
def tril(m: ArrayLike, k: int = 0) -> Array:
    """The lower triangles of matrices: zeros above a diagonal.

    Args:
      m: array of shape ``(..., rows, columns)``.
      k: which diagonal: above the main one where positive.
    Raises:
      ValueError: fewer than two axes.
    Example: ``jnp.tril(jnp.ones((2, 2)))``. Source: ``numpy.tril``.
    """
    return _triangle_of("tril", m, k)


@api(static=("k",), stepwise=True)
def triu(m: ArrayLike, k: int = 0) -> Array:
    """The upper triangles of matrices: zeros below a diagonal.

    Args:
      m: array of shape ``(..., rows, columns)``.
      k: which diagonal: above the main one where positive.
    Raises:
      ValueError: fewer than two axes.
    Example: ``jnp.triu(jnp.ones((2, 2)))``. Source: ``numpy.triu``.
    """
    return _triangle_of("triu", m, k)


# ---- diagonals ------------------------------------------------------------------------------------------------------


def _matrix_on_host(values: np.ndarray, k: int) -> np.ndarray | None:
    length = values.size + abs(k)
    return np.diag(values, k) if host.fits(length, length) else None


@api(static=("k",), host=_matrix_on_host)
def _matrix_of(v: Array, k: int) -> Array:
    aval = typeof(v)
    length = aval.shape[0] + abs(k)
    zero = np.zeros((), aval.dtype)[()]
    filling = convert(zero, aval.dtype, aval.weak_type) if aval.weak_type else zero
    column = static_slicing.pad(v, filling, [(max(-k, 0), max(k, 0), 0)]) if k else v
    rows, columns = (filled_arrays.broadcasted_iota(np.int32, (length, length), dim) for dim in (0, 1))
    mask = arithmetic.eq(arithmetic.add(rows, np.int32(k)) if k else rows, columns)
    # down the rows, so that axes of a mesh that divide the vector divide the rows
    broadcasted = shapes.broadcast_in_dim(column, (length, length), (0,))
    return convert(
        selection.select(mask, broadcasted, filled_arrays.full_like(broadcasted, 0)), aval.dtype, aval.weak_type
    )


@api(static=("k",), stepwise=True)
def diag(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with a vector on a diagonal, or the diagonal of a matrix.

    Args:
      v: vector or matrix.
      k: which diagonal: above the main one where positive.
    Raises:
      ValueError: another number of axes.
    Example: ``jnp.diag(jnp.arange(2))`` is ``[[0, 0], [0, 1]]``. Source: ``numpy.diag``.
    """
    v = eager_operand("diag", v)
    rank = typeof(v).ndim
    if rank not in (1, 2):
        raise ValueError(f"diag input must be 1d or 2d, got shape {shape_of(v)}")
    k = as_index(k)
    if rank == 2:
        return diagonal(v, k)
    return _matrix_of(v, k)


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with all elements of an array on a diagonal.

    Args:
      v: array, flattened.
      k: which diagonal; 0 the main one, positive ones above it.
    Example: ``jnp.diagflat(jnp.ones((1, 2))).shape`` is ``(2, 2)``. Source: ``numpy.diagflat``.
    """
    elements = ravel(eager_operand("diagflat", v))
    return diag(convert(elements, typeof(elements).dtype), k)


@api(static=("offset",))
def diagonal_of_last(a: ArrayLike, offset: int) -> Array:
    """The diagonals of matrices on the last two axes: slices, with a stride, of the rows in a line."""
    *batch, rows, columns = typeof(a).shape
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    if length == 0:
        return static_slicing.slice_(shapes.reshape(a, (*batch, rows * columns)), [0] * (len(batch) + 1), [*batch, 0])
    start = offset if offset >= 0 else -offset * columns
    line = shapes.reshape(a, (*batch, rows * columns))
    zeros_before = [0] * len(batch)
    limit = start + (length - 1) * (columns + 1) + 1
    return static_slicing.slice_(line, [*zeros_before, start], [*batch, limit], [*(1 for _ in batch), columns + 1])


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of the matrices that two axes span.

    Args:
      a: array of at least two axes.
      offset: which diagonal: above the main one where positive.
      axis1, axis2: the axes of rows and of columns.
    Returns: array without the two axes, the diagonals along a new last one.
    Raises:
      ValueError: fewer than two axes, no such axis, or twice the same.
    Example: ``jnp.diagonal(jnp.eye(2))`` is ``[1., 1.]``. Source: ``numpy.diagonal``.
    """
    a = eager_operand("diagonal", a)
    rank = typeof(a).ndim
    if rank < 2:
        raise ValueError(f"diagonal requires an array of at least two dimensions, got shape {shape_of(a)}")
    first, second = (shape_arguments.canonical_axis(axis, rank) for axis in (axis1, axis2))
    if first == second:
        raise ValueError(f"diagonal: axis1 and axis2 cannot be the same, got {axis1} and {axis2}")
    offset = as_index(offset)
    if host.on_host(a):
        return host.back(np.diagonal(host.view(a), offset, first, second), a, weak_type=False)
    out = diagonal_of_last(moveaxis(a, (first, second), (-2, -1)), offset)
    return convert(out, typeof(a).dtype) if typeof(a).weak_type else out


@api(static=("axis1", "axis2", "dtype"))
def _masked_trace(a: Array, offset: ArrayLike, axis1: int, axis2: int, dtype: Any) -> Array:
    shape, rank = typeof(a).shape, typeof(a).ndim
    order = [axis for axis in range(rank) if axis not in (axis1, axis2)]
    matrices = convert(axis_order.transpose(a, (*order, axis1, axis2)), dtype)
    plane = (shape[axis1], shape[axis2])
    row, column = (filled_arrays.broadcasted_iota(np.int32, plane, dim) for dim in (0, 1))
    mask = arithmetic.eq(arithmetic.add(row, convert(offset, np.int32)), column)
    broadcasted = shapes.broadcast_in_dim(mask, typeof(matrices).shape, (rank - 2, rank - 1))
    summed = reduce_or if dtypes.is_bool(dtype) else reduce_sum  # as the sum of bools is
    return summed(selection.select(broadcasted, matrices, filled_arrays.full_like(matrices, 0)), (rank - 2, rank - 1))


@api(static=("axis1", "axis2", "dtype", "out"), stepwise=True)
def trace(
    a: ArrayLike, offset: ArrayLike = 0, axis1: int = 0, axis2: int = 1, dtype: OptionalDType = None, out: None = None
) -> Array:
    """The sums of the diagonals of the matrices that two axes span.

    Args:
      a: array of at least two axes.
      offset: which diagonal (also a traced one): above the main one where positive.
      axis1, axis2: the axes of rows and of columns.
      dtype: dtype to sum in; by default small integers become the default integer.
      out: must be None: arrays cannot be written to.
    Raises:
      ValueError: fewer than two axes, no such axis, or an offset that is no integer.
    Example: ``jnp.trace(jnp.eye(3))`` is 3. Source: ``numpy.trace``.
    """
    refuse_out("trace", out)
    a = eager_operand("trace", a)
    rank = typeof(a).ndim
    first, second = (shape_arguments.canonical_axis(axis, rank) for axis in (axis1, axis2))
    if first == second:
        raise ValueError(f"trace: axis1 and axis2 cannot be the same, got {axis1} and {axis2}")
    chosen = requested("trace", dtype, sum_dtype(typeof(a).dtype), typeof(a).dtype)
    check_arraylike("trace", offset)
    place = typeof(offset)
    if place.shape or not dtypes.is_integer(place.dtype):
        raise ValueError(f"trace: offset must be an integer, got {place.str_short()}")
    return _masked_trace(a, offset, first, second, chosen)


# ---- grids ----------------------------------------------------------------------------------------------------------


def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Array, ...]:
    """The coordinates of the points of a grid: a tuple of one array per axis.

    Args:
      xi: vectors (or scalars) of coordinates.
      copy: only True.
      sparse: leave the other axes at length 1.
      indexing: ``"xy"``: the first vector counts along the second axis; ``"ij"``: along the first.
    Raises:
      ValueError: more than one axis, or other options.
    Example: ``jnp.meshgrid(jnp.arange(2), jnp.arange(3))[0].shape`` is ``(3, 2)``. Source: ``numpy.meshgrid``.
    """
    if not copy:
        raise ValueError("meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    arrays = eager_operands("meshgrid", xi)
    if any(typeof(a).ndim > 1 for a in arrays):
        raise ValueError(f"meshgrid: coordinates must be 1D, got shapes {[shape_of(a) for a in arrays]}")
    rank = len(arrays)
    indices = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    common = [1] * rank
    for a, index in zip(arrays, indices, strict=True):
        common[index] = typeof(a).size
    if not sparse and rank and host.fits(*common) and all(host.on_host(a) for a in arrays):
        return tuple(
            host.back(np.broadcast_to(host.view(a).reshape([-1 if i == index else 1 for i in range(rank)]), common), a)
            for a, index in zip(arrays, indices, strict=True)
        )
    if sparse:
        return tuple(
            reshape(a, tuple(typeof(a).size if i == index else 1 for i in range(rank)))
            for a, index in zip(arrays, indices, strict=True)
        )
    return tuple(
        shapes.broadcast_in_dim(a, tuple(common), (index,) if typeof(a).ndim else ())
        for a, index in zip(arrays, indices, strict=True)
    )


@api(static=("N", "increasing"))
def _vander(x: ArrayLike, N: int, increasing: bool) -> Array:
    (x,) = promote_numeric(x)
    length = typeof(x).shape[0]
    if N == 0:
        return filled_arrays.full((length, 0), 0, typeof(x).dtype)
    exponents = filled_arrays.iota(np.int32, N)
    if not increasing:
        exponents = arithmetic.sub(filled_arrays.full_like(exponents, N - 1), exponents)
    base = shapes.broadcast_in_dim(convert(x, typeof(x).dtype), (length, N), (0,))
    return power(base, shapes.broadcast_in_dim(convert(exponents, typeof(x).dtype), (length, N), (1,)))


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """A matrix whose columns are powers of a vector.

    Args:
      x: vector.
      N: number of columns, by default the length of ``x``.
      increasing: whether powers grow from left to right.
    Raises:
      ValueError: not a vector, or a negative number.
    Example: ``jnp.vander(jnp.array([1, 2]), 3)`` is ``[[1, 1, 1], [4, 2, 1]]``. Source: ``numpy.vander``.
    """
    check_arraylike("vander", x)
    if typeof(x).ndim != 1:
        raise ValueError(f"vander: x must be a one-dimensional array, got shape {shape_of(x)}")
    columns = shape_of(x)[0] if N is None else as_index(N)
    if columns < 0:
        raise ValueError(f"vander: N must be nonnegative, got {N}")
    return _vander(x, columns, bool(increasing))
