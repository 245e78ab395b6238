"""Parts of sparse arrays, and sums over their axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import arrax.numpy as jnp
from arrax import dtypes
from arrax.dtypes.wording import shown
from arrax.experimental.sparse.base import Count
from arrax.experimental.sparse.coordinates import BCOO, bcoo_sum_duplicates, full, inside, where_inside
from arrax.experimental.sparse.shapes import bcoo_broadcast_in_dim, bcoo_rev, bcoo_squeeze, checked_axes, kinds_of
from arrax.lax.slicing import normalised_starts
from arrax.lax.slicing_along_axes import dynamic_slice_in_dim
from arrax.numpy_api.operands import is_arraylike


def bcoo_slice(
    mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> BCOO:
    """A part of an array, as ``lax.slice``.

    Args:
      mat: the sparse array.
      start_indices, limit_indices, strides: for each axis the first index, the one after the last, and the step.
    Raises:
      ValueError: indices that do not fit the shape.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_slice(mat, start_indices=(0, 0), limit_indices=(1, 2)).todense()`` is ``[[0, 2]]``.
    """
    starts, limits = tuple(map(operator.index, start_indices)), tuple(map(operator.index, limit_indices))
    steps = (1,) * mat.ndim if strides is None else tuple(map(operator.index, strides))
    if not len(starts) == len(limits) == len(steps) == mat.ndim or any(
        not 0 <= start <= limit <= n or step < 1
        for start, limit, step, n in zip(starts, limits, steps, mat.shape, strict=False)
    ):
        raise ValueError(f"bcoo_slice: [{starts}:{limits}:{steps}] does not fit the shape {mat.shape}")
    slices = [slice(*one) for one in zip(starts, limits, steps, strict=True)]
    shape = [len(range(n)[part]) for n, part in zip(mat.shape, slices, strict=True)]
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    data, indices = full(mat)
    data = data[(*slices[:n_batch], slice(None), *slices[n_batch + n_sparse :])]
    indices = indices[tuple(slices[:n_batch])]
    middle = slice(n_batch, n_batch + n_sparse)
    first, last, step = (jnp.array(x[middle], indices.dtype) for x in (starts, limits, steps))
    there = jnp.all((indices >= first) & (indices < last) & ((indices - first) % step == 0), axis=-1)
    made = where_inside(there, data, (indices - first) // step, shape[middle])
    out = BCOO(made, shape=shape, indices_sorted=False, unique_indices=mat.unique_indices)
    return _not_more_than_there_are(out)


def _not_more_than_there_are(mat: BCOO) -> BCOO:
    """Without elements that cannot be inside, where more are stored than the array has."""
    most = math.prod(mat.sparse_shape)
    return bcoo_sum_duplicates(mat, nse=most) if mat.nse > most else mat


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """A part of an array that begins where traced values say, as ``lax.dynamic_slice``.

    Args:
      mat: the sparse array.
      start_indices: for each axis the first index; negative ones count from the end, and all are moved so that the part
        lies inside.
      slice_sizes: the lengths of the part.
    Raises:
      ValueError: lengths that do not fit the shape.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_dynamic_slice(mat, (1, 0), (1, 2)).todense()`` is ``[[3, 0]]``.
    """
    sizes = tuple(map(operator.index, slice_sizes))
    if len(sizes) != mat.ndim or len(start_indices) != mat.ndim or any(
        not 0 <= n <= length for n, length in zip(sizes, mat.shape, strict=False)
    ):  # fmt: skip
        raise ValueError(f"bcoo_dynamic_slice: slice_sizes {sizes} do not fit the shape {mat.shape}")
    return part_beginning_at(mat, normalised_starts("bcoo_dynamic_slice", start_indices, mat.shape, True), sizes)


def part_beginning_at(mat: BCOO, first: Sequence[Any], sizes: Sequence[int]) -> BCOO:
    """A part of an array whose first indices are moved inside, negative ones to 0."""
    pairs = zip(first, mat.shape, sizes, strict=True)
    starts = [jnp.clip(jnp.asarray(start), 0, length - n) for start, length, n in pairs]
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    data, indices = full(mat)
    for axis in (*range(n_batch), *range(n_batch + n_sparse, mat.ndim)):
        at = axis if axis < n_batch else axis - n_sparse + 1
        data = dynamic_slice_in_dim(data, starts[axis], sizes[axis], at)
        if axis < n_batch:
            indices = dynamic_slice_in_dim(indices, starts[axis], sizes[axis], at)
    sparse = sizes[n_batch : n_batch + n_sparse]
    origin = (
        jnp.stack([start.astype(indices.dtype) for start in starts[n_batch : n_batch + n_sparse]]) if n_sparse else 0
    )
    made = where_inside(inside(indices - origin, sparse), data, indices - origin, sparse)
    return _not_more_than_there_are(BCOO(made, shape=sizes, unique_indices=mat.unique_indices))


class _Taken(NamedTuple):
    """What an index takes of an axis.

    Attributes:
      first, limit, step: the elements, in increasing order.
      reverse: whether their order is turned.
      drop: whether the axis goes.
      at: the traced index of the one element that is taken then, or None.
    """

    first: int
    limit: int
    step: int = 1
    reverse: bool = False
    drop: bool = False
    at: Any = None


def _taken(part: Any, length: int) -> _Taken:
    if isinstance(part, slice):
        found = range(length)[part]
        ordered = found[::-1] if found.step < 0 else found
        return _Taken(*((ordered[0], ordered[-1] + 1, ordered.step) if len(found) else (0, 0, 1)), found.step < 0)
    if not is_arraylike(part) or dtypes.is_inexact(jnp.result_type(part)):
        raise TypeError(f"sparse arrays take integers, slices, None and ... as indices, got {shown(part)}")
    if jnp.ndim(part) or not jnp.issubdtype(jnp.result_type(part), jnp.integer):
        raise NotImplementedError(f"sparse arrays take integers, slices, None and ... as indices, got {part!r}")
    number = _known_index(part, length)
    if number is None:
        return _Taken(0, length, drop=True, at=jnp.where(part < 0, part + length, part))
    return _Taken(number, number + 1, drop=True)


def _complete(index: Any, rank: int) -> tuple[Any, ...]:
    """An index with a part for each axis instead of ``...``."""
    parts = index if isinstance(index, tuple) else (index,)
    count = sum(part is not None and part is not Ellipsis for part in parts)
    if count > rank:
        raise IndexError(f"too many indices for a sparse array: it has {rank} dimensions, got {count} indices")
    at = next((n for n, part in enumerate(parts) if part is Ellipsis), len(parts))
    rest = [part for part in parts[at:] if part is not Ellipsis]
    return (*parts[:at], *[slice(None)] * (rank - count), *rest)


def bcoo_getitem(mat: BCOO, index: Any) -> BCOO:
    """Elements by integers, slices, None and ``...``.

    Raises:
      IndexError: more indices than axes, or an integer outside.
      NotImplementedError: indices that are arrays.
      TypeError: what is no index.
    """
    parts = _complete(index, mat.ndim)
    axes = [part for part in parts if part is not None]
    taken = [_taken(part, length) for part, length in zip(axes, mat.shape, strict=True)]
    out = bcoo_slice(
        mat,
        start_indices=[one.first for one in taken],
        limit_indices=[one.limit for one in taken],
        strides=[one.step for one in taken],
    )
    if any(one.at is not None for one in taken):
        sizes = [length if one.at is None else 1 for one, length in zip(taken, out.shape, strict=True)]
        out = part_beginning_at(out, [0 if one.at is None else one.at for one in taken], sizes)
    out = bcoo_rev(out, [axis for axis, one in enumerate(taken) if one.reverse])
    out = bcoo_squeeze(out, dimensions=[axis for axis, one in enumerate(taken) if one.drop])
    kinds = iter(taken)
    left = [part is None for part in parts if part is None or not next(kinds).drop]
    new = [position for position, is_new in enumerate(left) if is_new]
    if not new:
        return out
    sizes = list(out.shape)
    for position in new:
        sizes.insert(position, 1)
    kept = [n for n in range(len(sizes)) if n not in new]
    return bcoo_broadcast_in_dim(out, shape=sizes, broadcast_dimensions=kept)


def _known_index(part: Any, length: int) -> Count:
    """An index counted from the first, or None where it is traced."""
    try:
        number = operator.index(part)
    except TypeError:
        return None
    if not -length <= number < length:
        raise IndexError(f"index {number} is out of bounds for an axis of length {length}")
    return number % length


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Sums over axes.

    Args:
      mat: the sparse array.
      axes: the axes that are added up.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_reduce_sum(mat, axes=(0,)).todense()`` is ``[3, 2]``.
    """
    summed, kinds, n_batch = checked_axes("bcoo_reduce_sum", mat, axes), kinds_of(mat), mat.n_batch
    data, indices = full(mat)
    there = inside(indices, mat.sparse_shape)
    kept = [n for n in range(mat.n_sparse) if n + n_batch not in summed]
    data = data.sum(tuple(axis - mat.n_sparse + 1 for axis in summed if kinds[axis] == 2)).astype(data.dtype)
    data, indices = where_inside(there, data, indices[..., np.array(kept, int)], [mat.sparse_shape[n] for n in kept])
    batch = [axis for axis in summed if kinds[axis] == 0]
    if batch:  # the arrays of the batch become one, of all their elements
        order = [axis for axis in range(n_batch) if axis not in batch]
        lead = [mat.shape[axis] for axis in order]
        total = mat.nse * math.prod(mat.shape[axis] for axis in batch)
        data = data.transpose(*order, *batch, *range(n_batch, data.ndim)).reshape(
            *lead, total, *data.shape[n_batch + 1 :]
        )
        indices = indices.transpose(*order, *batch, n_batch, n_batch + 1).reshape(*lead, total, len(kept))
    shape = [n for axis, n in enumerate(mat.shape) if axis not in summed]
    return BCOO((data, indices), shape=shape)
