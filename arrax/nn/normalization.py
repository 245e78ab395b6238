"""What is normed by sums: softmax and its logarithm, standardize."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax.core import config
from arrax.core.types import typeof
from arrax.dtypes.canonical import warn_user
from arrax.lax.conversion import convert
from arrax.numpy_api import averages, elementwise, reductions, selection
from arrax.numpy_api.api import api
from arrax.numpy_api.exponential_sums import shift_along
from arrax.numpy_api.named_axes import split_named
from arrax.numpy_api.operands import as_operand, check_arraylike, common_type, promote_inexact
from arrax.transforms.custom_jvp import custom_jvp
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


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
