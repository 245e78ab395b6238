"""Logarithms of sums of exponentials, and what keeps these from overflowing."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax.core.types import typeof
from arrax.lax.barriers import stop_gradient
from arrax.lax.reductions import max_for_shift
from arrax.numpy_api import elementwise, logic, manipulation, reductions, selection
from arrax.numpy_api.api import api
from arrax.numpy_api.averages import count_of
from arrax.numpy_api.named_axes import split_named
from arrax.numpy_api.operands import canonical_axes, check_arraylike, promote_inexact
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


def shift_along(x: Array, axis: Axes | None) -> Array:
    """The greatest elements along axes, which are kept: subtracted, they keep exponentials from overflowing."""
    if split_named(axis)[0]:
        return stop_gradient(reductions.max(stop_gradient(x), axis=axis, keepdims=True))
    shape = typeof(x).shape
    axes = canonical_axes(axis, len(shape))
    if not all(shape[dim] for dim in axes):
        # There are no elements whose exponentials could overflow.
        return reductions.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return stop_gradient(reductions.with_kept_axes(max_for_shift(x, axes), axes, True))


def logsumexp(
    a: ArrayLike,
    axis: Axes | None = None,
    b: OptionalArray = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: OptionalArray = None,
) -> Array | tuple[Array, Array]:
    """``log(sum(b exp(a)))`` along axes, without overflow.

    Args:
      a: array.
      axis: axis, tuple of axes, or None for all.
      b: weights.
      keepdims: keep the axes with length 1.
      return_sign: return the sign of the sum too.
      where: mask of the elements that take part.
    Example: ``nn.logsumexp(jnp.zeros(2))`` is log 2. Source: ``scipy.special.logsumexp``.
    """
    check_arraylike("logsumexp", a)
    reductions.check_mask("logsumexp", where)
    names, axis = split_named(axis)
    if names and b is None and where is None and not return_sign:
        return _named_logsumexp(a, axis, keepdims, names)
    value, sign = _logsumexp(
        a, b, where, axis=reductions.static_axis(axis), keepdims=bool(keepdims), signed=bool(return_sign)
    )
    return (value, sign) if return_sign else value


@api(static=("axis", "keepdims", "signed"))
def _logsumexp(
    a: ArrayLike, b: Any, where: OptionalArray, axis: Any, keepdims: bool, signed: bool = False
) -> tuple[Any, Any]:
    """The logarithm of the sum, NaN for negative ones; or that of its absolute value; and the sign of the sum."""
    if b is None or dtypes.is_complex(typeof(b).dtype):
        (a,) = promote_inexact(a)
    else:
        a, b = promote_inexact(a, b)
    shown = a if b is None else selection.where(b != 0, a, -np.inf)
    shown = shown if where is None else selection.where(where, shown, -np.inf)
    real = elementwise.real(shown)
    high = shift_along(real, axis)
    high = selection.where(logic.isfinite(high), high, 0)
    shift = lax.convert_element_type(high, typeof(shown).dtype)  # of complex numbers, the real part
    terms = elementwise.exp(shown - shift)
    terms = terms if b is None else b * terms
    total = reductions.sum(terms, axis=axis, keepdims=True)
    sign = elementwise.sign(total)
    out = elementwise.log(elementwise.abs(total)) + high if signed else elementwise.log(total) + shift
    if not keepdims:
        kept = tuple(range(out.ndim)) if axis is None else axis
        out, sign = manipulation.squeeze(out, kept), manipulation.squeeze(sign, kept)
    return out, sign


def _named_logsumexp(a: Any, axis: Any, keepdims: bool, names: tuple[Any, ...]) -> Any:
    top = stop_gradient(lax.pmax(reductions.max(a, axis, keepdims=True), names))
    total = lax.psum(reductions.sum(elementwise.exp(a - top), axis, keepdims=True), names)
    out = elementwise.log(total) + top
    return out if keepdims or axis == () else manipulation.squeeze(out, axis)


def logmeanexp(x: ArrayLike, axis: Axes | None = None, where: OptionalArray = None, keepdims: bool = False) -> Array:
    """``log(mean(exp(x)))`` along axes, without overflow.

    Args:
      x: array.
      axis: axis, tuple of axes, or None for all.
      where: mask of the elements that take part.
      keepdims: keep the axes with length 1.
    Example: ``nn.logmeanexp(jnp.ones(3))`` is 1.
    """
    check_arraylike("logmeanexp", x)
    reductions.check_mask("logmeanexp", where)
    return _logmeanexp(x, where, axis=reductions.static_axis(axis), keepdims=bool(keepdims))


@api(static=("axis", "keepdims"))
def _logmeanexp(x: ArrayLike, where: OptionalArray, axis: Axes | None, keepdims: bool) -> Array:
    (x,) = promote_inexact(x)
    total, _ = _logsumexp(x, None, where, axis=axis, keepdims=True)
    axes = canonical_axes(axis, typeof(x).ndim)
    count = lax.convert_element_type(count_of(x, where, axes, np.float32), typeof(total).dtype)
    mean = total - elementwise.log(count if where is None else manipulation.expand_dims(count, axes))
    return mean if keepdims else manipulation.squeeze(mean, axes)
