"""Whole slices of an array at given places of an axis: what repeating, inserting, padding and searching are made of."""

from __future__ import annotations

import numpy as np

from arrax.core.types import typeof
from arrax.lax import shapes
from arrax.lax.conversion import convert
from arrax.lax.gathers import GatherDimensionNumbers, GatherScatterMode, gather
from arrax.xla.arrays import Array, ArrayLike

_IN_BOUNDS = GatherScatterMode.PROMISE_IN_BOUNDS


def take_slices(a: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """The slices of ``a`` at integer places of an axis.

    Args:
      a: array.
      indices: integer array of any shape, within [0, length of the axis).
      axis: axis, counted from 0.
    Returns: array with the axes of ``indices`` instead of the axis.
    """
    shape, rank = typeof(a).shape, typeof(indices).ndim
    columns = shapes.expand_dims(_indices(indices), (rank,))
    numbers = GatherDimensionNumbers(
        offset_dims=(*range(axis), *range(axis + rank, len(shape) - 1 + rank)), collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )  # fmt: skip
    sizes = (*shape[:axis], 1, *shape[axis + 1 :])
    return gather(a, columns, numbers, sizes, mode=_IN_BOUNDS)


def take_along_last(a: ArrayLike, indices: Array) -> Array:
    """For each row (last axis) of ``a``, its elements at the places in the row of ``indices``.

    Args:
      a: array of shape ``(..., n)``.
      indices: integer array of shape ``(..., m)`` with the same leading axes, within [0, n).
    Returns: array of the shape of ``indices``.
    """
    rank = typeof(a).ndim
    batch = tuple(range(rank - 1))
    columns = shapes.expand_dims(_indices(indices), (rank,))
    numbers = GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(rank - 1,), start_index_map=(rank - 1,), operand_batching_dims=batch,
        start_indices_batching_dims=batch,
    )  # fmt: skip
    return gather(a, columns, numbers, (1,) * rank, mode=_IN_BOUNDS)


def _indices(indices: ArrayLike) -> ArrayLike:
    return indices.astype(np.int32) if isinstance(indices, np.ndarray) else convert(indices, typeof(indices).dtype)
