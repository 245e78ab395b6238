"""How often numbers occur, and where flags are set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.calls import in_call
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.batching import batch_size, move_batch_axis
from arrax.interpreters.lowering.module import lower_as_meant
from arrax.lax.arithmetic import lt, max_, scalar, sub
from arrax.lax.conversion import convert_element_type
from arrax.lax.cpu.flags import flags_form
from arrax.lax.cumulative import cumsum
from arrax.lax.filled_arrays import broadcasted_iota, full, full_like
from arrax.lax.scatter_lowering import ScatterDimensionNumbers
from arrax.lax.scatters import scatter, scatter_add
from arrax.lax.selection import select
from arrax.lax.shapes import expand_dims, squeeze
from arrax.lax.static_slicing import slice_in_dim

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent
    from arrax.xla.arrays import Array, ArrayLike

count_p = Primitive("count_values")


def _type(aval: ShapedArray, *, length: int, dtype: np.dtype) -> ShapedArray:
    return ShapedArray((*aval.shape[:-1], length), dtype)


def _by_scatter(x: Array, *, length: int, dtype: np.dtype) -> Array:
    aval = typeof(x)
    counts = full((*aval.shape[:-1], length), 0, dtype)
    if not aval.size or not length:
        return counts
    if aval.dtype.kind == "i":
        x = max_(x, scalar(0, x))
    if is_symbolic(length) or np.iinfo(aval.dtype).max > length:  # the index type of a scatter may be narrower
        x = select(lt(x, scalar(length, x)), x, full_like(x, length))
    indices = expand_dims(convert_element_type(x, np.promote_types(aval.dtype, np.int32)), (aval.ndim,))
    batch = tuple(range(aval.ndim - 1))
    numbers = ScatterDimensionNumbers((), (aval.ndim - 1,), (aval.ndim - 1,), batch, batch)
    return scatter_add(counts, indices, full(aval.shape, 1, dtype), numbers, mode="drop")


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    out = count_p.bind(*primals, **params)
    return out, Zero.of(out)


def _batch(values: Sequence[ArrayLike], dims: Sequence[int], **params: Any) -> tuple[Any, int]:
    return count_p.bind(move_batch_axis(values[0], dims[0], batch_size(values, dims), 0), **params), 0


count_p.type_rule, count_p.jvp, count_p.batch = _type, _jvp, _batch
lower_as_meant(count_p, _by_scatter, multiple_results=False)


def count_values(x: Array, length: int, dtype: np.dtype) -> Array:
    """How often each number from 0 to ``length - 1`` occurs along the last axis; negative ones count as 0.

    Args:
      x: integers, shape ``(..., n)``.
      length: how many numbers are counted; greater ones are left out.
      dtype: an integer dtype for the counts.
    Returns: array of shape ``(..., length)``.
    """
    return count_p.bind(x, length=length, dtype=np.dtype(dtype))


# ---- places of flags -------------------------------------------------------------------------------------------------

nonzero_indices_p = Primitive("nonzero_indices", multiple_results=True)


def _indices_type(aval: ShapedArray, *, size: int, dtype: np.dtype) -> list[ShapedArray]:
    if size < 0:
        raise ValueError(in_call(f"size must not be negative, got {size}"))
    return [ShapedArray((*aval.shape[:-1], size), dtype), ShapedArray(aval.shape[:-1], dtype)]


def _indices_by_scatter(flags: Array, *, size: int, dtype: np.dtype) -> list[Any]:
    """Each place is put where the number of flags before it says."""
    shape = typeof(flags).shape
    axis = len(shape) - 1
    if not typeof(flags).size:
        return [full((*shape[:-1], size), 0, dtype), full(shape[:-1], 0, dtype)]
    counts = cumsum(convert_element_type(flags, dtype), axis)
    slots = select(flags, sub(counts, scalar(1, counts)), full(shape, size, dtype))
    batch = tuple(range(axis))
    found = scatter(
        full((*shape[:-1], size), 0, dtype), expand_dims(slots, (axis + 1,)), broadcasted_iota(dtype, shape, axis),
        ScatterDimensionNumbers((), (axis,), (axis,), batch, batch), mode="drop",
    )  # fmt: skip
    return [found, squeeze(slice_in_dim(counts, shape[-1] - 1, shape[-1], axis=axis), (axis,))]


def _indices_jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any
) -> tuple[list[Any], list[Any]]:
    outs = nonzero_indices_p.bind(*primals, **params)
    return outs, [Zero.of(out) for out in outs]


def _indices_batch(values: Sequence[ArrayLike], dims: Sequence[int], **params: Any) -> tuple[list[Any], list[int]]:
    return nonzero_indices_p.bind(move_batch_axis(values[0], dims[0], batch_size(values, dims), 0), **params), [0, 0]


nonzero_indices_p.type_rule, nonzero_indices_p.jvp, nonzero_indices_p.batch = (
    _indices_type,
    _indices_jvp,
    _indices_batch,
)
lower_as_meant(nonzero_indices_p, _indices_by_scatter)
nonzero_indices_p.forms["cpu"] = flags_form


def nonzero_indices(flags: ArrayLike, size: int, dtype: np.dtype) -> tuple[Any, Any]:
    """The first places along the last axis where flags are set.

    Args:
      flags: bools, shape ``(..., n)``.
      size: how many places are wanted; missing ones are 0.
      dtype: an integer dtype for the places.
    Returns: (places of shape ``(..., size)``, how many flags are set, of shape ``(...)``).
    """
    found, count = nonzero_indices_p.bind(flags, size=size, dtype=np.dtype(dtype))
    return found, count
