"""Parts of an order: the elements at some of its places, and arrays put in order only around one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_below
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.batching import batch_size, move_batch_axis
from arrax.interpreters.cost_model import passes
from arrax.interpreters.lowering.module import lower_as_meant
from arrax.lax.cpu import sorting as cpu_sorting
from arrax.lax.filled_arrays import broadcasted_iota
from arrax.lax.sorting import sort, taken_along

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent
    from arrax.xla.arrays import Array, ArrayLike

# ---- elements at places ------------------------------------------------------------------------------------------------

order_statistics_p = Primitive("order_statistics", cost=passes(100))


def _type(aval: ShapedArray, indices: ShapedArray) -> ShapedArray:
    if aval.shape[:-1] != indices.shape[:-1]:
        raise TypeError(f"order_statistics needs operands of equal leading axes, got {aval.shape} and {indices.shape}")
    return ShapedArray(indices.shape, aval.dtype)


def _from_sorted(x: Array, indices: Array) -> Array:
    return taken_along(sort(x, is_stable=False), indices, typeof(x).ndim - 1)


def _numbered(x: ArrayLike) -> Array:
    shape = typeof(x).shape
    return broadcasted_iota(np.dtype(np.int32 if is_below(shape[-1], 2**31, True) else np.int64), shape, len(shape) - 1)


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent]) -> tuple[Any, Any]:
    (x, indices), (t, _) = primals, tangents
    if type(t) is Zero:
        out = order_statistics_p.bind(x, indices)
        return out, Zero.of(out)
    _, order = sort((x, _numbered(x)), num_keys=1)
    axis = typeof(x).ndim - 1
    chosen = taken_along(order, indices, axis)
    return taken_along(x, chosen, axis), taken_along(t, chosen, axis)


def _batch(values: Sequence[ArrayLike], dims: Dims) -> tuple[Any, int]:
    size = batch_size(values, dims)
    x, indices = (move_batch_axis(value, dim, size, 0) for value, dim in zip(values, dims, strict=True))
    return order_statistics_p.bind(x, indices), 0


order_statistics_p.type_rule, order_statistics_p.jvp, order_statistics_p.batch = _type, _jvp, _batch
lower_as_meant(order_statistics_p, _from_sorted, multiple_results=False)
order_statistics_p.forms["cpu"] = cpu_sorting.order_statistics_form


def order_statistics(x: Array, indices: Array) -> Array:
    """The elements that would stand at some places if the last axis were sorted.

    Args:
      x: array of real numbers, shape ``(..., n)``.
      indices: integers from 0 to n - 1, shape ``(..., m)``.
    Returns: array of shape ``(..., m)``.
    """
    return order_statistics_p.bind(x, indices)


# ---- order around one place --------------------------------------------------------------------------------------------

partition_p = Primitive("partition", multiple_results=True, cost=passes(100))


def _partition_type(*avals: ShapedArray, kth: int) -> list[ShapedArray]:
    return list(avals)


def _sorted(*values: ArrayLike, kth: int) -> tuple[Any, ...]:
    return sort(values, num_keys=1)


def _partition_jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, kth: int
) -> tuple[list[Any], list[Any]]:
    *outs, order = partition_p.bind(*primals, _numbered(primals[0]), kth=kth)
    axis = typeof(primals[0]).ndim - 1
    return outs, [
        Zero.of(out) if type(t) is Zero else taken_along(t, order, axis) for out, t in zip(outs, tangents, strict=True)
    ]


def _partition_batch(values: Sequence[ArrayLike], dims: Dims, *, kth: int) -> tuple[list[Any], list[int]]:
    size = batch_size(values, dims)
    moved = [move_batch_axis(value, dim, size, 0) for value, dim in zip(values, dims, strict=True)]
    outs = partition_p.bind(*moved, kth=kth)
    return outs, [0] * len(outs)


partition_p.type_rule, partition_p.jvp, partition_p.batch = _partition_type, _partition_jvp, _partition_batch
lower_as_meant(partition_p, _sorted)
partition_p.forms["cpu"] = cpu_sorting.partition_form


def partition(values: Sequence[ArrayLike], kth: int) -> tuple[Any, ...]:
    """Arrays in an order in which no element of the first before the place ``kth`` is greater, and none behind it less.

    Args:
      values: arrays of one shape, which are put in order along their last axis by the first.
      kth: the place.
    """
    return tuple(partition_p.bind(*values, kth=kth))


def partition_with_indices(x: ArrayLike, kth: int) -> tuple[Any, Any]:
    """An array in such an order, and where its elements were."""
    found, indices = partition((x, _numbered(x)), kth)
    return found, indices
