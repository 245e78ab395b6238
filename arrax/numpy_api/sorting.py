"""Sorting (NumPy reference, routines.sort)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import arithmetic, axis_order, filled_arrays, order_statistics, shape_arguments, sorting
from arrax.lax.conversion import convert
from arrax.lax.cpu import thresholds
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.manipulation import ravel
from arrax.numpy_api.operands import check_arraylike, index_dtype
from arrax.numpy_api.routes import eager_operand, eager_operands
from arrax.xla.annotations import OneAxis
from arrax.xla.arrays import Array, ArrayLike

Known = int | None  # known while tracing


def _prepared(name: str, a: ArrayLike, axis: OneAxis, kind: str | None, order: Any) -> tuple[Any, int]:
    if kind is not None:
        raise TypeError(f"{name}: the 'kind' argument is not supported; use stable=True or stable=False.")
    if order is not None:
        raise TypeError(f"{name}: the 'order' argument is not supported.")
    a = eager_operand(name, a)
    if isinstance(typeof(a).dtype, dtypes.ExtendedDType):
        raise TypeError(f"{name} does not accept dtype {typeof(a).dtype.name}: its values have no order")
    if axis is None:
        return ravel(a), 0
    return a, shape_arguments.canonical_axis(axis, typeof(a).ndim)


def _ordered_by_numpy(values: np.ndarray) -> bool:
    """Whether NumPy orders elements as compiled code would, and in no more time."""
    return values.size < thresholds.SORT_MIN_SIZE and values.dtype.kind in "biuf"


def _on_host(a: ArrayLike) -> bool:
    return host.on_host(a) and _ordered_by_numpy(host.view(a))


def _sort_on_host(values: np.ndarray, axis: int, stable: bool, descending: bool) -> np.ndarray | None:
    if not _ordered_by_numpy(values):
        return None
    ordered = np.sort(values, axis=axis, kind="stable")
    return np.flip(ordered, axis) if descending else ordered


@api(static=("axis", "stable", "descending"), host=_sort_on_host)
def _sort(a: ArrayLike, axis: int, stable: bool, descending: bool) -> Array:
    out = sorting.sort(a, axis, stable)
    return axis_order.rev(out, (axis,)) if descending else out


@api(static=("axis", "kind", "order", "stable", "descending"), stepwise=True)
def sort(
    a: ArrayLike,
    axis: OneAxis = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """The elements in ascending order along an axis; NaN comes last.

    Args:
      a: array.
      axis: axis; None sorts the flattened array.
      kind, order: not supported.
      stable: whether equal elements keep their order.
      descending: the greatest first (and NaN before it).
    Raises:
      ValueError: no such axis.
      TypeError: lists, ``kind`` or ``order``.
    Example: ``jnp.sort(jnp.array([3, 1, 2]))`` is ``[1, 2, 3]``. Source: ``numpy.sort``.
    """
    a, axis = _prepared("sort", a, axis, kind, order)
    return _sort(a, axis, bool(stable), bool(descending))


@api(static=("axis", "stable", "descending", "dtype"))
def _argsort(a: ArrayLike, axis: int, stable: bool, descending: bool, dtype: np.dtype) -> Array:
    shape = typeof(a).shape
    a = axis_order.rev(a, (axis,)) if descending else a
    indices = filled_arrays.broadcasted_iota(dtype, shape, axis)
    _, order = sorting.sort((a, indices), axis, stable, 1)
    if not descending:
        return order
    last = np.asarray(max(shape[axis] - 1, 0)).astype(dtype)[()]
    return arithmetic.sub(filled_arrays.full(shape, last), axis_order.rev(order, (axis,)))


@api(static=("axis", "kind", "order", "stable", "descending", "dtype"), stepwise=True)
def argsort(
    a: ArrayLike, axis: Known = -1, *, kind: None = None, order: None = None, stable: bool = True,
    descending: bool = False, dtype: OptionalDType = None,
) -> Array:  # fmt: skip
    """The indices that sort an array along an axis. Args: as of ``sort``; ``dtype``: an integer dtype for the indices.

    Example: ``jnp.argsort(jnp.array([3, 1, 2]))`` is ``[1, 2, 0]``. Source: ``numpy.argsort``.
    """
    a, axis = _prepared("argsort", a, axis, kind, order)
    chosen = index_dtype(typeof(a).shape[axis]) if dtype is None else dtypes.check_user_dtype("argsort", dtype)
    if _on_host(a):
        return host.back(
            _argsort_by_numpy(host.view(a), axis, descending).astype(chosen), a, weak_type=False, fresh=True
        )
    return _argsort(a, axis, bool(stable), bool(descending), chosen)


def _argsort_by_numpy(values: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(values, axis=axis, kind="stable")
    order = np.argsort(np.flip(values, axis), axis=axis, kind="stable")
    return values.shape[axis] - 1 - np.flip(order, axis)


@api(static=("axis",))
def _lexsort(keys: Sequence[Any], axis: int) -> Array:
    rank = typeof(keys[0]).ndim
    axis = shape_arguments.canonical_axis(axis, rank) if rank else 0
    if rank == 0:
        return filled_arrays.full((), 0, dtypes.canonicalize_dtype(np.int64))
    shape = typeof(keys[0]).shape
    indices = filled_arrays.broadcasted_iota(index_dtype(shape[axis]), shape, axis)
    return sorting.sort((*reversed(keys), indices), axis, True, len(keys))[-1]


def lexsort(keys: Any, axis: int = -1) -> Array:
    """The indices that sort by several keys: by the last one first, where it is equal by the one before, and so on.

    Args:
      keys: sequence of arrays of one shape, or an array whose first axis counts them.
      axis: axis to sort along.
    Raises:
      TypeError: no keys.
      ValueError: shapes that differ.
    Example: ``jnp.lexsort((jnp.array([2, 1]), jnp.array([0, 0])))`` is ``[1, 0]``. Source: ``numpy.lexsort``.
    """
    if not isinstance(keys, list | tuple):
        check_arraylike("lexsort", keys)
        if typeof(keys).ndim == 0:
            raise TypeError(f"lexsort: keys must be a sequence of arrays, or an array with an axis of them, got {keys}")
        keys = (
            list(np.asarray(keys)) if isinstance(keys, np.ndarray) else [keys[i] for i in range(typeof(keys).shape[0])]
        )
    if len(keys) == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    arrays = eager_operands("lexsort", keys)
    if len({typeof(key).shape for key in arrays}) > 1:
        raise ValueError("lexsort: all keys need to be the same shape")
    return _lexsort(arrays, as_index(axis))


def _checked_kth(name: str, a: ArrayLike, kth: int, axis: int) -> tuple[Any, int]:
    check_arraylike(name, a)
    a = eager_operand(name, a)
    axis = shape_arguments.canonical_axis(axis, typeof(a).ndim)
    shape_arguments.canonical_axis(as_index(kth), typeof(a).shape[axis], "kth")
    return a, axis


@api(static=("kth", "axis"), host=lambda values, kth, axis: _sort_on_host(values, axis, True, False))
def _partition(a: ArrayLike, kth: int, axis: int) -> Array:
    last = typeof(a).ndim - 1
    return axis_order.move_axis(
        order_statistics.partition([axis_order.move_axis(a, axis, last)], kth % typeof(a).shape[axis])[0], last, axis
    )


@api(static=("kth", "axis"))
def _argpartition(a: ArrayLike, kth: int, axis: int) -> Array:
    last = typeof(a).ndim - 1
    _, indices = order_statistics.partition_with_indices(
        axis_order.move_axis(a, axis, last), kth % typeof(a).shape[axis]
    )
    return convert(axis_order.move_axis(indices, last, axis), dtypes.canonicalize_dtype(np.int64))


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The elements along an axis so that one stands where sorting would put it: lesser ones before, greater ones behind.

    Args:
      a: array.
      kth: the place, known while tracing.
      axis: axis.
    Returns: array; the order among the lesser and among the greater ones is not determined.
    Raises:
      ValueError: no such place or axis.
    Example: ``jnp.partition(jnp.array([3, 1, 2]), 1)``. Source: ``numpy.partition``.
    """
    a, axis = _checked_kth("partition", a, kth, axis)
    return _partition(a, as_index(kth), axis)


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The indices that ``partition`` an array. Args: as of ``partition``.

    Example: ``jnp.argpartition(jnp.array([3, 1, 2]), 1)``. Source: ``numpy.argpartition``.
    """
    a, axis = _checked_kth("argpartition", a, kth, axis)
    return argsort(a, axis) if _on_host(a) else _argpartition(a, as_index(kth), axis)


def sort_complex(a: ArrayLike) -> Array:
    """The elements as complex numbers, sorted by real, then by imaginary part.

    Args:
      a: array or number; sorted along the last axis.
    Example: ``jnp.sort_complex(jnp.array([2, 1]))`` is ``[1.+0.j, 2.+0.j]``. Source: ``numpy.sort_complex``.
    """
    a = eager_operand("sort_complex", a)
    ordered = sort(a)
    dtype = dtypes.canonicalize_dtype(dtypes.to_complex_dtype(typeof(ordered).dtype))
    return convert(ordered, dtype)
