"""Medians, quantiles and percentiles (NumPy reference, routines.statistics)."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import slots, typeof
from arrax.lax import (
    arithmetic,
    axis_order,
    bitwise,
    concatenation,
    cumulative,
    filled_arrays,
    rounding,
    selection,
    shapes,
    sorting,
    static_slicing,
)
from arrax.lax.conversion import convert
from arrax.lax.order_statistics import order_statistics
from arrax.lax.reductions import reduce_sum
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.averages import working_dtype
from arrax.numpy_api.elementwise_makers import constant
from arrax.numpy_api.gathers import take_along_last
from arrax.numpy_api.logic import isnan
from arrax.numpy_api.operands import as_operand, canonical_axes, check_arraylike, check_arraylike_or_none
from arrax.numpy_api.reductions import static_axis, with_kept_axes
from arrax.xla.annotations import Axes, OptionalSharding
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

# Where the q-quantile of n sorted elements lies: at n q + alpha + q (1 - alpha - beta) - 1 (NumPy reference, ``quantile``).
_PLOTTING_POSITIONS: dict[str, tuple[float, float]] = {
    "linear": (1, 1), "lower": (1, 1), "higher": (1, 1), "midpoint": (1, 1), "nearest": (1, 1),
    "interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0), "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
METHODS = (*_PLOTTING_POSITIONS, "inverted_cdf")


def _rows(a: Array, axes: tuple[int, ...]) -> Array:
    """The reduced axes merged into the last one."""
    shape = typeof(a).shape
    kept = [i for i in range(len(shape)) if i not in axes]
    length = math.prod(shape[i] for i in axes)
    return shapes.reshape(axis_order.transpose(a, (*kept, *axes)), (*(shape[i] for i in kept), length))


def _positions(q: Array, count: ArrayLike, method: str) -> Array:
    """The places of quantiles among ``count`` sorted elements, as floating numbers within [0, count - 1]."""
    alpha, beta = _PLOTTING_POSITIONS[method]
    one, zero = constant(1, q), constant(0, q)
    last = arithmetic.sub(count, one)
    if (alpha, beta) == (1, 1):
        index = arithmetic.mul(q, last)
    else:
        offset = arithmetic.add(arithmetic.mul(count, q), arithmetic.mul(q, constant(1 - alpha - beta, q)))
        index = arithmetic.add(offset, constant(alpha - 1, q))
    return arithmetic.max_(arithmetic.min_(index, last), zero)


def _at(rows: Array, indices: Array) -> Array:
    """The elements at places of the rows' order."""
    return order_statistics(rows, convert(indices, np.int32))


def _between(rows: Array, q: Array, count: Any, method: str) -> Array:
    """The elements at the places of quantiles in the rows' order, or what lies between two of them.

    Args:
      rows: array of shape ``(..., n)``.
      q, count: arrays of shape ``(..., m)``.
    """
    if method == "inverted_cdf":
        index = arithmetic.sub(arithmetic.ceil(arithmetic.mul(q, count)), constant(1, q))
        index = arithmetic.max_(arithmetic.min_(index, arithmetic.sub(count, constant(1, q))), constant(0, q))
        return _at(rows, index)
    index = _positions(q, count, method)
    if method == "nearest":
        return _at(rows, rounding.round(index, rounding.RoundingMethod.TO_NEAREST_EVEN))
    low, high = arithmetic.floor(index), arithmetic.ceil(index)
    if method in ("lower", "higher"):
        return _at(rows, low if method == "lower" else high)
    axis, count = typeof(q).ndim - 1, typeof(q).shape[-1]
    both = _at(rows, concatenation.concatenate([low, high], axis))
    below = static_slicing.slice_in_dim(both, 0, count, axis=axis)
    above = static_slicing.slice_in_dim(both, count, 2 * count, axis=axis)
    if method == "midpoint":
        half = constant(0.5, below)
        return arithmetic.add(arithmetic.mul(below, half), arithmetic.mul(above, half))
    # Not place - low, which compilers may round together with the product that place is.
    share = convert(arithmetic.rem(index, constant(1, index)), typeof(below).dtype)
    gap = arithmetic.sub(above, below)
    # One product only: of two, compilers choose which one is rounded together with the sum. Infinities need both.
    mixed = arithmetic.add(below, arithmetic.mul(gap, share))
    ends = arithmetic.add(
        arithmetic.mul(below, arithmetic.sub(constant(1, share), share)), arithmetic.mul(above, share)
    )
    mixed = selection.select(arithmetic.is_finite(gap), mixed, ends)
    return selection.select(arithmetic.eq(share, constant(0, share)), below, mixed)  # 0 times infinity is not a number


def _weighted(rows: ArrayLike, weights: ArrayLike, q: ArrayLike) -> Array:
    """The least element at which the weights, summed in order, reach a share of their total."""
    rank = typeof(rows).ndim
    rows, weights = sorting.sort((rows, weights), rank - 1, True, 1)
    sums = cumulative.cumsum(weights, rank - 1)
    length = typeof(rows).shape[-1]
    total = static_slicing.slice_in_dim(sums, length - 1, length, axis=rank - 1)
    wanted = arithmetic.mul(q, operands.broadcast_to(total, typeof(q).shape))
    whole = (*typeof(q).shape, length)
    reached = shapes.broadcast_in_dim(sums, whole, (*range(rank - 1), rank))
    goal = shapes.broadcast_in_dim(wanted, whole, range(rank))
    index = reduce_sum(convert(arithmetic.lt(reached, goal), np.int32), (rank,))
    return take_along_last(rows, arithmetic.min_(index, np.int32(length - 1)))


@api(static=("name", "axis", "method", "keepdims", "ignore_nan"))
def _quantile(
    a: ArrayLike,
    q: ArrayLike,
    weights: Any,
    name: str,
    axis: Axes | None,
    method: str,
    keepdims: bool,
    ignore_nan: bool,
) -> Array:
    a = as_operand(a)
    own = typeof(a).dtype
    if dtypes.is_complex(own):
        raise ValueError(f"{name} does not support complex values, which have no order.")
    target = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(own))
    if weights is not None:
        weights = as_operand(weights)
        target = dtypes.promote_types(target, typeof(weights).dtype)
    x = convert(a, working_dtype(target))
    axes = canonical_axes(axis, typeof(x).ndim)
    rows = _rows(x, axes)
    *lead, length = typeof(rows).shape
    if length == 0:
        raise ValueError(f"{name}: there are no elements along axis {axis} of shape {typeof(a).shape}")
    q_shape = typeof(q).shape
    flat = shapes.reshape(convert(q, typeof(rows).dtype), (typeof(q).size,))
    broadcasted = shapes.broadcast_in_dim(flat, (*lead, typeof(flat).size), (len(lead),))
    found = _of_rows(rows, broadcasted, None if weights is None else _weight_rows(weights, x, axes), method, ignore_nan)
    out = shapes.reshape(axis_order.move_axis(found, len(lead), 0), (*q_shape, *lead))
    kept = [axis_ + len(q_shape) for axis_ in axes]
    return convert(with_kept_axes(out, kept, keepdims), target)


def _of_rows(rows: Array, q: Array, weights: Array | None, method: str, ignore_nan: bool) -> Array:
    rank, shape = typeof(rows).ndim, typeof(q).shape
    missing = isnan(rows)
    numbers = reduce_sum(convert(bitwise.bitwise_not(missing), typeof(q).dtype), (rank - 1,))
    count = shapes.broadcast_in_dim(numbers, shape, range(rank - 1))
    length = constant(typeof(rows).shape[-1], q)
    if weights is not None:
        zero = filled_arrays.full_like(weights, 0)
        found = _weighted(rows, selection.select(missing, zero, weights) if ignore_nan else weights, q)
    else:
        size = arithmetic.max_(count, constant(1, q)) if ignore_nan else filled_arrays.full(shape, length)
        found = _between(rows, q, size, method)
    bad = arithmetic.eq(count, constant(0, q)) if ignore_nan else arithmetic.ne(count, length)
    bad = bitwise.bitwise_or(bad, isnan(q))
    return selection.select(bad, filled_arrays.full_like(found, np.nan), found)


def _weight_rows(weights: Array, x: Array, axes: tuple[int, ...]) -> Array:
    weights = convert(weights, typeof(x).dtype)
    shape, own = typeof(x).shape, typeof(weights).shape
    if own != shape:
        if own != tuple(shape[i] for i in axes):
            raise ValueError(
                f"quantile: weights of shape {own} fit neither the array's shape {shape} nor its axes {axes}"
            )
        weights = shapes.broadcast_in_dim(weights, shape, axes)
    return _rows(weights, axes)


def _checked(
    name: str, a: ArrayLike, q: ArrayLike, axis: Axes | None, method: str, keepdims: bool, weights: OptionalArray, out: OptionalArray, overwrite_input: bool,
    ignore_nan: bool,
) -> Array:  # fmt: skip
    if overwrite_input or out is not None:
        raise ValueError(f"{name} does not support overwrite_input=True or out != None: arrays cannot be written to")
    check_arraylike(name, a, q)
    check_arraylike_or_none(name, weights)
    if dtypes.is_complex(typeof(q).dtype):
        raise TypeError(f"{name}: q must be real, got dtype {typeof(q).dtype}")
    if method not in METHODS:
        raise ValueError(f"{name}: method can only be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(
            f"{name}: {method} doesn't support weights. Only method 'inverted_cdf' supports weights."
        )
    return _quantile(a, q, weights, name, static_axis(axis), method, bool(keepdims), ignore_nan)


def quantile(
    a: ArrayLike, q: ArrayLike, axis: Axes | None = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, weights: OptionalArray = None,
) -> Array:  # fmt: skip
    """The values below which given shares of the elements over axes lie.

    Args:
      a: array of real numbers.
      q: array of shares, between 0 and 1.
      axis: axis, tuple of axes, or None for all.
      method: what counts where the place of the quantile is between two elements: ``"linear"``, ``"lower"``,
        ``"higher"``, ``"midpoint"``, ``"nearest"``, ``"inverted_cdf"``, and NumPy's other continuous ones.
      keepdims: keep the reduced axes, with length 1.
      weights: what each element counts; only with ``"inverted_cdf"``.
      out, overwrite_input: must be None and False: arrays cannot be written to.
    Returns: array with the axes of ``q``, then those of ``a`` that are not reduced; NaN where there is any.
    Raises:
      ValueError: an unknown method, complex values, no elements.
      NotImplementedError: weights with another method.
    Example: ``jnp.quantile(jnp.array([1., 2., 4.]), 0.75)`` is 3. Source: ``numpy.quantile``.
    """
    return _checked("quantile", a, q, axis, method, keepdims, weights, out, overwrite_input, False)


def nanquantile(
    a: ArrayLike, q: ArrayLike, axis: Axes | None = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, weights: OptionalArray = None,
) -> Array:  # fmt: skip
    """Quantiles of the elements that are not NaN. Args: as of ``quantile``.

    Example: ``jnp.nanquantile(jnp.array([1., jnp.nan, 3.]), 0.5)`` is 2. Source: ``numpy.nanquantile``.
    """
    return _checked("nanquantile", a, q, axis, method, keepdims, weights, out, overwrite_input, True)


@api()
def _hundredth(q: ArrayLike) -> Array:
    dtype = working_dtype(typeof(q).dtype)
    return arithmetic.div(convert(q, dtype), np.asarray(100).astype(dtype)[()])


def percentile(
    a: ArrayLike, q: ArrayLike, axis: Axes | None = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, weights: OptionalArray = None, out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """Quantiles with shares in percent. Args: as of ``quantile``.

    Example: ``jnp.percentile(jnp.array([1., 2., 4.]), 75)`` is 3. Source: ``numpy.percentile``.
    """
    check_arraylike("percentile", a, q)
    if out_sharding is not None:
        given: dict[str, Any] = {"axis": axis, "method": method, "keepdims": keepdims, "weights": weights}
        return slots.as_asked(out_sharding, functools.partial(percentile, **given), a, q)
    return _checked("percentile", a, _hundredth(q), axis, method, keepdims, weights, out, overwrite_input, False)


def nanpercentile(
    a: ArrayLike, q: ArrayLike, axis: Axes | None = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, weights: OptionalArray = None,
) -> Array:  # fmt: skip
    """Percentiles of the elements that are not NaN. Args: as of ``quantile``.

    Example: ``jnp.nanpercentile(jnp.array([1., jnp.nan, 3.]), 50)`` is 2. Source: ``numpy.nanpercentile``.
    """
    check_arraylike("nanpercentile", a, q)
    return _checked("nanpercentile", a, _hundredth(q), axis, method, keepdims, weights, out, overwrite_input, True)


@api(static=("axis", "out", "overwrite_input", "keepdims"), stepwise=True)
def median(
    a: ArrayLike, axis: Axes | None = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """The middle of the sorted elements over axes, or the mean of the two middle ones; NaN where there is any.

    Args:
      a: array of real numbers.
      axis: axis, tuple of axes, or None for all.
      keepdims: keep the reduced axes, with length 1.
      out, overwrite_input: must be None and False: arrays cannot be written to.
    Raises:
      ValueError: complex values, no elements.
    Example: ``jnp.median(jnp.array([3, 1, 2, 9]))`` is 2.5. Source: ``numpy.median``.
    """
    return _checked("median", a, 0.5, axis, "midpoint", keepdims, None, out, overwrite_input, False)


@api(static=("axis", "out", "overwrite_input", "keepdims"), stepwise=True)
def nanmedian(
    a: ArrayLike, axis: Axes | None = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """The median of the elements that are not NaN. Args: as of ``median``.

    Example: ``jnp.nanmedian(jnp.array([1., jnp.nan, 3.]))`` is 2. Source: ``numpy.nanmedian``.
    """
    return _checked("nanmedian", a, 0.5, axis, "midpoint", keepdims, None, out, overwrite_input, True)
