"""Making indices: open grids, diagonals, triangles, flat and multiple ones (NumPy reference, routines.indexing)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, as_indices, in_call
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer, concrete_value, context
from arrax.core.lengths import is_symbolic
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import arithmetic, concatenation, filled_arrays, selection, shape_arguments, shapes
from arrax.lax.conversion import convert
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.indexing import floor_modulo
from arrax.numpy_api.operands import broadcast_operands, check_arraylike, known_size, promote_dtypes
from arrax.numpy_api.routes import eager_operand, eager_operands, shape_of
from arrax.xla.annotations import Shape
from arrax.xla.arrays import Array, ArrayLike


def _integers(*positions: np.ndarray) -> tuple[Any, ...]:
    """Arrays of the default integer type."""
    dtype = dtypes.canonicalize_dtype(np.dtype(np.int64))
    return tuple(asarray(np.ascontiguousarray(index, dtype)) for index in positions)


# ---- diagonals and triangles ----------------------------------------------------------------------------------------


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the main diagonal of an array with ``ndim`` axes of length ``n``.

    Args:
      n: length of the axes.
      ndim: number of axes.
    Raises:
      ValueError: negative ``n`` or ``ndim``.
    Example: ``jnp.diag_indices(3)``. Source: ``numpy.diag_indices``.
    """
    n, ndim = known_size(n, "jnp.diag_indices", "n"), as_index(ndim)
    if n < 0:
        raise ValueError(f"diag_indices: n must not be negative, got {n}")
    if ndim < 0:
        raise ValueError(f"diag_indices: ndim must not be negative, got {ndim}")
    dtype = dtypes.canonicalize_dtype(np.dtype(np.int64))
    return (_counted((n,), 0, dtype),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """The indices of the main diagonal of an array whose axes have equal lengths.

    Args:
      arr: array of two axes or more.
    Raises:
      ValueError: fewer than two axes, or differing lengths.
    Example: ``jnp.diag_indices_from(jnp.ones((3, 3)))``. Source: ``numpy.diag_indices_from``.
    """
    check_arraylike("diag_indices_from", arr)
    shape = shape_of(arr)
    if len(shape) < 2:
        raise ValueError(f"diag_indices_from needs an array of two axes or more, got shape {shape}")
    if len(set(shape)) != 1:
        raise ValueError(f"diag_indices_from needs axes of equal length, got shape {shape}")
    return diag_indices(shape[0], len(shape))


def _triangle_arguments(name: str, n: int, k: int, m: int | None) -> tuple[int, int, int | None]:
    rows, diagonal = known_size(n, f"jnp.{name}", "n"), known_size(k, f"jnp.{name}", "k")
    return rows, diagonal, None if m is None else known_size(m, f"jnp.{name}", "m")


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the lower triangle of a matrix.

    Args:
      n: number of rows.
      k: the diagonal up to which the triangle reaches: 0 is the main one, negative ones lie below.
      m: number of columns, by default ``n``.
    Example: ``jnp.tril_indices(3)``. Source: ``numpy.tril_indices``.
    """
    return _integers(*np.tril_indices(*_triangle_arguments("tril_indices", n, k, m)))  # type: ignore[return-value]


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the upper triangle of a matrix; see ``tril_indices``.

    Args:
      n: number of rows.
      k: which diagonal is the first one; 0 the main one, positive ones above it.
      m: number of columns, by default ``n``.
    Example: ``jnp.triu_indices(3)``. Source: ``numpy.triu_indices``.
    """
    return _integers(*np.triu_indices(*_triangle_arguments("triu_indices", n, k, m)))  # type: ignore[return-value]


def _matrix_shape(arr: Any) -> tuple[int, int]:
    shape = tuple(arr.shape) if hasattr(arr, "shape") else np.shape(arr)
    if len(shape) != 2:
        raise ValueError(in_call("Only 2-D inputs are accepted", arr))
    return shape  # type: ignore[return-value]


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """The indices of the lower triangle of a matrix like ``arr``; see ``tril_indices``.

    Args:
      arr: matrix.
      k: which diagonal is the last one; 0 the main one, positive ones above it.
    Example: ``jnp.tril_indices_from(jnp.ones((2, 3)))``. Source: ``numpy.tril_indices_from``.
    """
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """The indices of the upper triangle of a matrix like ``arr``; see ``tril_indices``.

    Args:
      arr: matrix.
      k: which diagonal is the first one; 0 the main one, positive ones above it.
    Example: ``jnp.triu_indices_from(jnp.ones((2, 3)))``. Source: ``numpy.triu_indices_from``.
    """
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k, columns)


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: ArrayLike = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """The indices where ``mask_func``, such as ``jnp.triu``, keeps the elements of an n by n matrix.

    Args:
      mask_func: function of a matrix and ``k``.
      size: number of indices; fewer are filled up with 0.
    Raises:
      ConcretizationTypeError: a traced mask.
    Example: ``jnp.mask_indices(3, jnp.triu)``. Source: ``numpy.mask_indices``.
    """
    mask = mask_func(asarray(np.ones((n, n), np.int32)), k)
    known = concrete_value(mask)
    if known is None:
        raise ConcretizationTypeError(mask, "mask_indices needs a mask whose values are known.")
    positions = np.asarray(known).nonzero()
    if size is None:
        return _integers(*positions)  # type: ignore[return-value]
    return _integers(*(np.resize(np.append(p[:size], np.zeros(max(size - len(p), 0))), size) for p in positions))  # type: ignore[return-value]


# ---- conversions between flat and multiple indices ------------------------------------------------------------------


def unravel_index(indices: ArrayLike, shape: Shape | ArrayLike) -> tuple[Array, ...]:
    """Indices of a flattened array as indices of each axis; those out of bounds are moved inside.

    Args:
      indices: integer array; negative ones count from the end.
      shape: the array's shape: integers, or a vector of them, which may be traced.
    Returns: one array per axis, of the dtype of ``indices`` if it holds the indices of every axis.
    Raises:
      TypeError: indices that are not integers. ValueError: a shape of more axes.
    Example: ``jnp.unravel_index(5, (3, 4))`` is ``(1, 1)``. Source: ``numpy.unravel_index``.
    """
    check_arraylike("unravel_index", indices)
    indices = eager_operand("unravel_index", indices)
    if not dtypes.is_integer(typeof(indices).dtype):
        raise TypeError(f"unravel_index needs integers, got dtype {typeof(indices).dtype}")
    lengths: list[Any] = list(shape) if isinstance(shape, tuple | list) else [shape]
    if isinstance(shape, Array | np.ndarray | Tracer):
        if np.ndim(shape) > 1:
            raise ValueError(f"unravel_index: shape must be a number or a vector, got {typeof(shape).str_short(True)}")
        lengths = list(shape) if np.ndim(shape) else [shape]
    if any(isinstance(length, Tracer) and concrete_value(length) is None for length in lengths):
        indices, *lengths = promote_dtypes(indices, *lengths)
        return _unravel_index(indices, lengths)
    return _unravel_known(indices, shape_arguments.canonical_shape(lengths, "unravel_index"))


@api(static=("shape",))
def _unravel_known(indices: Array, shape: tuple[int, ...]) -> tuple[Any, ...]:
    own = typeof(indices).dtype
    if any(map(is_symbolic, shape)) or math.prod(shape) <= dtypes.iinfo(own).max:
        return _unravel_index(indices, [arithmetic.scalar(length, indices) for length in shape])
    wide = convert(indices, _index_dtype(math.prod(shape), own))
    found = _unravel_index(wide, [arithmetic.scalar(length, wide) for length in shape])
    signed = dtypes.issubdtype(own, np.signedinteger)  # negative ones lead to any element
    back = own if not signed or max(shape) - 1 <= dtypes.iinfo(own).max else typeof(wide).dtype
    return tuple(convert(position, back) for position in found)


def _index_dtype(size: int, own: np.dtype) -> np.dtype:
    """An integer dtype that numbers so many elements and has all numbers of another one."""
    narrow = own.itemsize < 4 and size <= np.iinfo(np.int32).max
    return np.dtype(np.int32) if narrow else dtypes.canonicalize_dtype(np.int64)


def _unravel_index(indices: Array, lengths: Sequence[Any]) -> tuple[Any, ...]:
    zero, one = arithmetic.scalar(0, indices), arithmetic.scalar(1, indices)
    total = functools.reduce(arithmetic.mul, lengths, one)
    if dtypes.issubdtype(typeof(indices).dtype, np.signedinteger):
        negative = arithmetic.lt(indices, zero)
        indices = selection.select(negative, arithmetic.add(indices, total), indices)
    rest = arithmetic.max_(zero, arithmetic.min_(indices, arithmetic.sub(arithmetic.max_(total, one), one)))
    positions: list[Any] = []
    for length in reversed(lengths):
        divisor = arithmetic.max_(length, one)
        positions.insert(0, arithmetic.rem(rest, divisor))
        rest = arithmetic.div(rest, divisor)
    return tuple(positions)


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: OptionalDType = None,
) -> Array:
    """Indices of each axis as indices of the flattened array.

    Args:
      multi_index: one integer array per axis.
      dims: the array's shape.
      mode: out of bounds, ``"raise"`` (only for known values), ``"wrap"``, ``"clip"`` or ``"ignore"``.
      order: ``"C"`` or ``"F"``.
      dtype: dtype of the result.
    Raises:
      ValueError: indices out of bounds, an unknown mode or order, another number of axes, or a dtype too narrow for
        the indices of the flattened array.
      TypeError: ``dims`` or indices that are not integers.
      ConcretizationTypeError: traced indices with ``mode="raise"``.
    Example: ``jnp.ravel_multi_index((1, 2), (3, 4))`` is 6. Source: ``numpy.ravel_multi_index``.
    """
    lengths = as_indices(dims)
    given = eager_operands("ravel_multi_index", list(multi_index))
    if len(given) != len(lengths):
        raise ValueError(f"ravel_multi_index needs one index array per axis, got {len(given)} for dims {lengths}")
    if mode not in ("raise", "wrap", "clip", "ignore"):
        raise ValueError(f"invalid {mode=}. Expected 'raise', 'wrap', 'clip', or 'ignore'.")
    if order not in ("C", "F"):
        raise ValueError(f"invalid {order=}. Expected 'C' or 'F'")
    if not all(dtypes.is_integer(typeof(index).dtype) for index in given):
        raise TypeError(f"ravel_multi_index needs integers, got dtypes {[typeof(index).dtype.name for index in given]}")
    if mode == "raise":
        _check_in_bounds(given, lengths)
    if not given:
        result: Any = np.int32(0)
        return result if dtype is None else convert(result, dtypes.check_user_dtype("ravel_multi_index", dtype))
    own = typeof(promote_dtypes(*given)[0]).dtype
    chosen = own if dtype is None else dtypes.check_user_dtype("ravel_multi_index", dtype)
    wide = [number for number in (own, chosen) if math.prod(lengths) - 1 <= dtypes.iinfo(number).max]
    if not wide:
        raise ValueError(
            f"ravel_multi_index: {chosen.name} does not hold the indices of {math.prod(lengths)} elements, dims {lengths}."
            " Give a wider dtype."
        )
    return convert(_ravel_multi_index(tuple(given), lengths, mode, order, wide[0]), chosen)


def _check_in_bounds(positions: Sequence[Any], lengths: Sequence[int]) -> None:
    for index, length in zip(positions, lengths, strict=True):
        known = concrete_value(index)
        if known is None:
            raise ConcretizationTypeError(
                index,
                "ravel_multi_index with mode='raise' looks at its indices. Use mode='wrap' or mode='clip' instead.",
            )
        values = np.asarray(known)
        if ((values < 0) | (values >= length)).any():
            raise ValueError("invalid entry in coordinates array")


@api(static=("lengths", "mode", "order", "dtype"))
def _ravel_multi_index(
    positions: tuple[Any, ...], lengths: tuple[int, ...], mode: str, order: str, dtype: np.dtype
) -> Any:
    promoted = broadcast_operands("ravel_multi_index", *promote_dtypes(*positions))
    promoted = [convert(index, dtype) for index in promoted]
    strides = np.cumprod([1, *(lengths[:0:-1] if order == "C" else lengths[:-1])], dtype=np.int64)
    strides = strides[::-1] if order == "C" else strides
    total = None
    for index, length, stride in zip(promoted, lengths, strides, strict=True):
        if mode == "wrap":
            index = floor_modulo(index, max(length, 1))
        elif mode == "clip":
            last = np.asarray(max(length - 1, 0)).astype(dtype)[()]
            index = selection.clamp(np.zeros((), dtype)[()], index, last)
        term = arithmetic.mul(index, np.asarray(stride).astype(typeof(index).dtype)[()])
        total = term if total is None else arithmetic.add(total, term)
    return total


# ---- grids ----------------------------------------------------------------------------------------------------------


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Arrays of rank 1, each along an axis of its own, which together index an open grid.

    Args:
      args: vectors of integers.
    Raises:
      NotImplementedError: bool arrays.
      ValueError: arrays of another rank.
    Example: ``jnp.eye(4)[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 2]))]`` is ``[[0, 0], [0, 1]]``. Source: ``numpy.ix_``.
    """
    arrays = eager_operands("ix_", args)
    result = []
    for axis, one in enumerate(arrays):
        aval = typeof(one)
        if aval.ndim != 1:
            raise ValueError(f"ix_: arguments must be 1-dimensional, got shape {aval.shape}")
        if aval.dtype == np.bool_:
            raise NotImplementedError("ix_: Boolean arguments are not implemented")
        if aval.size == 0:
            one = convert(one, np.int32)
        result.append(shapes.reshape(one, shape_along(aval.size, axis, len(args))))
    return tuple(result)


def shape_along(length: int, axis: int, rank: int) -> tuple[int, ...]:
    """The shape of a vector of a length along one of the axes of an array."""
    return tuple(length if i == axis else 1 for i in range(rank))


def indices(dimensions: Sequence[int], dtype: OptionalDType = None, sparse: bool = False) -> Array | tuple[Array, ...]:
    """The indices of all elements of an array.

    Args:
      dimensions: the array's shape.
      dtype: dtype of the result, by default int32 (int64 with x64).
      sparse: return one array per axis, of length 1 along the others, instead of one stacked array.
    Example: ``jnp.indices((2, 3)).shape`` is ``(2, 2, 3)``. Source: ``numpy.indices``.
    """
    lengths = shape_arguments.canonical_shape(dimensions, "indices")
    chosen = (
        dtypes.canonicalize_dtype(np.dtype(np.int64)) if dtype is None else dtypes.check_user_dtype("indices", dtype)
    )
    if sparse:
        return tuple(_counted(shape_along(n, axis, len(lengths)), axis, chosen) for axis, n in enumerate(lengths))
    if not lengths or context.interpreter.is_evaluation:
        return asarray(np.indices(lengths), chosen)
    return concatenation.concatenate([_counted((1, *lengths), axis + 1, chosen) for axis in range(len(lengths))], 0)


def _counted(shape: tuple[int, ...], axis: int, dtype: np.dtype) -> Array:
    """Positions along an axis; an operation of the program where one is made, as a constant may be large."""
    if context.interpreter.is_evaluation:
        return asarray(np.arange(shape[axis]).reshape(shape), dtype)
    counter = dtypes.canonicalize_dtype(np.dtype(np.int64))
    return convert(filled_arrays.broadcasted_iota(counter, shape, axis), dtype)
