"""Averages and variances over axes (NumPy reference, routines.statistics)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import arithmetic, axis_order, exponential, filled_arrays, selection, shapes
from arrax.lax.collectives import axis_size, pmean, psum
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.reductions import reduce_sum
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.named_axes import split_named
from arrax.numpy_api.operands import (
    as_operand,
    canonical_axes,
    check_arraylike,
    check_arraylike_or_none,
    is_arraylike,
    refuse_out,
)
from arrax.numpy_api.reductions import Axis, masked, static_axis, with_kept_axes
from arrax.numpy_api.reductions import sum as sum_over
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

Names = tuple[Any, ...]  # of axes that are in scope


def working_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype to average in: floating, and float32 for smaller floats."""
    inexact = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(dtype))
    small = dtypes.is_float(inexact) and dtypes.itemsize_bits(inexact) < 32
    return np.dtype(np.float32) if small else inexact


def number_like(value: float, like: ArrayLike) -> ArrayLike:
    """A number in the dtype of an array."""
    return length_of_axis(value, typeof(like).dtype)


def count_of(a: Array, where: OptionalArray, axes: tuple[int, ...], dtype: Any) -> Any:
    """How many elements are reduced: a number, or an array where a mask decides."""
    if where is None:
        count: Any = math.prod(typeof(a).shape[i] for i in axes)
        return length_of_axis(count, dtype)
    shape = shapes.broadcast_shapes(typeof(a).shape, typeof(where).shape)
    return reduce_sum(convert(operands.broadcast_to(as_operand(where), shape), dtype), axes)


def over(total: Array, count: ArrayLike) -> Array:
    """A quotient of an array and a number or array."""
    shape = typeof(total).shape
    return arithmetic.div(total, count if typeof(count).shape in ((), shape) else operands.broadcast_to(count, shape))


# ---- mean -----------------------------------------------------------------------------------------------------------


def dtypes_of_mean(name: str, own: np.dtype, dtype: OptionalDType) -> tuple[Any, np.dtype]:
    """The dtype of a mean of elements of some dtype, and the one that it is computed in.

    Integers are asked for to be added and divided as such. Counts have no place in narrow ones.
    """
    natural = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(own))
    target = operands.requested(name, dtype, natural, own)
    if dtypes.is_integer(target):
        counting = np.int32 if dtypes.issubdtype(target, np.signedinteger) else np.uint32
        return target, np.dtype(counting) if dtypes.itemsize_bits(target) < 32 else target
    return target, working_dtype(target if dtypes.is_inexact(target) else natural)


def wrapped_total(total: Array, target: np.dtype) -> Array:
    """A sum of integers as it is in a narrower dtype, where it may wrap round."""
    return convert(convert(total, target), typeof(total).dtype) if dtypes.is_integer(target) else total


@api(static=("axis", "dtype", "keepdims"))
def _mean(a: ArrayLike, where: OptionalArray, axis: Axes | None, dtype: OptionalDType, keepdims: bool) -> Array:
    check_arraylike("mean", a)
    check_arraylike_or_none("mean", where)
    a = as_operand(a)
    target, work = dtypes_of_mean("mean", typeof(a).dtype, dtype)
    values = masked("mean", convert(a, work), where, 0)
    axes = canonical_axes(axis, typeof(values).ndim)
    total = wrapped_total(reduce_sum(values, axes), target)
    mean_value = over(total, count_of(values, where, axes, work))
    return with_kept_axes(convert(mean_value, target), axes, keepdims)


def _named_mean(
    a: ArrayLike, where: OptionalArray, names: Names, axis: Axis, dtype: OptionalDType, keepdims: bool
) -> Array:
    check_arraylike("mean", a)
    a = as_operand(a)
    target, work = dtypes_of_mean("mean", typeof(a).dtype, dtype)
    if where is None:
        return convert(pmean(_mean(a, None, static_axis(axis), work, keepdims), names), target)
    total = sum_over(a, axis, work, keepdims=keepdims, where=where)
    shape = shapes.broadcast_shapes(typeof(a).shape, typeof(where).shape)
    count = sum_over(operands.broadcast_to(as_operand(where), shape), axis, work, keepdims=keepdims)
    return convert(over(wrapped_total(psum(total, names), target), psum(count, names)), target)


def _real(dtype: np.dtype) -> np.dtype:
    return dtypes.finfo(dtype).dtype if dtypes.is_complex(dtype) else dtype


def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: OptionalDType = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: OptionalArray = None,
) -> Array:
    """The arithmetic mean of the elements over axes.

    Args:
      a: array or number.
      axis: axis, tuple of axes, or None for all. Named axes that are in scope (as inside of ``vmap`` with ``axis_name``) may
        stand among them.
      dtype: dtype of the result, by default floating.
      keepdims: keep the reduced axes, with length 1.
      where: mask of the elements to count.
      out: must be None: arrays cannot be written to.
    Returns: array without the axes; NaN where there is nothing to count. Small floats are summed in float32.
    Raises:
      TypeError: a list or tuple.
      ValueError: no such axis.
    Example: ``jnp.mean(jnp.arange(4))`` is 1.5. Source: ``numpy.mean``.
    """
    refuse_out("mean", out)
    names, axis = split_named(axis)
    if names:
        return _named_mean(a, where, names, axis, dtype, bool(keepdims))
    return _mean(a, where, static_axis(axis), dtype, bool(keepdims))


# ---- variance -------------------------------------------------------------------------------------------------------


def squares(x: Array) -> Array:
    """The squared magnitude of numbers, a real array."""
    if not dtypes.is_complex(typeof(x).dtype):
        return arithmetic.square(x)
    return arithmetic.add(arithmetic.square(arithmetic.real_part(x)), arithmetic.square(arithmetic.imag(x)))


def variance_dtypes(name: str, own: np.dtype, dtype: OptionalDType) -> tuple[Any, Any]:
    """(the dtype to compute in, the dtype of the result) of a variance."""
    natural = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(own))
    if dtype is None:
        return working_dtype(own), _real(natural)
    chosen = dtypes.check_user_dtype(name, dtype)
    if dtypes.is_complex(own) and not dtypes.is_complex(chosen):
        raise ValueError(f"{name}: a real dtype {chosen.name} for the variance of complex values is not supported")
    if not dtypes.is_inexact(chosen):
        raise ValueError(f"{name}: dtype must be floating or complex, got {chosen}")
    return working_dtype(chosen), chosen


def degrees_of_freedom(name: str, ddof: Any, correction: Any) -> Any:
    """What is taken from the number of elements: NumPy's ``ddof`` or the standard's ``correction``."""
    if correction is None:
        return _checked_freedom(name, "ddof", ddof)
    if ddof is not None and (not isinstance(ddof, int | float | np.generic) or ddof):
        raise ValueError(f"{name}: ddof and correction can't be provided simultaneously.")
    return _checked_freedom(name, "correction", correction)


def _checked_freedom(name: str, argument: str, value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    if is_arraylike(value) and not typeof(value).ndim and not dtypes.is_complex(typeof(value).dtype):
        return value
    kind = typeof(value).str_short() if is_arraylike(value) else type(value)
    raise TypeError(f"{name}: argument {argument} must be a real number, got {kind}")


def _var(
    a: Array,
    where: OptionalArray,
    mean: Array | None,
    ddof: Any,
    axis: Axes | None,
    dtype: OptionalDType,
    keepdims: bool,
    name: str,
    names: Names = (),
) -> Array:
    """The variance, or its root where the function is std, over axes and named axes."""
    check_arraylike(name, a)
    check_arraylike_or_none(name, where, mean)
    a = as_operand(a)
    work, target = variance_dtypes(name, typeof(a).dtype, dtype)
    x = convert(a, work)
    rank = typeof(x).ndim if where is None else len(shapes.broadcast_shapes(typeof(x).shape, typeof(where).shape))
    axes = canonical_axes(axis, rank)
    if mean is None and where is None and not names:
        kept = [axis for axis in range(rank) if axis not in axes]
        centered = arithmetic.sub(x, shapes.broadcast_in_dim(_mean(x, None, axes, work, False), typeof(x).shape, kept))
    else:
        if mean is not None:
            middle = convert(as_operand(mean), work)
        else:
            middle = _named_mean(x, where, names, axes, work, True) if names else _mean(x, where, axes, work, True)
        shape = shapes.broadcast_shapes(typeof(x).shape, typeof(middle).shape)
        centered = arithmetic.sub(operands.broadcast_to(x, shape), operands.broadcast_to(middle, shape))
    squared_deviations = masked(name, squares(centered), where, 0)
    out = _per_degree(squared_deviations, where, ddof, axes, names)
    out = exponential.sqrt(out) if name == "std" else out
    return with_kept_axes(convert(out, target), axes, keepdims)


_var_by_array = api(static=("axis", "dtype", "keepdims", "name"))(_var)
_var_by_number = api(static=("ddof", "axis", "dtype", "keepdims", "name"))(_var)


def _root_or_variance(
    name: str, a: Any, where: Any, mean: Any, ddof: Any, axis: Any, dtype: Any, keepdims: Any
) -> Array:
    """The variance or its root; a number of freedoms is part of the program, as it is in programs of users."""
    names, axis = split_named(axis)
    if names:
        return _var(a, where, mean, ddof, static_axis(axis), dtype, bool(keepdims), name, names)
    function = _var_by_number if isinstance(ddof, int | float) else _var_by_array
    return function(a, where, mean, ddof, static_axis(axis), dtype, bool(keepdims), name)


def _per_degree(
    squared_deviations: Array, where: OptionalArray, ddof: Any, axes: tuple[int, ...], names: Names
) -> Array:
    """Sums of squares over the degrees of freedom; NaN where there are none."""
    dtype = typeof(squared_deviations).dtype
    total = reduce_sum(squared_deviations, axes)
    count = count_of(squared_deviations, where, axes, dtype)
    if names:
        total = psum(total, names)
        count = arithmetic.mul(count, number_like(axis_size(names), count)) if where is None else psum(count, names)
    if isinstance(count, np.generic) and isinstance(ddof, int | float) and count.item() > ddof:
        return over(total, np.asarray(count.item() - ddof).astype(dtype)[()])  # in a trace both are known
    return per_freedom(total, arithmetic.sub(count, convert(ddof, dtype)))


def per_freedom(total: Array, freedom: Array) -> Array:
    """A quotient that is NaN where the divisor is not positive."""
    positive = arithmetic.gt(freedom, number_like(0, freedom))
    value = over(total, freedom)
    shape = typeof(value).shape
    nothing = filled_arrays.full(shape, number_like(np.nan, value))
    return selection.select(
        positive if typeof(positive).shape in ((), shape) else operands.broadcast_to(positive, shape), value, nothing
    )


def var(
    a: ArrayLike, axis: Axis = None, dtype: OptionalDType = None, out: None = None, ddof: int = 0, keepdims: bool = False, *,
    where: OptionalArray = None, mean: OptionalArray = None, correction: int | float | None = None,
) -> Array:  # fmt: skip
    """The variance of the elements over axes: the mean of the squared distances from the mean.

    Args:
      a: array or number.
      axis: axis, tuple of axes, or None for all.
      dtype: dtype to compute in.
      ddof: what is taken from the number of elements to divide by.
      keepdims: keep the reduced axes, with length 1.
      where: mask of the elements to count.
      mean: the mean, where it is known (with the reduced axes kept).
      correction: another name of ``ddof``.
      out: must be None: arrays cannot be written to.
    Returns: array without the axes, real unless ``dtype`` is complex; NaN where there are too few elements.
    Raises:
      ValueError: both ``ddof`` and ``correction``, a dtype of integers, a real one for complex values, no such axis.
      TypeError: a list or tuple.
    Example: ``jnp.var(jnp.arange(4))`` is 1.25. Source: ``numpy.var``.
    """
    refuse_out("var", out)
    return _root_or_variance("var", a, where, mean, degrees_of_freedom("var", ddof, correction), axis, dtype, keepdims)


def std(
    a: ArrayLike, axis: Axis = None, dtype: OptionalDType = None, out: None = None, ddof: int = 0, keepdims: bool = False, *,
    where: OptionalArray = None, mean: OptionalArray = None, correction: int | float | None = None,
) -> Array:  # fmt: skip
    """The standard deviation of the elements over axes: the root of ``var``, whose arguments it has.

    Args:
      a: array or number.
      axis: axis, tuple of axes, or None for all.
      dtype: dtype to compute in.
      out: None: arrays cannot be overwritten.
      ddof, correction: the sum is divided by the number of elements less this; one of the two.
      keepdims: keep the reduced axes, with length 1.
      where: mask of the elements that count.
      mean: the mean, where it is known.
    Example: ``jnp.std(jnp.array([1., 3.]))`` is 1. Source: ``numpy.std``.
    """
    refuse_out("std", out)
    return _root_or_variance("std", a, where, mean, degrees_of_freedom("std", ddof, correction), axis, dtype, keepdims)


# ---- weighted mean --------------------------------------------------------------------------------------------------


@api(static=("axis", "keepdims"))
def _weighted(a: ArrayLike, weights: ArrayLike, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    a, weights = operands.promote_inexact(a, weights)
    a, weights = convert(a, typeof(a).dtype), convert(weights, typeof(weights).dtype)
    shape, own = typeof(a).shape, typeof(weights).shape
    axes = canonical_axes(axis, len(shape))
    if shape != own:
        if axis is None:
            raise ValueError("average: axis must be specified when shapes of a and weights differ.")
        if own != tuple(shape[i] for i in axes):
            raise ValueError(
                f"average: shape {own} of weights must be consistent with shape {shape} of a along axis {axis}."
            )
        order = sorted(range(len(axes)), key=lambda i: axes[i])
        weights = shapes.broadcast_in_dim(axis_order.transpose(weights, order), shape, sorted(axes))
    total = reduce_sum(weights, axes)
    value = arithmetic.div(reduce_sum(arithmetic.mul(a, weights), axes), total)
    return with_kept_axes(value, axes, keepdims), with_kept_axes(total, axes, keepdims)


def average(
    a: ArrayLike, axis: Axis = None, weights: OptionalArray = None, returned: bool = False, keepdims: bool = False
) -> Array | tuple[Array, Array]:
    """The weighted mean of the elements over axes.

    Args:
      a: array or number.
      axis: axis, tuple of axes, or None for all.
      weights: array of the shape of ``a``, or of the lengths of the axes; by default all are equal.
      returned: whether the sum of the weights is returned, too.
      keepdims: keep the reduced axes, with length 1.
    Returns: array without the axes, or (it, the sums of the weights).
    Raises:
      ValueError: weights of another shape.
    Example: ``jnp.average(jnp.array([1., 4.]), weights=jnp.array([2, 1]))`` is 2. Source: ``numpy.average``.
    """
    check_arraylike("average", a)
    check_arraylike_or_none("average", weights)
    where = static_axis(axis)
    if weights is not None:
        value, total = _weighted(a, weights, where, bool(keepdims))
        return (value, total) if returned else value
    value = mean(a, where, keepdims=keepdims)
    if not returned:
        return value
    count = math.prod(typeof(a).shape[i] for i in canonical_axes(where, typeof(a).ndim))
    return value, filled_arrays.full_like(value, count)
