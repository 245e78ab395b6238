"""Reductions that ignore NaN (NumPy reference, routines.math and routines.statistics)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.functions import name_function
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import argminmax, arithmetic, bitwise, exponential, filled_arrays, reductions, selection, shapes
from arrax.lax.collectives import psum
from arrax.lax.computations import max_value, min_value
from arrax.lax.conversion import convert
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.averages import (
    degrees_of_freedom,
    dtypes_of_mean,
    over,
    per_freedom,
    squares,
    variance_dtypes,
    wrapped_total,
)
from arrax.numpy_api.logic import isnan
from arrax.numpy_api.named_axes import split_named
from arrax.numpy_api.operands import as_operand, canonical_axes, check_arraylike, check_arraylike_or_none, refuse_out
from arrax.numpy_api.reductions import (
    Axis,
    check_mask,
    masked,
    max,
    min,
    place_of,
    prod,
    started,
    static_axis,
    sum,
    with_kept_axes,
)  # fmt: skip
from arrax.xla.annotations import Axes, OneAxis
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


def without_nan(a: Array, instead: ArrayLike) -> Array:
    """``a`` with another value for NaN."""
    if not dtypes.is_inexact(typeof(a).dtype):
        return a
    return selection.select(isnan(a), filled_arrays.full_like(a, instead), a)


def _operand(name: str, a: ArrayLike, *others: OptionalArray) -> Array:
    check_arraylike(name, a)
    check_arraylike_or_none(name, *others)
    a = as_operand(a)
    return convert(a, typeof(a).dtype)


@api(static=("name", "axis", "dtype", "keepdims"))
def _total(
    a: ArrayLike, initial: OptionalArray, where: OptionalArray, name: str, axis: Axes | None, dtype: Any, keepdims: bool
) -> Array:
    a = _operand(name, a, initial, where)
    check_mask(name, where)
    reduce, neutral = {"nansum": (sum, 0), "nanprod": (prod, 1)}[name]
    return reduce(without_nan(a, neutral), axis, dtype, None, keepdims, initial, where)


def nansum(
    a: ArrayLike, axis: Axis = None, dtype: OptionalDType = None, out: None = None, keepdims: bool = False, initial: OptionalArray = None,
    where: OptionalArray = None,
) -> Array:  # fmt: skip
    """The sum over axes, NaN counting as zero. Args: as of ``sum``.

    Example: ``jnp.nansum(jnp.array([1., jnp.nan]))`` is 1. Source: ``numpy.nansum``.
    """
    refuse_out("nansum", out)
    names, axis = split_named(axis)
    if names:
        total = _total(a, None, where, "nansum", static_axis(axis), dtype, bool(keepdims))
        return started(psum(total, names), initial, arithmetic.add)
    return _total(a, initial, where, "nansum", static_axis(axis), dtype, bool(keepdims))


def nanprod(
    a: ArrayLike, axis: Axis = None, dtype: OptionalDType = None, out: None = None, keepdims: bool = False, initial: OptionalArray = None,
    where: OptionalArray = None,
) -> Array:  # fmt: skip
    """The product over axes, NaN counting as one. Args: as of ``prod``.

    Example: ``jnp.nanprod(jnp.array([2., jnp.nan]))`` is 2. Source: ``numpy.nanprod``.
    """
    refuse_out("nanprod", out)
    return _total(a, initial, where, "nanprod", static_axis(axis), dtype, bool(keepdims))


@api(static=("name", "axis", "keepdims"))
def _minmax(
    a: ArrayLike, initial: OptionalArray, where: OptionalArray, name: str, axis: Axes | None, keepdims: bool
) -> Array:
    a = _operand(name, a, initial, where)
    check_mask(name, where)
    reduce, neutral = {"nanmax": (max, min_value), "nanmin": (min, max_value)}[name]
    out = reduce(without_nan(a, neutral(typeof(a).dtype)), axis, None, keepdims, initial, where)
    if not dtypes.is_inexact(typeof(a).dtype) or initial is not None:
        return out
    axes = canonical_axes(axis, typeof(a).ndim)
    nothing = with_kept_axes(reductions.reduce_and(isnan(a), axes), axes, keepdims)
    return selection.select(nothing, filled_arrays.full_like(out, np.nan), out)


def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: OptionalArray = None,
    where: OptionalArray = None,
) -> Array:
    """The greatest element over axes that is not NaN; NaN where there is none. Args: as of ``max``.

    Example: ``jnp.nanmax(jnp.array([1., jnp.nan]))`` is 1. Source: ``numpy.nanmax``.
    """
    refuse_out("nanmax", out)
    return _minmax(a, initial, where, "nanmax", static_axis(axis), bool(keepdims))


def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: OptionalArray = None,
    where: OptionalArray = None,
) -> Array:
    """The least element over axes that is not NaN; NaN where there is none. Args: as of ``min``.

    Example: ``jnp.nanmin(jnp.array([1., jnp.nan]))`` is 1. Source: ``numpy.nanmin``.
    """
    refuse_out("nanmin", out)
    return _minmax(a, initial, where, "nanmin", static_axis(axis), bool(keepdims))


def _argminmax(name: str, operation: Callable[..., Any], neutral: Callable[[Any], Any]) -> Callable[..., Any]:
    def body(a: Any, axis: OneAxis, keepdims: bool) -> Any:
        a = _operand(name, a)
        index = place_of(name[3:], operation, without_nan(a, neutral(typeof(a).dtype)), axis, keepdims)
        if not dtypes.is_inexact(typeof(a).dtype):
            return index
        axes = canonical_axes(axis, typeof(a).ndim)
        nothing = with_kept_axes(reductions.reduce_and(isnan(a), axes), axes, keepdims)
        return selection.select(nothing, filled_arrays.full_like(index, -1), index)

    name_function(body, name)
    return api(static=("axis", "keepdims"))(body)


_nanargmax = _argminmax("nanargmax", argminmax.argmax, min_value)
_nanargmin = _argminmax("nanargmin", argminmax.argmin, max_value)


def nanargmax(a: ArrayLike, axis: OneAxis = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The index of the greatest element that is not NaN; -1 where there is none. Args: as of ``argmax``.

    Example: ``jnp.nanargmax(jnp.array([1., jnp.nan]))`` is 0. Source: ``numpy.nanargmax``.
    """
    refuse_out("nanargmax", out)
    return _nanargmax(a, axis if axis is None else as_index(axis), bool(keepdims))


def nanargmin(a: ArrayLike, axis: OneAxis = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The index of the least element that is not NaN; -1 where there is none. Args: as of ``argmin``.

    Example: ``jnp.nanargmin(jnp.array([1., jnp.nan]))`` is 0. Source: ``numpy.nanargmin``.
    """
    refuse_out("nanargmin", out)
    return _nanargmin(a, axis if axis is None else as_index(axis), bool(keepdims))


# ---- averages -------------------------------------------------------------------------------------------------------


def _numbers(name: str, a: Array, where: OptionalArray) -> Array:
    """The mask of the elements that count."""
    check_mask(name, where)
    present = bitwise.bitwise_not(isnan(a))
    if where is None:
        return present
    shape = shapes.broadcast_shapes(typeof(a).shape, typeof(where).shape)
    return bitwise.bitwise_and(operands.broadcast_to(present, shape), operands.broadcast_to(as_operand(where), shape))


def _mean_of(values: Array, present: Array, axes: tuple[int, ...], target: np.dtype) -> tuple[Any, Any]:
    """(mean, count) of the values under a mask; sums wrap round as in the target where that is one of integers."""
    count = reductions.reduce_sum(convert(present, typeof(values).dtype), axes)
    total = wrapped_total(reductions.reduce_sum(masked("nanmean", values, present, 0), axes), target)
    return over(total, count), count


@api(static=("axis", "dtype", "keepdims"))
def _nanmean(a: ArrayLike, where: OptionalArray, axis: Sequence[int] | None, dtype: Any, keepdims: bool) -> Array:
    a = _operand("nanmean", a, where)
    target, work = dtypes_of_mean("nanmean", typeof(a).dtype, dtype)
    present = _numbers("nanmean", a, where)
    axes = canonical_axes(axis, typeof(present).ndim)
    value, _ = _mean_of(convert(a, work), present, axes, target)
    return with_kept_axes(convert(value, target), axes, keepdims)


def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: OptionalDType = None,
    out: None = None,
    keepdims: bool = False,
    where: OptionalArray = None,
) -> Array:
    """The mean over axes of the elements that are not NaN. Args: as of ``mean``.

    Example: ``jnp.nanmean(jnp.array([1., jnp.nan, 3.]))`` is 2. Source: ``numpy.nanmean``.
    """
    refuse_out("nanmean", out)
    return _nanmean(a, where, static_axis(axis), dtype, bool(keepdims))


@api(static=("axis", "dtype", "keepdims", "name"))
def _nanvar(
    a: ArrayLike,
    where: OptionalArray,
    mean: Any,
    ddof: ArrayLike,
    axis: Axes | None,
    dtype: Any,
    keepdims: bool,
    name: str,
) -> Array:
    a = _operand(name, a, where, mean)
    work, target = variance_dtypes(name, typeof(a).dtype, dtype)
    x, present = convert(a, work), _numbers(name, a, where)
    axes = canonical_axes(axis, typeof(present).ndim)
    value, _ = _mean_of(x, present, axes, work)
    middle = with_kept_axes(value, axes, True) if mean is None else convert(as_operand(mean), work)
    shape = typeof(present).shape
    centered = arithmetic.sub(operands.broadcast_to(x, shape), operands.broadcast_to(middle, shape))
    squared_deviations = squares(masked(name, centered, present, 0))
    real = typeof(squared_deviations).dtype
    count = reductions.reduce_sum(convert(present, real), axes)
    freedom = arithmetic.sub(count, _broadcast_like(convert(ddof, real), count))
    # Any divisor that is not positive gives NaN; with -1 for 0 the derivative, which is 0 there, is not 0 / 0.
    freedom = masked(name, freedom, arithmetic.gt(freedom, filled_arrays.full_like(freedom, 0)), -1)
    out = per_freedom(reductions.reduce_sum(squared_deviations, axes), freedom)
    out = exponential.sqrt(out) if name == "nanstd" else out
    return with_kept_axes(convert(out, target), axes, keepdims)


def _broadcast_like(number: Array, like: Array) -> Any:
    return operands.broadcast_to(number, typeof(like).shape) if typeof(like).shape else number


def nanvar(
    a: ArrayLike, axis: Axis = None, dtype: OptionalDType = None, out: None = None, ddof: int = 0, keepdims: bool = False,
    where: OptionalArray = None, mean: OptionalArray = None, correction: int | float | None = None,
) -> Array:  # fmt: skip
    """The variance over axes of the elements that are not NaN. Args: as of ``var``.

    Example: ``jnp.nanvar(jnp.array([1., jnp.nan, 3.]))`` is 1. Source: ``numpy.nanvar``.
    """
    refuse_out("nanvar", out)
    freedom = degrees_of_freedom("nanvar", ddof, correction)
    return _nanvar(a, where, mean, freedom, static_axis(axis), dtype, bool(keepdims), "nanvar")


def nanstd(
    a: ArrayLike, axis: Axis = None, dtype: OptionalDType = None, out: None = None, ddof: int = 0, keepdims: bool = False,
    where: OptionalArray = None, mean: OptionalArray = None, correction: int | float | None = None,
) -> Array:  # fmt: skip
    """The standard deviation over axes of the elements that are not NaN. Args: as of ``std``.

    Example: ``jnp.nanstd(jnp.array([1., jnp.nan, 3.]))`` is 1. Source: ``numpy.nanstd``.
    """
    refuse_out("nanstd", out)
    freedom = degrees_of_freedom("nanstd", ddof, correction)
    return _nanvar(a, where, mean, freedom, static_axis(axis), dtype, bool(keepdims), "nanstd")
