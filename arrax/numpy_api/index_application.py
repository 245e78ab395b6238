"""Reading and writing at an index as operations: windows for what is static, gather and scatter for arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core.calls import in_call
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer
from arrax.core.lengths import is_below, is_symbolic, longer
from arrax.core.memory_spaces import MemorySpace, memories_in_types
from arrax.core.types import ShapedArray, slots, typeof
from arrax.lax import (
    arithmetic,
    axis_order,
    bitwise,
    concatenation,
    filled_arrays,
    selection,
    shapes,
    slicing,
    static_slicing,
)
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.gathers import (
    FILL_OR_DROP,
    ONE_HOT,
    PROMISE_IN_BOUNDS,
    GatherDimensionNumbers,
    GatherScatterMode,
    gather,
)
from arrax.numpy_api.index_description import IndexDescription, result_shape
from arrax.numpy_api.operands import broadcast_to, index_dtype
from arrax.xla.arrays import Array, ArrayLike


class Access(NamedTuple):
    """How an array is read or written at an index. Compared as a whole, so that one NaN is equal to itself.

    Attributes:
      mode: what happens out of bounds.
      fill_value: what FILL_OR_DROP fills with; None for the default.
      indices_are_sorted, unique_indices: promises about arrays among the indices.
      wrap: whether negative integers count from the end.
    """

    mode: GatherScatterMode
    fill_value: Any = None
    indices_are_sorted: bool = False
    unique_indices: bool = False
    wrap: bool = True


def fill_scalar(value: Any) -> Any:
    """A fill value as a Python number; every NaN is the same one, for caches.

    Raises:
      ConcretizationTypeError: a traced value, as it is part of the program.
      ValueError: not a scalar. TypeError: not a number.
    """
    if value is None:
        return None
    if isinstance(value, Tracer):
        raise ConcretizationTypeError(value, "The error arose in the argument fill_value.")
    array = np.asarray(value)
    if array.ndim:
        raise ValueError(in_call(f"fill_value must be a scalar, got shape {array.shape}"))
    if array.dtype.kind in "OSU":
        raise TypeError(in_call(f"fill_value must be a number, got {value!r}", value))
    number = array.item()
    return math.nan if isinstance(number, float) and number != number else number


# ---- operands -------------------------------------------------------------------------------------------------------


def _index_dtype(operands: Sequence[Any], lengths: Sequence[int]) -> np.dtype:
    wide = any(typeof(operand).dtype.itemsize == 8 for operand in operands) or any(
        n >= 2**31 for n in lengths if not is_symbolic(n)
    )
    return index_dtype(*lengths) if wide else np.dtype(np.int32)


def _indices_of_operand(operand: ArrayLike, length: int, wrap: bool, dtype: np.dtype) -> ArrayLike:
    """An operand as signed integers, negative ones counted from the end; those out of bounds stay so."""
    if isinstance(operand, np.ndarray) and not (is_symbolic(length) and (operand < 0).any()):
        limits = np.iinfo(dtype)
        if operand.dtype.kind == "u":
            return np.minimum(operand.astype(np.uint64), np.uint64(limits.max)).astype(dtype)
        signed = operand.astype(np.int64)
        wrapped = np.where(signed < 0, signed + length, signed) if wrap and not is_symbolic(length) else signed
        return np.clip(wrapped, limits.min, limits.max).astype(dtype)
    aval = typeof(operand)
    if dtypes.issubdtype(aval.dtype, np.unsignedinteger):
        if aval.dtype.itemsize >= dtype.itemsize:
            operand = arithmetic.min_(operand, length_of_axis(length, aval.dtype))
        return convert(operand, dtype)
    indices = convert(operand, dtype)
    if not wrap:
        return indices
    negative = arithmetic.lt(indices, np.zeros((), dtype)[()])
    return selection.select(negative, arithmetic.add(indices, length_of_axis(length, dtype)), indices)


def all_indices(operands: Sequence[Any], lengths: Sequence[int], wrap: bool) -> list[Any]:
    dtype = _index_dtype(operands, lengths)
    return [
        _indices_of_operand(operand, length, wrap, dtype) for operand, length in zip(operands, lengths, strict=True)
    ]


def common_shape(operands: Sequence[Any]) -> tuple[int, ...]:
    return shapes.broadcast_shapes(*(typeof(operand).shape for operand in operands))


def index_array(indices: Sequence[Any]) -> ArrayLike:
    """The places of all axes as one array, whose last axis holds the components of an index."""
    common = common_shape(indices)
    if all(isinstance(index, np.ndarray) for index in indices):
        return np.stack([np.broadcast_to(index, common) for index in indices], -1)
    columns = [shapes.broadcast_in_dim(broadcast_to(p, common), (*common, 1), range(len(common))) for p in indices]
    return columns[0] if len(columns) == 1 else concatenation.concatenate(columns, len(common))


# ---- windows --------------------------------------------------------------------------------------------------------


def _extents(d: IndexDescription) -> list[int]:
    """The length of the block that each axis of the window lies in."""
    return [(size - 1) * abs(step) + 1 if size else 0 for size, step in zip(d.sizes, d.steps, strict=True)]


def read_window(x: ArrayLike, d: IndexDescription, starts: Sequence[Any]) -> Array:
    """The window, in its order, all axes kept. Starts are ints, or scalars that are data."""
    extents = _extents(d)
    strides = [abs(step) for step in d.steps]
    if all(isinstance(start, int) for start in starts):
        limits = [start + extent for start, extent in zip(starts, extents, strict=True)]
        if tuple(extents) != typeof(x).shape or any(stride != 1 for stride in strides):
            x = static_slicing.slice_(x, starts, limits, strides)
    else:
        x = slicing.dynamic_slice(x, of_one_dtype(starts), extents, allow_negative_indices=False)
        if any(stride != 1 for stride in strides):
            x = static_slicing.slice_(x, [0] * len(extents), extents, strides)
    return _reversed(x, d)


def of_one_dtype(starts: Sequence[Any]) -> Sequence[Any]:
    if all(isinstance(start, int) for start in starts):
        return starts
    dtype = next(typeof(start).dtype for start in starts if not isinstance(start, int))
    return [np.asarray(start).astype(dtype)[()] if isinstance(start, int) else start for start in starts]


def _reversed(x: ArrayLike, d: IndexDescription) -> Any:
    backwards = [axis for axis, step in enumerate(d.steps) if step < 0]
    return axis_order.rev(x, backwards) if backwards else x


def write_window(x: ArrayLike, new: Array, d: IndexDescription, starts: Sequence[Any]) -> Any:
    """``x`` with its window replaced by ``new``, which has the window's shape and order."""
    aval = typeof(x)
    new = _reversed(new, d)
    if any(abs(step) != 1 for step in d.steps):
        return _write_strided(x, new, d, starts)
    if d.sizes == aval.shape:
        return new
    if 0 in d.sizes:
        return x
    starts = of_one_dtype(starts)
    if memories_in_types.other_than_device:
        new = slots.in_memory_of(new, aval)
    return slicing.dynamic_update_slice(x, new, starts, allow_negative_indices=False)


def _write_strided(x: ArrayLike, new: Array, d: IndexDescription, starts: Sequence[Any]) -> Array:
    """The block that holds the strided window is merged with the new elements, spread out, and written as a whole.

    A block that is most of an axis is made all of it: then nothing but the merge remains to be done.
    """
    shape, firsts, sizes, padding = typeof(x).shape, list(starts), _extents(d), []
    for axis, step in enumerate(map(abs, d.steps)):
        low, high = 0, 0
        most = is_below(shape[axis] - 2 * sizes[axis], 1, True)
        if step != 1 and most and (isinstance(starts[axis], int) or is_symbolic(starts[axis])):
            span = d.sizes[axis] + (abs(step) - 1) * longer(d.sizes[axis] - 1, 0)
            low, high = starts[axis], shape[axis] - starts[axis] - span
            firsts[axis], sizes[axis] = 0, shape[axis]
        padding.append((low, high, step - 1))
    hits: Any = None
    for axis, (low, high, interior) in enumerate(padding):
        if interior:
            along = _hits(sizes[axis], low, high, interior + 1)
            broadcasted = shapes.broadcast_in_dim(along, sizes, (axis,))
            hits = broadcasted if hits is None else bitwise.bitwise_and(hits, broadcasted)
    block = d._replace(sizes=tuple(sizes), steps=(1,) * len(d.steps))
    padded = static_slicing.pad(new, np.zeros((), typeof(new).dtype)[()], padding)
    return write_window(x, selection.select(hits, padded, read_window(x, block, firsts)), block, firsts)


def _hits(length: Any, low: Any, high: Any, step: int) -> Any:
    """Which places of an axis are ``low`` and every ``step``-th one from there, up to ``high`` from the end."""
    if any(map(is_symbolic, (length, low, high))):
        positions = filled_arrays.iota(np.dtype(np.int32), length)
        low, beyond = (length_of_axis(n, np.dtype(np.int32)) for n in (low, length - high))
        broadcasted = [shapes.broadcast_in_dim(n, (length,), ()) for n in (low, beyond, np.int32(0), np.int32(step))]
        indices = arithmetic.sub(positions, broadcasted[0])
        inside = bitwise.bitwise_and(arithmetic.ge(indices, broadcasted[2]), arithmetic.lt(positions, broadcasted[1]))
        return bitwise.bitwise_and(inside, arithmetic.eq(arithmetic.rem(indices, broadcasted[3]), broadcasted[2]))
    indices = np.arange(length) - low
    return (indices >= 0) & (indices % step == 0) & (indices < length - low - high)


def is_part(x: ArrayLike, new: Array, d: IndexDescription) -> bool:
    """Whether an index is of a part of an array of floats as it lies, at a known place, all in the device's memory."""
    aval = typeof(x)
    if memories_in_types.other_than_device and any(typeof(v).memory_space is not MemorySpace.Device for v in (x, new)):
        return False
    if d.scalar_axes or d.array_axes or d.inserted or not dtypes.is_inexact(aval.dtype):
        return False
    return all(step == 1 for step in d.steps) and d.sizes != aval.shape and 0 not in d.sizes


def dropped_axes(x: Array, axes: Sequence[int]) -> Array:
    return shapes.squeeze(x, axes) if axes else x


def restored_axes(x: ArrayLike, axes: Sequence[int]) -> Any:
    return shapes.expand_dims(x, axes) if axes else x


def _without_squeezed(d: IndexDescription, axes: Sequence[int]) -> list[int]:
    """Axes of the window as axes of the window without the squeezed ones."""
    return [axis - sum(gone < axis for gone in d.squeezed) for axis in axes]


def as_arrays(d: IndexDescription, shape: Sequence[int]) -> IndexDescription:
    """The description with scalars treated like arrays of shape ()."""
    if not d.scalar_axes:
        return d
    sizes = tuple(shape[axis] if axis in d.scalar_axes else size for axis, size in enumerate(d.sizes))
    squeezed = tuple(axis for axis in d.squeezed if axis not in d.scalar_axes)
    return d._replace(sizes=sizes, squeezed=squeezed, scalar_axes=(), array_axes=d.scalar_axes)


def with_scalars(
    d: IndexDescription, starts: Sequence[Any], operands: Sequence[Any], shape: Sequence[int], wrap: bool
) -> list[Any]:
    """The starts, those of scalar axes from the operands."""
    if not d.scalar_axes:
        return list(starts)
    indices = all_indices(operands, [shape[axis] for axis in d.scalar_axes], wrap)
    found = dict(zip(d.scalar_axes, indices, strict=True))
    return [found.get(axis, start) for axis, start in enumerate(starts)]


# ---- reading --------------------------------------------------------------------------------------------------------


def read(x: ArrayLike, d: IndexDescription, starts: Sequence[Any], operands: Sequence[Any], access: Access) -> Array:
    """``x[index]`` for a described index.

    Raises:
      IndexError: entries of an axis of length 0.
      ValueError: operands whose shapes don't fit each other.
    """
    x = restored_axes(x, d.inserted)
    aval = typeof(x)
    filling = access.mode in (FILL_OR_DROP, ONE_HOT)
    if filling:
        d = as_arrays(d, aval.shape)
    common = common_shape(operands) if d.array_axes else ()
    if d.misses and filling:
        return _filled(result_shape(d, common), access, aval)
    window = read_window(x, d, with_scalars(d, starts, operands, aval.shape, access.wrap))
    window = dropped_axes(window, d.squeezed)
    if d.array_axes:
        window = _gather(window, _without_squeezed(d, d.array_axes), operands, d.front, access)
    return restored_axes(window, d.newaxes)


def _filled(shape: tuple[int, ...], access: Access, aval: ShapedArray) -> Array:
    """What a gather that misses everything gives."""
    fill_value = 0 if access.mode is ONE_HOT else access.fill_value
    empty = convert(filled_arrays.full((1,), 0, aval.dtype), aval.dtype, aval.weak_type)
    numbers = GatherDimensionNumbers((), (0,), (0,))
    one = gather(empty, np.array([1], np.int32), numbers, (1,), mode=FILL_OR_DROP, fill_value=fill_value)
    return shapes.broadcast_in_dim(one, shape, ())


def _gather(x: Array, axes: Sequence[int], operands: Sequence[Any], front: int, access: Access) -> Array:
    aval = typeof(x)
    lengths = [aval.shape[axis] for axis in axes]
    common = common_shape(operands)
    kept = [length for axis, length in enumerate(aval.shape) if axis not in axes]
    shape = (*kept[:front], *common, *kept[front:])
    if 0 in lengths:
        if math.prod(shape) and access.mode not in (FILL_OR_DROP, ONE_HOT):
            raise IndexError(f"index is out of bounds for axis {axes[lengths.index(0)]} with size 0")
        return _filled(shape, access, aval)
    if math.prod(shape) == 0:
        return filled_arrays.full_like(x, 0, shape=shape)
    indices = index_array(all_indices(operands, lengths, access.wrap))
    offsets = tuple(index for index in range(len(shape)) if not front <= index < front + len(common))
    return gather(
        x, indices, GatherDimensionNumbers(offsets, tuple(axes), tuple(axes)),
        [1 if axis in axes else length for axis, length in enumerate(aval.shape)],
        unique_indices=access.unique_indices, indices_are_sorted=access.indices_are_sorted, mode=access.mode,
        fill_value=access.fill_value,
    )  # fmt: skip


READ_DEFAULT = Access(PROMISE_IN_BOUNDS)
