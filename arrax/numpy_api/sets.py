"""Sets as sorted vectors of different elements (NumPy reference, routines.set)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer
from arrax.core.types import typeof
from arrax.lax import (
    arithmetic,
    axis_order,
    bitwise,
    cumulative,
    filled_arrays,
    selection,
    shape_arguments,
    shapes,
    sorting,
    structure,
)
from arrax.lax.conversion import convert
from arrax.lax.reductions import reduce_or
from arrax.lax.scatter_lowering import ScatterDimensionNumbers
from arrax.lax.scatters import scatter, scatter_min
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import made_of
from arrax.numpy_api.gathers import take_slices
from arrax.numpy_api.joining import concatenate
from arrax.numpy_api.logic import isnan
from arrax.numpy_api.manipulation import ravel
from arrax.numpy_api.membership import isin
from arrax.numpy_api.operands import check_arraylike, index_dtype, promote_dtypes
from arrax.numpy_api.rearranging import known
from arrax.numpy_api.routes import eager_operand, eager_operands
from arrax.numpy_api.searching import compress, nonzero_of
from arrax.xla.annotations import OneAxis
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


class UniqueAllResult(NamedTuple):
    """What ``unique_all`` gives: the values, where each stands first, where each element's value is, how many there are."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """What ``unique_counts`` gives: the values, and how many there are of each."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """What ``unique_inverse`` gives: the values, and for each element the index of its value."""

    values: Array
    inverse_indices: Array


Known = int | None  # known while tracing
_NUMBERS = ScatterDimensionNumbers((), (0,), (0,))

# ---- unique ---------------------------------------------------------------------------------------------------------


def _differs(a: Any, equal_nan: bool) -> Any:
    """For the entries of the first axis, whether each differs from the one before; the first does."""
    length, rank = typeof(a).shape[0], typeof(a).ndim
    later, earlier = structure.slice_in_dim(a, 1, length), structure.slice_in_dim(a, 0, length - 1)
    different = arithmetic.ne(later, earlier)
    if equal_nan and dtypes.is_inexact(typeof(a).dtype):
        both = bitwise.bitwise_and(isnan(later), isnan(earlier))
        different = bitwise.bitwise_and(different, bitwise.bitwise_not(both))
    if rank > 1:
        different = reduce_or(different, range(1, rank))
    return structure.concatenate([filled_arrays.full((1,), True), different], 0)


def _sorted_rows(rows: Any) -> tuple[Any, Any]:
    """(the entries of the first axis in lexicographic order, their old places)."""
    shape = typeof(rows).shape
    indices = filled_arrays.iota(index_dtype(), shape[0])
    if len(shape) == 1:
        return sorting.sort((rows, indices), 0, True, 1)
    width = int(np.prod(shape[1:], dtype=np.int64))
    table = shapes.reshape(rows, (shape[0], width))
    columns = [shapes.squeeze(structure.slice_in_dim(table, i, i + 1, axis=1), (1,)) for i in range(width)]
    *_, order = sorting.sort((*columns, indices), 0, True, max(width, 1))
    return take_slices(rows, order, 0), order


@api(static=("size", "equal_nan", "filled"))
def _unique_sized(rows: Any, fill: Any, size: int, equal_nan: bool, filled: bool) -> tuple[Any, Any, Any, Any]:
    """(values, indices, inverse, counts) along the first axis, padded or cut to a size."""
    length = typeof(rows).shape[0]
    dtype = index_dtype(length)
    ordered, order = _sorted_rows(rows)
    mask = _differs(ordered, equal_nan)
    slots = size + 1  # one more: where the last value ends
    found, count = nonzero_of(mask, slots)
    found_any = arithmetic.lt(filled_arrays.iota(dtype, slots), shapes.broadcast_in_dim(count, (slots,), ()))
    starts, present = (structure.slice_in_dim(x, 0, size) for x in (found, found_any))
    values = take_slices(ordered, starts, 0)
    if filled:
        shape = typeof(values).shape
        keep = shapes.broadcast_in_dim(present, shape, (0,))
        values = selection.select(keep, values, shapes.broadcast_in_dim(convert(fill, typeof(values).dtype), shape, ()))
    one = filled_arrays.full((length,), 1, dtype)
    rank_of = arithmetic.sub(cumulative.cumsum(convert(mask, dtype)), one)
    inverse = scatter(filled_arrays.full((length,), 0, dtype), shapes.expand_dims(order, (1,)), rank_of, _NUMBERS)
    bounds = selection.select(found_any, found, filled_arrays.full((slots,), length, dtype))
    counts = arithmetic.sub(structure.slice_in_dim(bounds, 1, slots), structure.slice_in_dim(bounds, 0, size))
    return values, take_slices(order, starts, 0), inverse, counts


def _unique(
    name: str, ar: Any, axis: OneAxis, size: int | None, fill_value: Any, equal_nan: bool
) -> tuple[Any, Any, Any, Any]:
    check_arraylike(name, ar)
    ar = eager_operand(name, ar)
    shape = typeof(ar).shape
    rows = ravel(ar) if axis is None else axis_order.move_axis(ar, shape_arguments.canonical_axis(axis, len(shape)), 0)
    if size is None:
        found = _unique_known(name, rows, equal_nan)
    else:
        found = _unique_of_size(name, rows, as_index(size), fill_value, equal_nan)
    values, indices, inverse, counts = found
    if axis is None:
        return values, indices, shapes.reshape(inverse, shape), counts
    return axis_order.move_axis(values, 0, shape_arguments.canonical_axis(axis, len(shape))), indices, inverse, counts


def _unique_known(name: str, rows: Any, equal_nan: bool) -> tuple[Any, Any, Any, Any]:
    values = known(rows)
    if values is None:
        raise ConcretizationTypeError(
            rows, f"The error arose for the first argument of jnp.{name}(). The shape of the result depends on the values: in "
            "transformed functions, give the argument `size`, to which the result is cut or filled up.",
        )  # fmt: skip
    axis = None if values.ndim == 1 else 0
    found = np.unique(_ordered_by_numpy(values), True, True, True, axis=axis, equal_nan=equal_nan)
    out, *numbers = found
    places = (made_of(v.reshape(-1).astype(index_dtype(len(values))), rows) for v in numbers)
    return _found(out, values.dtype, rows), *places  # type: ignore[return-value]


def _found(values: np.ndarray, dtype: Any, *arrays: Any) -> Any:
    """Values that were found on the host: weak where all arrays are that they come from."""
    return convert(made_of(values.astype(dtype), *arrays), dtype, all(typeof(array).weak_type for array in arrays))


def _ordered_by_numpy(values: np.ndarray) -> np.ndarray:
    """The elements in a dtype whose order and whose NaNs NumPy knows: it takes none of bfloat16 and its like for NaN."""
    if values.dtype.isbuiltin == 1:
        return values
    return values.astype(np.int32 if dtypes.is_integer(values.dtype) else np.float32)


def _unique_of_size(name: str, rows: Any, size: int, fill_value: Any, equal_nan: bool) -> tuple[Any, Any, Any, Any]:
    shape = typeof(rows).shape
    if shape[0] == 0:
        if size and fill_value is None:
            raise ValueError(
                f"jnp.{name}: for zero-sized input with nonzero size argument, fill_value must be specified"
            )
        nothing = filled_arrays.full((size,), 0, index_dtype())
        values = filled_arrays.full((size, *shape[1:]), 0 if fill_value is None else fill_value, typeof(rows).dtype)
        return values, nothing, filled_arrays.full((0,), 0, index_dtype()), nothing
    fill = 0 if fill_value is None else fill_value
    return _unique_sized(rows, fill, size, bool(equal_nan), fill_value is not None)


@overload
def unique(
    ar: Any, return_index: Literal[False] = ..., return_inverse: Literal[False] = ...,
    return_counts: Literal[False] = ..., axis: Known = ..., *, equal_nan: bool = ..., size: Known = ...,
    fill_value: OptionalArray = ..., sorted: bool = ...,
) -> Array: ...  # fmt: skip
@overload
def unique(
    ar: Any, return_index: bool = ..., return_inverse: bool = ..., return_counts: bool = ..., axis: Known = ..., *,
    equal_nan: bool = ..., size: Known = ..., fill_value: OptionalArray = ..., sorted: bool = ...,
) -> Any: ...  # fmt: skip
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: Known = None, *, equal_nan: bool = True, size: Known = None, fill_value: OptionalArray = None,
    sorted: bool = True,
) -> Any:  # fmt: skip
    """The different elements of an array, sorted.

    Args:
      ar: array.
      return_index: whether to return where each one stands first.
      return_inverse: whether to return, for each element, the index of its value.
      return_counts: whether to return how many there are of each.
      axis: the axis whose slices are compared; by default all elements are.
      equal_nan: whether NaNs count as one value.
      size: how many values to return, needed where ``ar`` is traced: more are cut off, missing ones are filled.
      fill_value: what missing ones are filled with, by default the least value.
      sorted: accepted; results are always sorted.
    Returns: array, or a tuple of it and what was asked for.
    Raises:
      ConcretizationTypeError: a traced array without ``size``.
      TypeError: a list.
    Example: ``jnp.unique(jnp.array([3, 1, 3]))`` is ``[1, 3]``. Source: ``numpy.unique``.
    """
    values, indices, inverse, counts = _unique("unique", ar, axis, size, fill_value, equal_nan)
    wanted = [(indices, return_index), (inverse, return_inverse), (counts, return_counts)]
    chosen = [result for result, asked in wanted if asked]
    return (values, *chosen) if chosen else values


def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: OptionalArray = None) -> UniqueAllResult:
    """The different elements, where each stands first, the index of each element's value, the counts; NaNs differ.

    Args: as of ``unique``.
    Example: ``jnp.unique_all(jnp.array([3, 1, 3])).counts`` is ``[1, 2]``. Source: array API, ``unique_all``.
    """
    return UniqueAllResult(*_unique("unique_all", x, None, size, fill_value, False))


def unique_counts(x: ArrayLike, /, *, size: int | None = None, fill_value: OptionalArray = None) -> UniqueCountsResult:
    """The different elements and how many there are of each; NaNs differ.

    Args: as of ``unique``.
    Example: ``jnp.unique_counts(jnp.array([3, 1, 3])).counts`` is ``[1, 2]``. Source: array API, ``unique_counts``.
    """
    values, _, _, counts = _unique("unique_counts", x, None, size, fill_value, False)
    return UniqueCountsResult(values, counts)


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: OptionalArray = None
) -> UniqueInverseResult:
    """The different elements and, for each element, the index of its value; NaNs differ.

    Args: as of ``unique``.
    Example: ``jnp.unique_inverse(jnp.array([3, 1])).inverse_indices`` is ``[1, 0]``. Source: array API, ``unique_inverse``.
    """
    values, _, inverse, _ = _unique("unique_inverse", x, None, size, fill_value, False)
    return UniqueInverseResult(values, inverse)


def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: OptionalArray = None) -> Array:
    """The different elements, sorted; NaNs differ.

    Args: as of ``unique``.
    Example: ``jnp.unique_values(jnp.array([3, 1, 3]))`` is ``[1, 3]``. Source: array API, ``unique_values``.
    """
    return _unique("unique_values", x, None, size, fill_value, False)[0]


# ---- two sets -------------------------------------------------------------------------------------------------------


@api(static=("choose", "size"))
def _combined(first: Any, second: Any, fill: Any, choose: str, size: int) -> tuple[Any, Any, Any]:
    """(values, their places in the first, their places in the second) of a combination of two sets, cut or filled.

    Both are sorted together, so that equal values are neighbours; a run of them is one element of the union, which has a
    place in the first set, in the second, or in both.
    """
    values = promote_dtypes(first, second)
    lengths = [typeof(v).shape[0] for v in values]
    dtype = index_dtype(sum(lengths))
    total = sum(lengths)
    if not total or not size:
        filler = convert(0 if fill is None else fill, typeof(values[0]).dtype)
        return (
            filled_arrays.full((size,), filler),
            filled_arrays.full((size,), 0, dtype),
            filled_arrays.full((size,), 0, dtype),
        )
    merged = structure.concatenate([convert(v, typeof(v).dtype) for v in values], 0)
    positions = structure.concatenate([filled_arrays.iota(dtype, n) for n in lengths], 0)
    side = structure.concatenate([filled_arrays.full((n,), i, dtype) for i, n in enumerate(lengths)], 0)
    merged, side, positions = sorting.sort((merged, side, positions), 0, True, 2)
    mask = _differs(merged, False)
    runs = shapes.expand_dims(
        arithmetic.sub(cumulative.cumsum(convert(mask, dtype)), filled_arrays.full((total,), 1, dtype)), (1,)
    )
    nowhere = filled_arrays.full((total,), total, dtype)
    where = [
        scatter_min(
            nowhere,
            runs,
            selection.select(arithmetic.eq(side, filled_arrays.full((total,), i, dtype)), positions, nowhere),
            _NUMBERS,
        )
        for i in range(2)
    ]
    inside = [arithmetic.lt(index, nowhere) for index in where]
    wanted = _COMBINATIONS[choose](*inside)
    starts, _ = nonzero_of(mask, total)
    runs_wanted, count = nonzero_of(wanted, size)
    present = arithmetic.lt(filled_arrays.iota(dtype, size), shapes.broadcast_in_dim(count, (size,), ()))
    found = take_slices(take_slices(merged, starts, 0), runs_wanted, 0)
    filler = _min_or_zero(found, count) if fill is None else convert(fill, typeof(found).dtype)
    found = selection.select(present, found, shapes.broadcast_in_dim(filler, (size,), ()))
    indices = [
        selection.select(present, take_slices(index, runs_wanted, 0), filled_arrays.full((size,), n, dtype))
        for index, n in zip(where, lengths, strict=True)
    ]
    return found, indices[0], indices[1]


def _min_or_zero(found: Any, count: Any) -> Any:
    """The first of ``count`` sorted values, zero where there is none."""
    smallest = shapes.squeeze(structure.slice_in_dim(found, 0, 1), (0,))
    return selection.select(
        arithmetic.gt(count, np.asarray(0, index_dtype())[()]), smallest, filled_arrays.full_like(smallest, 0)
    )


_COMBINATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "union": bitwise.bitwise_or,
    "intersection": bitwise.bitwise_and,
    "difference": lambda x, y: bitwise.bitwise_and(x, bitwise.bitwise_not(y)),
    "either": bitwise.bitwise_xor,
}


def _vectors(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    check_arraylike(name, ar1, ar2)
    first, second = eager_operands(name, (ar1, ar2))
    return ravel(first), ravel(second)


def _values_known(name: str, arrays: Sequence[Any]) -> Any:
    """The elements of both arrays in their common dtype."""
    dtype, _ = dtypes.result_type_of([dtypes.value_pair(ar) for ar in arrays])
    out = []
    for ar in arrays:
        values = known(ar)
        if values is None:
            raise ConcretizationTypeError(
                ar, f"The error arose for an argument of jnp.{name}(): in transformed functions, give `size`."
            )
        out.append(values.astype(dtype))
    return out


def _taken(source: Any, places: np.ndarray, dtype: Any) -> Any:
    """The elements at some places: of what is differentiated, with their tangents."""
    if not (isinstance(source, Tracer) and places.size):
        return _found(np.asarray(known(source))[places], dtype, source)
    return convert(take_slices(source, places.astype(index_dtype()), 0), dtype)


def union1d(ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: OptionalArray = None) -> Array:
    """The values that are in either array, sorted.

    Args:
      ar1, ar2: arrays, flattened.
      size: how many values to return, needed where an array is traced: more are cut off, missing ones are filled.
      fill_value: what missing ones are filled with, by default the least value.
    Example: ``jnp.union1d(jnp.array([1, 2]), jnp.array([2, 3]))`` is ``[1, 2, 3]``. Source: ``numpy.union1d``.
    """
    return unique(concatenate(_vectors("union1d", ar1, ar2)), size=size, fill_value=fill_value)


def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False, *, size: int | None = None,
    fill_value: OptionalArray = None,
) -> Array | tuple[Array, ...]:  # fmt: skip
    """The values that are in both arrays, sorted.

    Args:
      ar1, ar2: arrays, flattened.
      assume_unique: a promise that neither has a value twice.
      return_indices: whether to return where the values stand first in each.
      size: how many to return, needed where an array is traced.
      fill_value: what missing ones are filled with, by default the least one, or zero where there is none; missing
        indices are the lengths.
    Example: ``jnp.intersect1d(jnp.array([1, 2]), jnp.array([2, 3]))`` is ``[2]``. Source: ``numpy.intersect1d``.
    """
    arrays = _vectors("intersect1d", ar1, ar2)
    if size is None:
        first, second = _values_known("intersect1d", arrays)
        dtype = first.dtype
        first, second = _ordered_by_numpy(first), _ordered_by_numpy(second)
        found, *places = np.intersect1d(first, second, assume_unique, return_indices=True)
        values = _taken(arrays[0], places[0], dtype) if assume_unique else _found(found, dtype, *arrays)
        return (values, *(made_of(v.astype(index_dtype()), *arrays) for v in places)) if return_indices else values
    values, first, second = _combined(*arrays, fill_value, "intersection", as_index(size))
    return (values, first, second) if return_indices else values


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: OptionalArray = None,
) -> Array:
    """The values of the first array that are not in the second, sorted.

    Args:
      ar1, ar2: arrays, flattened.
      assume_unique: a promise that neither has a value twice; the values keep their order then.
      size: how many to return, needed where an array is traced.
      fill_value: what missing ones are filled with, by default zero.
    Example: ``jnp.setdiff1d(jnp.array([1, 2]), jnp.array([2, 3]))`` is ``[1]``. Source: ``numpy.setdiff1d``.
    """
    arrays = _vectors("setdiff1d", ar1, ar2)
    if size is None:
        first, second = _values_known("setdiff1d", arrays)
        first, second = _ordered_by_numpy(first), _ordered_by_numpy(second)
        if assume_unique:
            return _taken(arrays[0], np.flatnonzero(np.isin(first, second, True, invert=True)), typeof(arrays[0]).dtype)
        return _found(np.setdiff1d(first, second), typeof(arrays[0]).dtype, arrays[0])
    fill = 0 if fill_value is None else fill_value
    if assume_unique:
        return compress(isin(*arrays, invert=True), arrays[0], size=size, fill_value=fill)
    return convert(_combined(*arrays, fill, "difference", as_index(size))[0], typeof(arrays[0]).dtype)


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: OptionalArray = None,
) -> Array:
    """The values that are in one array only, sorted.

    Args:
      ar1, ar2: arrays, flattened.
      assume_unique: a promise that neither has a value twice.
      size: how many to return, needed where an array is traced.
      fill_value: what missing ones are filled with, by default the least one, or zero where there is none.
    Example: ``jnp.setxor1d(jnp.array([1, 2]), jnp.array([2, 3]))`` is ``[1, 3]``. Source: ``numpy.setxor1d``.
    """
    arrays = _vectors("setxor1d", ar1, ar2)
    if size is None:
        first, second = _values_known("setxor1d", arrays)
        dtype, first, second = first.dtype, _ordered_by_numpy(first), _ordered_by_numpy(second)
        if not assume_unique:
            return _found(np.setxor1d(first, second), dtype, *arrays)
        both = np.concatenate([first, second])
        order = np.argsort(both, kind="stable")
        changes = np.ones(both.size + 1, bool)
        changes[1:-1] = both[order][1:] != both[order][:-1]
        return _taken(concatenate(arrays), order[changes[1:] & changes[:-1]], dtype)
    return _combined(*arrays, fill_value, "either", as_index(size))[0]
