"""Indexing: reading entries of arrays (NumPy reference, user.basics.indexing and routines.indexing).

Small eager arrays on the CPU are indexed by NumPy itself, which agrees with ours on everything that is in bounds. All
else goes through a description of the index: under a trace its operations are recorded, eagerly one compiled function
serves all indices with the same description, whatever their integers and starts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from arrax import dtypes
from arrax.core.config import own_transfer
from arrax.core.interpreter import Tracer, context
from arrax.core.lengths import is_symbolic
from arrax.core.types import typeof
from arrax.lax import arithmetic, filled_arrays, selection, shape_arguments, shapes, slicing_along_axes, static_slicing
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.gathers import (
    CLIP,
    GatherDimensionNumbers,
    GatherScatterMode,
    gather,
)  # fmt: skip
from arrax.native import runtime
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.index_application import READ_DEFAULT, Access, fill_scalar, read
from arrax.numpy_api.index_description import Index, IndexDescription, describe
from arrax.numpy_api.operands import broadcast_to, check_arraylike, index_dtype, refuse_out
from arrax.numpy_api.routes import eager_operand, shape_of
from arrax.xla.annotations import OneAxis
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

ArrayImpl = runtime.ArrayImpl

# ---- the host route -------------------------------------------------------------------------------------------------

_ENTRIES_AT_ONCE = 192  # of an iteration, by one call: programs of more results take longer to compile
_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


class NoHostKey(Exception):
    """An index that NumPy would not understand as we do."""


def _host_array(entry: Any, array: Any) -> ArrayLike:
    """An array among the entries of an index, as NumPy takes it."""
    kind = type(entry)
    if kind is ArrayImpl:
        placed = not entry._committed or (array._committed and entry._sharding == array._sharding)
        if placed and entry.aval.dtype.kind in "iub" and host.on_host(entry):
            return host.view(entry)
    elif kind is bool or ((kind is np.ndarray or isinstance(entry, np.generic)) and entry.dtype.kind in "iub"):
        return entry
    raise NoHostKey


def host_key(index: Any, array: Any) -> tuple[tuple[Any, ...], bool]:
    """An index as a tuple that NumPy takes, and whether NumPy answers it with a view.

    Raises:
      NoHostKey: there is none.
    """
    key, basic, largest = [], True, 1
    for entry in index if type(index) is tuple else (index,):
        if type(entry) in _BASIC:
            key.append(entry)
            continue
        found = _host_array(entry, array)
        basic = False
        largest = max(largest, getattr(found, "size", 1))
        key.append(found)
    if basic:
        if not any(entry is Ellipsis for entry in key):
            key.append(Ellipsis)  # then the result is an array, even of no axes
    elif largest * array.aval.size > host.MAX_ELEMENTS << 8:
        raise NoHostKey  # the result may be too large
    return tuple(key), basic


def read_on_host(array: Any, index: Any) -> Array | None:
    """``array[index]`` by NumPy; None where something is out of bounds or NumPy knows no such index."""
    try:
        if type(index) is int:
            return host.back(host.view(array)[index, ...], array)
        key, basic = host_key(index, array)
        taken = host.view(array)[key]
        return host.back(taken if basic else np.asarray(taken, array.aval.dtype), array, fresh=not basic)
    except (NoHostKey, IndexError, ValueError, TypeError):
        return None  # the other route says what is wrong, if anything is


def _selected_on_host(array: Any, index: Any) -> Any:
    """The elements of an array of any size where a mask holds; None where the route is closed."""
    if type(array) is not ArrayImpl or not host.on_cpu(array):
        return None
    if type(index) is ArrayImpl:
        if index.aval.dtype != np.bool_ or not host.on_cpu(index):
            return None
        index = host.view(index)
    elif type(index) is not np.ndarray or index.dtype != np.bool_:
        return None
    if index.shape != array.aval.shape[: index.ndim]:
        return None
    return host.back(host.view(array)[index], array, fresh=True)


# ---- the compiled route ---------------------------------------------------------------------------------------------


def moving_axes(d: IndexDescription, shape: Sequence[int]) -> list[int]:
    """Axes of the window that could begin elsewhere."""
    whole = list(shape)
    for axis in d.inserted:
        whole.insert(axis, 1)
    return [
        axis for axis, (size, step, length) in enumerate(zip(d.sizes, d.steps, whole, strict=True))
        if axis not in d.scalar_axes and axis not in d.array_axes and (size - 1) * abs(step) + 1 != length and size
    ]  # fmt: skip


def starts_as_operand(index: Index, shape: Sequence[int]) -> np.ndarray:
    """The starts of the axes that could begin elsewhere, as data."""
    moving = moving_axes(index.description, shape)
    return np.array([index.starts[axis] for axis in moving], np.int32 if max(shape, default=0) < 2**31 else np.int64)


def starts_from_operand(starts: ArrayLike, d: IndexDescription, shape: Sequence[int]) -> list[Any]:
    """One start per axis, ints where the axis cannot begin elsewhere."""
    result: list[Any] = [0] * len(d.sizes)
    for index, axis in enumerate(moving_axes(d, shape)):
        result[axis] = shapes.reshape(static_slicing.slice_in_dim(starts, index, index + 1), ())
    return result


@api(static=("description", "access"))
def _read_compiled(
    x: ArrayLike, starts: ArrayLike, operands: tuple[Any, ...], description: IndexDescription, access: Access
) -> Array:
    return read(x, description, starts_from_operand(starts, description, typeof(x).shape), operands, access)


def rewriting_take(array: ArrayLike, index: Any, access: Access = READ_DEFAULT) -> Array:
    """``array[index]`` by the index's description.

    Args:
      array: array or tracer.
      access: what happens out of bounds, and promises about the index.
    """
    shape = typeof(array).shape
    found = describe(index, shape, access.wrap)
    if not context.interpreter.is_evaluation or type(array) is not ArrayImpl:
        return read(array, *found, access)
    return _read_compiled(array, starts_as_operand(found, shape), found.operands, found.description, access)


def getitem(array: Array, index: Any) -> Array:
    """``array[index]``: NumPy's indexing; what is out of bounds is moved inside.

    Args:
      array: array or tracer.
      index: ints, slices, ``...``, None, integer or bool arrays, or a tuple of them.
    Raises:
      IndexError: too many indices, or entries that are none.
      TypeError: floats, strings, lists.
      NonConcreteBooleanIndexError: a traced mask.
    Example: ``jnp.arange(5)[1:3]``. Source: NumPy, indexing on ndarrays.
    """
    return access_item(array, index, READ_DEFAULT)


def access_item(array: ArrayLike, index: Any, access: Access) -> Array:
    """``getitem`` with other rules for what is out of bounds."""
    if access.wrap:
        if host.on_host(array):
            found = read_on_host(array, index)
            if found is not None:
                return found
        elif type(index) is ArrayImpl or type(index) is np.ndarray:
            found = _selected_on_host(array, index)
            if found is not None:
                return found
    return rewriting_take(array, index, access)


def setitem_refused(array: Array, index: object, value: object) -> NoReturn:
    """``array[index] = value``: refused, since arrays are immutable.

    Raises:
      TypeError: always, with the fix.
    """
    raise TypeError(
        "'Array' object does not support item assignment. JAX arrays are immutable. Instead of ``x[idx] = y``, "
        "use ``x = x.at[idx].set(y)`` or another .at[] method: see help(arrax.Array.at)."
    )


setitem_refused.__name__ = "__setitem__"  # what Python calls it: messages name no protocol


def _entries_on_host(values: np.ndarray, start: int, count: int) -> list[np.ndarray]:
    first = int(start)
    return [values[index, ...] for index in range(first, first + count)]


@api(static=("count",), host=_entries_on_host, stepwise=True)
def _entries(array: Array, start: ArrayLike, count: int) -> list[Any]:
    """Some entries of the first axis; ``start`` is not a part of the program."""
    some = slicing_along_axes.dynamic_slice_in_dim(array, start, count, 0)
    return [slicing_along_axes.index_in_dim(some, index, 0, keepdims=False) for index in range(count)]


def iterate(array: Array) -> list[Any]:
    """The entries of the first axis, as a list of arrays.

    Raises:
      TypeError: an array of no axes.
    """
    shape = shape_of(array)
    if not shape:
        raise TypeError("iteration over a 0-d array")
    if isinstance(array, Tracer):
        return [getitem(array, index) for index in range(int(shape[0]))]  # symbols have no list
    entries: list[Any] = []
    with own_transfer():
        if shape[0] <= _ENTRIES_AT_ONCE:
            return _entries(array, 0, shape[0])
        calls = -(-shape[0] // _ENTRIES_AT_ONCE)
        count = -(-shape[0] // calls)  # of all calls, so that there is one program; the last one may take some again
        for start in range(0, shape[0], count):
            first = min(start, shape[0] - count)
            found = _entries(array, host.new(np.array(first, np.int32)), count)
            entries += found[start - first :]
    return entries


# ---- take -----------------------------------------------------------------------------------------------------------


Mode = str | GatherScatterMode | None


def _checked_mode(name: str, mode: Any) -> str | None:
    if mode == "raise":
        raise NotImplementedError(f"The 'raise' mode to jnp.{name} is not supported.")
    return mode


def check_integers(name: str, indices: ArrayLike) -> None:
    """Refuse indices that are not integers.

    Raises:
      TypeError: naming the function and the dtype.
    """
    dtype = typeof(indices).dtype
    if not dtypes.is_integer(dtype) and dtype != np.bool_:
        raise TypeError(f"{name} indices must be of integer type, got {dtype}")


@api(static=("axis", "out", "mode", "unique_indices", "indices_are_sorted", "fill_value"), stepwise=True)
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: OneAxis = None,
    out: None = None,
    mode: Mode = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: OptionalArray = None,
) -> Array:
    """Entries of an axis, or of the flattened array.

    Args:
      a: array.
      indices: integer array of any shape.
      axis: the axis; None flattens first.
      mode: out of bounds, ``"fill"`` (default; negative indices count from the end), ``"clip"`` or ``"wrap"``.
      unique_indices, indices_are_sorted: promises that may speed things up.
      fill_value: what ``"fill"`` fills with, by default NaN, the least signed or greatest unsigned number.
    Returns: array with ``indices``' shape in the place of the axis.
    Raises:
      TypeError: indices that are not integers.
      IndexError: an axis without entries.
      NotImplementedError: ``mode="raise"``.
    Example: ``jnp.take(jnp.arange(5), jnp.array([1, 3]))``. Source: ``numpy.take``.
    """
    refuse_out("jnp.take", out)
    check_arraylike("take", a, indices)
    check_integers("take", indices)
    a, indices = eager_operand("take", a), eager_operand("take", indices)
    if typeof(indices).dtype == np.bool_:
        indices = convert(indices, np.int32)
    parsed = _checked_mode("take", mode)
    if axis is None:
        a, axis = shapes.reshape(a, (typeof(a).size,)), 0
    shape = typeof(a).shape
    axis = shape_arguments.canonical_axis(axis, len(shape))
    if not shape[axis] and typeof(indices).size:
        raise IndexError(f"take: axis {axis} of shape {shape} has no entries to take")
    if parsed == "wrap":
        indices = _modulo(indices, shape[axis])
    access = Access(
        CLIP if parsed == "wrap" else GatherScatterMode.from_any(parsed), fill_scalar(fill_value),
        bool(indices_are_sorted), bool(unique_indices), wrap=parsed != "clip",
    )  # fmt: skip
    return access_item(a, (*(slice(None) for _ in range(axis)), indices), access)


def _modulo(indices: Array, length: int) -> Array:
    """Indices modulo a length, in [0, length)."""
    if host.on_host(indices) and length:
        own = typeof(indices).dtype
        wide = own if dtypes.iinfo(own).max >= length else np.dtype(np.int32)
        return host.back(host.view(indices).astype(wide) % np.asarray(length).astype(wide), indices, fresh=True)
    return floor_modulo(indices, max(length, 1))


def floor_modulo(x: ArrayLike, length: int) -> Array:
    """The remainder with the sign of the (positive) divisor."""
    dtype = typeof(x).dtype
    if dtypes.iinfo(dtype).max < length:
        x, dtype = convert(x, np.int32), np.dtype(np.int32)
    divisor, zero = np.asarray(length).astype(dtype)[()], np.zeros((), dtype)[()]
    rest = arithmetic.rem(x, divisor)
    return selection.select(arithmetic.lt(rest, zero), arithmetic.add(rest, divisor), rest)


@api(static=("axis", "access"))
def _take_along_axis(arr: Array, indices: ArrayLike, axis: int, access: Access) -> Array:
    rank, length = typeof(arr).ndim, typeof(arr).shape[axis]
    others = [i for i in range(rank) if i != axis]
    own, shape = typeof(indices).shape, typeof(arr).shape
    common = list(shapes.broadcast_shapes([own[i] for i in others], [shape[i] for i in others]))
    batch = tuple(i for i in others if shape[i] != 1)
    full = [*common[:axis], own[axis], *common[axis:]]
    broadcasted = broadcast_to(indices, tuple(full))
    if dtypes.issubdtype(typeof(broadcasted).dtype, np.signedinteger) and access.wrap:
        dtype = np.dtype(np.int32) if typeof(broadcasted).dtype.itemsize < 4 else typeof(broadcasted).dtype
        dtype = dtype if is_symbolic(length) or length <= np.iinfo(dtype).max else index_dtype(length)
        broadcasted = convert(broadcasted, dtype)
        below = arithmetic.lt(broadcasted, np.zeros((), dtype)[()])
        broadcasted = selection.select(below, arithmetic.add(broadcasted, length_of_axis(length, dtype)), broadcasted)
    if math.prod(full) == 0:
        return filled_arrays.full_like(arr, 0, shape=full)
    numbers = GatherDimensionNumbers((), tuple(i for i in range(rank) if i not in batch), (axis,), batch, batch)
    return gather(
        arr,
        shapes.reshape(broadcasted, (*full, 1)),
        numbers,
        (1,) * rank,
        mode=access.mode,
        fill_value=access.fill_value,
    )


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: OneAxis = -1,
    mode: str | GatherScatterMode | None = None,
    fill_value: OptionalArray = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Entries of an axis, at places of their own for each position along the other axes.

    Args:
      arr: array.
      indices: integer array of the same rank; its other axes are broadcast against ``arr``'s.
      axis: the axis; None flattens ``arr`` first.
      mode: out of bounds, ``"fill"`` (default), ``"clip"`` or ``"promise_in_bounds"``.
      fill_value: what ``"fill"`` fills with, by default NaN or an extreme integer.
      wrap_negative_indices: whether negative indices count from the end; by default they do, unless promised in bounds.
    Raises:
      TypeError: indices that are not integers.
      ValueError: ranks that differ, shapes that don't fit, no such axis.
    Example: ``jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)`` sorts rows. Source: ``numpy.take_along_axis``.
    """
    check_arraylike("take_along_axis", arr, indices)
    if not dtypes.is_integer(typeof(indices).dtype):
        raise TypeError(f"take_along_axis indices must be of integer type, got {typeof(indices).dtype}")
    arr, indices = eager_operand("take_along_axis", arr), eager_operand("take_along_axis", indices)
    if axis is None:
        if typeof(indices).ndim != 1:
            raise ValueError(
                f"take_along_axis with axis=None needs indices of rank 1, got shape {typeof(indices).shape}"
            )
        arr, axis = shapes.reshape(arr, (typeof(arr).size,)), 0
    rank = typeof(arr).ndim
    if typeof(indices).ndim != rank:
        raise ValueError(f"indices and arr must have the same number of dimensions; {typeof(indices).ndim} vs. {rank}")
    axis = shape_arguments.canonical_axis(axis, rank)
    if not typeof(arr).shape[axis] and typeof(indices).size:
        raise IndexError(f"take_along_axis: axis {axis} of shape {typeof(arr).shape} has no entries to take")
    chosen = GatherScatterMode.from_any(mode)
    promised = chosen is GatherScatterMode.PROMISE_IN_BOUNDS
    wrap = not promised if wrap_negative_indices is None else bool(wrap_negative_indices)
    access = Access(chosen, fill_scalar(fill_value), wrap=wrap)
    if access.wrap and host.on_host(arr) and host.on_host(indices) and not indices.committed:
        taken = _take_along_on_host(host.view(arr), host.view(indices), axis)
        if taken is not None:
            return host.back(taken, arr, fresh=True)
    return _take_along_axis(arr, indices, axis, access)


def _take_along_on_host(values: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray | None:
    try:
        return np.take_along_axis(values, indices, axis)
    except (IndexError, ValueError):
        return None  # out of bounds, or shapes that NumPy doesn't broadcast
