"""Slices and entries along one axis, or at places of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.calls import as_index
from arrax.core.types import typeof
from arrax.lax.arithmetic import add, lt, rem
from arrax.lax.concatenation import concatenate
from arrax.lax.filled_arrays import full
from arrax.lax.gathers import PROMISE_IN_BOUNDS, GatherDimensionNumbers, gather
from arrax.lax.operand_checks import checked_operand
from arrax.lax.selection import select
from arrax.lax.shape_arguments import canonical_axis, canonical_shape
from arrax.lax.shapes import broadcast_in_dim, reshape, squeeze
from arrax.lax.slicing import dynamic_slice, dynamic_update_slice
from arrax.lax.static_slicing import slice_in_dim
from arrax.xla.arrays import Array, ArrayLike


def _only(axis: int, rank: int, index: ArrayLike) -> list[Any]:
    return [index if i == axis else 0 for i in range(rank)]


def _rank_and_axis(name: str, x: ArrayLike, axis: int) -> tuple[tuple[int, ...], int]:
    shape = typeof(checked_operand(name, x)).shape
    return shape, canonical_axis(axis, len(shape))


def dynamic_slice_in_dim(
    operand: ArrayLike, start_index: ArrayLike, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Array:
    """``dynamic_slice`` along one axis.

    Args:
      operand: array.
      start_index: integer, which may be traced; moved so that the slice lies inside.
      slice_size: length of the slice; an int.
      axis: the axis.
      allow_negative_indices: whether negative indices count from the end.
    Example: ``lax.dynamic_slice_in_dim(jnp.arange(5), 1, 2)`` is ``[1, 2]``.
    """
    shape, axis = _rank_and_axis("dynamic_slice_in_dim", operand, axis)
    sizes = [as_index(slice_size) if i == axis else length for i, length in enumerate(shape)]
    return dynamic_slice(
        operand, _only(axis, len(shape), start_index), sizes, allow_negative_indices=allow_negative_indices
    )


def dynamic_index_in_dim(
    operand: ArrayLike, index: ArrayLike, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Array:
    """The entry of an axis at a place that is data; the axis stays, with length 1, unless ``keepdims`` is False.

    Args:
      operand: array.
      index: integer, which may be traced; one out of bounds is moved to the nearest.
      axis: the axis.
      keepdims: whether the axis stays.
      allow_negative_indices: whether negative indices count from the end.
    Example: ``lax.dynamic_index_in_dim(jnp.arange(5), 1, keepdims=False)`` is 1.
    """
    taken = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return taken if keepdims else squeeze(taken, (axis,))


def dynamic_update_slice_in_dim(
    operand: ArrayLike, update: ArrayLike, start_index: ArrayLike, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """``dynamic_update_slice`` along one axis.

    Args:
      operand: array.
      update: array of the same dtype and number of axes.
      start_index: integer, which may be traced; moved so that the update lies inside.
      axis: the axis.
      allow_negative_indices: whether negative indices count from the end.
    Example: ``lax.dynamic_update_slice_in_dim(jnp.zeros(5), jnp.ones(2), 1, axis=0)``.
    """
    shape, axis = _rank_and_axis("dynamic_update_slice_in_dim", operand, axis)
    return dynamic_update_slice(
        operand, update, _only(axis, len(shape), start_index), allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(
    operand: ArrayLike, update: ArrayLike, index: ArrayLike, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """The array with the entry of an axis replaced at a place that is data.

    Args:
      operand: the array.
      update: the entry, with the axis (of length 1) or without it.
      index: the place along the axis, an integer scalar.
      axis: the axis.
      allow_negative_indices: whether negative indices count from the end.
    Example: ``lax.dynamic_update_index_in_dim(jnp.zeros((2, 3)), jnp.ones(3), 1, axis=0)``.
    """
    shape, axis = _rank_and_axis("dynamic_update_index_in_dim", operand, axis)
    if typeof(checked_operand("dynamic_update_index_in_dim", update)).ndim != len(shape):
        update_shape = typeof(update).shape
        update = reshape(update, (*update_shape[:axis], 1, *update_shape[axis:]))
    return dynamic_update_slice_in_dim(operand, update, index, axis, allow_negative_indices=allow_negative_indices)


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """The entry of an axis at a static place; the axis stays, with length 1, unless ``keepdims`` is False.

    Args:
      operand: array.
      index: int; negative ones count from the end.
      axis: the axis.
      keepdims: whether the axis stays.
    Raises:
      IndexError: out of bounds.
    Example: ``lax.index_in_dim(jnp.arange(5), -1, keepdims=False)`` is 4.
    """
    shape, axis = _rank_and_axis("index_in_dim", operand, axis)
    position, length = as_index(index), shape[axis]
    if not -length <= position < length:
        raise IndexError(f"index {position} is out of bounds for axis {axis} with size {length}")
    start = position % length
    taken = slice_in_dim(operand, start, start + 1, 1, axis)
    return taken if keepdims else squeeze(taken, (axis,))


def index_take(src: ArrayLike, idxs: Sequence[Any], axes: Sequence[int]) -> Array:
    """Entries of some axes at places that are data: ``src[idxs]`` along ``axes``, indices modulo the lengths.

    Args:
      src: array.
      idxs: one integer array of rank 1 per axis, of equal lengths.
      axes: the axes.
    Returns: array whose first axis runs through the indices, the other axes of ``src`` behind it.
    Example: ``lax.index_take(x, (jnp.array([0, 2]),), (0,))``.
    """
    shape = typeof(checked_operand("index_take", src)).shape
    chosen = tuple(canonical_axis(axis, len(shape)) for axis in axes)
    columns = [reshape(index, (*typeof(index).shape, 1)) for index in idxs]
    indices = columns[0] if len(columns) == 1 else concatenate(columns, 1)
    lengths = np.array([shape[axis] for axis in chosen], typeof(indices).dtype)
    broadcasted = broadcast_in_dim(lengths, typeof(indices).shape, (1,))
    remainder = rem(indices, broadcasted)
    remainder = select(
        lt(remainder, full(typeof(indices).shape, 0, lengths.dtype)), add(remainder, broadcasted), remainder
    )
    sizes = [1 if axis in chosen else length for axis, length in enumerate(shape)]
    offsets = tuple(range(1, len(shape) - len(chosen) + 1))
    numbers = GatherDimensionNumbers(offsets, tuple(sorted(chosen)), chosen)
    return gather(src, remainder, numbers, canonical_shape(sizes), mode=PROMISE_IN_BOUNDS)
