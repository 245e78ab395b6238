"""NumPy's functions that write into an array, here returning a new one (NumPy reference, routines.indexing)."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.lax import arithmetic, selection, shape_arguments, shapes, static_slicing
from arrax.lax.conversion import convert
from arrax.lax.cumulative import cumsum
from arrax.lax.gathers import GatherScatterMode
from arrax.numpy_api.api import api
from arrax.numpy_api.index_writing import WRITE_DEFAULT
from arrax.numpy_api.indexing import floor_modulo, rewriting_take
from arrax.numpy_api.operands import check_arraylike
from arrax.numpy_api.routes import eager_operand
from arrax.numpy_api.updates import update_item
from arrax.xla.annotations import OneAxis
from arrax.xla.arrays import Array, ArrayLike, Matrices


def refuse_inplace(name: str) -> NoReturn:
    """Refuse ``inplace=True``.

    Raises:
      ValueError: always, with the fix.
    """
    raise ValueError(
        f"jnp.{name} cannot change an array, since arrays are immutable: inplace=False gives a new one, "
        f"as in ``x = jnp.{name}(x, ..., inplace=False)``."
    )


def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True) -> Array:
    """Write values at places of the flattened array; values repeat as often as needed.

    Args:
      a: array.
      ind: integer array.
      v: values.
      mode: out of bounds, ``"clip"`` (also of negative places), ``"wrap"``, or None: negative places count from the
        end, and those beyond are clipped.
      inplace: must be False.
    Returns: array like ``a``.
    Raises:
      ValueError: ``inplace=True``, or an unknown mode.
      NotImplementedError: ``mode="raise"``.
    Example: ``jnp.put(jnp.zeros(3), 1, 5., inplace=False)``. Source: ``numpy.put``.
    """
    if inplace:
        refuse_inplace("put")
    check_arraylike("put", a, ind, v)
    a, indices, values = eager_operand("put", a), eager_operand("put", ind), eager_operand("put", v)
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.put is not supported.")
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f"put: mode must be None, 'clip' or 'wrap', got {mode!r}")
    aval, count, given = typeof(a), typeof(indices).size, typeof(values).size
    if not count or not given or not aval.size:
        return a
    indices = shapes.reshape(indices, (count,))
    if typeof(indices).dtype == np.bool_:  # places 0 and 1, as in NumPy
        indices = convert(indices, np.int32)
    if mode == "wrap":
        indices = floor_modulo(indices, aval.size)
    flat = shapes.reshape(a, (aval.size,))
    access = WRITE_DEFAULT._replace(mode=GatherScatterMode.from_any("clip"), wrap=mode != "clip")
    return shapes.reshape(update_item(flat, indices, _repeated(values, count), "set", access), aval.shape)


def _repeated(values: Array, count: int) -> Array:
    """The flattened values, repeated or cut to a number of them."""
    size = typeof(values).size
    flat = shapes.reshape(values, (size,))
    if size < count:
        times = -(-count // size)
        flat = shapes.reshape(shapes.broadcast_in_dim(flat, (times, size), (1,)), (times * size,))
    return static_slicing.slice_in_dim(flat, 0, count)


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: OneAxis,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """Write values along an axis, at places of their own for each position along the other axes.

    Args:
      arr: array.
      indices: integer array of the same rank; its other axes are broadcast against ``arr``'s.
      values: values, broadcast to the indices.
      axis: the axis; None flattens ``arr`` first.
      inplace: must be False.
      mode: out of bounds, as of ``.at[]``.
    Raises:
      ValueError: ``inplace=True``, ranks that differ.
      TypeError: indices that are not integers.
    Example: ``jnp.put_along_axis(jnp.zeros((2, 2)), jnp.array([[0], [1]]), 1., 1, inplace=False)``.
    Source: ``numpy.put_along_axis``.
    """
    if inplace:
        refuse_inplace("put_along_axis")
    check_arraylike("put_along_axis", arr, indices, values)
    arr, indices, values = (eager_operand("put_along_axis", x) for x in (arr, indices, values))
    if not dtypes.is_integer(typeof(indices).dtype):
        raise TypeError(f"put_along_axis indices must be of integer type, got {typeof(indices).dtype}")
    shape = typeof(arr).shape
    if axis is None:
        arr, axis = shapes.reshape(arr, (typeof(arr).size,)), 0
    rank = typeof(arr).ndim
    if typeof(indices).ndim != rank:
        raise ValueError(f"indices and arr must have the same number of dimensions; {typeof(indices).ndim} vs. {rank}")
    axis = shape_arguments.canonical_axis(axis, rank)
    index = []
    for place, length in enumerate(typeof(arr).shape):
        along = np.arange(length, dtype=np.int32).reshape([-1 if i == place else 1 for i in range(rank)])
        index.append(indices if place == axis else along)
    access = WRITE_DEFAULT._replace(mode=GatherScatterMode.from_any(mode))
    return shapes.reshape(update_item(arr, tuple(index), values, "set", access), shape)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Write values, one after the other and repeatedly, where a mask holds.

    Args:
      arr: array.
      mask: array of as many elements.
      vals: values.
      inplace: must be False.
    Raises:
      ValueError: ``inplace=True``, another size of the mask, no values.
    Example: ``jnp.place(x, x > 5, jnp.array([1., 2.]), inplace=False)``. Source: ``numpy.place``.
    """
    check_arraylike("place", arr, mask, vals)
    if inplace:
        refuse_inplace("place")
    arr, mask, vals = (eager_operand("place", x) for x in (arr, mask, vals))
    shape, size = typeof(arr).shape, typeof(arr).size
    if typeof(mask).size != size:
        raise ValueError(f"place: the mask must have as many elements as the array, {size}, got {typeof(mask).size}")
    if not typeof(vals).size:
        raise ValueError("place: there are no values")
    if not size:
        return arr
    return _placed_values(arr, mask, vals, shape)


@api(static=("shape",))
def _placed_values(arr: Array, mask: Array, vals: Array, shape: tuple[int, ...]) -> Array:
    size, given = typeof(arr).size, typeof(vals).size
    flags = shapes.reshape(convert(mask, np.bool_), (size,))
    before = arithmetic.sub(cumsum(convert(flags, np.int32), 0), np.int32(1))
    flat = convert(shapes.reshape(vals, (given,)), typeof(arr).dtype)
    chosen = rewriting_take(flat, floor_modulo(before, given))
    return shapes.reshape(selection.select(flags, chosen, shapes.reshape(arr, (size,))), shape)


def fill_diagonal(a: Matrices, val: ArrayLike, wrap: bool = False, *, inplace: bool = True) -> Array:
    """Write values on the main diagonal.

    Args:
      a: array of at least two axes; of more than two only with equal lengths.
      val: number, or values that repeat along the diagonal.
      wrap: must be False.
      inplace: must be False.
    Raises:
      NotImplementedError: ``inplace=True`` or ``wrap=True``.
      ValueError: too few axes, or axes of differing lengths.
    Example: ``jnp.fill_diagonal(jnp.zeros((3, 3)), 1., inplace=False)``. Source: ``numpy.fill_diagonal``.
    """
    if inplace or wrap:
        reason = "inplace=True: arrays are immutable, pass inplace=False" if inplace else "wrap=True is not supported"
        raise NotImplementedError(f"fill_diagonal with {reason}")
    check_arraylike("fill_diagonal", a, val)
    a, values = eager_operand("fill_diagonal", a), eager_operand("fill_diagonal", val)
    shape = typeof(a).shape
    if len(shape) < 2:
        raise ValueError(f"fill_diagonal needs an array of two axes or more, got shape {shape}")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ValueError(f"fill_diagonal needs axes of equal length, got shape {shape}")
    count = min(shape)
    if typeof(values).ndim:
        if not typeof(values).size or not count:
            return a
        values = _repeated(values, count)
    along = np.arange(count, dtype=np.int32)
    access = WRITE_DEFAULT._replace(indices_are_sorted=True, unique_indices=True)
    return update_item(a, (along,) * len(shape), values, "set", access)
