"""Adding and removing elements at given places of an axis (NumPy reference, routines.array-manipulation)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.errors import ConcretizationTypeError
from arrax.core.lengths import is_symbolic, shorter
from arrax.core.types import typeof
from arrax.lax import arithmetic, bitwise, filled_arrays, selection, shape_arguments, shapes, static_slicing
from arrax.lax.conversion import convert
from arrax.lax.reductions import reduce_sum
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.axis_order import moveaxis
from arrax.numpy_api.joining import join_all
from arrax.numpy_api.manipulation import broadcast_to, expand_dims, ravel
from arrax.numpy_api.operands import canonical_axes
from arrax.numpy_api.rearranging import known, pick, pick_compiled
from arrax.numpy_api.routes import eager_operand, shape_of
from arrax.xla.annotations import OneAxis
from arrax.xla.arrays import Array, ArrayLike


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Array:
    """Cut zeros from the ends of an array.

    Args:
      filt: array of known values.
      trim: ``"f"`` cuts at the front, ``"b"`` at the back, ``"fb"`` at both.
      axis: axis or axes to cut along; by default all.
    Raises:
      ConcretizationTypeError: a traced array, since the result's shape depends on its values.
    Example: ``jnp.trim_zeros(jnp.array([0, 1, 0]))`` is ``[1]``. Source: ``numpy.trim_zeros``.
    """
    filt = eager_operand("trim_zeros", filt)
    if not isinstance(trim, str) or not set(trim.lower()) <= {"f", "b"}:
        raise ValueError(f"trim_zeros: trim must hold only the letters 'f' and 'b', got {trim!r}")
    values = known(filt)
    if values is None:
        raise ConcretizationTypeError(filt, "Error arose in the `filt` argument of trim_zeros().")
    starts, limits = [0] * values.ndim, list(values.shape)
    for one in canonical_axes(axis, values.ndim):
        filled = np.flatnonzero(values.any(axis=tuple(i for i in range(values.ndim) if i != one)))
        if not filled.size:
            starts[one], limits[one] = 0, 0
            continue
        starts[one] = int(filled[0]) if "f" in trim.lower() else 0
        limits[one] = int(filled[-1]) + 1 if "b" in trim.lower() else limits[one]
    for one, (start, limit) in enumerate(zip(starts, limits, strict=True)):
        if (start, limit) != (0, values.shape[one]):
            filt = pick(filt, np.arange(start, limit), one)
    return filt


def _around(name: str, arr: Any, axis: int, split_index: Any, left_out: int) -> list[Any]:
    """The parts before and from a place (or behind it) of an axis whose length is an expression of symbols."""
    if isinstance(split_index, slice) or np.ndim(split_index):
        raise NotImplementedError(
            f"{name}: several places along an axis of length {shape_of(arr)[axis]}, a symbolic dimension"
        )
    index = int(split_index)
    length: Any = shape_of(arr)[axis]
    size, start, _ = length.piece(index, None, None)
    ends = [(0, start), (start + shorter(left_out, size), length)]
    return [static_slicing.slice_in_dim(arr, first, last, axis=axis) for first, last in ends]


def _along(name: str, arr: ArrayLike, axis: OneAxis) -> tuple[Any, int]:
    """An array with at least one axis, and the axis to work along."""
    arr = eager_operand(name, arr)
    if axis is None:
        return ravel(arr), 0
    return arr, shape_arguments.canonical_axis(axis, typeof(arr).ndim)


def _indices_known(name: str, obj: Any) -> Any:
    """Indices as NumPy understands them, or None for traced ones."""
    if isinstance(obj, slice):
        return obj
    check_arraylike_at(name, obj, 1)
    if not (dtypes.is_integer(typeof(obj).dtype) or dtypes.is_bool(typeof(obj).dtype)):
        raise IndexError(f"{name}: places must be integers, a slice or a mask, got dtype {typeof(obj).dtype}")
    values = known(obj)
    return None if values is None else values if values.ndim else values[()]


def check_arraylike_at(name: str, value: ArrayLike, position: int) -> None:
    """Refuse an operand that is not an array, naming its position."""
    if not operands.is_arraylike(value):
        raise TypeError(f"{name} requires ndarray or scalar arguments, got {type(value)} at position {position}.")


def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: OneAxis = None) -> Array:
    """Insert slices before given places of an axis.

    Args:
      arr: array.
      obj: int, slice or integer array: the places, in terms of ``arr``.
      values: array that fits the inserted slices, or broadcasts to them.
      axis: axis; by default all elements count as one.
    Raises:
      IndexError: a place out of bounds.
      TypeError: lists.
    Example: ``jnp.insert(jnp.arange(3), 1, 9)`` is ``[0, 9, 1, 2]``. Source: ``numpy.insert``.
    """
    arr, axis = _along("insert", arr, axis)
    check_arraylike_at("insert", values, 2)
    values = eager_operand("insert", values)
    indices = _indices_known("insert", obj)
    length = shape_of(arr)[axis]
    count, values = _fitting_values(arr, values, axis, obj, indices)
    if is_symbolic(length) and indices is not None:
        before, behind = _around("insert", arr, axis, indices, 0)
        return join_all("insert", [before, convert_to(values, arr), behind], axis, None)
    pool = join_all("insert", [arr, convert_to(values, arr)], axis, None)
    if indices is None:
        return pick_compiled(pool, _insertion_order(obj, length, count), axis)
    if not isinstance(indices, slice) and np.ndim(indices) == 0:
        index = int(np.clip(indices, -length, length))
        order = np.insert(np.arange(length), [index] * count, length + np.arange(count))
    else:
        chosen = indices if isinstance(indices, slice) or indices.dtype == bool else np.clip(indices, -length, length)
        order = np.insert(np.arange(length), chosen, length + np.arange(count))
    return pick(pool, order, axis)


def convert_to(values: ArrayLike, arr: ArrayLike) -> ArrayLike:
    """Values of the dtype of an array."""
    if typeof(values).dtype == typeof(arr).dtype and typeof(values).weak_type == typeof(arr).weak_type:
        return values
    return convert(values, typeof(arr).dtype, typeof(arr).weak_type)


def _fitting_values(arr: ArrayLike, values: ArrayLike, axis: int, obj: Any, indices: Any) -> tuple[int, Any]:
    """How many slices are inserted, and those slices."""
    shape, rank = shape_of(arr), typeof(arr).ndim
    scalar = (
        indices is None
        and typeof(obj).ndim == 0
        or (not isinstance(indices, slice) and indices is not None and np.ndim(indices) == 0)
    )
    missing = rank - typeof(values).ndim
    if missing > 0:
        values = expand_dims(values, tuple(range(missing)))
    if scalar:
        values = moveaxis(values, 0, axis)
        count = shape_of(values)[axis]
    elif indices is None:
        count = typeof(obj).size
    else:
        count = (
            len(np.arange(shape[axis])[indices])
            if isinstance(indices, slice) or indices.dtype == bool
            else indices.size
        )
        count = shape_of(values)[axis] if count == 1 else count
    return count, broadcast_to(values, (*shape[:axis], count, *shape[axis + 1 :]))


@api(static=("length", "count"))
def _insertion_order(obj: Array, length: int, count: int) -> Array:
    """For each place of the result, where its slice stands in the array followed by the inserted slices."""
    index = convert(operands.broadcast_to(shapes.reshape(obj, (typeof(obj).size,)), (count,)), np.int32)
    index = selection.select(arithmetic.lt(index, np.int32(0)), arithmetic.add(index, np.int32(length)), index)
    index = arithmetic.min_(arithmetic.max_(index, np.int32(0)), np.int32(length))
    mine, other = (shapes.broadcast_in_dim(index, (count, count), (dim,)) for dim in (0, 1))
    rows, columns = (filled_arrays.broadcasted_iota(np.int32, (count, count), dim) for dim in (0, 1))
    tied = bitwise.bitwise_and(arithmetic.eq(mine, other), arithmetic.lt(columns, rows))
    earlier = bitwise.bitwise_or(arithmetic.lt(other, mine), tied)
    indices = arithmetic.add(index, reduce_sum(convert(earlier, np.int32), (1,)))
    return _interleaved(indices, length, count)


def _interleaved(indices: Array, length: int, count: int) -> Array:
    total = length + count
    broadcasted = shapes.broadcast_in_dim(indices, (total, count), (1,))
    rows = filled_arrays.broadcasted_iota(np.int32, (total, count), 0)
    before = reduce_sum(convert(arithmetic.lt(broadcasted, rows), np.int32), (1,))
    here = convert(arithmetic.eq(broadcasted, rows), np.int32)
    which = reduce_sum(arithmetic.mul(here, filled_arrays.broadcasted_iota(np.int32, (total, count), 1)), (1,))
    inserted = arithmetic.gt(reduce_sum(here, (1,)), np.int32(0))
    old = arithmetic.sub(filled_arrays.iota(np.int32, total), before)
    return selection.select(inserted, arithmetic.add(which, np.int32(length)), old)


def delete(arr: ArrayLike, obj: Any, axis: OneAxis = None, *, assume_unique_indices: bool = False) -> Array:
    """Remove slices at given places of an axis.

    Args:
      arr: array.
      obj: int, slice, integer array or mask: the places.
      axis: axis; by default all elements count as one.
      assume_unique_indices: a promise that no place is given twice; traced arrays of places need it.
    Raises:
      IndexError: a place out of bounds.
      ConcretizationTypeError: a traced array of places without the promise.
      TypeError: lists.
    Example: ``jnp.delete(jnp.arange(3), 1)`` is ``[0, 2]``. Source: ``numpy.delete``.
    """
    arr, axis = _along("delete", arr, axis)
    indices = _indices_known("delete", obj)
    length = shape_of(arr)[axis]
    if is_symbolic(length) and indices is not None:
        before, behind = _around("delete", arr, axis, indices, 1)
        return join_all("delete", [before, behind], axis, None)
    if indices is not None:
        return pick(arr, np.delete(np.arange(length), indices), axis)
    if typeof(obj).dtype == np.bool_ or (typeof(obj).ndim > 0 and not assume_unique_indices):
        raise ConcretizationTypeError(
            obj, "jnp.delete with traced places needs assume_unique_indices=True, and integers: the shape of "
            "the result depends on how many different ones there are.",
        )  # fmt: skip
    return pick_compiled(arr, _remaining(obj, length), axis)


@api(static=("length",))
def _remaining(obj: Array, length: int) -> Array:
    """The places that are left when distinct ones are removed."""
    count = typeof(obj).size
    index = convert(shapes.reshape(obj, (count,)), np.int32)
    index = selection.select(arithmetic.lt(index, np.int32(0)), arithmetic.add(index, np.int32(length)), index)
    mine, other = (shapes.broadcast_in_dim(index, (count, count), (dim,)) for dim in (0, 1))
    rank = reduce_sum(convert(arithmetic.lt(other, mine), np.int32), (1,))
    threshold = arithmetic.sub(index, rank)
    left = length - count
    broadcasted = shapes.broadcast_in_dim(threshold, (left, count), (1,))
    passed = arithmetic.le(broadcasted, filled_arrays.broadcasted_iota(np.int32, (left, count), 0))
    return arithmetic.add(filled_arrays.iota(np.int32, left), reduce_sum(convert(passed, np.int32), (1,)))
