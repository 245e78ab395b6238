"""Reductions: sums, products, logic, minima, maxima and their indices (NumPy reference, routines.math)."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, called_function
from arrax.core.errors import ConcretizationTypeError
from arrax.core.functions import name_function
from arrax.core.interpreter import Tracer, concrete_value
from arrax.core.types import typeof
from arrax.dtypes import DType, OptionalDType
from arrax.lax import argminmax, arithmetic, bitwise, filled_arrays, reductions, selection, shape_arguments, shapes
from arrax.lax.collectives import pmax, pmin, psum
from arrax.lax.computations import max_value, min_value
from arrax.lax.conversion import convert
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.named_axes import split_named
from arrax.numpy_api.operands import (
    as_operand,
    canonical_axes,
    check_arraylike,
    check_arraylike_or_none,
    index_dtype,
    refuse_out,
)
from arrax.xla.annotations import Axes, OneAxis
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

Axis = int | Sequence[int] | None

# ---- what reductions share ------------------------------------------------------------------------------------------


def static_axis(axis: Any) -> Any:
    """An axis argument as a hashable value: None, an int or a tuple of ints.

    Raises:
      ConcretizationTypeError: a traced axis.
      TypeError: not integers.
    """
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, tuple | list | range):
        return tuple([static_axis(one) for one in axis])
    if getattr(axis, "ndim", 0) == 1 and not isinstance(axis, Tracer):
        return static_axis(np.asarray(axis).tolist())
    if isinstance(axis, Tracer):
        if concrete_value(axis) is None:
            name = called_function()
            place = "" if name.startswith("_") else f" to jnp.{name}()"
            raise ConcretizationTypeError(
                axis, f"The problem arose with the axis argument{place}: it must be known statically."
            )
        axis = np.asarray(concrete_value(axis)).item()
    return as_index(axis)


def sum_dtype(dtype: DType) -> DType:
    """The dtype of sums and products: integers and bools get at least the default width."""
    if dtypes.is_bool(dtype):
        return dtypes.canonicalize_dtype(np.int64)
    if dtypes.is_integer(dtype):
        wide = dtypes.canonicalize_dtype(np.uint64 if dtypes.issubdtype(dtype, np.unsignedinteger) else np.int64)
        return wide if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(wide) else dtype
    return dtype


def with_kept_axes(value: Array, axes: Sequence[int], keepdims: bool) -> Array:
    """A reduced array with its reduced axes put back at length 1, where they are kept."""
    return shapes.expand_dims(value, sorted(axes)) if keepdims and axes else value


def check_mask(name: str, where: OptionalArray) -> None:
    """Refuse a mask that is not boolean."""
    if where is not None and typeof(where).dtype != np.bool_:
        raise ValueError(f"{name}: where must be None or a boolean array; got where.dtype={typeof(where).dtype.name}.")


def masked(name: str, a: Array, where: OptionalArray, instead: ArrayLike) -> Array:
    """``a`` with another value wherever a mask does not hold; both are broadcast to their common shape."""
    if where is None:
        return a
    check_mask(name, where)
    where = as_operand(where)
    shape = shapes.broadcast_shapes(typeof(a).shape, typeof(where).shape)
    filler = np.asarray(instead).astype(typeof(a).dtype)[()]
    mask = convert(operands.broadcast_to(where, shape), np.bool_)
    return selection.select(mask, operands.broadcast_to(a, shape), filled_arrays.full(shape, filler))


def started(value: Array, initial: OptionalArray, combine: Callable[..., Any]) -> Array:
    """A reduction that began with a value."""
    if initial is None:
        return value
    aval = typeof(value)
    if typeof(initial).ndim:
        raise ValueError(f"initial must be a scalar, got shape {typeof(initial).shape}")
    return combine(shapes.broadcast_in_dim(convert(initial, aval.dtype), aval.shape, ()), value)


def _checked(
    name: str, a: ArrayLike | Sequence[Any], initial: OptionalArray = None, where: OptionalArray = None
) -> Array:
    check_arraylike(name, a)
    check_arraylike_or_none(name, initial, where)
    return as_operand(a)


# ---- sums and products ----------------------------------------------------------------------------------------------


_Reduction = tuple[Callable[..., Any], Callable[..., Any]]  # of an array, and what combines two values


def _accumulation(name: str, neutral: int, of_numbers: _Reduction, of_bools: _Reduction) -> Any:
    def body(a: Any, initial: Any, where: Any, axis: Any, dtype: Any, keepdims: bool, promote_integers: bool) -> Any:
        a = _checked(name, a, initial, where)
        own = typeof(a).dtype
        natural = sum_dtype(own) if promote_integers or dtypes.is_bool(own) else own
        a = masked(name, convert(a, operands.requested(name, dtype, natural, own)), where, neutral)
        axes = canonical_axes(axis, typeof(a).ndim)
        operation, combine = of_bools if dtypes.is_bool(typeof(a).dtype) else of_numbers
        return with_kept_axes(started(operation(a, axes), initial, combine), axes, keepdims)

    name_function(body, name)
    return api(static=("axis", "dtype", "keepdims", "promote_integers"))(body)


# fmt: off
_sum  = _accumulation("sum",  0, (reductions.reduce_sum,  arithmetic.add), (reductions.reduce_or,  bitwise.bitwise_or))
_prod = _accumulation("prod", 1, (reductions.reduce_prod, arithmetic.mul), (reductions.reduce_and, bitwise.bitwise_and))
# fmt: on


def sum(
    a: ArrayLike, axis: Axis = None, dtype: OptionalDType = None, out: None = None, keepdims: bool = False, initial: OptionalArray = None,
    where: OptionalArray = None, promote_integers: bool = True,
) -> Array:  # fmt: skip
    """The sum of the elements over axes.

    Args:
      a: array or number.
      axis: axis, tuple of axes, or None for all. Named axes that are in scope (as inside of ``vmap`` with ``axis_name``) may
        stand among them.
      dtype: dtype to sum in; by default that of ``a``, where smaller integers and bools become the default integer.
      keepdims: keep the reduced axes, with length 1.
      initial: number to begin with.
      where: mask of the elements to count.
      promote_integers: False sums smaller integers in their own dtype.
      out: must be None: arrays cannot be written to.
    Returns: array without the axes. Small floats are summed in float32.
    Raises:
      TypeError: a list or tuple.
      ValueError: no such axis, or one twice; a mask that is not boolean.
    Example: ``jnp.sum(jnp.arange(4))`` is 6. Source: ``numpy.sum``.
    """
    refuse_out("sum", out)
    names, axis = split_named(axis)
    if names:
        total = psum(sum(a, axis, dtype, None, keepdims, None, where, promote_integers), names)
        return started(total, initial, arithmetic.add)
    return _sum(a, initial, where, static_axis(axis), dtype, bool(keepdims), promote_integers)


def prod(
    a: ArrayLike, axis: Axis = None, dtype: OptionalDType = None, out: None = None, keepdims: bool = False, initial: OptionalArray = None,
    where: OptionalArray = None, promote_integers: bool = True,
) -> Array:  # fmt: skip
    """The product of the elements over axes. Args: as of ``sum``.

    Example: ``jnp.prod(jnp.array([2, 3]))`` is 6. Source: ``numpy.prod``.
    """
    refuse_out("prod", out)
    return _prod(a, initial, where, static_axis(axis), dtype, bool(keepdims), promote_integers)


# ---- minima and maxima -------------------------------------------------------------------------------------------------------


def _minmax(name: str, operation: Callable[..., Any], neutral: Callable[[Any], Any], combine: Any) -> Any:
    def body(a: Any, initial: Any, where: Any, axis: Any, keepdims: bool) -> Any:
        a = _checked(name, a, initial, where)
        a = convert(a, typeof(a).dtype)
        axes = canonical_axes(axis, typeof(a).ndim)
        if initial is None:
            if where is not None:
                raise ValueError(
                    f"{name}: a mask may leave nothing to look at, for which there is no identity: give 'initial' with it"
                )
            if builtins.any(typeof(a).shape[i] == 0 for i in axes):
                raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        a = masked(name, a, where, neutral(typeof(a).dtype))
        axes = canonical_axes(axis, typeof(a).ndim)
        return with_kept_axes(started(operation(a, axes), initial, combine), axes, keepdims)

    name_function(body, name)
    return api(static=("axis", "keepdims"))(body)


_max = _minmax("max", reductions.reduce_max, min_value, arithmetic.max_)
_min = _minmax("min", reductions.reduce_min, max_value, arithmetic.min_)


def max(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: OptionalArray = None,
    where: OptionalArray = None,
) -> Array:
    """The greatest element over axes; NaN where there is any.

    Args:
      a: array or number.
      axis: axis, tuple of axes, or None for all.
      keepdims: keep the reduced axes, with length 1.
      initial: number to begin with.
      where: mask of the elements to look at; it needs ``initial``.
      out: must be None: arrays cannot be written to.
    Raises:
      ValueError: nothing to look at and no ``initial``, no such axis.
      TypeError: a list or tuple.
    Example: ``jnp.max(jnp.array([1, 3, 2]))`` is 3. Source: ``numpy.max``.
    """
    refuse_out("max", out)
    names, axis = split_named(axis)
    if names:
        return pmax(max(a, axis, None, keepdims, initial, where), names)
    return _max(a, initial, where, static_axis(axis), bool(keepdims))


def min(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: OptionalArray = None,
    where: OptionalArray = None,
) -> Array:
    """The least element over axes; NaN where there is any. Args: as of ``max``.

    Example: ``jnp.min(jnp.array([1, 3, 2]))`` is 1. Source: ``numpy.min``.
    """
    refuse_out("min", out)
    names, axis = split_named(axis)
    if names:
        return pmin(min(a, axis, None, keepdims, initial, where), names)
    return _min(a, initial, where, static_axis(axis), bool(keepdims))


amax, amin = max, min


@api(static=("axis", "keepdims"))
def _ptp(a: ArrayLike, axis: Axes | None, keepdims: bool) -> Array:
    _checked("ptp", a)
    return arithmetic.sub(_max(a, None, None, axis, keepdims), _min(a, None, None, axis, keepdims))


def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """The distance from the least to the greatest element over axes.

    Args:
      a: array or number.
      axis: axis, tuple of axes, or None for all.
      out: None: arrays cannot be overwritten.
      keepdims: keep the reduced axes, with length 1.
    Example: ``jnp.ptp(jnp.array([1, 3, 2]))`` is 2. Source: ``numpy.ptp``.
    """
    refuse_out("ptp", out)
    if split_named(axis)[0]:
        return arithmetic.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))
    return _ptp(a, static_axis(axis), bool(keepdims))


# ---- logic ----------------------------------------------------------------------------------------------------------


def truth_reduction(name: str, operation: Callable[..., Any], neutral: bool) -> Any:
    """A reduction of the truth of elements: a function of an array, a mask, axes, and whether these are kept."""

    def body(a: Any, where: Any, axis: Any, keepdims: bool) -> Any:
        a = masked(name, convert(_checked(name, a, None, where), np.bool_), where, neutral)
        axes = canonical_axes(axis, typeof(a).ndim)
        return with_kept_axes(operation(a, axes), axes, keepdims)

    name_function(body, name)
    return api(static=("axis", "keepdims"))(body)


_any = truth_reduction("any", reductions.reduce_or, False)
_all = truth_reduction("all", reductions.reduce_and, True)


def any(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: OptionalArray = None
) -> Array:
    """Whether any element over axes is true.

    Args:
      a: array or number.
      axis: axis, tuple of axes, or None for all.
      keepdims: keep the reduced axes, with length 1.
      where: mask of the elements to look at.
      out: must be None: arrays cannot be written to.
    Example: ``jnp.any(jnp.array([0, 1]))`` is True. Source: ``numpy.any``.
    """
    refuse_out("any", out)
    return _any(a, where, static_axis(axis), bool(keepdims))


def all(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: OptionalArray = None
) -> Array:
    """Whether all elements over axes are true. Args: as of ``any``.

    Example: ``jnp.all(jnp.array([0, 1]))`` is False. Source: ``numpy.all``.
    """
    refuse_out("all", out)
    return _all(a, where, static_axis(axis), bool(keepdims))


@api(static=("axis", "keepdims"))
def _count_nonzero(a: ArrayLike, axis: Axes | None, keepdims: bool) -> Array:
    a = _checked("count_nonzero", a)
    filled = convert(convert(a, np.bool_), dtypes.canonicalize_dtype(np.int64))
    axes = canonical_axes(axis, typeof(a).ndim)
    return with_kept_axes(reductions.reduce_sum(filled, axes), axes, keepdims)


def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """The number of elements over axes that are not zero.

    Args:
      a: array or number.
      axis: axis, tuple of axes, or None for all.
      keepdims: keep the reduced axes, with length 1.
    Example: ``jnp.count_nonzero(jnp.array([0, 2, 3]))`` is 2. Source: ``numpy.count_nonzero``.
    """
    names, axis = split_named(axis)
    count = _count_nonzero(a, static_axis(axis), bool(keepdims))
    return psum(count, names) if names else count


# ---- indices of minima and maxima ---------------------------------------------------------------------------------------------


def _argminmax(name: str, operation: Callable[..., Any]) -> Any:
    def body(a: Any, axis: OneAxis, keepdims: bool) -> Any:
        a = _checked(name, a)
        return place_of(name, operation, convert(a, typeof(a).dtype), axis, keepdims)

    name_function(body, name)
    return api(static=("axis", "keepdims"))(body)


def place_of(name: str, operation: Callable[..., Any], a: Array, axis: OneAxis, keepdims: bool) -> Array:
    """The index of an extreme along an axis, or in the flattened array."""
    aval = typeof(a)
    rank = aval.ndim
    if axis is None:
        a, place, kept = shapes.reshape(a, (aval.size,)), 0, range(rank)
    else:
        place = shape_arguments.canonical_axis(axis, rank)
        kept = range(place, place + 1)
    if typeof(a).shape[place] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if dtypes.is_complex(aval.dtype):
        a, operation = _where_extreme(a, place, largest=operation is argminmax.argmax), argminmax.argmax
    index = operation(a, place, index_dtype(typeof(a).shape[place]))
    return with_kept_axes(index, list(kept), keepdims)


def _where_extreme(a: Array, axis: int, largest: bool) -> Array:
    """Where the extremes of complex numbers along an axis are, or the NaN if there are any: then none is equal to the extreme."""
    best = (reductions.reduce_max if largest else reductions.reduce_min)(a, (axis,))
    others = [n for n in range(typeof(a).ndim) if n != axis]
    equal = arithmetic.eq(a, shapes.broadcast_in_dim(best, typeof(a).shape, others))
    return bitwise.bitwise_or(equal, arithmetic.ne(a, a))


_argmax = _argminmax("argmax", argminmax.argmax)
_argmin = _argminmax("argmin", argminmax.argmin)


def argmax(a: ArrayLike, axis: OneAxis = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The index of the greatest element along an axis: of several, the first; where there is NaN, the first of those.

    Args:
      a: array; complex numbers are ordered by their real parts, then by their imaginary ones.
      axis: axis; by default the index is one of the flattened array.
      keepdims: keep the axis, with length 1.
      out: must be None: arrays cannot be written to.
    Raises:
      ValueError: nothing to look at, or no such axis.
    Example: ``jnp.argmax(jnp.array([1, 3, 2]))`` is 1. Source: ``numpy.argmax``.
    """
    refuse_out("argmax", out)
    return _argmax(a, axis if axis is None else as_index(axis), bool(keepdims))


def argmin(a: ArrayLike, axis: OneAxis = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The index of the least element along an axis. Args: as of ``argmax``.

    Example: ``jnp.argmin(jnp.array([1, 3, 2]))`` is 0. Source: ``numpy.argmin``.
    """
    refuse_out("argmin", out)
    return _argmin(a, axis if axis is None else as_index(axis), bool(keepdims))
