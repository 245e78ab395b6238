"""Finding places and values: nonzero elements, sorted search, interpolation (NumPy reference, routines.sort)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.errors import ConcretizationTypeError
from arrax.core.lengths import is_symbolic
from arrax.core.types import typeof
from arrax.lax import (
    arithmetic,
    axis_order,
    bitwise,
    concatenation,
    filled_arrays,
    selection,
    shape_arguments,
    shapes,
    static_slicing,
)
from arrax.lax.barriers import stop_gradient
from arrax.lax.control_flow.loops import fori_loop
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.counting import nonzero_indices
from arrax.lax.reductions import reduce_sum
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import made_of
from arrax.numpy_api.gathers import take_slices
from arrax.numpy_api.logic import isnan, less, less_equal
from arrax.numpy_api.manipulation import ravel
from arrax.numpy_api.operands import check_arraylike, index_dtype, known_size, promote_dtypes, refuse_out
from arrax.numpy_api.rearranging import known, pick
from arrax.numpy_api.routes import eager_operand
from arrax.xla.annotations import OneAxis
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

# ---- places of nonzero elements -------------------------------------------------------------------------------------


def _fills(fill_value: Any, rank: int) -> tuple[Any, ...]:
    if isinstance(fill_value, tuple):
        if len(fill_value) != rank:
            raise ValueError(f"nonzero: fill_value must be a number or one per axis ({rank}), got {fill_value}")
        return fill_value
    if np.ndim(fill_value):
        raise ValueError(
            f"nonzero: fill_value must be a number or a tuple of numbers, got shape {np.shape(fill_value)}"
        )
    return (0 if fill_value is None else fill_value,) * rank


@api(static=("size",))
def nonzero_of(mask: ArrayLike, size: int) -> tuple[Any, Any]:
    """(the first ``size`` places of a flat mask, how many there are)."""
    return nonzero_indices(mask, size, index_dtype())


@api(static=("size",))
def _nonzero(a: Array, fills: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    shape, dtype = typeof(a).shape, index_dtype(typeof(a).size)
    mask = shapes.reshape(convert(a, np.bool_), (typeof(a).size,))
    flat, count = nonzero_of(mask, size)
    present = arithmetic.lt(filled_arrays.iota(dtype, size), shapes.broadcast_in_dim(count, (size,), ()))
    out = []
    for axis, length in enumerate(shape):
        step = math.prod(shape[axis + 1 :])
        index = flat if type(step) is int and step == 1 else arithmetic.div(flat, _at_least_one(step, dtype))
        if axis:
            index = arithmetic.rem(index, _at_least_one(length, dtype))
        index, fill = promote_dtypes(index, fills[axis])
        out.append(selection.select(present, index, shapes.broadcast_in_dim(fill, (size,), ())))
    return tuple(out)


def _at_least_one(length: int, dtype: np.dtype) -> ArrayLike:
    return length_of_axis(length if is_symbolic(length) else max(length, 1), dtype)


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: OptionalArray = None) -> tuple[Array, ...]:
    """The places of the elements that are not zero.

    Args:
      a: array with at least one axis.
      size: how many places to return, needed where ``a`` is traced: more are cut off, missing ones are filled.
      fill_value: what missing places are filled with, a number or one per axis; by default 0.
    Returns: for each axis, an array of indices, of a dtype that holds the filling, too.
    Raises:
      ConcretizationTypeError: a traced array without ``size``.
      ValueError: a scalar.
      TypeError: a list.
    Example: ``jnp.nonzero(jnp.array([0, 3, 4]))`` is ``([1, 2],)``. Source: ``numpy.nonzero``.
    """
    a = eager_operand("nonzero", a)
    rank = typeof(a).ndim
    if rank == 0:
        raise ValueError("nonzero: a scalar has no axes to count along: give it one by jnp.atleast_1d.")
    fills = _fills(fill_value, rank)
    if size is None:
        values = known(a)
        if values is None:
            raise ConcretizationTypeError(
                a,
                "The error arose in jnp.nonzero: how many places there are depends on the values. In transformed functions, give "
                "it a static size argument.",
            )  # fmt: skip
        return tuple(made_of(index.astype(index_dtype(*values.shape)), a) for index in np.nonzero(values))
    return _nonzero(a, fills, known_size(size, "jnp.nonzero"))


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: OptionalArray = None) -> Array:
    """The places of the nonzero elements in the flattened array. Args: as of ``nonzero``.

    Example: ``jnp.flatnonzero(jnp.array([[0, 3], [4, 0]]))`` is ``[1, 2]``. Source: ``numpy.flatnonzero``.
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: OptionalArray = None) -> Array:
    """The places of the nonzero elements, one per row. Args: as of ``nonzero``.

    Example: ``jnp.argwhere(jnp.array([0, 3]))`` is ``[[1]]``. Source: ``numpy.argwhere``.
    """
    a = eager_operand("argwhere", a)
    if typeof(a).ndim == 0:
        count = typeof(nonzero(ravel(a), size=size, fill_value=fill_value)[0]).shape[0]
        return filled_arrays.full((count, 0), 0, index_dtype())
    indices = nonzero(a, size=size, fill_value=fill_value)
    return concatenation.concatenate([shapes.expand_dims(index, (1,)) for index in indices], 1)


@api(static=("axis",))
def _taken_or_filled(a: Array, indices: Array, count: Array, fill: Any, axis: int) -> Array:
    shape, size = typeof(a).shape, typeof(indices).shape[0]
    whole = (*shape[:axis], size, *shape[axis + 1 :])
    fills = shapes.broadcast_in_dim(convert(fill, typeof(a).dtype), whole, ())
    if shape[axis] == 0 or size == 0:
        return fills
    present = arithmetic.lt(
        filled_arrays.broadcasted_iota(typeof(indices).dtype, whole, axis), operands.broadcast_to(count, whole)
    )
    return selection.select(present, take_slices(a, indices, axis), fills)


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: OneAxis = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """The slices of an array along an axis for which a condition holds.

    Args:
      condition: vector of conditions; what it is too short for counts as false.
      a: array.
      axis: axis; by default all elements count as one.
      size: how many slices to return, needed where ``condition`` is traced.
      fill_value: what missing ones are filled with.
      out: must be None: arrays cannot be written to.
    Raises:
      ConcretizationTypeError: a traced condition without ``size``.
      ValueError: a condition that is not a vector, or is longer than the axis and true beyond it; a size that exceeds the
        axis.
    Example: ``jnp.compress(jnp.array([True, False]), jnp.array([5, 6]))`` is ``[5]``. Source: ``numpy.compress``.
    """
    refuse_out("compress", out)
    check_arraylike("compress", condition, a)
    condition, a = eager_operand("compress", condition), eager_operand("compress", a)
    if typeof(condition).ndim != 1:
        raise ValueError(f"compress: condition must be 1-dimensional, got shape {typeof(condition).shape}")
    if axis is None:
        a, axis = ravel(a), 0
    axis = shape_arguments.canonical_axis(axis, typeof(a).ndim)
    if size is None:
        values = known(condition)
        if values is None:
            raise ConcretizationTypeError(
                condition, "The size argument of jnp.compress must be given for a traced condition."
            )
        indices = np.flatnonzero(values)
        if indices.size and indices[-1] >= typeof(a).shape[axis]:
            raise ValueError(
                f"compress: condition holds at {indices[-1]}, beyond axis {axis} of shape {typeof(a).shape}"
            )
        return pick(a, indices, axis)
    size = known_size(size, "jnp.compress")
    along = typeof(a).shape[axis]
    if isinstance(size, int) and isinstance(along, int) and size > along:  # of symbols not all is known
        raise ValueError(f"compress: size must be at most the length {along} of axis {axis}, got {size}")
    mask = static_slicing.slice_in_dim(convert(condition, np.bool_), 0, min(typeof(condition).shape[0], along))
    indices, count = nonzero_of(mask, size)
    return _taken_or_filled(a, indices, count, fill_value, axis)


def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0) -> Array:
    """The elements for which a condition holds, flattened. Args: as of ``compress``.

    Example: ``jnp.extract(jnp.array([True, False]), jnp.array([5, 6]))`` is ``[5]``. Source: ``numpy.extract``.
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


# ---- sorted search --------------------------------------------------------------------------------------------------


def _before(x: Array, y: Array, strict: bool) -> Array:
    """Order of numbers in which NaN comes last."""
    if not dtypes.is_inexact(typeof(x).dtype):
        return (less if strict else less_equal)(x, y)
    if strict:
        return bitwise.bitwise_or(less(x, y), bitwise.bitwise_and(isnan(y), bitwise.bitwise_not(isnan(x))))
    return bitwise.bitwise_or(less_equal(x, y), isnan(y))


@api(static=("right", "method"))
def search_sorted(a: ArrayLike, v: ArrayLike, sorter: OptionalArray, right: bool, method: str) -> Array:
    """``searchsorted`` of checked operands."""
    a, v = promote_dtypes(a, v)
    a, v = convert(a, typeof(a).dtype), convert(v, typeof(v).dtype)
    length, shape, dtype = typeof(a).shape[0], typeof(v).shape, index_dtype()
    if length == 0:
        return filled_arrays.full(shape, 0, dtype)
    if sorter is not None:
        a = take_slices(a, sorter, 0)
    if method == "compare_all":
        whole = (*shape, length)
        table = shapes.broadcast_in_dim(a, whole, (len(shape),))
        wanted = shapes.broadcast_in_dim(v, whole, range(len(shape)))
        return reduce_sum(convert(_before(table, wanted, not right), dtype), (len(shape),))
    return _binary_search(a, v, right, dtype)


def _steps(length: Any, dtype: np.dtype) -> tuple[Any, ...]:
    """(how many steps a search takes, the length of the greatest, how many places are left behind it, and one)."""
    if is_symbolic(length):
        count, one, width = (length_of_axis(n, dtype) for n in (length, 1, dtype.itemsize * 8))
        bits = arithmetic.sub(width, bitwise.clz(count))
        largest = bitwise.shift_left(one, arithmetic.sub(bits, one))
        return bits, largest, arithmetic.add(arithmetic.sub(count, largest), one)
    bits = length.bit_length()
    largest = 1 << (bits - 1)
    return tuple(np.asarray(n).astype(dtype)[()] for n in (bits, largest, length - largest + 1))


def _binary_search(a: Array, v: Array, right: bool, dtype: np.dtype) -> Array:
    """All values at once: how many entries come before each, by steps whose lengths are powers of two, the greatest first.

    If the entry at the first step comes before, what is left to be searched are the last entries, one less than the step:
    so all steps stay inside. A loop, since its body is compiled once; derivatives, which are zero, have no part in it.
    """
    a, v = stop_gradient(a), stop_gradient(v)
    length, shape = typeof(a).shape[0], typeof(v).shape
    zero, one = (np.asarray(n).astype(dtype)[()] for n in (0, 1))
    bits, largest, rest = _steps(length, dtype)

    def step(number: Array, indices: Array) -> Any:
        size = bitwise.shift_right_logical(largest, number)
        last = arithmetic.sub(arithmetic.add(indices, size), one)
        before = _before(take_slices(a, last, 0), v, not right)
        taken = selection.select(arithmetic.eq(number, zero), rest, size)
        return selection.select(before, arithmetic.add(indices, taken), indices)

    return fori_loop(zero, bits, step, filled_arrays.full(shape, 0, dtype))


def _check_method(name: str, method: str) -> None:
    if method not in ("compare_all", "scan", "scan_unrolled", "sort", "default"):
        raise ValueError(
            f"{name}: invalid argument method={method!r}, expected one of 'compare_all', 'scan', 'scan_unrolled', 'sort'"
        )


def searchsorted(
    a: ArrayLike, v: ArrayLike, side: str = "left", sorter: OptionalArray = None, *, method: str = "scan"
) -> Array:
    """Where values would have to be inserted into a sorted vector to keep it sorted.

    Args:
      a: sorted vector (or one that ``sorter`` sorts).
      v: array of values.
      side: ``"left"`` of equal elements, or ``"right"``.
      sorter: the indices that sort ``a``.
      method: ``"scan"``, ``"scan_unrolled"`` and ``"sort"`` search by halves; ``"compare_all"`` compares each with each,
        which is fast for short vectors on accelerators.
    Returns: integer array of the shape of ``v``.
    Raises:
      ValueError: ``a`` is not a vector; an unknown side or method.
      TypeError: lists.
    Example: ``jnp.searchsorted(jnp.array([1, 3]), 2)`` is 1. Source: ``numpy.searchsorted``.
    """
    if sorter is None:
        check_arraylike("searchsorted", a, v)
    else:
        check_arraylike("searchsorted", a, v, sorter)
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: invalid argument side={side!r}, expected 'left' or 'right'")
    _check_method("searchsorted", method)
    if typeof(a).ndim != 1:
        raise ValueError(f"searchsorted: a should be 1-dimensional, got shape {typeof(a).shape}")
    index_dtype(typeof(a).shape[0])
    return search_sorted(a, v, sorter, side == "right", method)


@api(static=("right",))
def _digitize(x: Array, bins: Array, right: bool) -> Array:
    length = typeof(bins).shape[0]
    if length == 0:
        return filled_arrays.full(typeof(x).shape, 0, index_dtype())
    total = np.asarray(length).astype(index_dtype())[()]
    first, last = (shapes.squeeze(static_slicing.slice_in_dim(bins, i, i + 1), (0,)) for i in (0, length - 1))
    ascending = less_equal(first, last)
    found = search_sorted(selection.select(ascending, bins, axis_order.rev(bins, (0,))), x, None, not right, "scan")
    return selection.select(ascending, found, arithmetic.sub(total, found))


def digitize(
    x: ArrayLike, bins: ArrayLike | str | Sequence[Any], right: bool = False, *, method: str | None = None
) -> Array:
    """For each value, the number of the bin that it falls into.

    Args:
      x: array.
      bins: the edges of the bins, ascending or descending.
      right: whether a bin includes its right edge instead of its left one.
      method: one that ``searchsorted`` takes; accepted, without effect.
    Returns: integer array: 0 before the first edge, ``len(bins)`` behind the last.
    Raises:
      ValueError: ``bins`` is not a vector; an unknown method.
    Example: ``jnp.digitize(jnp.array([0.5, 2.]), jnp.array([0., 1.]))`` is ``[1, 2]``. Source: ``numpy.digitize``.
    """
    check_arraylike("digitize", x, bins)
    if method is not None:
        _check_method("digitize", method)
    if typeof(bins).ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got shape {typeof(bins).shape}")
    return _digitize(eager_operand("digitize", x), eager_operand("digitize", bins), bool(right))
