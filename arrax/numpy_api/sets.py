"""Unions, intersections and differences of sets as sorted vectors (NumPy reference, routines.set)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer
from arrax.core.types import typeof
from arrax.lax import (
    arithmetic,
    bitwise,
    concatenation,
    cumulative,
    filled_arrays,
    selection,
    shapes,
    sorting,
    static_slicing,
)
from arrax.lax.conversion import convert
from arrax.lax.scatter_lowering import ScatterDimensionNumbers
from arrax.lax.scatters import scatter_min
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import made_of
from arrax.numpy_api.gathers import take_slices
from arrax.numpy_api.indexing import take
from arrax.numpy_api.joining import concatenate
from arrax.numpy_api.manipulation import ravel
from arrax.numpy_api.membership import isin
from arrax.numpy_api.operands import check_arraylike, index_dtype, known_size, promote_dtypes
from arrax.numpy_api.rearranging import known
from arrax.numpy_api.routes import eager_operands
from arrax.numpy_api.searching import compress, nonzero_of
from arrax.numpy_api.unique_elements import differs, host_result, ordered_by_numpy, unique
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


@api(static=("choose", "size"))
def _combined(first: Array, second: Array, fill: OptionalArray, choose: str, size: int) -> tuple[Any, Any, Any]:
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
    merged = concatenation.concatenate([convert(v, typeof(v).dtype) for v in values], 0)
    positions = concatenation.concatenate([filled_arrays.iota(dtype, n) for n in lengths], 0)
    side = concatenation.concatenate([filled_arrays.full((n,), i, dtype) for i, n in enumerate(lengths)], 0)
    merged, side, positions = sorting.sort((merged, side, positions), 0, True, 2)
    mask = differs(merged, False)
    runs = shapes.expand_dims(
        arithmetic.sub(cumulative.cumsum(convert(mask, dtype)), filled_arrays.full((total,), 1, dtype)), (1,)
    )
    nowhere = filled_arrays.full((total,), total, dtype)
    where = [
        scatter_min(
            nowhere,
            runs,
            selection.select(arithmetic.eq(side, filled_arrays.full((total,), i, dtype)), positions, nowhere),
            ScatterDimensionNumbers((), (0,), (0,)),
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


def _min_or_zero(found: Array, count: Array) -> Array:
    """The first of ``count`` sorted values, zero where there is none."""
    smallest = shapes.squeeze(static_slicing.slice_in_dim(found, 0, 1), (0,))
    return selection.select(
        arithmetic.gt(count, np.asarray(0, index_dtype())[()]), smallest, filled_arrays.full_like(smallest, 0)
    )


_COMBINATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "union": bitwise.bitwise_or,
    "intersection": bitwise.bitwise_and,
    "difference": lambda x, y: bitwise.bitwise_and(x, bitwise.bitwise_not(y)),
    "either": bitwise.bitwise_xor,
}


def _vectors(name: str, ar1: ArrayLike, ar2: ArrayLike) -> tuple[Any, Any]:
    check_arraylike(name, ar1, ar2)
    first, second = eager_operands(name, (ar1, ar2))
    return ravel(first), ravel(second)


def _values_known(name: str, arrays: Sequence[Any]) -> list[np.ndarray]:
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


def _taken(source: Array, taken_indices: np.ndarray, dtype: np.dtype) -> Array:
    """The elements at some places: of what is differentiated, with their tangents."""
    if not (isinstance(source, Tracer) and taken_indices.size):
        return host_result(np.asarray(known(source))[taken_indices], dtype, source)
    return convert(take_slices(source, taken_indices.astype(index_dtype()), 0), dtype)


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
        first, second = ordered_by_numpy(first), ordered_by_numpy(second)
        found, *taken_indices = np.intersect1d(first, second, assume_unique, return_indices=True)
        values = _taken(arrays[0], taken_indices[0], dtype) if assume_unique else host_result(found, dtype, *arrays)
        return (
            (values, *(made_of(v.astype(index_dtype()), *arrays) for v in taken_indices)) if return_indices else values
        )
    values, first, second = _combined(*arrays, fill_value, "intersection", known_size(size, "jnp.intersect1d"))
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
        first, second = ordered_by_numpy(first), ordered_by_numpy(second)
        if assume_unique:
            return _taken(arrays[0], np.flatnonzero(np.isin(first, second, True, invert=True)), typeof(arrays[0]).dtype)
        own = ordered_by_numpy(np.asarray(known(arrays[0])))  # of which the common dtype may hold less
        kept = np.unique(own[np.isin(first, second, invert=True)])
        return host_result(kept, typeof(arrays[0]).dtype, arrays[0])
    fill = 0 if fill_value is None else fill_value
    if assume_unique:
        return compress(isin(*arrays, invert=True), arrays[0], size=size, fill_value=fill)
    found, taken_indices, _ = _combined(*arrays, fill, "difference", known_size(size, "jnp.setdiff1d"))
    own_type = typeof(arrays[0])
    if typeof(found).dtype == own_type.dtype or not own_type.shape[0]:
        return convert(found, own_type.dtype)
    return take(arrays[0], taken_indices, mode="fill", fill_value=fill)


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
        dtype, first, second = first.dtype, ordered_by_numpy(first), ordered_by_numpy(second)
        if not assume_unique:
            return host_result(np.setxor1d(first, second), dtype, *arrays)
        both = np.concatenate([first, second])
        order = np.argsort(both, kind="stable")
        changes = np.ones(both.size + 1, bool)
        changes[1:-1] = both[order][1:] != both[order][:-1]
        return _taken(concatenate(arrays), order[changes[1:] & changes[:-1]], dtype)
    return _combined(*arrays, fill_value, "either", known_size(size, "jnp.setxor1d"))[0]
