"""Sparse arrays of other shapes: transposed, reshaped, cut, put together, repeated, added up."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import arrax.numpy as jnp
from arrax.experimental.sparse.base import Count
from arrax.experimental.sparse.coordinates import (
    BCOO,
    columns,
    full,
    inside,
    where_inside,
)
from arrax.experimental.sparse.recorded import recorded
from arrax.xla.arrays import Array


def kinds_of(mat: BCOO) -> list[int]:
    """For each dimension 0 where it is of the batch, 1 where it is sparse, 2 where it is dense."""
    return [0] * mat.n_batch + [1] * mat.n_sparse + [2] * mat.n_dense


def checked_axes(name: str, mat: BCOO, axes: Sequence[Any]) -> tuple[int, ...]:
    """Axes counted from the first.

    Raises:
      ValueError: there is no such axis, or one twice.
    """
    found = tuple(operator.index(axis) for axis in axes)
    if any(not -mat.ndim <= axis < mat.ndim for axis in found):
        raise ValueError(f"{name}: axes {found} do not fit an array of {mat.ndim} dimensions")
    counted = tuple(axis % mat.ndim for axis in found)
    if len({*counted}) != len(counted):
        raise ValueError(f"{name}: repeated axes in {found}")
    return counted


# ---- the same elements ----------------------------------------------------------------------------------------------------


@recorded("bcoo_transpose", 1)
def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with its axes in another order.

    Args:
      mat: the sparse array.
      permutation: the old axis of each new one; batch, sparse and dense axes stay among themselves.
    Raises:
      NotImplementedError: axes of different kinds that change numbers.
      ValueError: not a permutation.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_transpose(mat, permutation=(1, 0)).todense()`` is ``[[0, 3], [2, 0]]``.
    """
    axes = checked_axes("bcoo_transpose", mat, permutation)
    if len(axes) != mat.ndim:
        raise ValueError(f"bcoo_transpose: {tuple(permutation)} is no permutation of {mat.ndim} axes")
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    for kind, lead in (("batch", axes[:n_batch]), ("dense", axes[n_batch + n_sparse :])):
        low, high = (0, n_batch) if kind == "batch" else (n_batch + n_sparse, mat.ndim)
        if any(not low <= axis < high for axis in lead):
            raise NotImplementedError(
                f"transpose permutation cannot permute {kind} axes with non-{kind} axes; got permutation {axes}, with "
                f"n_{kind}={high - low}."
            )
    batch, sparse, dense = axes[:n_batch], axes[n_batch : n_batch + n_sparse], axes[n_batch + n_sparse :]
    data, indices = full(mat)
    data = data.transpose(*batch, n_batch, *(axis - n_sparse + 1 for axis in dense))
    indices = indices.transpose(*batch, n_batch, n_batch + 1)[..., np.array([axis - n_batch for axis in sparse], int)]
    keeps_order = sparse == tuple(sorted(sparse))
    return BCOO(
        (data, indices), shape=[mat.shape[axis] for axis in axes], unique_indices=mat.unique_indices,
        indices_sorted=mat.indices_sorted and keeps_order,
    )  # fmt: skip


def bcoo_reshape(
    mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, sharding: Any = None
) -> BCOO:
    """The array with the same elements in another shape.

    Args:
      mat: the sparse array.
      new_sizes: the new lengths: those of the batch, of sparse and of dense dimensions each hold what they held.
      dimensions: the order in which axes are read, by default theirs.
      sharding: accepted, as for dense arrays; elements and indices lie where those of ``mat`` do.
    Raises:
      ValueError: another number of elements.
      NotImplementedError: a shape that mixes batch, sparse and dense dimensions.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_reshape(mat, new_sizes=(4,)).todense()`` is ``[0, 2, 3, 0]``.
    """
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    sizes = tuple(map(operator.index, new_sizes))
    if math.prod(sizes) != mat.size:
        raise ValueError(f"bcoo_reshape: cannot reshape an array of shape {mat.shape} to {sizes}")
    batch, dense = mat.shape[: mat.n_batch], mat.shape[mat.n_batch + mat.n_sparse :]
    first = _split_point(sizes, batch)
    last = _split_point(sizes[::-1], dense)
    if first is None or last is None or first + last > len(sizes):
        raise NotImplementedError(
            f"reshape of shape {mat.shape}, n_batch={mat.n_batch}, n_dense={mat.n_dense} to {sizes} mixes batch, sparse and "
            "dense dimensions"
        )
    new_batch, new_dense = sizes[:first], sizes[len(sizes) - last :]
    new_sparse, old_sparse = sizes[first : len(sizes) - last], mat.sparse_shape
    data, indices = full(mat)
    there = inside(indices, old_sparse)
    safe = columns(jnp.where(there[..., None], indices, 0))
    flat: Any = 0
    for column, length in zip(safe, old_sparse, strict=True):
        flat = flat * length + column
    numbers = [] if not new_sparse else jnp.unravel_index(jnp.broadcast_to(flat, there.shape), new_sparse)
    stacked = (
        jnp.stack([x.astype(indices.dtype) for x in numbers], -1)
        if new_sparse
        else jnp.zeros((*there.shape, 0), indices.dtype)
    )
    data, indices = where_inside(there, data, stacked, new_sparse)
    made = data.reshape(*new_batch, mat.nse, *new_dense), indices.reshape(*new_batch, mat.nse, len(new_sparse))
    return BCOO(made, shape=sizes, indices_sorted=mat.indices_sorted, unique_indices=_stays_unique(mat, new_sparse))


def _stays_unique(mat: BCOO, sparse_axes: Sequence[int]) -> bool:
    """Whether indices stay different ones: without sparse axes an index that was outside is no longer told apart."""
    return mat.unique_indices and (len(sparse_axes) > 0 or mat.nse <= 1)


def _split_point(sizes: Sequence[int], lengths: Sequence[int]) -> Count:
    """How many of the first sizes hold as many elements as the lengths do; None if that does not come out."""
    if not lengths:
        return 0
    wanted = math.prod(lengths)
    if tuple(sizes[: len(lengths)]) in (tuple(lengths), tuple(lengths)[::-1]):
        return len(lengths)
    return next((n for n in range(1, len(sizes) + 1) if math.prod(sizes[:n]) == wanted), None)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without some axes of length 1.

    Args:
      arr: the sparse array.
      dimensions: the axes.
    Raises:
      ValueError: axes of other lengths.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_squeeze(mat[:1], dimensions=(0,)).todense()`` is ``[0, 2]``.
    """
    axes = checked_axes("bcoo_squeeze", arr, dimensions)
    if any(arr.shape[axis] != 1 for axis in axes):
        raise ValueError(f"bcoo_squeeze: axes {axes} of shape {arr.shape} are not all of length 1")
    kinds, n_batch = kinds_of(arr), arr.n_batch
    batch = [axis for axis in axes if kinds[axis] == 0]
    kept = [axis - n_batch for axis in range(n_batch, n_batch + arr.n_sparse) if axis not in axes]
    data, indices = full(arr)
    dropped = [axis for axis in axes if kinds[axis] == 1]
    there = inside(indices[..., np.array([axis - n_batch for axis in dropped], int)], (1,) * len(dropped))
    data, indices = where_inside(there, data, indices[..., np.array(kept, int)], [arr.sparse_shape[n] for n in kept])
    dense = [axis - arr.n_sparse + 1 for axis in axes if kinds[axis] == 2]
    shape = [n for axis, n in enumerate(arr.shape) if axis not in axes]
    return BCOO(
        (data.squeeze((*batch, *dense)), indices.squeeze(tuple(batch))), shape=shape, indices_sorted=arr.indices_sorted,
        unique_indices=_stays_unique(arr, kept),
    )  # fmt: skip


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """The array with some axes the other way round.

    Args:
      operand: the sparse array.
      dimensions: the axes.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_rev(mat, (0,)).todense()`` is ``[[3, 0], [0, 2]]``.
    """
    axes, kinds, n_batch = checked_axes("bcoo_rev", operand, dimensions), kinds_of(operand), operand.n_batch
    data, indices = full(operand)
    for axis in axes:
        if kinds[axis] == 0:
            data, indices = jnp.flip(data, axis), jnp.flip(indices, axis)
        elif kinds[axis] == 2:
            data = jnp.flip(data, axis - operand.n_sparse + 1)
        else:
            column, length = axis - n_batch, operand.shape[axis]
            there = inside(indices, operand.sparse_shape)
            turned = indices.at[..., column].set(length - 1 - indices[..., column])
            indices = jnp.where(there[..., None], turned, indices)
    return BCOO((data, indices), shape=operand.shape, unique_indices=operand.unique_indices)


# ---- more elements --------------------------------------------------------------------------------------------------------


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCOO:
    """The array repeated along new axes, and along axes of length 1.

    Args:
      mat: the sparse array.
      shape: the new lengths.
      broadcast_dimensions: the new axis of each old one, in increasing order.
      sharding: accepted as by ``lax.broadcast_in_dim``; must be None.
    Returns: an array whose new axes before the first sparse one are of the batch, those after the first dense one are dense, and
      the others sparse.
    Raises:
      ValueError: lengths that do not fit.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_broadcast_in_dim(mat, shape=(3, 2, 2), broadcast_dimensions=(1, 2)).shape`` is ``(3, 2, 2)``.
    """
    if sharding is not None:
        raise ValueError("bcoo_broadcast_in_dim: sharding must be None")
    to, sizes = tuple(map(operator.index, broadcast_dimensions)), tuple(map(operator.index, shape))
    if len(to) != mat.ndim or list(to) != sorted({*to}) or any(
        not 0 <= axis < len(sizes) or n not in (1, sizes[axis]) for axis, n in zip(to, mat.shape, strict=False)
    ):  # fmt: skip
        raise ValueError(f"bcoo_broadcast_in_dim: shape {mat.shape} does not fit {sizes} at the axes {to}")
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    batch_end = to[n_batch] if n_sparse else to[n_batch - 1] + 1 if n_batch else 0
    dense_start = to[n_batch + n_sparse] if mat.n_dense else len(sizes)
    data, indices = full(mat)
    # the batch: its axes in their new numbers, then repeated
    lead = [1] * batch_end
    for axis in range(n_batch):
        lead[to[axis]] = mat.shape[axis]
    tail = [1] * (len(sizes) - dense_start)
    for axis in range(n_batch + n_sparse, mat.ndim):
        tail[to[axis] - dense_start] = mat.shape[axis]
    nse = mat.nse
    data, indices = data.reshape(*lead, nse, *tail), indices.reshape(*lead, nse, n_sparse)
    batch, dense = sizes[:batch_end], sizes[dense_start:]
    data = jnp.broadcast_to(data, (*batch, nse, *dense))
    indices = jnp.broadcast_to(indices, (*batch, nse, n_sparse))
    # sparse axes: those that are longer than before repeat each element
    sources = {to[n_batch + n]: n for n in range(n_sparse)}
    there = inside(indices, mat.sparse_shape)
    made: list[Array] = []
    for axis in range(batch_end, dense_start):
        if axis in sources and mat.sparse_shape[sources[axis]] == sizes[axis]:
            made.append(indices[..., sources[axis]])
        else:
            made.append(jnp.zeros(indices.shape[:-1], indices.dtype))
    repeated = [
        axis for axis in range(batch_end, dense_start)
        if sizes[axis] != 1 and not (axis in sources and mat.sparse_shape[sources[axis]] == sizes[axis])
    ]  # fmt: skip
    for axis in repeated:
        length = sizes[axis]
        made = [jnp.repeat(column, length, axis=-1) for column in made]
        made[axis - batch_end] = jnp.broadcast_to(
            jnp.tile(jnp.arange(length, dtype=indices.dtype), there.shape[-1]), made[0].shape
        )
        there, data = jnp.repeat(there, length, axis=-1), jnp.repeat(data, length, axis=batch_end)
    stacked = jnp.stack(made, -1) if made else jnp.zeros((*there.shape, 0), indices.dtype)
    data, stacked = where_inside(there, data, stacked, sizes[batch_end:dense_start])
    return BCOO((data, stacked), shape=sizes, unique_indices=mat.unique_indices)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Arrays one after the other along an axis.

    Args:
      operands: sparse arrays with as many batch and dense dimensions each.
      dimension: the axis.
    Raises:
      ValueError: shapes or layouts that do not fit each other.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_concatenate([mat, mat], dimension=0).shape`` is ``(4, 2)``.
    """
    if not operands or any(not isinstance(mat, BCOO) for mat in operands):
        raise ValueError("bcoo_concatenate: expected BCOO arrays, at least one")
    first = operands[0]
    (axis,) = checked_axes("bcoo_concatenate", first, [dimension])
    layouts = {(mat.n_batch, mat.n_sparse, mat.n_dense) for mat in operands}
    shapes = {(*mat.shape[:axis], *mat.shape[axis + 1 :]) for mat in operands}
    if len(layouts) > 1 or len(shapes) > 1:
        raise ValueError(
            f"bcoo_concatenate: arrays do not fit each other along axis {axis}: shapes {[mat.shape for mat in operands]}, "
            f"(n_batch, n_sparse, n_dense) {[(mat.n_batch, mat.n_sparse, mat.n_dense) for mat in operands]}"
        )
    length = sum(mat.shape[axis] for mat in operands)
    shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
    kind, n_batch = kinds_of(first)[axis], first.n_batch
    parts = [full(mat) for mat in operands]
    if kind == 0:
        nse = max(mat.nse for mat in operands)
        padded = [_padded(data, indices, nse, first) for data, indices in parts]
        data, indices = (jnp.concatenate(each, axis) for each in zip(*padded, strict=True))
        return BCOO((data, indices), shape=shape, unique_indices=all(mat.unique_indices for mat in operands))
    starts = np.cumsum([0, *(mat.shape[axis] for mat in operands[:-1])])
    made: list[tuple[Array, Array]] = []
    for (data, indices), mat, start in zip(parts, operands, starts.tolist(), strict=True):
        if kind == 1:
            moved = indices.at[..., axis - n_batch].add(start)
            sparse = shape[n_batch : n_batch + mat.n_sparse]
            made.append(where_inside(inside(indices, mat.sparse_shape), data, moved, sparse))
        else:
            at = axis - mat.n_sparse + 1
            widths = [(0, 0)] * data.ndim
            widths[at] = (start, length - start - mat.shape[axis])
            made.append((jnp.pad(data, widths), indices))
    data, indices = (jnp.concatenate(each, n_batch) for each in zip(*made, strict=True))
    return BCOO((data, indices), shape=shape, unique_indices=kind == 1 and all(mat.unique_indices for mat in operands))


def _padded(data: Array, indices: Array, nse: int, mat: BCOO) -> tuple[Array, Array]:
    """Data and indices with more elements, which lie outside."""
    n_batch, more = mat.n_batch, nse - indices.shape[-2]
    widths = [(0, 0)] * data.ndim
    widths[n_batch] = (0, more)
    outside = jnp.array(mat.sparse_shape, indices.dtype)
    wide = jnp.broadcast_to(outside, (*indices.shape[:-2], more, indices.shape[-1]))
    return jnp.pad(data, widths), jnp.concatenate([indices, wide], -2)
