"""The different elements of an array, sorted (NumPy reference, routines.set)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

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
    cumulative,
    filled_arrays,
    selection,
    shape_arguments,
    shapes,
    sorting,
    static_slicing,
)
from arrax.lax.conversion import convert
from arrax.lax.reductions import reduce_or
from arrax.lax.scatter_lowering import ScatterDimensionNumbers
from arrax.lax.scatters import scatter
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import made_of
from arrax.numpy_api.gathers import take_slices
from arrax.numpy_api.logic import isnan
from arrax.numpy_api.manipulation import ravel
from arrax.numpy_api.operands import check_arraylike, index_dtype, known_size
from arrax.numpy_api.rearranging import known
from arrax.numpy_api.routes import eager_operand
from arrax.numpy_api.searching import nonzero_of
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


def differs(a: Array, equal_nan: bool) -> Array:
    """For the entries of the first axis, whether each differs from the one before; the first does."""
    length, rank = typeof(a).shape[0], typeof(a).ndim
    later, earlier = static_slicing.slice_in_dim(a, 1, length), static_slicing.slice_in_dim(a, 0, length - 1)
    different = arithmetic.ne(later, earlier)
    if equal_nan and dtypes.is_inexact(typeof(a).dtype):
        both = bitwise.bitwise_and(isnan(later), isnan(earlier))
        different = bitwise.bitwise_and(different, bitwise.bitwise_not(both))
    if rank > 1:
        different = reduce_or(different, range(1, rank))
    return concatenation.concatenate([filled_arrays.full((1,), True), different], 0)


def _sorted_rows(rows: Array) -> tuple[Any, Any]:
    """(the entries of the first axis in lexicographic order, their old places)."""
    shape = typeof(rows).shape
    indices = filled_arrays.iota(index_dtype(), shape[0])
    if len(shape) == 1:
        return sorting.sort((rows, indices), 0, True, 1)
    width = int(np.prod(shape[1:], dtype=np.int64))
    table = shapes.reshape(rows, (shape[0], width))
    columns = [shapes.squeeze(static_slicing.slice_in_dim(table, i, i + 1, axis=1), (1,)) for i in range(width)]
    *_, order = sorting.sort((*columns, indices), 0, True, max(width, 1))
    return take_slices(rows, order, 0), order


@api(static=("size", "equal_nan", "filled"))
def _unique_sized(rows: Array, fill: ArrayLike, size: int, equal_nan: bool, filled: bool) -> tuple[Any, Any, Any, Any]:
    """(values, indices, inverse, counts) along the first axis, padded or cut to a size."""
    length = typeof(rows).shape[0]
    dtype = index_dtype(length)
    ordered, order = _sorted_rows(rows)
    mask = differs(ordered, equal_nan)
    slots = size + 1  # one more: where the last value ends
    found, count = nonzero_of(mask, slots)
    found_any = arithmetic.lt(filled_arrays.iota(dtype, slots), shapes.broadcast_in_dim(count, (slots,), ()))
    starts, present = (static_slicing.slice_in_dim(x, 0, size) for x in (found, found_any))
    values = take_slices(ordered, starts, 0)
    if filled:
        shape = typeof(values).shape
        keep = shapes.broadcast_in_dim(present, shape, (0,))
        values = selection.select(keep, values, shapes.broadcast_in_dim(convert(fill, typeof(values).dtype), shape, ()))
    one = filled_arrays.full((length,), 1, dtype)
    rank_of = arithmetic.sub(cumulative.cumsum(convert(mask, dtype)), one)
    inverse = scatter(filled_arrays.full((length,), 0, dtype), shapes.expand_dims(order, (1,)), rank_of, _NUMBERS)
    bounds = selection.select(found_any, found, filled_arrays.full((slots,), length, dtype))
    counts = arithmetic.sub(static_slicing.slice_in_dim(bounds, 1, slots), static_slicing.slice_in_dim(bounds, 0, size))
    return values, take_slices(order, starts, 0), inverse, counts


def _unique(
    name: str, ar: ArrayLike, axis: OneAxis, size: int | None, fill_value: OptionalArray, equal_nan: bool
) -> tuple[Any, Any, Any, Any]:
    check_arraylike(name, ar)
    ar = eager_operand(name, ar)
    shape = typeof(ar).shape
    rows = ravel(ar) if axis is None else axis_order.move_axis(ar, shape_arguments.canonical_axis(axis, len(shape)), 0)
    if size is None:
        found = _unique_known(name, rows, equal_nan)
    else:
        count = known_size(size, f"jnp.{name}")
        if not is_symbolic(count) and count < 0:
            raise ValueError(f"{name}: size must not be negative, got {count}")
        found = _unique_of_size(name, rows, count, fill_value, equal_nan)
    values, indices, inverse, counts = found
    if axis is None:
        return values, indices, shapes.reshape(inverse, shape), counts
    return axis_order.move_axis(values, 0, shape_arguments.canonical_axis(axis, len(shape))), indices, inverse, counts


def _unique_known(name: str, rows: Array, equal_nan: bool) -> tuple[Any, Any, Any, Any]:
    values = known(rows)
    if values is None:
        raise ConcretizationTypeError(
            rows, f"The error arose for the first argument of jnp.{name}(). The shape of the result depends on the values: in "
            "transformed functions, give the argument `size`, to which the result is cut or filled up.",
        )  # fmt: skip
    axis = None if values.ndim == 1 else 0
    found = np.unique(ordered_by_numpy(values), True, True, True, axis=axis, equal_nan=equal_nan)
    out, *numbers = found
    index_arrays = (made_of(v.reshape(-1).astype(index_dtype(len(values))), rows) for v in numbers)
    return host_result(out, values.dtype, rows), *index_arrays  # type: ignore[return-value]


def host_result(values: np.ndarray, dtype: np.dtype, *arrays: Array) -> Array:
    """Values that were found on the host: weak where all arrays are that they come from."""
    return convert(made_of(values.astype(dtype), *arrays), dtype, all(typeof(array).weak_type for array in arrays))


def ordered_by_numpy(values: np.ndarray) -> np.ndarray:
    """The elements in a dtype whose order and whose NaNs NumPy knows: it takes none of bfloat16 and its like for NaN."""
    if values.dtype.isbuiltin == 1:
        return values
    return values.astype(np.int32 if dtypes.is_integer(values.dtype) else np.float32)


def _unique_of_size(
    name: str, rows: Array, size: int, fill_value: OptionalArray, equal_nan: bool
) -> tuple[Any, Any, Any, Any]:
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
