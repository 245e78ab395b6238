"""Reversing, shifting and repeating elements (NumPy reference, routines.array-manipulation)."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.calls import as_index
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import concrete_value
from arrax.core.lengths import is_below, is_symbolic
from arrax.core.types import slots, typeof
from arrax.lax import (
    arithmetic,
    axis_order,
    concatenation,
    cumulative,
    filled_arrays,
    selection,
    shape_arguments,
    shapes,
    slicing_along_axes,
    static_slicing,
)
from arrax.lax.calls import call_apart
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.reductions import reduce_sum
from arrax.numpy_api import host, operands
from arrax.numpy_api.api import api, with_host_route
from arrax.numpy_api.axis_order import swapaxes
from arrax.numpy_api.filled_arrays import zeros
from arrax.numpy_api.gathers import take_slices
from arrax.numpy_api.manipulation import ravel, reshape
from arrax.numpy_api.operands import axes_tuple, canonical_axes, check_arraylike, known_size, of_whole_bytes
from arrax.numpy_api.routes import eager_operand, shape_of
from arrax.xla.annotations import OneAxis, OptionalSharding
from arrax.xla.arrays import Array, ArrayLike
from arrax.xla.distribution import whole_here


def known(value: Any) -> np.ndarray | None:
    """The elements of a value that is known; None for a traced one."""
    found = concrete_value(value)
    return None if found is None else np.asarray(whole_here(found))


# ---- reversing and shifting -----------------------------------------------------------------------------------------


@api(static=("axes",), host=np.flip)
def _flip(m: Array, axes: tuple[int, ...]) -> Array:
    return axis_order.rev(m, axes)


@api(static=("axis",), stepwise=True)
def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Reverse the order of the elements along axes.

    Args:
      m: array.
      axis: axis or axes; by default all.
    Raises:
      ValueError: no such axis.
    Example: ``jnp.flip(jnp.arange(3))`` is ``[2, 1, 0]``. Source: ``numpy.flip``.
    """
    m = eager_operand("flip", m)
    axes = canonical_axes(axis, typeof(m).ndim)
    return _flip(m, axes)


def fliplr(m: ArrayLike) -> Array:
    """Reverse the order of the elements along the second axis.

    Args:
      m: array of two axes or more.
    Example: ``jnp.fliplr(jnp.eye(2))``. Source: ``numpy.fliplr``.
    """
    return flip(m, 1)


def flipud(m: ArrayLike) -> Array:
    """Reverse the order of the elements along the first axis.

    Args:
      m: array of one axis or more.
    Example: ``jnp.flipud(jnp.eye(2))``. Source: ``numpy.flipud``.
    """
    return flip(m, 0)


@api(static=("k", "axes"), stepwise=True)
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Turn an array by right angles in the plane of two axes.

    Args:
      m: array of at least two axes.
      k: how many times, from the first axis towards the second.
      axes: the two axes.
    Raises:
      ValueError: fewer than two axes, or twice the same.
    Example: ``jnp.rot90(jnp.array([[1, 2], [3, 4]]))`` is ``[[2, 4], [1, 3]]``. Source: ``numpy.rot90``.
    """
    m = eager_operand("rot90", m)
    rank = typeof(m).ndim
    if rank < 2:
        raise ValueError(f"rot90 requires its first argument to have ndim at least two, but got shape {shape_of(m)}")
    first, second = (shape_arguments.canonical_axis(axis, rank) for axis in axes)
    if first == second:
        raise ValueError(f"rot90: axes must be different, got {axes}")
    turns = as_index(k) % 4
    if turns == 2:
        return flip(m, (first, second))
    if turns == 0:
        return m
    return swapaxes(flip(m, second), first, second) if turns == 1 else flip(swapaxes(m, first, second), second)


@api(static=("shifts", "axes"), host=np.roll)
def _roll(a: Array, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    for shift, axis in zip(shifts, axes, strict=True):
        length = typeof(a).shape[axis]
        cut = -shift % max(length, 1)
        if cut:
            parts = [
                static_slicing.slice_in_dim(a, cut, length, axis=axis),
                static_slicing.slice_in_dim(a, 0, cut, axis=axis),
            ]
            a = concatenation.concatenate(parts, axis)
    return a


def _rows_twice(a: Array) -> list[Any]:
    return [concatenation.concatenate([a, a], typeof(a).ndim - 1)]


@api(static=("axes",))
def _roll_traced(a: ArrayLike, shifts: Array, axes: tuple[int, ...]) -> Any:
    for index, axis in enumerate(axes):
        length = typeof(a).shape[axis]
        if length == 0:
            continue
        shift = shapes.reshape(static_slicing.slice_in_dim(shifts, index, index + 1), ())
        n = convert(length, np.int32) if is_symbolic(length) else np.int32(length)
        remainder = arithmetic.rem(shift, n)
        start = arithmetic.sub(n, selection.select(arithmetic.lt(remainder, np.int32(0)), remainder + n, remainder))
        if is_symbolic(length):
            a = slicing_along_axes.dynamic_slice_in_dim(concatenation.concatenate([a, a], axis), start, length, axis)
        elif axis == typeof(a).ndim - 1:  # part of each row twice; elements at their places would go one by one
            (twice,) = call_apart(_rows_twice, a)
            a = slicing_along_axes.dynamic_slice_in_dim(twice, start, length, axis)
        else:
            source_index = filled_arrays.iota(np.int32, length) + shapes.broadcast_in_dim(start, (length,), ())
            until = shapes.broadcast_in_dim(n, (length,), ())
            a = take_slices(
                a, selection.select(arithmetic.lt(source_index, until), source_index, source_index - until), axis
            )
    return a


@api(static=("shift", "axis"), stepwise=True)
def roll(a: ArrayLike, shift: ArrayLike | Sequence[int], axis: int | Sequence[int] | None = None) -> Array:
    """Shift elements along axes; those that leave at the end come back at the beginning.

    Args:
      a: array.
      shift: int or sequence of ints (also traced ones): by how many places.
      axis: axis or axes; by default all elements count as one axis.
    Raises:
      ValueError: no such axis, or shifts and axes that differ in number.
    Example: ``jnp.roll(jnp.arange(4), 1)`` is ``[3, 0, 1, 2]``. Source: ``numpy.roll``.
    """
    a = eager_operand("roll", a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), shape_of(a))
    axes = tuple(shape_arguments.canonical_axis(one, typeof(a).ndim) for one in axes_tuple(axis))
    shift = convert(shift, np.int32) if is_symbolic(shift) else shift
    shift = shift if isinstance(shift, list | tuple) else of_whole_bytes(shift)
    shifts = known(shift) if not isinstance(shift, list | tuple) else _known_all(shift)
    if shifts is None or any(is_symbolic(typeof(a).shape[axis]) for axis in axes):
        return _roll_traced(a, *_traced_shifts(shift, axes))
    if shifts.dtype.kind not in "biuf":
        raise TypeError(f"roll: shift must be of integers, got {shift!r}")
    amounts, indices = np.broadcast_arrays(np.atleast_1d(shifts).astype(int), np.atleast_1d(np.array(axes, int)))
    if amounts.ndim > 1:
        raise ValueError("roll: shift and axis must be scalars or 1D sequences")
    return _roll(a, tuple(amounts.tolist()), tuple(indices.tolist()))


def _known_all(values: Sequence[Any]) -> np.ndarray | None:
    found = [known(value) for value in values]
    return None if any(value is None for value in found) else np.array(found)


def _traced_shifts(shift: Any, axes: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    if isinstance(shift, list | tuple):
        shift = concatenation.concatenate([shapes.reshape(convert(one, np.int32), (1,)) for one in shift], 0)
    shifts = shapes.reshape(shift, (typeof(shift).size,))
    shifts = convert(shifts, np.int32)
    count = max(typeof(shifts).size, len(axes))
    if typeof(shifts).size not in (1, count) or len(axes) not in (1, count):
        raise ValueError(f"roll: shift of shape {shape_of(shift)} does not fit {len(axes)} axes")
    return operands.broadcast_to(shifts, (count,)), axes * (count // len(axes))


# ---- repeating ------------------------------------------------------------------------------------------------------


_FEW_COPIES = 8


def _tile_on_host(values: np.ndarray, reps: tuple[int, ...]) -> np.ndarray | None:
    return np.tile(values, reps) if host.fits(values.size, *reps) else None


@api(static=("reps",), host=_tile_on_host)
def _tile(A: Array, reps: tuple[int, ...]) -> Array:
    """A whole array repeated along its axes; it gets axes in front as ``reps`` are more."""
    own = (1,) * (len(reps) - typeof(A).ndim) + typeof(A).shape
    A = shapes.reshape(A, own)
    repeated_axes = [axis for axis, n in enumerate(reps) if n != 1]
    if not repeated_axes:
        return A
    if (
        len(repeated_axes) == 1
        and 0 < reps[repeated_axes[0]]
        and is_below(reps[repeated_axes[0]], _FEW_COPIES + 1, False)
    ):
        return concatenation.concatenate([A] * reps[repeated_axes[0]], repeated_axes[0])  # memory is copied as a whole
    full_shape = tuple(length for pair in zip(reps, own, strict=True) for length in pair)
    repeated = shapes.broadcast_in_dim(A, full_shape, range(1, 2 * len(own), 2))
    return shapes.reshape(repeated, tuple(n * m for n, m in zip(reps, own, strict=True)))


@api(static=("reps",), stepwise=True)
def tile(A: ArrayLike, reps: int | Sequence[int]) -> Array:
    """Repeat a whole array along its axes.

    Args:
      A: array.
      reps: how many times along each axis; the shorter of ``reps`` and the shape gets ones in front.
    Raises:
      ValueError: negative numbers.
    Example: ``jnp.tile(jnp.arange(2), 2)`` is ``[0, 1, 0, 1]``. Source: ``numpy.tile``.
    """
    A = eager_operand("tile", A)
    counts = (reps,) if np.ndim(reps) == 0 else tuple(reps)  # type: ignore[arg-type]
    times = shape_arguments.canonical_shape(counts, "tile: reps")
    return _tile(A, (1,) * (typeof(A).ndim - len(times)) + times)


@api(static=("count", "axis"))
def _repeat_evenly(a: Array, count: int, axis: int) -> Array:
    shape = typeof(a).shape
    full_shape = (*shape[: axis + 1], count, *shape[axis + 1 :])
    repeated = shapes.broadcast_in_dim(a, full_shape, [i for i in range(len(full_shape)) if i != axis + 1])
    return shapes.reshape(repeated, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


@api(static=("axis", "total"))
def _repeat_traced(a: Array, repeats: ArrayLike, axis: int, total: int) -> Array:
    """The number of slices that end at or before each place of the result is the slice that stands there."""
    length = typeof(a).shape[axis]
    if length == 0 or total == 0:
        return filled_arrays.full_like(a, 0, shape=(*typeof(a).shape[:axis], total, *typeof(a).shape[axis + 1 :]))
    ends = cumulative.cumsum(operands.broadcast_to(convert(repeats, np.int32), (length,)))
    columns = shapes.broadcast_in_dim(ends, (total, length), (1,))
    rows = filled_arrays.broadcasted_iota(np.int32, (total, length), 0)
    passed = reduce_sum(convert(arithmetic.le(columns, rows), np.int32), (1,))
    return take_slices(a, arithmetic.min_(passed, np.int32(length - 1)), axis)


def repeat(
    a: ArrayLike,
    repeats: ArrayLike,
    axis: OneAxis = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Repeat each slice of an array along an axis.

    Args:
      a: array.
      repeats: int, or integer array with one number per slice.
      axis: axis; by default all elements count as one.
      total_repeat_length: length of the result's axis, needed where ``repeats`` is traced: more are cut off, missing
        ones are repetitions of the last slice.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ConcretizationTypeError: traced ``repeats`` without ``total_repeat_length``.
      ValueError: numbers that don't fit the axis.
      TypeError: a list, or numbers that are not integers.
    Example: ``jnp.repeat(jnp.arange(2), 2)`` is ``[0, 0, 1, 1]``. Source: ``numpy.repeat``.
    """
    if out_sharding is not None:
        return slots.as_asked(
            out_sharding,
            functools.partial(repeat, repeats=repeats, axis=axis, total_repeat_length=total_repeat_length),
            a,
        )
    check_arraylike("repeat", a, repeats)
    a = eager_operand("repeat", a)
    if axis is None:
        a, axis = ravel(a), 0
    elif typeof(a).ndim == 0:
        a = reshape(a, (1,))
    axis = shape_arguments.canonical_axis(axis, typeof(a).ndim)
    length = shape_of(a)[axis]
    if is_symbolic(repeats) and total_repeat_length is None:
        return _repeat_evenly(a, as_index(repeats), axis)
    repeats = of_whole_bytes(repeats)
    counts = known(repeats)
    _check_repeats(repeats, length)
    total = (
        None if total_repeat_length is None else known_size(total_repeat_length, "jnp.repeat", "total_repeat_length")
    )
    if total is not None and not is_symbolic(total) and total < 0:
        raise ValueError(f"repeat: total_repeat_length must be non-negative, got {total}")
    if counts is None:
        if total is None:
            raise ConcretizationTypeError(
                repeats, "In jnp.repeat the total number of repeats must be known while tracing: make `repeats` "
                "static, or pass a static `total_repeat_length`.",
            )  # fmt: skip
        return _repeat_traced(a, repeats, axis, total)
    return _repeat_known(a, counts, axis, total)


def _check_repeats(repeats: ArrayLike, length: int) -> None:
    aval = typeof(repeats)
    if aval.dtype.kind not in "iub":
        raise TypeError(f"repeat: repeats must be integers, got dtype {aval.dtype.name}")
    if aval.ndim > 1 or (aval.ndim == 1 and aval.shape[0] not in (1, length)):
        raise ValueError(f"repeat: repeats of shape {aval.shape} do not fit an axis of length {length}")


def _repeat_known(a: Array, counts: np.ndarray, axis: int, total: int | None) -> Array:
    length = shape_of(a)[axis]
    if (counts < 0).any():
        raise ValueError(f"repeat: repeats must be non-negative, got {counts}")
    if total is None and counts.size == 1 and not host.on_host(a):
        return _repeat_evenly(a, int(counts.reshape(())), axis)
    indices = np.repeat(np.arange(length), counts.astype(int))
    if total is not None:
        filler = np.full(max(0, total - len(indices)), max(length - 1, 0))
        indices = np.concatenate([indices[:total], filler])
    return pick(a, indices, axis)


@api(static=("axis",))
def pick_compiled(a: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """The slices of an array at places of an axis, which may be traced."""
    return take_slices(a, indices, axis)


def _pick_on_host(values: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray | None:
    return np.take(values, indices, axis) if host.fits(values.size // values.shape[axis], indices.size) else None


_pick_known = with_host_route(pick_compiled, _pick_on_host)


def pick(a: ArrayLike, indices: np.ndarray, axis: int) -> Array:
    """The slices of an array at known places of an axis."""
    own = shape_of(a)
    if own[axis] == 0 or indices.size == 0:
        return filled_arrays.full_like(a, 0, shape=(*own[:axis], indices.size, *own[axis + 1 :]))
    return _pick_known(a, indices.astype(np.int32), axis)


_MANY_COPIES = 8  # copies side by side are quicker than a spread array, but each is an operation to compile


def resize(a: ArrayLike, new_shape: int | Sequence[int]) -> Array:
    """An array of another size, filled with repetitions of the elements.

    Args:
      a: array.
      new_shape: int or sequence of ints.
    Raises:
      ValueError: negative lengths.
    Example: ``jnp.resize(jnp.arange(2), 3)`` is ``[0, 1, 0]``. Source: ``numpy.resize``.
    """
    a = ravel(eager_operand("resize", a))
    lengths = shape_arguments.canonical_shape(new_shape, "resize: new_shape")
    count, own = math.prod(lengths), typeof(a).size
    if count == 0 or own == 0:
        return zeros(lengths, typeof(a).dtype)
    return reshape(_repeat_whole(a, count), lengths) if count != own else reshape(a, lengths)


@api(static=("count",), host=lambda values, count: np.resize(values, (count,)) if host.fits(count) else None)
def _repeat_whole(a: Array, count: int) -> Array:
    """As many elements as wanted: those of a vector, over and over."""
    if is_symbolic(count) or is_symbolic(typeof(a).size):
        index = np.dtype(np.int32)
        size = shapes.broadcast_in_dim(length_of_axis(typeof(a).size, index), (count,), ())
        return take_slices(a, arithmetic.rem(filled_arrays.iota(index, count), size), 0)
    times, rest = divmod(count, typeof(a).size)
    if times <= _MANY_COPIES:
        whole = [a] * times
    else:
        whole = [ravel(operands.broadcast_to(a, (times, typeof(a).size)))]
    return concatenation.concatenate([*whole, static_slicing.slice_in_dim(a, 0, rest)], 0)
