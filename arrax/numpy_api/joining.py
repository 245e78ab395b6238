"""Joining arrays (NumPy reference, routines.array-manipulation)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import Tracer
from arrax.core.types import ShapedArray, typeof
from arrax.dtypes import OptionalDType
from arrax.dtypes.canonical import warn_user
from arrax.lax import concatenation, shape_arguments, shapes, stacking
from arrax.lax.conversion import convert
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.axis_order import moveaxis
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.manipulation import astype, expand_dims, ravel, reshape, shape_with_rank
from arrax.numpy_api.operands import check_arraylike, promote_dtypes, refuse_out
from arrax.numpy_api.routes import eager_operand, eager_operands, group_like, shape_of
from arrax.numpy_api.splitting import unstack
from arrax.xla.annotations import OneAxis
from arrax.xla.arrays import Array, ArrayLike


def _array_of(name: str, position: int, array: ArrayLike) -> ArrayLike:
    """An array for a list or tuple among the arrays to join, with a warning."""
    if not isinstance(array, list | tuple):
        return array
    warn_user(
        f"{name} requires ndarray or scalar arguments, got {type(array)} at position {position}: make it one with jnp.array, "
        "since this will become an error",
        DeprecationWarning,
    )
    return asarray(array)


def _is_one_array(arrays: object) -> bool:
    return isinstance(arrays, Tracer | np.ndarray | host.ArrayImpl)


def sequence_of(name: str, arrays: Any, older: bool = False) -> list[Any]:
    """The arrays of a sequence of arrays, or the slices of one array along its first axis.

    Args:
      older: whether there may be lists and tuples among them.
    Raises:
      TypeError: something else.
    """
    if isinstance(arrays, Sequence) and not isinstance(arrays, str):
        if older:
            arrays = [_array_of(name, n, array) for n, array in enumerate(arrays)]
        return eager_operands(name, arrays)
    if _is_one_array(arrays):
        check_arraylike(name, arrays)
        return list(unstack(arrays))
    if isinstance(getattr(arrays, "aval", None), ShapedArray):  # keys
        return [arrays[n] for n in range(len(arrays))]
    raise TypeError(f"{name} requires a sequence of arrays, got {type(arrays)}")


def _joined_slices(
    name: str, array: Any, axis: OneAxis, dtype: Any, grown: Callable[[tuple[int, ...]], tuple[int, ...]] = tuple
) -> Array | None:
    """The slices of one array along its first axis, joined: a reshape instead of a slice for each.

    Args:
      axis: along which they are joined once they have grown; None joins all their elements.
      grown: the shape that a slice gets before.
    Returns: the join; None for a sequence of arrays, for slices without axes, and where devices divide axes.
    """
    if not _is_one_array(array):
        return None
    check_arraylike(name, array)
    aval = typeof(array)
    if aval.ndim == 0 or aval.shape[0] == 0 or isinstance(aval.dtype, dtypes.ExtendedDType) or any(aval.divided):
        return None
    count, shape = aval.shape[0], grown(aval.shape[1:])
    if axis is None:
        shape, axis = (math.prod(shape),), 0
    if not shape:
        return None
    axis = shape_arguments.canonical_axis(axis, len(shape))
    slices = reshape(array if dtype is None else astype(array, dtype), (count, *shape))
    return reshape(moveaxis(slices, 0, axis), (*shape[:axis], count * shape[axis], *shape[axis + 1 :]))


def _chosen_dtype(name: str, dtype: Any) -> Any:
    return None if dtype is None else dtypes.check_user_dtype(name, dtype)


def _common_type(arrays: Sequence[Any], dtype: Any) -> tuple[Any, bool]:
    """The dtype of arrays that are joined, and whether it is weak."""
    if dtype is not None:
        return dtype, False
    first = arrays[0].aval
    if all(array.aval.dtype == first.dtype and array.aval.weak_type == first.weak_type for array in arrays):
        return first.dtype, first.weak_type
    return dtypes.result_type_of([dtypes.value_pair(array) for array in arrays])


def _on_host(join: Any, arrays: Sequence[Any], axis: int, dtype: Any) -> Array | None:
    """Small arrays joined by NumPy; None where the host route is closed or a conversion is not exact."""
    like = group_like(arrays)
    if like is None:
        return None
    target, weak = _common_type(arrays, dtype)
    if dtype is not None and any(array.aval.dtype != target for array in arrays):
        return None
    with np.errstate(all="ignore"):
        joined = join([host.view(array).astype(target, copy=False) for array in arrays], axis)
    return host.back(joined, like, weak, fresh=True)


def _alike(arrays: Sequence[Any], dtype: Any) -> list[Any]:
    return promote_dtypes(*arrays) if dtype is None else [convert(array, dtype) for array in arrays]


# ---- joining --------------------------------------------------------------------------------------------------------


@api(static=("axis", "dtype"))
def _concatenate(arrays: Sequence[Any], axis: int, dtype: Any) -> Array:
    return concatenation.concatenate(_alike(arrays, dtype), axis)


@api(static=("axis", "dtype"))
def _stack(arrays: Sequence[Any], axis: int, dtype: Any) -> Array:
    values = _alike(arrays, dtype)
    if any(isinstance(typeof(value).dtype, dtypes.ExtendedDType) for value in values):
        return concatenation.concatenate([shapes.expand_dims(value, (axis,)) for value in values], axis)
    return stacking.stack(values, axis)


def _check_joinable(name: str, arrays: Sequence[Any], axis: int) -> None:
    first = shape_of(arrays[0])
    for array in arrays[1:]:
        own = shape_of(array)
        if len(own) != len(first):
            listed = ", ".join(str(shape_of(a)) for a in arrays)
            raise TypeError(f"Cannot concatenate arrays with different numbers of dimensions: got {listed}.")
        if any(a != b for i, (a, b) in enumerate(zip(own, first, strict=True)) if i != axis):
            listed = ", ".join(str(shape_of(a)) for a in arrays)
            raise TypeError(
                f"{name}: along axis {axis}, shapes that differ in dimensions other than that one don't fit: {listed}."
            )


def join_all(name: str, arrays: Sequence[Any], axis: OneAxis, dtype: Any) -> Any:
    """Arrays joined along an axis that they have; None joins all their elements."""
    if not arrays:
        raise ValueError(f"{name}: Need at least one array to concatenate.")
    if axis is None:
        arrays, axis = [ravel(array) for array in arrays], 0
    rank = typeof(arrays[0]).ndim
    if rank == 0:
        raise ValueError(f"{name}: Zero-dimensional arrays cannot be concatenated.")
    axis = shape_arguments.canonical_axis(axis, rank)
    _check_joinable(name, arrays, axis)
    done = _on_host(np.concatenate, arrays, axis, dtype)
    return _concatenate(list(arrays), axis, dtype) if done is None else done


def _joined(name: str, arrays: ArrayLike | Sequence[ArrayLike], axis: OneAxis, dtype: Any) -> Array:
    done = _joined_slices(name, arrays, axis, dtype)
    return join_all(name, sequence_of(name, arrays), axis, dtype) if done is None else done


def concatenate(arrays: ArrayLike | Sequence[ArrayLike], axis: OneAxis = 0, dtype: OptionalDType = None) -> Array:
    """Join arrays along an axis that they have.

    Args:
      arrays: sequence of arrays of equal shape but for ``axis``.
      axis: axis; None joins all elements of all arrays.
      dtype: dtype of the result, by default the promoted dtype.
    Raises:
      TypeError: shapes that don't fit.
      ValueError: no arrays, scalars, or no such axis.
    Example: ``jnp.concatenate([jnp.ones(2), jnp.zeros(1)])``. Source: ``numpy.concatenate``.
    """
    return _joined("concatenate", arrays, axis, _chosen_dtype("concatenate", dtype))


def concat(arrays: Sequence[Any], /, *, axis: OneAxis = 0) -> Array:
    """Join arrays along an axis that they have, see ``concatenate``.

    Args:
      arrays: sequence of arrays whose other axes have equal lengths.
      axis: the axis; None flattens the arrays first.
    Example: ``jnp.concat([jnp.ones(2), jnp.zeros(1)])``. Source: array API, ``concat``.
    """
    return _joined("concat", arrays, axis, None)


def stack(
    arrays: ArrayLike | Sequence[ArrayLike], axis: int = 0, out: None = None, dtype: OptionalDType = None
) -> Array:
    """Join arrays of one shape along a new axis.

    Args:
      arrays: sequence of arrays.
      axis: place of the new axis in the result.
      dtype: dtype of the result, by default the promoted dtype.
      out: must be None: arrays cannot be written to.
    Raises:
      ValueError: no arrays, shapes that differ, or no such place.
    Example: ``jnp.stack([jnp.ones(2), jnp.zeros(2)]).shape`` is ``(2, 2)``. Source: ``numpy.stack``.
    """
    refuse_out("stack", out)
    chosen = _chosen_dtype("stack", dtype)
    done = _joined_slices("stack", arrays, axis, chosen, partial(_with_new_axis, axis))
    if done is not None:
        return done
    values = sequence_of("stack", arrays)
    if not values:
        raise ValueError("stack: Need at least one array to stack.")
    new_axis = shape_arguments.canonical_axis(axis, typeof(values[0]).ndim + 1)
    if any(shape_of(value) != shape_of(values[0]) for value in values):
        raise ValueError(
            f"stack: All input arrays must have the same shape. Got {', '.join(str(shape_of(v)) for v in values)}."
        )
    done = _on_host(np.stack, values, new_axis, chosen)
    return _stack(values, new_axis, chosen) if done is None else done


def _with_new_axis(axis: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    place = shape_arguments.canonical_axis(axis, len(shape) + 1)
    return (*shape[:place], 1, *shape[place:])


def _grown_and_joined(
    name: str, tup: ArrayLike | Sequence[ArrayLike], rank: int, axis: int, by_numpy: Callable[..., Any], dtype: Any
) -> Array:
    """Arrays with at least ``rank`` axes, joined along ``axis``, or their last one if they have fewer."""
    chosen = _chosen_dtype(name, dtype)
    last = max(rank, getattr(tup, "ndim", 0) - 1) - 1  # of the slices, if it is one array
    done = _joined_slices(name, tup, min(axis, last), chosen, partial(shape_with_rank, rank))
    if done is not None:
        return done
    arrays = sequence_of(name, tup, older=True)
    try:
        done = _on_host(lambda values, _: by_numpy(values), arrays, axis, chosen) if arrays else None
    except ValueError:
        done = None  # they don't fit: joining them says why
    if done is not None:
        return done
    grown = [reshape(a, shape_with_rank(rank, typeof(a).shape)) for a in arrays]
    return join_all(name, grown, min(axis, typeof(grown[0]).ndim - 1) if grown else axis, chosen)


def vstack(tup: ArrayLike | Sequence[ArrayLike], dtype: OptionalDType = None) -> Array:
    """Join arrays along the first axis; vectors count as rows.

    Args:
      tup: sequence of arrays, or an array, whose slices along the first axis count.
      dtype: of the result; by default the promoted one.
    Example: ``jnp.vstack([jnp.ones(2), jnp.zeros(2)]).shape`` is ``(2, 2)``. Source: ``numpy.vstack``.
    """
    return _grown_and_joined("vstack", tup, 2, 0, np.vstack, dtype)


def hstack(tup: ArrayLike | Sequence[ArrayLike], dtype: OptionalDType = None) -> Array:
    """Join arrays along the second axis, vectors along their only one.

    Args:
      tup: sequence of arrays, or an array, whose slices along the first axis count.
      dtype: of the result; by default the promoted one.
    Example: ``jnp.hstack([jnp.ones(2), jnp.zeros(1)]).shape`` is ``(3,)``. Source: ``numpy.hstack``.
    """
    return _grown_and_joined("hstack", tup, 1, 1, np.hstack, dtype)


def dstack(tup: ArrayLike | Sequence[ArrayLike], dtype: OptionalDType = None) -> Array:
    """Join arrays along the third axis; vectors and matrices get one.

    Args:
      tup: sequence of arrays, or an array, whose slices along the first axis count.
      dtype: of the result; by default the promoted one.
    Example: ``jnp.dstack([jnp.ones(2), jnp.zeros(2)]).shape`` is ``(1, 2, 2)``. Source: ``numpy.dstack``.
    """
    return _grown_and_joined("dstack", tup, 3, 2, np.dstack, dtype)


def _column(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape, 1) if len(shape) == 1 else shape_with_rank(2, shape)


def column_stack(tup: ArrayLike | Sequence[ArrayLike]) -> Array:
    """Join vectors as the columns of a matrix; matrices join along their second axis.

    Args:
      tup: sequence of vectors and matrices of equal length, or an array, whose rows count.
    Example: ``jnp.column_stack([jnp.ones(3), jnp.zeros(3)]).shape`` is ``(3, 2)``. Source: ``numpy.column_stack``.
    """
    done = _joined_slices("column_stack", tup, 1, None, _column)
    if done is not None:
        return done
    arrays = sequence_of("column_stack", tup, older=True)
    return join_all("column_stack", [reshape(a, _column(typeof(a).shape)) for a in arrays], 1, None)


@api(static=("axis",), stepwise=True)
def append(arr: ArrayLike, values: ArrayLike, axis: OneAxis = None) -> Array:
    """Join values to the end of an array.

    Args:
      arr: array.
      values: array of equal shape but for ``axis``.
      axis: axis; None joins all elements of both.
    Example: ``jnp.append(jnp.ones(2), 3.)`` is ``[1., 1., 3.]``. Source: ``numpy.append``.
    """
    return join_all("append", eager_operands("append", (arr, values)), axis, None)


# ---- blocks ---------------------------------------------------------------------------------------------------------


def _depth(node: ArrayLike | Sequence[Any]) -> int:
    if isinstance(node, tuple):
        raise ValueError(f"block does not allow tuples, got {node!r}: use lists")
    if not isinstance(node, list):
        check_arraylike("block", node)
        return 0
    if not node:
        raise ValueError("block does not allow empty list arguments")
    depths = {_depth(item) for item in node}
    if len(depths) > 1:
        raise ValueError("Mismatched list depths in block: all lists of one level must be equally deep")
    return depths.pop() + 1


def _leaves(node: ArrayLike | Sequence[Any]) -> list[Any]:
    return [leaf for item in node for leaf in _leaves(item)] if isinstance(node, list) else [node]


def block(arrays: ArrayLike | Sequence[ArrayLike]) -> Array:
    """Join nested lists of blocks: the innermost along the last axis, the next along the one before, and so on.

    Args:
      arrays: nested lists of arrays, all equally deep.
    Raises:
      ValueError: tuples, empty lists, or lists of different depth.
    Example: ``jnp.block([[jnp.eye(2), jnp.ones((2, 1))]]).shape`` is ``(2, 3)``. Source: ``numpy.block``.
    """
    depth = _depth(arrays)
    rank = max(depth, *(typeof(leaf).ndim for leaf in _leaves(arrays)), 0)

    def join(node: Any, level: int) -> Array:
        if isinstance(node, list):
            return join_all("block", [join(item, level + 1) for item in node], rank - depth + level, None)
        node = eager_operand("block", node)
        missing = rank - typeof(node).ndim
        return expand_dims(node, tuple(range(missing))) if missing else node

    return join(arrays, 0)
