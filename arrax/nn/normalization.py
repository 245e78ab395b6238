"""Sums of exponentials and what is normed by sums: softmax and its logarithm, logsumexp, standardize."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax.core import config
from arrax.core.types import typeof
from arrax.dtypes.canonical import warn_user
from arrax.lax.barriers import stop_gradient
from arrax.lax.conversion import convert
from arrax.lax.reductions import max_for_shift
from arrax.numpy_api import averages, elementwise, logic, manipulation, reductions, selection
from arrax.numpy_api.api import api
from arrax.numpy_api.averages import count_of
from arrax.numpy_api.named_axes import split_named
from arrax.numpy_api.operands import as_operand, canonical_axes, check_arraylike, common_type, promote_inexact
from arrax.transforms.custom_jvp import custom_jvp
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


def _note_initial(name: str, initial: OptionalArray) -> None:
    if initial is not None:
        warn_user(
            f"{name}: the argument initial is deprecated: it has no effect, empty inputs need none", DeprecationWarning
        )


def softmax(x: ArrayLike, axis: Any = -1, where: OptionalArray = None, initial: OptionalArray = None) -> Array:
    """``exp(x) / sum(exp(x))`` along an axis.

    Args:
      x: array.
      axis: axis, tuple of axes, or None for all.
      where: mask of the elements that take part; others give 0.
      initial: deprecated, has no effect.
    Example: ``nn.softmax(jnp.zeros(2))`` is ``[0.5, 0.5]``.
    """
    check_arraylike("softmax", x)
    reductions.check_mask("softmax", where)
    _note_initial("softmax", initial)
    if split_named(axis)[0]:
        return _softmax_value(x, where, axis)
    return _softmax(x, where, axis=reductions.static_axis(axis), careful=config.softmax_custom_jvp.cell.value)


def _softmax_value(x: ArrayLike, where: Any, axis: Axes | None) -> Array:
    (x,) = promote_inexact(x)
    shown = x if where is None else selection.where(where, x, -np.inf)
    shifted = elementwise.exp(shown - shift_along(shown, axis))
    result = shifted / reductions.sum(shifted, axis=axis, keepdims=True)
    return result if where is None else selection.where(where, result, 0)


@api(static=("axis", "careful"))
def _softmax(x: ArrayLike, where: Any, axis: Axes | None, careful: bool) -> Array:
    if not careful:
        return _softmax_value(x, where, axis)
    rule = custom_jvp(lambda value: _softmax_value(value, where, axis))

    def jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
        (value,), (t,) = primals, tangents
        y = _softmax_value(value, where, axis)
        return y, y * (t - reductions.sum(y * t, axis=axis, keepdims=True))

    rule.defjvp(jvp)
    (x,) = promote_inexact(x)
    return rule(x) if where is None else _softmax_value(x, where, axis)


def log_softmax(x: ArrayLike, axis: Any = -1, where: OptionalArray = None, initial: OptionalArray = None) -> Array:
    """``log(softmax(x))`` along an axis, without overflow. Args: as of ``softmax``.

    Example: ``nn.log_softmax(jnp.zeros(2))`` is ``[-0.6931, -0.6931]``.
    """
    check_arraylike("log_softmax", x)
    reductions.check_mask("log_softmax", where)
    _note_initial("log_softmax", initial)
    if split_named(axis)[0]:
        return _log_softmax_value(x, where, axis)
    return _log_softmax(x, where, axis=reductions.static_axis(axis))


def _log_softmax_value(x: ArrayLike, where: Any, axis: Axes | None) -> Array:
    (x,) = promote_inexact(x)
    shown = x if where is None else selection.where(where, x, -np.inf)
    shifted = shown - shift_along(shown, axis)
    total = elementwise.log(reductions.sum(elementwise.exp(shifted), axis=axis, keepdims=True))
    result = shifted - total
    return result if where is None else selection.where(where, result, -np.inf)


_log_softmax = api(static=("axis",))(_log_softmax_value)


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


def standardize(
    x: ArrayLike, axis: Any = -1, mean: OptionalArray = None, variance: Any = None, epsilon: ArrayLike = 1e-5, where: OptionalArray = None, *,
    algorithm: str = "fast",
) -> Array:  # fmt: skip
    """``(x - mean) / sqrt(variance + epsilon)`` along an axis; small floats are rounded once, at the end.

    Args:
      x: array.
      axis: axis, tuple of axes, or None for all.
      mean, variance: by default those of ``x``.
      epsilon: what is added to the variance.
      where: mask of the elements that count for the mean and the variance.
      algorithm: what the variance is beside a given mean: ``"fast"``: the mean of the squares less the square of the given
        mean, at least 0; ``"stable"``: the mean of the squared differences from it. Without a given mean both are the
        latter, which does not cancel.
    Raises:
      ValueError: another algorithm.

    Example: ``nn.standardize(jnp.array([1., 3.]))`` is ``[-1, 1]``.
    """
    check_arraylike("standardize", x)
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: algorithm must be 'stable' or 'fast', got {algorithm!r}")
    if split_named(axis)[0]:
        return _standardized(x, mean, variance, epsilon, where, axis, about_mean=algorithm == "stable")
    return _standardize(
        x, mean, variance, epsilon, where, axis=reductions.static_axis(axis), about_mean=algorithm == "stable"
    )


def _standardized(
    x: Any, mean: Any, variance: Any, epsilon: Any, where: Any, axis: Axes | None, about_mean: bool
) -> Array:
    if mean is None or variance is None:
        (x,) = promote_inexact(x)
    result, weak = common_type([operand for operand in (x, mean, variance, epsilon) if operand is not None])
    x, mean, variance, epsilon = (
        None if operand is None else _widened(operand) for operand in (x, mean, variance, epsilon)
    )
    if variance is None and mean is not None and not about_mean and not dtypes.is_complex(result):
        squares = averages.mean(elementwise.square(x), axis=axis, keepdims=True, where=where)
        variance = elementwise.maximum(squares - elementwise.square(mean), 0)
    if mean is None:
        mean = averages.mean(x, axis=axis, keepdims=True, where=where)
    if variance is None:
        variance = averages.mean(elementwise.square(x - mean), axis=axis, keepdims=True, where=where)
    return convert((x - mean) * lax.rsqrt(variance + epsilon), result, weak)


_standardize = api(static=("axis", "about_mean"))(_standardized)


def _widened(x: ArrayLike) -> Any:
    """Floats of less than 32 bits as float32, in which their squares and sums neither overflow nor lose digits."""
    dtype = typeof(x).dtype
    small = dtypes.is_float(dtype) and dtypes.itemsize_bits(dtype) < 32
    return lax.convert_element_type(x, np.float32) if small else as_operand(x)
