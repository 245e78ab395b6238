"""Arrays as matrices whose rows lie along an axis, which is how host kernels see them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from arrax.core.types import ShapedArray, typeof
from arrax.lax.axis_order import transpose
from arrax.lax.shapes import reshape

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def _with_axis_last(rank: int, axis: int) -> tuple[int, ...]:
    return (*(dim for dim in range(rank) if dim != axis), axis)


def rows_type(aval: ShapedArray, axis: int) -> ShapedArray:
    """The type of the matrix of an array."""
    length = aval.shape[axis]
    return ShapedArray((aval.size // length if length else 0, length), aval.dtype)


def to_rows(x: Array, axis: int) -> Array:
    """A value as a matrix whose rows lie along an axis."""
    moved = transpose(x, _with_axis_last(typeof(x).ndim, axis))
    shape = typeof(moved).shape
    return reshape(moved, (math.prod(shape[:-1]), shape[-1]))


def from_rows(x: Array, aval: ShapedArray, axis: int) -> Array:
    """The inverse of ``to_rows``; ``aval`` is the result's type."""
    order = _with_axis_last(aval.ndim, axis)
    moved = reshape(x, tuple(aval.shape[dim] for dim in order))
    return transpose(moved, tuple(np.argsort(order).tolist()))
