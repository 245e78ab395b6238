"""What the derivatives of decompositions are made of: products, transposes, triangles and diagonals of stacked matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.types import ShapedArray, typeof
from arrax.lax.arithmetic import add, conj, eq, ge, mul, scalar
from arrax.lax.axis_order import move_axis
from arrax.lax.contractions import dot_general
from arrax.lax.conversion import convert
from arrax.lax.filled_arrays import broadcasted_iota, full_like
from arrax.lax.gathers import GatherDimensionNumbers, GatherScatterMode, gather
from arrax.lax.operand_checks import kind_of
from arrax.lax.precision import Precision
from arrax.lax.selection import select
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.lax.static_slicing import slice_

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike


def matmul(x: Any, y: ArrayLike) -> Array:
    """The products of matrices over equal leading axes, as exact as the dtype."""
    rank = typeof(x).ndim
    batch = tuple(range(rank - 2))
    return dot_general(x, y, (((rank - 1,), (rank - 2,)), (batch, batch)), Precision.HIGHEST)


def transposed(x: ArrayLike) -> Any:
    """Matrices with their last two axes exchanged."""
    rank = typeof(x).ndim
    return move_axis(x, rank - 2, rank - 1)


def conjugate(x: Array) -> Array:
    """The conjugate of complex numbers, and real ones as they are."""
    return conj(x) if kind_of(typeof(x).dtype) == "complex" else x


def adjoint(x: Any) -> Array:
    """Conjugate transposes."""
    return conjugate(transposed(x))


def symmetrized(x: ArrayLike) -> Array:
    """The Hermitian part of matrices, halved before it is added up, which might overflow; integers become floats."""
    aval = typeof(x)
    if kind_of(aval.dtype) not in ("float", "complex"):
        x = convert(x, dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(aval.dtype)), aval.weak_type)
    half = mul(x, scalar(0.5, x))
    return add(half, adjoint(half))


def _mask(x: ArrayLike, offset: int) -> Array:
    """True on and below a diagonal."""
    shape = typeof(x).shape
    rows, columns = (broadcasted_iota(np.int32, shape[-2:], axis) for axis in (0, 1))
    mask = ge(add(rows, np.int32(offset)), columns)
    return broadcast_in_dim(mask, shape, (len(shape) - 2, len(shape) - 1))


def lower_triangle(x: Any, offset: int = 0) -> Array:
    """Matrices with zeros above a diagonal."""
    return select(_mask(x, offset), x, full_like(x, 0))


def upper_triangle(x: Any, offset: int = 0) -> Array:
    """Matrices with zeros below a diagonal."""
    return select(_mask(x, offset - 1), full_like(x, 0), x)


def on_diagonal(x: Array) -> Array:
    """True on the main diagonal."""
    shape = typeof(x).shape
    rows, columns = (broadcasted_iota(np.int32, shape[-2:], axis) for axis in (0, 1))
    return broadcast_in_dim(eq(rows, columns), shape, (len(shape) - 2, len(shape) - 1))


def with_diagonal(x: Array, value: float) -> Array:
    """Matrices whose main diagonal is a constant."""
    return select(on_diagonal(x), full_like(x, value), x)


def diagonal(x: Array) -> Array:
    """The main diagonals of matrices."""
    *batch, rows, columns = typeof(x).shape
    length = min(rows, columns)
    flat = reshape(x, (*batch, rows * columns))
    stop = (length - 1) * (columns + 1) + 1 if length else 0
    return slice_(flat, [0] * (len(batch) + 1), [*batch, stop], [1] * len(batch) + [columns + 1])


def as_columns(vector: Array, like: Array | ShapedArray) -> Array:
    """Vectors repeated to the shape of matrices (or of their type): entry i in row i."""
    shape = like.shape
    return broadcast_in_dim(vector, shape, range(len(shape) - 1))


def as_rows(vector: Array, like: Array | ShapedArray) -> Array:
    """Vectors repeated to the shape of matrices (or of their type): entry j in column j."""
    shape = like.shape
    return broadcast_in_dim(vector, shape, (*range(len(shape) - 2), len(shape) - 1))


def part(x: ArrayLike, rows: tuple[int, int] | None = None, columns: tuple[int, int] | None = None) -> Array:
    """A block of matrices."""
    shape = typeof(x).shape
    bounds = [(0, length) for length in shape[:-2]]
    bounds += [rows or (0, shape[-2]), columns or (0, shape[-1])]
    return slice_(x, [start for start, _ in bounds], [stop for _, stop in bounds])


def take_rows(x: Any, rows: Array) -> Any:
    """Rows of matrices in the orders that integer vectors give, one per matrix."""
    shape = typeof(x).shape
    if not shape[-2]:
        return x  # no rows to take, and none that a window could have
    batch = tuple(range(len(shape) - 2))
    count = len(batch)
    numbers = GatherDimensionNumbers((count + 1,), (count,), (count,), batch, batch)
    indices = reshape(rows, (*typeof(rows).shape, 1))
    sizes = (*(min(1, length) for length in shape[:-2]), 1, shape[-1])
    return gather(x, indices, numbers, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)
