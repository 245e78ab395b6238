"""Elementwise operations on sparse arrays: of the stored elements, and once of the number that all others are.

That number may be another one than 0 for a while, as long as later operations make it 0 again: ``sign`` asks where elements
are 0, and ``sigmoid(x) * x`` has 1/2 in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrax.core.explicit_axes import elementwise
from arrax.core.interpreter import Primitive, Tracer
from arrax.core.types import typeof
from arrax.experimental.sparse.coordinates import BCOO, bcoo_sum_duplicates
from arrax.lax.concatenation import concatenate_p
from arrax.lax.conversion import convert_element_type_p
from arrax.lax.rounding import reduce_precision_p, round_p
from arrax.lax.selection import select_n_p
from arrax.numpy import broadcast_arrays
from arrax.transforms.inspection import ensure_compile_time_eval
from arrax.xla.arrays import Array, ArrayLike

_OF_OTHER_FAMILIES = frozenset({convert_element_type_p, reduce_precision_p, round_p, select_n_p})


@dataclass(frozen=True)
class Filled:
    """Stored elements, the number that all others are, and the name of the operation that made it another one than 0."""

    mat: BCOO
    fill: Array
    reason: str


def is_elementwise(primitive: Primitive) -> bool:
    """Whether an operation makes each element of the elements at the same place."""
    likewise = primitive.divides is elementwise and primitive is not concatenate_p  # which lies as its operands do
    return likewise or primitive in _OF_OTHER_FAMILIES


def once(mat: BCOO) -> BCOO:
    """The array with each index once: a function of a sum is not the sum of the function's values."""
    return mat if mat.unique_indices else bcoo_sum_duplicates(mat, nse=mat.nse)


def of_elements(
    primitive: Primitive, values: Sequence[ArrayLike | BCOO | Filled], params: dict[str, Any]
) -> BCOO | Filled | None:
    """An elementwise operation of sparse arrays with the same indices and of scalars; None for other operands."""
    mats = [value.mat if isinstance(value, Filled) else value for value in values]
    sparse = [mat for mat in mats if isinstance(mat, BCOO)]
    fills = [_fill(value) for value in values]
    if any(mat.indices is not sparse[0].indices or mat.shape != sparse[0].shape for mat in sparse):
        return None
    if any(isinstance(fill, Tracer) or np.ndim(fill) for fill in fills):
        return None
    with ensure_compile_time_eval():
        fill = primitive.bind(*fills, **params)
    elements = [mat.data if isinstance(mat, BCOO) else mat for mat in mats]
    mat = sparse[0]._with(
        primitive.bind(*(broadcast_arrays(*elements) if primitive is select_n_p else elements), **params)
    )
    if np.asarray(fill) == 0:
        return mat
    return Filled(mat, fill, next((value.reason for value in values if isinstance(value, Filled)), primitive.name))


def _fill(value: ArrayLike | BCOO | Filled) -> ArrayLike:
    if isinstance(value, Filled):
        return value.fill
    return np.zeros((), typeof(value.data).dtype) if isinstance(value, BCOO) else value
