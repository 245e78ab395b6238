"""Samplers of continuous distributions with parameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from arrax import dtypes
from arrax.dtypes import OptionalDType
from arrax.lax.arithmetic import abs_, xla_div
from arrax.lax.barriers import stop_gradient
from arrax.lax.bitwise import nextafter
from arrax.lax.conversion import convert
from arrax.lax.exponential import exp, log, pow, sqrt
from arrax.lax.selection import clamp
from arrax.lax.special import erf, erf_inv
from arrax.numpy_api.operands import broadcast_to
from arrax.random.continuous import exponential_values, maxwell_values
from arrax.random.parameters import checked_shape, dtype_of, float_dtype, shape_of
from arrax.random.samplers import sampler
from arrax.random.uniforms import (
    normal_values,
    positive_uniform,
    random_signs,
    scaled_uniform,
    select_where,
    unit_uniform,
)
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.random.samplers import Bits


@sampler(static=("shape", "dtype"))
def _truncated_normal(
    bits: Bits, lower: ArrayLike, upper: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype
) -> Array:
    lower, upper = convert(lower, dtype), convert(upper, dtype)
    root = np.asarray(math.sqrt(2), dtype)[()]
    u = scaled_uniform(bits, shape, dtype, erf(xla_div(lower, root)), erf(xla_div(upper, root)))
    end = np.asarray(dtypes.finfo(dtype).max, dtype)[()]  # some small floats have no infinity
    smallest, largest = nextafter(stop_gradient(lower), end), nextafter(stop_gradient(upper), -end)
    return clamp(broadcast_to(smallest, shape), root * erf_inv(u), broadcast_to(largest, shape))


def truncated_normal(
    key: Array,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Standard normal numbers within bounds.

    Args:
      key: a key.
      lower, upper: bounds, broadcast to ``shape``.
      shape: the result's shape, by default that of the bounds together.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array of numbers in the open interval (lower, upper).
    Raises:
      ValueError: another dtype, or bounds that do not broadcast to the shape.
    Example: ``arrax.random.truncated_normal(arrax.random.key(0), -1, 1, (3,))``.
    """
    lengths = shape_of("truncated_normal", shape, lower, upper)
    return _truncated_normal(
        key, out_sharding, lower, upper, shape=lengths, dtype=float_dtype("truncated_normal", dtype)
    )


@sampler(static=("shape", "dtype"))
def _lognormal(bits: Bits, sigma: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return exp(normal_values(bits, shape, dtype) * broadcast_to(convert(sigma, dtype), shape))


def lognormal(
    key: Array,
    sigma: ArrayLike = 1.0,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers whose logarithms are normal with mean 0.

    Args:
      key: a key.
      sigma: standard deviation of the logarithm, broadcast to ``shape``.
      shape: the result's shape, by default ``sigma``'s.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or a ``sigma`` that does not broadcast to the shape.
    Example: ``arrax.random.lognormal(arrax.random.key(0), 0.5, (3,))``.
    """
    return _lognormal(
        key, out_sharding, sigma, shape=shape_of("lognormal", shape, sigma), dtype=dtype_of("lognormal", dtype, sigma)
    )


@sampler(static=("shape", "dtype"))
def _pareto(bits: Bits, b: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return exp(xla_div(exponential_values(bits, shape, dtype), broadcast_to(convert(b, dtype), shape)))


def pareto(
    key: Array,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of the Pareto distribution, density b / x^(b+1) for x >= 1.

    Args:
      key: a key.
      b: positive exponent, broadcast to ``shape``.
      shape: the result's shape, by default ``b``'s.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or a ``b`` that does not broadcast to the shape.
    Example: ``arrax.random.pareto(arrax.random.key(0), 2., (3,))``.
    """
    return _pareto(key, out_sharding, b, shape=shape_of("pareto", shape, b), dtype=dtype_of("pareto", dtype, b))


@sampler(static=("shape", "dtype"))
def _rayleigh(bits: Bits, scale: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    logarithm = log(positive_uniform(bits, shape, dtype))
    squares = abs_(logarithm * np.asarray(2, dtype)[()])  # of 1 it is 0, not -0
    return sqrt(squares) * convert(scale, dtype)


def rayleigh(
    key: Array,
    scale: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of the Rayleigh distribution, density x e^(-x^2 / (2 scale^2)) / scale^2.

    Args:
      key: a key.
      scale: positive number, broadcast to ``shape``.
      shape: the result's shape, by default ``scale``'s.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or a ``scale`` that does not broadcast to the shape.
    Example: ``arrax.random.rayleigh(arrax.random.key(0), 2., (3,))``.
    """
    return _rayleigh(
        key, out_sharding, scale, shape=shape_of("rayleigh", shape, scale), dtype=dtype_of("rayleigh", dtype, scale)
    )


@sampler(static=("shape", "dtype"))
def _triangular(
    bits: Bits, left: Array, mode: Array, right: Array, *, shape: tuple[int, ...], dtype: np.dtype
) -> Array:
    left, mode, right = (broadcast_to(convert(x, dtype), shape) for x in (left, mode, right))
    u = unit_uniform(bits, shape, dtype)
    rising = left + sqrt(u * (right - left) * (mode - left))
    falling = right - sqrt((1 - u) * (right - left) * (right - mode))
    return select_where(u < (mode - left) / (right - left), rising, falling)


def triangular(
    key: Array,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of the triangular distribution: the density rises from ``left`` to ``mode`` and falls to ``right``.

    Args:
      key: a key.
      left, mode, right: increasing numbers, broadcast to ``shape``.
      shape: the result's shape, by default that of the parameters together.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or parameters that do not broadcast to the shape.
    Example: ``arrax.random.triangular(arrax.random.key(0), 0., 1., 3., (3,))``.
    """
    lengths = shape_of("triangular", shape, left, mode, right)
    return _triangular(
        key, out_sharding, left, mode, right, shape=lengths, dtype=dtype_of("triangular", dtype, left, mode, right)
    )


@sampler(static=("shape", "dtype"))
def _wald(bits: Bits, mean: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    first, second = bits.split(2)
    mean = broadcast_to(convert(mean, dtype), shape)
    v, u = normal_values(first, shape, dtype), unit_uniform(second, shape, dtype)
    y = v * v
    square = mean * mean
    root = sqrt(4 * mean * y + square * (y * y))
    x = mean + square * y / 2 - mean / 2 * root
    return select_where(u <= mean / (mean + x), x, square / x)


def wald(
    key: Array,
    mean: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of the Wald (inverse Gaussian) distribution of shape parameter 1.

    Args:
      key: a key.
      mean: positive number, broadcast to ``shape``.
      shape: the result's shape, by default ``mean``'s.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype, or a ``mean`` that does not broadcast to the shape.
    Example: ``arrax.random.wald(arrax.random.key(0), 2., (3,))``. Source: Michael, Schucany and Haas, 1976.
    """
    return _wald(key, out_sharding, mean, shape=shape_of("wald", shape, mean), dtype=dtype_of("wald", dtype, mean))


@sampler(static=("shape", "dtype"))
def _weibull_min(
    bits: Bits, scale: ArrayLike, concentration: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype
) -> Array:
    scale, concentration = convert(scale, dtype), broadcast_to(convert(concentration, dtype), shape)
    return pow(exponential_values(bits, shape, dtype), 1 / concentration) * scale


def weibull_min(
    key: Array, scale: ArrayLike, concentration: ArrayLike, shape: Shape = (), dtype: OptionalDType = None
) -> Array:
    """Numbers of the Weibull distribution: the powers 1/concentration of exponential ones, times ``scale``.

    Args:
      key: a key.
      scale, concentration: positive numbers, broadcast to ``shape``.
      shape: the result's shape.
      dtype: floating dtype.
    Raises:
      ValueError: another dtype, or parameters that do not broadcast to the shape.
    Example: ``arrax.random.weibull_min(arrax.random.key(0), 2., 3., (3,))``.
    """
    lengths = shape_of("weibull_min", shape, scale, concentration)
    return _weibull_min(key, None, scale, concentration, shape=lengths, dtype=float_dtype("weibull_min", dtype))


@sampler(static=("shape", "dtype"))
def _double_sided_maxwell(
    bits: Bits, loc: ArrayLike, scale: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype
) -> Array:
    first, second = bits.split(2)
    lengths, signs = maxwell_values(first, shape, dtype), random_signs(second, shape, dtype)
    return signs * lengths * convert(scale, dtype) + convert(loc, dtype)


def double_sided_maxwell(
    key: Array, loc: ArrayLike, scale: ArrayLike, shape: Shape = (), dtype: OptionalDType = None
) -> Array:
    """Maxwell numbers with random signs: ``loc`` plus or minus ``scale`` times a Maxwell number.

    Args:
      key: a key.
      loc, scale: arrays that broadcast with each other.
      shape: number of samples; their own shape, that of the parameters together, stands behind it.
      dtype: floating dtype.
    Raises:
      ValueError: another dtype.
    Example: ``arrax.random.double_sided_maxwell(arrax.random.key(0), 0., 1., (3,))``.
    """
    own = shape_of("double_sided_maxwell", None, loc, scale)
    lengths = (*(checked_shape("double_sided_maxwell", shape) or own), *own)
    return _double_sided_maxwell(key, None, loc, scale, shape=lengths, dtype=float_dtype("double_sided_maxwell", dtype))
