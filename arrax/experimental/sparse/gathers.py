"""Parts of sparse arrays at computed indices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import arrax.numpy as jnp
from arrax.core.interpreter import Tracer
from arrax.experimental.sparse.coordinates import BCOO
from arrax.experimental.sparse.layouts import bcoo_update_layout
from arrax.experimental.sparse.parts import part_beginning_at
from arrax.experimental.sparse.shapes import bcoo_squeeze, bcoo_transpose
from arrax.lax.gathers import CLIP, FILL_OR_DROP, ONE_HOT, GatherDimensionNumbers, GatherScatterMode
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array


def bcoo_gather(
    operand: BCOO, start_indices: Any, dimension_numbers: Any, slice_sizes: Sequence[int], *, unique_indices: bool = False,
    indices_are_sorted: bool = False, mode: Any = None, fill_value: Any = None,
) -> BCOO:  # fmt: skip
    """Parts of a sparse array, as ``lax.gather``.

    Args:
      operand: the sparse array.
      start_indices: where the parts begin: integers of shape ``(*batch, number of indexed axes)``.
      dimension_numbers: ``lax.GatherDimensionNumbers``.
      slice_sizes: the lengths of a part.
      unique_indices, indices_are_sorted: accepted as by ``lax.gather``, without effect.
      mode: what is done with parts that lie outside: they are moved inside, as by default, or filled.
      fill_value: what they are filled with, zero if parts lie outside or indices are traced.
    Returns: an array whose leading axes are of the batch, where those of the parts come last; else one without a batch.
    Raises:
      NotImplementedError: parts to be filled with something else than zero.
      ValueError: indices that do not fit ``start_index_map``.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,));
    bcoo_gather(mat, jnp.array([[1]]), numbers, (1, 2)).todense()`` is ``[[3, 0]]``.
    """
    starts = jnp.asarray(start_indices)
    numbers, sizes = dimension_numbers, tuple(map(operator.index, slice_sizes))
    lead = starts.ndim - 1
    if not starts.ndim or starts.shape[-1] != len(numbers.start_index_map):
        raise ValueError(
            f"bcoo_gather: start_indices of shape {starts.shape} do not fit start_index_map {numbers.start_index_map}"
        )
    if getattr(numbers, "operand_batching_dims", ()):
        starts, numbers = _with_numbers_of_batches(starts, numbers)
    last = np.array([operand.shape[axis] - sizes[axis] for axis in numbers.start_index_map], int)
    filled = _is_filled(starts, last, CLIP if mode is None else GatherScatterMode.from_any(mode), fill_value)

    def one(start: Array) -> BCOO:
        full_start = [jnp.zeros((), starts.dtype)] * operand.ndim
        for n, axis in enumerate(numbers.start_index_map):
            full_start[axis] = start[n]
        part = part_beginning_at(operand, full_start, sizes)
        if filled:
            inside = jnp.all((start >= 0) & (start <= last))
            part = part._with(jnp.where(inside, part.data, jnp.zeros_like(part.data)))
        return bcoo_squeeze(part, dimensions=numbers.collapsed_slice_dims)

    gathered = one
    for _ in range(lead):
        gathered = vmap(gathered)
    return _with_parts_at(gathered(starts), tuple(numbers.offset_dims))


def _with_numbers_of_batches(starts: Array, numbers: Any) -> tuple[Array, Any]:
    """The same parts without batching dimensions: the number in the batch is one more index."""
    columns = [starts]
    for axis in numbers.start_indices_batching_dims:
        column = jnp.arange(starts.shape[axis], dtype=starts.dtype).reshape((-1,) + (1,) * (starts.ndim - 1 - axis))
        columns.append(jnp.broadcast_to(column, (*starts.shape[:-1], 1)))
    batches = tuple(numbers.operand_batching_dims)
    return jnp.concatenate(columns, -1), GatherDimensionNumbers(
        tuple(numbers.offset_dims),
        tuple(sorted((*numbers.collapsed_slice_dims, *batches))),
        (*numbers.start_index_map, *batches),
    )


def _is_filled(starts: Array, last: np.ndarray, mode: GatherScatterMode, fill_value: Any) -> bool:
    """Whether parts that lie outside are to be zero.

    Raises:
      NotImplementedError: they are, or may be, to be something else.
    """
    if mode not in (FILL_OR_DROP, ONE_HOT):
        return False
    known = None if isinstance(starts, Tracer) else np.asarray(starts)
    if known is not None and np.all((known >= 0) & (known <= last)):
        return False
    if mode is FILL_OR_DROP and fill_value != 0:
        raise NotImplementedError(
            f"bcoo_gather: {'traced indices' if known is None else 'indices outside'} with the mode 'fill' need fill_value=0, "
            f"got {fill_value}"
        )
    return True


def _with_parts_at(mat: BCOO, offset_dims: tuple[int, ...]) -> BCOO:
    """The array of parts with these axes instead of the last ones."""
    others = [axis for axis in range(mat.ndim) if axis not in offset_dims]
    order = np.argsort([*others, *offset_dims])
    if np.all(order == np.arange(mat.ndim)):
        return mat
    return bcoo_transpose(bcoo_update_layout(mat, n_batch=0, n_dense=0, on_inefficient=None), permutation=list(order))
