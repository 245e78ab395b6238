"""Differences between neighbours, and what is made of them (NumPy reference, routines.math)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.lengths import is_symbolic
from arrax.core.types import typeof
from arrax.lax import (
    arithmetic,
    axis_order,
    bitwise,
    concatenation,
    cumulative,
    filled_arrays,
    selection,
    shape_arguments,
    shapes,
    static_slicing,
)
from arrax.lax.conversion import convert
from arrax.lax.reductions import reduce_sum
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.axis_order import moveaxis
from arrax.numpy_api.elementwise import add, divide, multiply, remainder, subtract
from arrax.numpy_api.elementwise_makers import constant
from arrax.numpy_api.joining import concatenate
from arrax.numpy_api.logic import equal, not_equal
from arrax.numpy_api.manipulation import ravel
from arrax.numpy_api.operands import (
    canonical_axes,
    check_arraylike,
    check_arraylike_or_none,
    join_inexact,
    promote_inexact,
    refuse_complex,
)
from arrax.numpy_api.routes import eager_operand, shape_of
from arrax.numpy_api.selection import where
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


def _neighbours(a: Array, axis: int) -> Array:
    """Each element of an axis minus the one before; for bools, whether they differ."""
    length = typeof(a).shape[axis]
    if length == 0:
        return a
    later, earlier = (
        static_slicing.slice_in_dim(a, 1, length, axis=axis),
        static_slicing.slice_in_dim(a, 0, length - 1, axis=axis),
    )
    return not_equal(later, earlier) if typeof(a).dtype == np.bool_ else subtract(later, earlier)


@api(static=("n", "axis"))
def _diff(a: Array, n: int, axis: int) -> Array:
    for _ in range(n):
        a = _neighbours(a, axis)
    return a


def _edge(a: Array, value: ArrayLike, axis: int) -> Any:
    """What is put before or behind an axis: an array, or a number repeated to one slice."""
    value = eager_operand("diff", value)
    if typeof(value).ndim:
        return value
    shape = shape_of(a)
    return operands.broadcast_to(value, (*shape[:axis], 1, *shape[axis + 1 :]))


@api(static=("n", "axis"), stepwise=True)
def diff(
    a: ArrayLike, n: int = 1, axis: int = -1, prepend: OptionalArray = None, append: OptionalArray = None
) -> Array:
    """The differences of neighbours along an axis.

    Args:
      a: array with at least one axis.
      n: how many times differences are taken.
      axis: axis.
      prepend, append: array or number to put before or behind the axis first.
    Returns: array whose axis is ``n`` shorter.
    Raises:
      ValueError: a scalar, a negative number, or no such axis.
    Example: ``jnp.diff(jnp.array([1, 4, 9]))`` is ``[3, 5]``. Source: ``numpy.diff``.
    """
    check_arraylike("diff", a)
    check_arraylike_or_none("diff", prepend, append)
    a, count = eager_operand("diff", a), as_index(n)
    if count == 0:
        return a
    if typeof(a).ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional, got a scalar")
    if count < 0:
        raise ValueError(f"diff: order must be non-negative but got {count}")
    axis = shape_arguments.canonical_axis(axis, typeof(a).ndim)
    parts = [_edge(a, v, axis) if v is not None else None for v in (prepend, append)]
    if any(part is not None for part in parts):
        a = concatenate([part for part in (parts[0], a, parts[1]) if part is not None], axis)
    length = shape_of(a)[axis]  # after so many there is nothing left
    return _diff(a, count if is_symbolic(length) else min(count, length), axis)


def ediff1d(ary: ArrayLike, to_end: OptionalArray = None, to_begin: OptionalArray = None) -> Array:
    """The differences of neighbours in the flattened array.

    Args:
      ary: array.
      to_end, to_begin: what to put behind and before them, converted to the dtype of ``ary``.
    Raises:
      TypeError: bools.
    Example: ``jnp.ediff1d(jnp.array([1, 4, 9]), to_end=0)`` is ``[3, 5, 0]``. Source: ``numpy.ediff1d``.
    """
    check_arraylike("ediff1d", ary)
    check_arraylike_or_none("ediff1d", to_end, to_begin)
    flat = ravel(ary)
    dtype = typeof(flat).dtype
    if dtype == np.bool_:
        raise TypeError("ediff1d: bools have no differences, convert them to integers first")
    parts = [convert(ravel(v), dtype) if v is not None else None for v in (to_begin, to_end)]
    return concatenate([part for part in (parts[0], _diff(flat, 1, 0), parts[1]) if part is not None])


# ---- gradient -------------------------------------------------------------------------------------------------------


def _slopes(f: Array, spacing: Array, axis: int) -> Array:
    """Central differences inside, one-sided ones at the edges."""
    length, rank = typeof(f).shape[axis], typeof(f).ndim

    def part(start: int, stop: int) -> Array:
        return static_slicing.slice_in_dim(f, start, stop, axis=axis)

    if typeof(spacing).ndim == 0:
        first, last = subtract(part(1, 2), part(0, 1)), subtract(part(length - 1, length), part(length - 2, length - 1))
        if axis == rank - 1 and rank > 1:
            return divide(_inside_edges(f, first, last), spacing)
        across = subtract(part(2, length), part(0, length - 2))
        inner = multiply(constant(0.5, across), across)
        return concatenation.concatenate([divide(each, spacing) for each in (first, inner, last)], axis)
    steps = _neighbours(spacing, 0)
    shape = [1] * rank

    def broadcasted(values: Array) -> Array:
        own = list(shape)
        own[axis] = typeof(values).shape[0]
        return shapes.reshape(values, tuple(own))

    before, after = (static_slicing.slice_in_dim(steps, start, start + length - 2) for start in (0, 1))
    both = add(before, after)
    weights = [
        arithmetic.neg(divide(after, multiply(before, both))), divide(subtract(after, before), multiply(before, after)),
        divide(before, multiply(after, both)),
    ]  # fmt: skip
    terms = [multiply(broadcasted(w), part(i, length - 2 + i)) for i, w in enumerate(weights)]
    first = divide(subtract(part(1, 2), part(0, 1)), broadcasted(static_slicing.slice_in_dim(steps, 0, 1)))
    last = divide(
        subtract(part(length - 1, length), part(length - 2, length - 1)),
        broadcasted(static_slicing.slice_in_dim(steps, length - 2, length - 1)),
    )
    return concatenation.concatenate([first, add(add(terms[0], terms[1]), terms[2]), last], axis)


def _inside_edges(f: Array, first: Array, last: Array) -> Array:
    """Half the differences across the places of the last axis, with given ones at its edges.

    Neighbours are taken from arrays padded at one end: a loop along rows has vectors then, on the CPU, where a join has none.
    """
    length = typeof(f).shape[-1]
    inner = [(0, 0, 0)] * (typeof(f).ndim - 1)

    def padded(start: int, stop: int, low: int, high: int) -> Array:
        piece = static_slicing.slice_in_dim(f, start, stop, axis=-1)
        return static_slicing.pad(piece, constant(0, f), [*inner, (low, high, 0)])

    across = subtract(padded(1, length, 0, 1), padded(0, length - 1, 1, 0))
    position = filled_arrays.broadcasted_iota(np.dtype(np.int32), typeof(f).shape, typeof(f).ndim - 1)
    return where(
        equal(position, 0), first, where(equal(position, length - 1), last, multiply(constant(0.5, across), across))
    )


@api(static=("axes",))
def _gradient(f: Array, spacings: Sequence[Any], axes: tuple[int, ...]) -> list[Any]:
    (f,) = promote_inexact(f) if not spacings else (f,)
    f, *spacings = promote_inexact(f, *(spacings or [1.0]))
    spacings = spacings * len(axes) if len(spacings) == 1 else spacings
    return [_slopes(f, spacing, axis) for axis, spacing in zip(axes, spacings, strict=True)]


@api(static=("axis", "edge_order"), stepwise=True)
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: int | Sequence[int] | None = None, edge_order: int | None = None
) -> Array | list[Array]:
    """The slopes of an array of values along its axes: central differences inside, one-sided ones at the edges.

    Args:
      f: array.
      varargs: the distance between places: one number for all axes, or for each a number or the vector of its places.
      axis: axis or axes; by default all.
      edge_order: only 1.
    Returns: array of the shape of ``f``, or for several axes a list of them.
    Raises:
      ValueError: an axis with fewer than two places, or of another length than its vector.
      TypeError: another number of distances.
      NotImplementedError: another ``edge_order``.
    Example: ``jnp.gradient(jnp.array([1., 4., 9.]))`` is ``[3., 4., 5.]``. Source: ``numpy.gradient``.
    """
    if edge_order not in (None, 1):
        raise NotImplementedError("gradient: the 'edge_order' argument is not supported.")
    check_arraylike("gradient", f, *varargs)
    f = eager_operand("gradient", f)
    axes = canonical_axes(tuple(axis) if isinstance(axis, Sequence) else axis, typeof(f).ndim)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"gradient: invalid number of spacing arguments {len(varargs)} for {axis=}")
    for index, one in enumerate(axes):
        length = shape_of(f)[one]
        if length < 2:
            raise ValueError(f"gradient: at least 2 places are needed along axis {one}, got shape {shape_of(f)}")
        spacing = varargs[index if len(varargs) > 1 else 0] if varargs else 1.0
        if typeof(spacing).ndim and typeof(spacing).shape != (length,):
            raise ValueError(
                f"gradient: spacing of shape {typeof(spacing).shape} does not fit axis {one} of shape {shape_of(f)}"
            )
    slopes = _gradient(f, [eager_operand("gradient", spacing) for spacing in varargs], axes)
    return slopes[0] if len(axes) == 1 else slopes


# ---- integral -------------------------------------------------------------------------------------------------------


@api(static=("axis",))
def _trapezoid(y: Array, x: Array | None, dx: ArrayLike, axis: int) -> Array:
    if x is None:
        (y,) = promote_inexact(y)
    y, widths = join_inexact(y, dx) if x is None else promote_inexact(y, x)
    y, widths = convert(y, typeof(y).dtype), convert(widths, typeof(y).dtype)
    rank, own = typeof(y).ndim, typeof(widths).ndim
    axis, along = (
        shape_arguments.canonical_axis(axis, rank),
        0 if own < 2 else shape_arguments.canonical_axis(axis, own),
    )
    if own > 1 and (x is None or own != rank):
        y, widths = axis_order.move_axis(y, axis, rank - 1), axis_order.move_axis(widths, along, own - 1)
        axis, along = rank - 1, own - 1
    length = typeof(y).shape[axis]
    part = functools.partial(static_slicing.slice_in_dim, y, axis=axis)
    if length == 0 or (length == 1 and x is None):
        return reduce_sum(part(0, 0), (axis,))
    if x is None and own == 0:  # with one sum of what is in memory
        ends = shapes.squeeze(multiply(constant(0.5, y), add(part(0, 1), part(length - 1, length))), (axis,))
        return multiply(widths, add(ends, reduce_sum(part(1, length - 1), (axis,))))
    if x is not None:
        widths = _neighbours(widths, along)
        if own == 1:
            widths = shapes.expand_dims(widths, range(1, rank - axis))
    areas = multiply(widths, add(part(0, length - 1), part(1, length)))
    return multiply(constant(0.5, areas), reduce_sum(areas, (typeof(areas).ndim - rank + axis,)))


def trapezoid(y: ArrayLike, x: OptionalArray = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """The integral along an axis, by the trapezoidal rule.

    Args:
      y: array of values.
      x: their places: a vector, or an array that broadcasts against ``y``.
      dx: the distance between places, where ``x`` is not given.
      axis: axis.
    Raises:
      ValueError: ``x`` without axes.
    Example: ``jnp.trapezoid(jnp.array([0., 1., 2.]))`` is 2. Source: ``numpy.trapezoid``.
    """
    check_arraylike("trapezoid", y, dx)
    check_arraylike_or_none("trapezoid", x)
    if x is not None and not typeof(x).ndim:
        raise ValueError("trapezoid: x must be an array of places with one axis or more, got shape ()")
    return _trapezoid(
        eager_operand("trapezoid", y), x if x is None else eager_operand("trapezoid", x), dx, as_index(axis)
    )


# ---- phases ---------------------------------------------------------------------------------------------------------


@api(static=("axis",))
def _unwrap(p: Array, discont: Any, period: ArrayLike, axis: int) -> Array:
    p, period = operands.promote_dtypes(p, period)
    if not dtypes.is_integer(typeof(p).dtype):
        p, period = promote_inexact(p, period)
    p, period = convert(p, typeof(p).dtype), convert(period, typeof(p).dtype)
    if not shape_of(p)[axis]:
        return p
    whole = dtypes.is_integer(typeof(p).dtype)
    two = constant(2, period)
    half = arithmetic.div(period, two)
    steps = _neighbours(moveaxis(p, axis, -1), typeof(p).ndim - 1)
    shape = typeof(steps).shape
    low, high = operands.broadcast_to(arithmetic.neg(half), shape), operands.broadcast_to(half, shape)
    wrapped = add(remainder(subtract(steps, low), operands.broadcast_to(period, shape)), low)
    even = arithmetic.eq(arithmetic.rem(period, two), constant(0, period)) if whole else np.bool_(True)
    at_edge = arithmetic.eq(wrapped, low)
    rising = arithmetic.gt(steps, constant(0, steps))
    edge = bitwise.bitwise_and(bitwise.bitwise_and(at_edge, rising), operands.broadcast_to(even, shape))
    wrapped = selection.select(edge, high, wrapped)
    correction = subtract(wrapped, steps)
    sizes = steps if dtypes.issubdtype(typeof(steps).dtype, np.unsignedinteger) else arithmetic.abs_(steps)
    sizes, limit = operands.promote_dtypes(sizes, half if discont is None else discont)
    small = arithmetic.lt(sizes, operands.broadcast_to(limit, shape))
    correction = selection.select(small, filled_arrays.full_like(correction, 0), correction)
    last = typeof(p).ndim - 1
    front = filled_arrays.full((*shape[:-1], 1), constant(0, correction))
    total = concatenation.concatenate([front, cumulative.cumsum(correction, last)], last)
    return add(p, moveaxis(total, -1, axis))


def unwrap(p: ArrayLike, discont: float | None = None, axis: int = -1, period: ArrayLike = 2 * np.pi) -> Array:
    """Angles without jumps: multiples of the period are added so that neighbours differ by at most half of it.

    Args:
      p: array of angles.
      discont: the least jump to remove, at least half the period (which it is by default).
      axis: axis.
      period: the length after which angles repeat.
    Example: ``jnp.unwrap(jnp.array([0., 6.]))`` is ``[0., 6 - 2 * pi]``. Source: ``numpy.unwrap``.
    """
    check_arraylike("unwrap", p)
    p = eager_operand("unwrap", p)
    refuse_complex("unwrap", p)
    axis = shape_arguments.canonical_axis(axis, typeof(p).ndim)
    return _unwrap(p, discont, period, axis)
