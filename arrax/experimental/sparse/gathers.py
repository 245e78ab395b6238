"""Parts of sparse arrays at computed indices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import arrax.numpy as jnp
from arrax.experimental.sparse.bcoo import BCOO
from arrax.experimental.sparse.parts import bcoo_dynamic_slice
from arrax.experimental.sparse.shapes import bcoo_squeeze
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array


def bcoo_gather(
    operand: BCOO, start_indices: Any, dimension_numbers: Any, slice_sizes: Sequence[int], *, unique_indices: bool = False,
    indices_are_sorted: bool = False, mode: Any = None, fill_value: Any = None,
) -> BCOO:  # fmt: skip
    """Parts of a sparse array, as ``lax.gather``; they are moved so that they lie inside.

    Args:
      operand: the sparse array.
      start_indices: where the parts begin: integers of shape ``(*batch, number of indexed axes)``.
      dimension_numbers: ``lax.GatherDimensionNumbers``, whose ``offset_dims`` are the last axes of the result.
      slice_sizes: the lengths of a part.
      unique_indices, indices_are_sorted, mode, fill_value: accepted for the likeness.
    Raises:
      NotImplementedError: other ``offset_dims``, or batching dimensions.
      ValueError: indices that do not fit ``start_index_map``.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,));
    bcoo_gather(mat, jnp.array([[1]]), numbers, (1, 2)).todense()`` is ``[[3, 0]]``.
    """
    starts = jnp.asarray(start_indices)
    numbers, sizes = dimension_numbers, tuple(map(operator.index, slice_sizes))
    lead = starts.ndim - 1
    kept = operand.ndim - len(numbers.collapsed_slice_dims)
    if getattr(numbers, "operand_batching_dims", ()) or tuple(numbers.offset_dims) != tuple(range(lead, lead + kept)):
        raise NotImplementedError(f"bcoo_gather: {numbers} of a sparse array")
    if starts.shape[-1] != len(numbers.start_index_map):
        raise ValueError(
            f"bcoo_gather: start_indices of shape {starts.shape} do not fit start_index_map {numbers.start_index_map}"
        )

    def one(start: Array) -> BCOO:
        full_start = [jnp.zeros((), starts.dtype)] * operand.ndim
        for n, axis in enumerate(numbers.start_index_map):
            full_start[axis] = start[n]
        part = bcoo_dynamic_slice(operand, full_start, sizes)
        return bcoo_squeeze(part, dimensions=numbers.collapsed_slice_dims)

    gathered = one
    for _ in range(lead):
        gathered = vmap(gathered)
    return gathered(starts)
