"""Writing at an index as operations: windows for what is static, scatter for arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax.core.function_info import describe_call
from arrax.core.program import ClosedJaxpr
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.staging import stage
from arrax.lax import arithmetic, bitwise, selection, shapes
from arrax.lax.computations import apply_elementwise
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.gathers import CLIP, FILL_OR_DROP, ONE_HOT
from arrax.lax.scatter_lowering import ScatterDimensionNumbers
from arrax.lax.scatters import scatter, scatter_add, scatter_apply, scatter_max, scatter_min, scatter_mul, scatter_sub
from arrax.lax.slice_additions import dynamic_add_slice
from arrax.numpy_api.index_application import (
    Access,
    all_indices,
    common_shape,
    dropped_axes,
    index_array,
    is_part,
    of_one_dtype,
    read_window,
    restored_axes,
    with_scalars,
    write_window,
)
from arrax.numpy_api.index_description import IndexDescription, result_shape
from arrax.numpy_api.operands import broadcast_to
from arrax.xla.arrays import Array, ArrayLike


class Update(NamedTuple):
    """What writing does with an old element and a new one."""

    scatter: Callable[..., Any]
    combine: Callable[[Any, Any], Any] | None  # None where the old element does not matter


UPDATES = {
    "set": Update(scatter, None),
    "add": Update(scatter_add, arithmetic.add),
    "subtract": Update(scatter_sub, arithmetic.sub),
    "multiply": Update(scatter_mul, arithmetic.mul),
    "min": Update(scatter_min, arithmetic.min_),
    "max": Update(scatter_max, arithmetic.max_),
}


def write(
    x: ArrayLike,
    d: IndexDescription,
    starts: Sequence[Any],
    operands: Sequence[Any],
    value: Array,
    operation: str,
    access: Access,
) -> Any:
    """``x`` with ``x[index]`` updated by a value of its dtype, which is broadcast.

    Args:
      operation: a name in ``UPDATES``.
    Raises:
      ValueError: a value whose shape doesn't fit.
    """
    shape = result_shape(d, common_shape(operands) if d.array_axes else ())
    new = _broadcast_value(value, shape)
    new = dropped_axes(new, d.newaxes)
    update = UPDATES[operation]

    def elementwise(old: Callable[[], Any]) -> Array:
        window = restored_axes(new, d.squeezed)
        return window if update.combine is None else update.combine(old(), window)

    def scattered(window: Array, indices: ArrayLike, numbers: ScatterDimensionNumbers, **flags: Any) -> Array:
        return update.scatter(window, indices, new, numbers, **flags)

    if operation in ("add", "subtract") and is_part(x, new, d) and not (d.misses and access.mode is not CLIP):
        window = restored_axes(new, d.squeezed)
        return dynamic_add_slice(x, window if operation == "add" else arithmetic.neg(window), of_one_dtype(starts))
    return _write(x, d, starts, operands, access, elementwise, scattered)


def write_applied(
    x: Array,
    d: IndexDescription,
    starts: Sequence[Any],
    operands: Sequence[Any],
    function: Callable[[Any], Any],
    access: Access,
) -> Array:
    """``x`` with a function of scalars applied to the elements of ``x[index]``."""
    shape = result_shape(d, common_shape(operands) if d.array_axes else ())
    dtype = typeof(x).dtype

    def elementwise(old: Callable[[], Any]) -> Array:
        scalar = ShapedArray((), dtype)
        program = ClosedJaxpr(
            *stage(lambda element: [function(element)], [scalar], describe_call(function, "apply", [scalar]))
        )
        (made,) = program.out_avals
        if made.shape:
            raise TypeError(f"apply: func takes a scalar and must return one, but gave an array of shape {made.shape}")
        (out,) = apply_elementwise(program, [old()])
        out = convert(out, dtype)
        wanted = typeof(old()).shape
        return out if typeof(out).shape == wanted else shapes.broadcast_in_dim(out, wanted, ())

    def scattered(window: Array, indices: ArrayLike, numbers: ScatterDimensionNumbers, **flags: Any) -> Array:
        plain = [size for index, size in enumerate(shape) if index not in d.newaxes]
        return scatter_apply(
            window, indices, lambda element: convert(function(element), dtype), numbers, update_shape=plain, **flags
        )

    return _write(x, d, starts, operands, access, elementwise, scattered)


def _write(
    x: ArrayLike,
    d: IndexDescription,
    starts: Sequence[Any],
    operands: Sequence[Any],
    access: Access,
    elementwise: Callable[..., Any],
    scattered: Callable[..., Any],
) -> Any:
    original = typeof(x).shape
    if d.misses and access.mode is not CLIP:
        return x
    x = restored_axes(x, d.inserted)
    shape = typeof(x).shape
    firsts = with_scalars(d, starts, operands, shape, access.wrap)

    def old() -> Array:
        return read_window(x, d, firsts)

    if d.array_axes:
        if all(step == 1 for step in d.steps):
            x = _scatter(x, d, firsts, operands, access, scattered)
            return shapes.reshape(x, original) if d.inserted else x
        window = d._replace(steps=(1,) * len(d.steps), inserted=())
        new = _scatter(old(), window, [0] * len(d.steps), operands, access, scattered)
    else:
        new = elementwise(old)
        if d.scalar_axes and access.mode in (FILL_OR_DROP, ONE_HOT):
            new = selection.select(_inside(d, firsts, shape), new, old())
    x = write_window(x, new, d, firsts)
    return shapes.reshape(x, original) if d.inserted else x


def _inside(d: IndexDescription, starts: Sequence[Any], shape: Sequence[int]) -> Any:
    """Whether all scalars are in bounds."""
    result = None
    for axis in d.scalar_axes:
        index = starts[axis]
        dtype = typeof(index).dtype
        above = arithmetic.ge(index, np.zeros((), dtype)[()])
        inside = bitwise.bitwise_and(above, arithmetic.lt(index, length_of_axis(shape[axis], dtype)))
        result = inside if result is None else bitwise.bitwise_and(result, inside)
    return result


def _scatter(
    x: ArrayLike,
    d: IndexDescription,
    starts: Sequence[Any],
    operands: Sequence[Any],
    access: Access,
    scattered: Callable[..., Any],
) -> Any:
    """Update at arrays; where the window is only a part of an axis, its start is a constant component of the indices."""
    aval = typeof(x)
    common = common_shape(operands)
    if aval.size == 0 or math.prod(common) == 0 or 0 in d.sizes:
        return x
    indices = all_indices(operands, [aval.shape[axis] for axis in d.array_axes], access.wrap)
    dtype = typeof(indices[0]).dtype
    columns = dict(zip(d.array_axes, indices, strict=True))
    for axis, (size, length) in enumerate(zip(d.sizes, aval.shape, strict=True)):
        if size != length and axis not in columns:
            start = starts[axis]
            columns[axis] = np.asarray(start, dtype) if isinstance(start, int) else convert(start, dtype)
    axes = tuple(sorted(columns))
    inserted = tuple(sorted((*d.array_axes, *d.squeezed)))
    rank = aval.ndim - len(inserted) + len(common)
    window = tuple(index for index in range(rank) if not d.front <= index < d.front + len(common))
    return scattered(
        x, index_array([columns[axis] for axis in axes]), ScatterDimensionNumbers(window, inserted, axes),
        indices_are_sorted=access.indices_are_sorted, unique_indices=access.unique_indices, mode=access.mode,
    )  # fmt: skip


def _broadcast_value(value: Array, shape: tuple[int, ...]) -> Any:
    own = typeof(value).shape
    fits = len(own) <= len(shape) and all(a in (1, b) for a, b in zip(own, shape[len(shape) - len(own) :], strict=True))
    if not fits:
        raise ValueError(
            f"Incompatible shapes for broadcasting: a value of shape {own} cannot be written to an index of shape {shape}"
        )
    return broadcast_to(value, shape)


WRITE_DEFAULT = Access(FILL_OR_DROP)
