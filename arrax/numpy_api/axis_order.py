"""The order of axes: transpose, swapaxes, moveaxis (NumPy reference, routines.array-manipulation)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arrax.core.calls import as_index
from arrax.core.types import typeof
from arrax.lax import axis_order, shape_arguments
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import axes_tuple, canonical_axes
from arrax.numpy_api.routes import eager_operand, shape_of
from arrax.xla.arrays import Array, ArrayLike


@api(static=("permutation",), host=np.transpose)
def _transpose(a: ArrayLike, permutation: tuple[int, ...]) -> Array:
    return axis_order.transpose(a, permutation)


@api(static=("axes",), stepwise=True)
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Reorder the axes of an array.

    Args:
      a: array.
      axes: a permutation of the axes; axis ``i`` of the result is axis ``axes[i]`` of ``a``; by default reversed.
    Raises:
      TypeError: not a permutation.
    Example: ``jnp.transpose(jnp.ones((2, 3))).shape`` is ``(3, 2)``. Source: ``numpy.transpose``.
    """
    return _permuted("transpose", a, axes)


def _permuted(name: str, a: ArrayLike, axes: Sequence[int] | None) -> Array:
    a = eager_operand(name, a)
    rank = typeof(a).ndim
    if axes is None:
        return _transpose(a, tuple(range(rank))[::-1])
    order = tuple(shape_arguments.canonical_axis(axis, rank) for axis in axes)
    if sorted(order) != list(range(rank)):
        raise TypeError(
            f"{name}: axes {tuple(axes)} are not a permutation of the axes of an array of shape {shape_of(a)}."
        )
    return _transpose(a, order)


@api(static=("axes",), stepwise=True)
def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """Reorder the axes of an array, see ``transpose``.

    Args:
      a: array.
      axes: for each axis of the result, the one of ``a``.
    Example: ``jnp.permute_dims(jnp.ones((2, 3)), (1, 0)).shape`` is ``(3, 2)``. Source: ``numpy.permute_dims``.
    """
    return _permuted("permute_dims", a, axes)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Swap the last two axes.

    Args:
      x: array of shape ``(..., m, n)``.
    Raises:
      ValueError: fewer than two axes.
    Example: ``jnp.matrix_transpose(jnp.ones((4, 2, 3))).shape`` is ``(4, 3, 2)``. Source: ``numpy.matrix_transpose``.
    """
    x = eager_operand("matrix_transpose", x)
    if typeof(x).ndim < 2:
        raise ValueError(f"matrix_transpose: x must have at least two axes, got shape {shape_of(x)}")
    return swapaxes(x, -1, -2)


@api(static=("axis1", "axis2"), stepwise=True)
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Exchange two axes.

    Args:
      a: array.
      axis1, axis2: the axes.
    Raises:
      ValueError: no such axis.
    Example: ``jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape`` is ``(4, 3, 2)``. Source: ``numpy.swapaxes``.
    """
    a = eager_operand("swapaxes", a)
    order = list(range(typeof(a).ndim))
    first, second = (shape_arguments.canonical_axis(axis, len(order)) for axis in (axis1, axis2))
    order[first], order[second] = second, first
    return _transpose(a, tuple(order))


@api(static=("source", "destination"), stepwise=True)
def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Move axes to other places; the others keep their order.

    Args:
      a: array.
      source: axis or axes to move.
      destination: where each of them goes.
    Raises:
      ValueError: no such axis, repeated axes, or sequences of different lengths.
    Example: ``jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape`` is ``(3, 4, 2)``. Source: ``numpy.moveaxis``.
    """
    a = eager_operand("moveaxis", a)
    rank = typeof(a).ndim
    origins, indices = canonical_axes(axes_tuple(source), rank), canonical_axes(axes_tuple(destination), rank)
    if len(origins) != len(indices):
        raise ValueError(
            f"moveaxis: source and destination must be equally many, got {len(origins)} and {len(indices)}"
        )
    order = [axis for axis in range(rank) if axis not in origins]
    for index, origin in sorted(zip(indices, origins, strict=True)):
        order.insert(index, origin)
    return _transpose(a, tuple(order))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Move one axis back until it is at ``start``.

    Args:
      a: array.
      axis: the axis to move.
      start: the place before which it goes, from -ndim to ndim.
    Raises:
      ValueError: no such axis or place.
    Example: ``jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape`` is ``(4, 2, 3)``. Source: ``numpy.rollaxis``.
    """
    a = eager_operand("rollaxis", a)
    rank = typeof(a).ndim
    origin, index = shape_arguments.canonical_axis(axis, rank), as_index(start)
    if not -rank <= index <= rank:
        raise ValueError(f"rollaxis: start={start} must satisfy {-rank}<=start<={rank}")
    index = index + rank if index < 0 else index
    return moveaxis(a, origin, index - 1 if index > origin else index)
