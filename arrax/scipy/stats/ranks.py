"""Ranks, the most frequent values, and the standard error of the mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.interpreter import Tracer
from arrax.core.types import typeof
from arrax.numpy_api.api import api
from arrax.numpy_api.averages import count_of
from arrax.numpy_api.operands import canonical_axes, check_arraylike, own_promotion, promote_inexact
from arrax.xla.annotations import OneAxis
from arrax.xla.arrays import Array, ArrayLike

_METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """The most frequent values, and how often each occurs."""

    mode: Any
    count: Any


def _omits_nan(name: str, a: ArrayLike, nan_policy: str) -> bool:
    """Whether NaN are left out. By ``"raise"`` there are none, as far as can be known before the program runs."""
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"{name}: nan_policy must be 'propagate', 'omit' or 'raise', got {nan_policy!r}")
    if nan_policy == "raise":
        if isinstance(a, Tracer):
            raise NotImplementedError(f"{name}: nan_policy='raise' needs known values, which traced arrays don't have")
        if jnp.any(jnp.isnan(a)):
            raise ValueError(f"{name}: nan_policy is 'raise', and there are NaN")
    return nan_policy == "omit"


def _runs(ordered: Array, equal_nan: bool = False) -> tuple[Any, Any]:
    """Of sorted rows: at each place, where its run of equal values begins, and where it ends (exclusively)."""
    length = ordered.shape[-1]
    index = jnp.arange(length, dtype=np.int32)
    differs = ordered[..., 1:] != ordered[..., :-1]
    if equal_nan:
        differs &= ~(jnp.isnan(ordered[..., 1:]) & jnp.isnan(ordered[..., :-1]))
    edge = jnp.ones((*ordered.shape[:-1], 1), bool)
    first = jnp.concatenate([edge, differs], -1)
    last = jnp.concatenate([differs, edge], -1)
    axis = ordered.ndim - 1
    begin = lax.cummax(jnp.where(first, index, 0), axis=axis)
    end = lax.cummin(jnp.where(last, index + 1, length).astype(np.int32), axis=axis, reverse=True)
    return begin, end


# ---- mode -----------------------------------------------------------------------------------------------------------


def mode(a: ArrayLike, axis: OneAxis = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis, the least of several, and how often it occurs.

    Args:
      a: real array.
      axis: the axis, or None for all elements.
      nan_policy: ``"propagate"``: NaN counts as a value like others; ``"omit"``: NaN are left out, and of nothing the
        mode is NaN, its count 0; ``"raise"``: they are refused.
      keepdims: keep the axis, with length 1.
    Returns: ``ModeResult(mode, count)``.
    Raises:
      ValueError: another nan_policy, an axis out of bounds; NaN, by ``"raise"``.
      NotImplementedError: ``"raise"`` with traced values.
    Example: ``stats.mode(jnp.array([2, 1, 2])).mode`` is 2. Source: ``scipy.stats.mode``.
    """
    check_arraylike("mode", a)
    omit = _omits_nan("mode", a, nan_policy)
    return _mode(a, axis=axis, omit=omit, keepdims=bool(keepdims))


@api(static=("axis", "omit", "keepdims"))
def _mode(a: ArrayLike, axis: OneAxis, omit: bool, keepdims: bool) -> ModeResult:
    a = jnp.asarray(a)
    rank = a.ndim
    axis = None if axis is None else canonical_axes(axis, max(rank, 1))[0]  # a number is a vector of one element
    rows = a.reshape(-1) if axis is None or not rank else jnp.moveaxis(a, axis, -1)
    if rows.shape[-1] == 0:
        value = jnp.full(rows.shape[:-1], np.nan, jnp.result_type(rows, float))
        count = jnp.zeros(rows.shape[:-1], jnp.result_type(int))
    else:
        ordered = jnp.sort(rows, -1)
        begin, end = _runs(ordered, equal_nan=True)
        counts = jnp.where(jnp.isnan(ordered), 0, end - begin) if omit else end - begin
        best = jnp.argmax(counts, -1, keepdims=True)
        value = jnp.take_along_axis(ordered, best, -1)[..., 0]
        count = jnp.take_along_axis(counts, best, -1)[..., 0].astype(jnp.result_type(int))
    if keepdims:
        shape = (1,) * rank if axis is None else [1 if n == axis else m for n, m in enumerate(a.shape)]
        value, count = value.reshape(shape), count.reshape(shape)
    return ModeResult(value, count)


# ---- ranks ----------------------------------------------------------------------------------------------------------


@own_promotion
def rankdata(a: ArrayLike, method: str = "average", *, axis: OneAxis = None, nan_policy: str = "propagate") -> Array:
    """The ranks of the elements, from 1 on.

    Args:
      a: real array.
      method: which rank equal elements have: ``"average"``, ``"min"`` or ``"max"`` of their places; ``"dense"``: the same
        without gaps behind it; ``"ordinal"``: all another, in their order.
      axis: the axis, or None for all elements together.
      nan_policy: ``"propagate"``: where there is a NaN, all ranks are NaN; ``"omit"``: only that of the NaN, and others are
        ranked without it; ``"raise"``: NaN are refused.
    Returns: floating array of the shape of ``a``, or of one axis.
    Raises:
      ValueError: another method or nan_policy; NaN, by ``"raise"``.
      NotImplementedError: ``"raise"`` with traced values.
    Example: ``stats.rankdata(jnp.array([3., 1., 3.]))`` is ``[2.5, 1, 2.5]``. Source: ``scipy.stats.rankdata``.
    """
    check_arraylike("rankdata", a)
    if method not in _METHODS:
        raise ValueError(f"rankdata: method must be one of {', '.join(_METHODS)}, got {method!r}")
    omit = _omits_nan("rankdata", a, nan_policy)
    return _rankdata(a, method=method, axis=axis, omit=omit)


@api(static=("method", "axis", "omit"))
def _rankdata(a: ArrayLike, method: str, axis: OneAxis, omit: bool) -> Array:
    a = jnp.asarray(a)
    if axis is None:
        return _ranks_of_rows(a.reshape(-1), method, omit)
    index = canonical_axes(axis, a.ndim)[0]
    return jnp.moveaxis(_ranks_of_rows(jnp.moveaxis(a, index, -1), method, omit), -1, index)


def _ranks_of_rows(rows: Array, method: str, omit: bool) -> Array:
    dtype = jnp.result_type(float)  # whatever the values are: there are more ranks than small floats
    if rows.shape[-1] == 0:
        return rows.astype(dtype)
    order = jnp.argsort(rows, -1, stable=True)
    ordered = jnp.take_along_axis(rows, order, -1)
    ranks = _ranks_of_ordered(ordered, method).astype(dtype)
    back = jnp.argsort(order, -1, stable=True)
    ranks = jnp.take_along_axis(ranks, back, -1)
    if not jnp.issubdtype(rows.dtype, jnp.inexact):
        return ranks
    missing = jnp.isnan(rows)  # sorted behind all others, they change no rank
    return jnp.where(missing if omit else jnp.any(missing, -1, keepdims=True), np.nan, ranks)


def _ranks_of_ordered(ordered: Array, method: str) -> Array:
    if method == "ordinal":
        return jnp.broadcast_to(jnp.arange(1, ordered.shape[-1] + 1), ordered.shape)
    begin, end = _runs(ordered)
    if method == "dense":
        return jnp.cumsum((begin == jnp.arange(ordered.shape[-1])).astype(np.int32), -1)
    if method == "min":
        return begin + 1
    if method == "max":
        return end
    return (begin + 1 + end) * 0.5


# ---- the standard error ---------------------------------------------------------------------------------------------


def sem(
    a: ArrayLike, axis: OneAxis = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Array:
    """The standard error of the mean: the standard deviation over the square root of the number of values.

    Args:
      a: array.
      axis: the axis, or None for all elements.
      ddof: what is taken from the number of values for the variance.
      nan_policy: ``"propagate"``, ``"omit"`` to leave NaN out, or ``"raise"`` to refuse them.
      keepdims: keep the axis, with length 1.
    Raises:
      ValueError: another nan_policy; NaN, by ``"raise"``.
      NotImplementedError: ``"raise"`` with traced values.
    Example: ``stats.sem(jnp.array([1., 3.]))`` is 1. Source: ``scipy.stats.sem``.
    """
    check_arraylike("sem", a)
    omit = _omits_nan("sem", a, nan_policy)
    return _sem(a, ddof, axis=axis, omit=omit, keepdims=bool(keepdims))


@api(static=("axis", "omit", "keepdims"))
def _sem(a: Any, ddof: Any, axis: OneAxis, omit: bool, keepdims: bool) -> Array:
    (a,) = promote_inexact(a)
    a = jnp.asarray(a)
    if axis is None:
        a = a.reshape(-1) if not keepdims else a
    where = ~jnp.isnan(a) if omit else None
    count = count_of(a, where, canonical_axes(axis, a.ndim), typeof(jnp.real(a)).dtype)
    deviation = jnp.std(a if where is None else jnp.where(where, a, 0), axis, ddof=ddof, keepdims=keepdims, where=where)
    return deviation / jnp.sqrt(count.reshape(deviation.shape) if jnp.ndim(count) else count)
