"""Reductions of the rows of an array that belong together: by a segment number for each row."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.functions import name_function
from arrax.core.types import slots, typeof
from arrax.lax import computations
from arrax.lax.concatenation import concatenate
from arrax.lax.conversion import convert
from arrax.lax.filled_arrays import full
from arrax.lax.gathers import GatherScatterMode
from arrax.lax.reductions import reduce_max, reduce_min, reduce_prod, reduce_sum
from arrax.lax.scatter_lowering import ScatterDimensionNumbers
from arrax.lax.scatters import scatter_add, scatter_max, scatter_min, scatter_mul
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.operands import broadcast_to, check_arraylike, concrete_int, known_size
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

# The monoid, the scatter that combines by it, and the reduction of what several buckets give.
_SUM = (computations.sum_, scatter_add, reduce_sum)
_PRODUCT = (computations.product, scatter_mul, reduce_prod)
_MAXIMUM = (computations.maximum, scatter_max, reduce_max)
_MINIMUM = (computations.minimum, scatter_min, reduce_min)


def _segments(name: str, combination: tuple[Any, Any, Any], doc: str) -> Callable[..., Any]:
    monoid, combine, reduce = combination

    def segment(
        data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None, indices_are_sorted: bool = False,
        unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None, out_sharding: OptionalSharding = None,
    ) -> Array:  # fmt: skip
        if out_sharding is not None:
            known = _count(name, _checked(name, data, segment_ids)[1], num_segments)
            again = functools.partial(
                segment, num_segments=known, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
                bucket_size=bucket_size, mode=mode,
            )  # fmt: skip
            return slots.as_asked(out_sharding, again, data, segment_ids)
        data, ids = _checked(name, data, segment_ids)
        dtype, rows = typeof(data).dtype, typeof(ids).shape
        count = _count(name, ids, num_segments)
        indices: Any = ids[:, None]
        lead: tuple[int, ...] = (count,)
        if bucket_size is not None:
            buckets = np.arange(rows[0]) // _positive(name, bucket_size)
            number = int(buckets[-1]) + 1 if rows[0] else 0
            # There may be more buckets than segments, so their numbers need a dtype that holds them.
            wide = ids if typeof(ids).dtype.itemsize >= 4 else convert(ids, np.int32)
            numbered = asarray(buckets.astype(typeof(wide).dtype))
            indices = concatenate([numbered[:, None], wide[:, None]], 1)
            lead = (number, count)
        axes = tuple(range(len(lead)))
        numbers = ScatterDimensionNumbers(tuple(range(1, typeof(data).ndim)), axes, axes)
        start = full((*lead, *typeof(data).shape[1:]), monoid.identity(dtype)[()], dtype)
        outs = combine(
            start, indices, data, numbers, indices_are_sorted=indices_are_sorted and bucket_size is None,
            unique_indices=unique_indices, mode=GatherScatterMode.from_any(mode),
        )  # fmt: skip
        return outs if bucket_size is None else reduce(outs, (0,))

    name_function(segment, name)
    segment.__doc__ = _documentation(name, doc)
    return segment


def _checked(name: str, data: Any, segment_ids: Any) -> tuple[Any, Any]:
    check_arraylike(name, data, segment_ids)
    data, ids = asarray(data), asarray(segment_ids)
    rows = typeof(ids).shape
    if not dtypes.is_integer(typeof(ids).dtype):
        raise TypeError(f"{name}: segment_ids must be integers, got {typeof(ids).dtype.name}")
    shape = typeof(data).shape
    if len(rows) == 1 and shape[:1] != rows and shape[:1] in ((), (1,)):  # one number or row stands for all
        data = broadcast_to(data, (*rows, *shape[1:]))
    if len(rows) != 1 or typeof(data).shape[:1] != rows:
        raise ValueError(
            f"{name}: segment_ids needs one number for each row of data, got shapes {rows} and {typeof(data).shape}"
        )
    return data, ids


def _documentation(name: str, doc: str) -> str:
    return (
        f"{doc} of the rows of each segment.\n\n"
        "Args:\n"
        "  data: array of shape (n, …); a number, or one row, stands for n of them.\n"
        "  segment_ids: the segment of each row, integers of shape (n,). Rows whose number is out of range are left out.\n"
        "  num_segments: how many segments there are; by default one more than the greatest number. It must be known where\n"
        "    ``segment_ids`` is traced.\n"
        "  indices_are_sorted, unique_indices: promises that may speed things up.\n"
        "  bucket_size: reduce so many rows by themselves first, which is more exact for many floats.\n"
        "  mode: what happens to numbers out of range, see ``arrax.lax.GatherScatterMode``.\n"
        "  out_sharding: how the result lies: a sharding, or a PartitionSpec over the mesh in force.\n"
        "Returns: array of shape (num_segments, …); of empty segments, what changes nothing.\n"
        "Raises:\n  TypeError: no arrays, or numbers that are no integers.\n  ValueError: shapes that don't fit.\n"
        f"Example: ``arrax.ops.{name}(jnp.arange(5), jnp.array([0, 0, 1, 1, 2]))``."
    )


def _count(name: str, ids: Any, num_segments: Any) -> int:
    if num_segments is None:
        largest = (
            concrete_int(reduce_max(ids, (0,)), f"The num_segments argument of {name} is needed") if ids.size else -1
        )
        return largest + 1
    count = known_size(num_segments, f"ops.{name}", "num_segments")
    if count < 0:
        raise ValueError(f"{name}: num_segments must not be negative, got {count}")
    return count


def _positive(name: str, size: Any) -> int:
    if as_index(size) < 1:
        raise ValueError(f"{name}: bucket_size must be positive, got {size}")
    return as_index(size)


segment_sum = _segments("segment_sum", _SUM, "Sum")
segment_prod = _segments("segment_prod", _PRODUCT, "Product")
segment_max = _segments("segment_max", _MAXIMUM, "Greatest element")
segment_min = _segments("segment_min", _MINIMUM, "Least element")
