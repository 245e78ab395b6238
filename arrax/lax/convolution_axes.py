"""The axes of a convolution's operands and result: groups that move from one to another, and their order."""

from __future__ import annotations

from collections.abc import Sequence

from arrax.core.types import typeof
from arrax.lax.axis_order import move_axis, transpose
from arrax.lax.shapes import reshape
from arrax.xla.arrays import Array, ArrayLike


def groups_moved(x: ArrayLike, source: int, to: int, groups: int) -> ArrayLike:
    """An array whose axis ``source`` has its entries group by group, with these groups in axis ``to`` instead."""
    if groups == 1:
        return x
    shape = typeof(x).shape
    x = reshape(x, (*shape[:source], groups, shape[source] // groups, *shape[source + 1 :]))
    x = move_axis(x, source, to)  # without the axis of groups, ``to`` is where it was, and the groups stand before it
    merged = list(shape)
    merged[source], merged[to] = shape[source] // groups, shape[to] * groups
    return reshape(x, merged)


def in_order_of_result(x: ArrayLike, axes: Sequence[int], result: Sequence[int]) -> Array:
    """An array in the order of a convolution's result.

    Args:
      axes: which of batch, channels and space its axes are, counted in this order; the result may have more.
      result: the axes of the result: batch, channels, then space.
    """
    return transpose(x, [axes.index(axis) for axis in map(result.index, range(len(result))) if axis in axes])
