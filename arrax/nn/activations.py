"""Activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax.core.calls import as_index
from arrax.core.lengths import is_below
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.dtypes.canonical import warn_user
from arrax.lax.barriers import stop_gradient
from arrax.lax.shape_arguments import canonical_axis
from arrax.numpy_api import elementwise, logic, manipulation, selection
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.named_axes import split_named
from arrax.numpy_api.operands import (
    as_operand,
    canonical_axes,
    check_arraylike,
    is_arraylike,
    known_size,
    promote_inexact,
)
from arrax.transforms.custom_jvp import custom_jvp
from arrax.xla.arrays import Array, ArrayLike


def _relu_value(x: ArrayLike) -> Array:
    return elementwise.maximum(x, 0)


_relu_rule = custom_jvp(_relu_value)


def _relu_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (t,) = primals, tangents
    return _relu_rule(x), selection.where(logic.greater(x, 0), t, lax.full_like(t, 0))


_relu_rule.defjvp(_relu_jvp)


@api()
def relu(x: ArrayLike) -> Array:
    """``max(x, 0)``, with derivative 0 at 0.

    Args:
      x: array of real numbers, or a number.
    Example: ``nn.relu(-1.)`` is 0.
    """
    check_arraylike("relu", x)
    return _relu_rule(x)


@api()
def relu6(x: ArrayLike) -> Array:
    """``min(max(x, 0), 6)``, with derivative 0 at 0 and at 6.

    Args:
      x: array of real numbers, or a number.
    Example: ``nn.relu6(7.)`` is 6.
    """
    return selection.where(logic.greater_equal(x, 6.0), 6.0, _relu_rule(x))


@api()
def sigmoid(x: ArrayLike) -> Array:
    """``1 / (1 + exp(-x))``.

    Args:
      x: array of floats, or a number.
    Example: ``nn.sigmoid(0.)`` is 0.5.
    """
    check_arraylike("sigmoid", x)
    (x,) = promote_inexact(x)
    return lax.logistic(x)


@api()
def softplus(x: ArrayLike) -> Array:
    """``log(1 + exp(x))``.

    Args:
      x: array of floats, or a number.
    Example: ``nn.softplus(0.)`` is log 2.
    """
    return elementwise.logaddexp(x, 0)


def narrowed(function: Callable[..., Any], *operands: ArrayLike) -> Array:
    """A function of operands of one dtype, by way of float32 if these are floats of less than 32 bits: rounded once."""
    dtype = typeof(operands[0]).dtype
    if not dtypes.is_float(dtype) or dtypes.itemsize_bits(dtype) >= 32:
        return function(*operands)
    return lax.convert_element_type(function(*(lax.convert_element_type(x, np.float32) for x in operands)), dtype)


@api()
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """``(x + sqrt(x^2 + b)) / 2``.

    Args:
      x: array of floats, or a number.
      b: number that says how smooth it is, or array that broadcasts.
    Example: ``nn.squareplus(0.)`` is 1.
    """
    if typeof(x).dtype == np.bool_:  # which is a float beside a Python number, too
        (x,) = promote_inexact(x)
    return narrowed(_squareplus, *promote_inexact(x, b))


def _squareplus(x: Array, b: ArrayLike) -> Array:
    unit = stop_gradient(selection.clip(elementwise.abs(x), 1, float(dtypes.finfo(typeof(x).dtype).max)))
    if dtypes.is_complex(typeof(x).dtype):
        unit = lax.convert_element_type(unit, typeof(x).dtype)
    root = unit * elementwise.sqrt(elementwise.square(x / unit) + b / unit / unit)  # squares of x / unit don't overflow
    negative = logic.less(x, 0)
    total = root + selection.where(negative, -x, x)
    rest = 0.5 * b / selection.where(logic.equal(total, 0), 1, total)  # beside the ramp; its derivatives do not cancel
    return selection.where(negative, rest, x + rest)


@api()
def soft_sign(x: ArrayLike) -> Array:
    """``x / (|x| + 1)``.

    Args:
      x: array of floats, or a number.
    Example: ``nn.soft_sign(1.)`` is 0.5.
    """
    x = as_operand(x)
    return _soft_sign_rule(x) if dtypes.is_float(typeof(x).dtype) else _soft_sign_value(x)


def _soft_sign_value(x: Array) -> Array:
    return x / (elementwise.abs(x) + 1)


_soft_sign_rule = custom_jvp(_soft_sign_value)


@_soft_sign_rule.defjvp
def _soft_sign_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (t,) = primals, tangents
    inverse = 1 / (elementwise.abs(x) + 1)
    return _soft_sign_rule(x), t * (inverse * inverse)  # the quotient's slope is a difference of nearly equal terms


@api()
def sparse_plus(x: ArrayLike) -> Array:
    """0 below -1, x above 1, ``(x + 1)^2 / 4`` between.

    Args:
      x: array of floats, or a number.
    Example: ``nn.sparse_plus(0.)`` is 0.25.
    """
    x = as_operand(x)
    below, above = logic.less_equal(x, -1.0), logic.greater_equal(x, 1.0)
    outside = below | above  # where NaN is not, whose derivatives are those of the middle
    middle = elementwise.square(selection.where(outside, 0.0, x) + 1.0) / 4
    return selection.where(below, 0.0, selection.where(above, x, middle))


@api()
def sparse_sigmoid(x: ArrayLike) -> Array:
    """0 below -1, 1 above 1, ``(x + 1) / 2`` between.

    Args:
      x: array of floats, or a number.
    Example: ``nn.sparse_sigmoid(0.)`` is 0.5.
    """
    return 0.5 * selection.clip(x + 1.0, 0.0, 2.0)


@api()
def silu(x: ArrayLike) -> Array:
    """``x sigmoid(x)``.

    Args:
      x: array of floats, or a number.
    Example: ``nn.silu(0.)`` is 0.
    """
    (x,) = promote_inexact(x)
    return x * sigmoid(x)


swish = silu


@api()
def mish(x: ArrayLike) -> Array:
    """``x tanh(softplus(x))``.

    Args:
      x: array of floats, or a number.
    Example: ``nn.mish(0.)`` is 0.
    """
    (x,) = promote_inexact(x)
    return narrowed(_mish, x)


def _mish_parts(x: Array) -> tuple[Array, Array, Array, Array]:
    """(whether x is positive, p, n, d) with tanh(log(1 + e^x)) = n / d, in powers p of e that don't overflow."""
    positive = logic.greater(x, 0)
    power = elementwise.exp(selection.where(positive, -x, x))
    numerator = selection.where(positive, 1 + 2 * power, power * (power + 2))
    return positive, power, numerator, numerator + selection.where(positive, 2 * power * power, 2)


@custom_jvp
def _mish(x: Array) -> Array:
    _, _, numerator, denominator = _mish_parts(x)
    return x * (numerator / denominator)


@_mish.defjvp
def _mish_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (t,) = primals, tangents
    positive, power, numerator, denominator = _mish_parts(x)
    share = 1 / denominator
    bend = 4 * (1 + power) * selection.where(positive, power * power, power) * share
    return _mish(x), t * ((numerator + x * bend) * share)


@api()
def log_sigmoid(x: ArrayLike) -> Array:
    """``log(sigmoid(x))``.

    Args:
      x: array of floats, or a number.
    Example: ``nn.log_sigmoid(0.)`` is -log 2.
    """
    (x,) = promote_inexact(x)
    return -softplus(-x)


@api()
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x above 0, ``alpha (exp(x) - 1)`` below.

    Args:
      x: array of floats, or a number.
      alpha: number, or array that broadcasts.
    Example: ``nn.elu(1.)`` is 1.
    """
    x = as_operand(x)
    positive = logic.greater(x, 0)
    safe = selection.where(positive, 0.0, x)
    return selection.where(positive, x, alpha * elementwise.expm1(safe))


@api()
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """x above 0, ``negative_slope x`` below.

    Args:
      x: array of floats, or a number.
      negative_slope: number, or array that broadcasts.
    Example: ``nn.leaky_relu(-1.)`` is -0.01.
    """
    x = as_operand(x)
    return selection.where(logic.greater_equal(x, 0), x, negative_slope * x)


@api()
def hard_tanh(x: ArrayLike) -> Array:
    """x limited to [-1, 1].

    Args:
      x: array of floats, or a number.
    Example: ``nn.hard_tanh(2.)`` is 1.
    """
    x = as_operand(x)
    return selection.where(logic.greater(x, 1), 1, selection.where(logic.less(x, -1), -1, x))


@api()
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """``max(x, 0) + alpha min(exp(x / alpha) - 1, 0)``.

    Args:
      x: array of floats, or a number.
      alpha: positive number, or array that broadcasts.
    Example: ``nn.celu(1.)`` is 1.
    """
    return elementwise.maximum(x, 0.0) + alpha * elementwise.expm1(elementwise.minimum(x, 0.0) / alpha)


@api()
def selu(x: ArrayLike) -> Array:
    """Scaled elu with self-normalizing constants. Source: Klambauer et al., "Self-Normalizing Neural Networks".

    Args:
      x: array of floats, or a number.
    Example: ``nn.selu(1.)`` is 1.0507.
    """
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


@api(static=("approximate",))
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """``x Phi(x)`` with the normal distribution function, or its tanh approximation. Source: Hendrycks & Gimpel.

    Args:
      x: array of floats, or a number.
      approximate: whether to take the approximation by tanh.
    Example: ``nn.gelu(0.)`` is 0.
    """
    (x,) = promote_inexact(x)
    return narrowed(_gelu_by_tanh if approximate else _gelu, x)


def _gelu(x: Array) -> Array:
    scale = np.asarray(math.sqrt(0.5), typeof(x).dtype)[()]
    return 0.5 * x * lax.erfc(-x * scale)


def _gelu_by_tanh(x: Array) -> Array:
    """By the sigmoid of twice the angle, (1 + tanh u) / 2, which keeps its digits where tanh is near -1."""
    twice, square = np.asarray(math.sqrt(8 / math.pi), typeof(x).dtype)[()], x * x
    if not dtypes.is_complex(typeof(x).dtype):
        square = elementwise.minimum(square, 900)  # beyond, the sigmoid is 0 or 1, and slopes stay finite
    return x * lax.logistic(x * (twice + (0.044715 * twice) * square))


@api(static=("axis",))
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half along an axis times the sigmoid of the second half.

    Args:
      x: array whose axis has an even length.
      axis: the axis that is cut in two.
    Raises:
      ValueError: an odd length, or an axis that is out of bounds.
    Example: ``nn.glu(jnp.ones(4)).shape`` is ``(2,)``.
    """
    check_arraylike("glu", x)
    axis = canonical_axis(axis, typeof(x).ndim)
    size = typeof(x).shape[axis]
    if size % 2:
        raise ValueError(f"glu: axis size must be divisible by 2, got {size}")
    first = lax.slice_in_dim(x, 0, size // 2, axis=axis)
    return first * sigmoid(lax.slice_in_dim(x, size // 2, size, axis=axis))


@api()
def hard_sigmoid(x: ArrayLike) -> Array:
    """``relu6(x + 3) / 6``.

    Args:
      x: array of floats, or a number.
    Example: ``nn.hard_sigmoid(0.)`` is 0.5.
    """
    return relu6(x + 3.0) / 6.0


@api()
def hard_silu(x: ArrayLike) -> Array:
    """``x relu6(x + 3) / 6``.

    Args:
      x: array of floats, or a number.
    Example: ``nn.hard_silu(3.)`` is 3.
    """
    return hard_sigmoid(x) * x


hard_swish = hard_silu


@api()
def identity(x: ArrayLike) -> Array:
    """The value itself.

    Args:
      x: array or number.
    Example: ``nn.identity(2.)`` is 2.
    """
    check_arraylike("identity", x)
    return as_operand(x)


def one_hot(x: ArrayLike, num_classes: int, *, dtype: OptionalDType = None, axis: int = -1) -> Array:
    """Vectors with 1 at the given positions, 0 elsewhere; positions out of range give zeros.

    Args:
      x: integer array, or a list of integers.
      num_classes: length of the vectors.
      dtype: by default float32.
      axis: axis of the result that holds the vectors.
    Raises:
      TypeError: ``num_classes`` that is not an integer.
      ValueError: an axis out of range.
    Example: ``nn.one_hot(jnp.array([0, 2]), 3)``.
    """
    chosen = dtypes.canonicalize_dtype(np.float64) if dtype is None else dtypes.check_user_dtype("one_hot", dtype)
    x = x if is_arraylike(x) else asarray(x)
    if not isinstance(x, int) and dtypes.is_inexact(typeof(x).dtype):
        warn_user(
            f"one_hot: x should hold integers, got dtype {typeof(x).dtype}: fractions have no place and give zeros.",
            DeprecationWarning,
        )
    count = known_size(num_classes, "nn.one_hot", "num_classes")
    names, axis = split_named(axis)
    if names:  # each member of the named axis has its own class
        return lax.convert_element_type(logic.equal(x, lax.axis_index(names)), chosen)
    return _one_hot(x, num_classes=count, dtype=chosen, axis=as_index(axis))


@api(static=("num_classes", "dtype", "axis"))
def _one_hot(x: ArrayLike, num_classes: int, dtype: np.dtype, axis: int) -> Array:
    check_arraylike("one_hot", x)
    rank = typeof(x).ndim + 1
    (index,) = canonical_axes(axis, rank)
    wide = manipulation.expand_dims(x, index)
    shape = [1] * rank
    shape[index] = num_classes
    own = typeof(x).dtype if not isinstance(x, int) else np.dtype(np.int32)
    if own.itemsize < 4 and dtypes.is_integer(own):
        if not is_below(num_classes, dtypes.iinfo(own).max + 1, False):  # classes must not wrap around
            own = np.dtype(np.int32)
    elif own.itemsize < 4 and dtypes.is_float(own):  # nor be rounded to each other
        own = np.dtype(np.float32)
    classes = lax.reshape(lax.iota(own, num_classes), shape)
    return lax.convert_element_type(logic.equal(lax.convert_element_type(wide, own), classes), dtype)


@api()
def log1mexp(x: ArrayLike) -> Array:
    """``log(1 - exp(-x))``, accurately for all positive x.

    Args:
      x: array of positive floats, or a number.
    Example: ``nn.log1mexp(1.)`` is -0.4587.
    """
    (x,) = promote_inexact(x)
    near = logic.less(x, math.log(2))
    small = elementwise.log(-elementwise.expm1(-selection.where(near, x, 1)))
    return selection.where(near, small, elementwise.log1p(-elementwise.exp(-selection.where(near, 1, x))))
