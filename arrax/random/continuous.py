"""Continuous distributions that are functions of uniform or normal numbers, moved and scaled at most by the user."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.dtypes import OptionalDType
from arrax.lax.arithmetic import abs_, sign
from arrax.lax.exponential import log, log1p, sqrt
from arrax.lax.reductions import reduce_sum
from arrax.lax.rounding import reduce_precision
from arrax.lax.trigonometric import tan
from arrax.random.parameters import checked_shape, float_dtype
from arrax.random.samplers import sampler
from arrax.random.uniforms import (
    in_rows,
    normal_values,
    scaled_uniform,
    select_where,
    unit_uniform,
)
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array

if TYPE_CHECKING:
    from arrax.random.samplers import Bits


@in_rows
def cauchy_values(bits: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Numbers of the Cauchy distribution."""
    limits = dtypes.finfo(dtype)
    angle = np.asarray(math.pi, dtype)[()] * (scaled_uniform(bits, shape, dtype, limits.eps, 1) - 0.5)
    if limits.bits < 32:  # near the pole all depends on how the angle is rounded, which the compiler may leave out
        angle = reduce_precision(angle, limits.nexp, limits.nmant)
    return tan(angle)


@sampler(static=("shape", "dtype"))
def _cauchy(bits: Bits, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return cauchy_values(bits, shape, dtype)


def cauchy(
    key: Array, shape: Shape = (), dtype: OptionalDType = None, *, out_sharding: OptionalSharding = None
) -> Array:
    """Numbers of the Cauchy distribution, density 1 / (pi (1 + x^2)).

    Args:
      key: a key.
      shape: the result's shape.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype.
    Example: ``arrax.random.cauchy(arrax.random.key(0), (3,))``.
    """
    return _cauchy(key, out_sharding, shape=checked_shape("cauchy", shape), dtype=float_dtype("cauchy", dtype))


@in_rows
def exponential_values(bits: Bits, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Numbers of the exponential distribution of rate 1."""
    return -log1p(-unit_uniform(bits, shape, dtype))


@sampler(static=("shape", "dtype"))
def _exponential(bits: Bits, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return exponential_values(bits, shape, dtype)


def exponential(
    key: Array, shape: Shape = (), dtype: OptionalDType = None, *, out_sharding: OptionalSharding = None
) -> Array:
    """Numbers of the exponential distribution of rate 1, density e^-x.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype.
    Example: ``arrax.random.exponential(arrax.random.key(0), (3,))``.
    """
    return _exponential(
        key, out_sharding, shape=checked_shape("exponential", shape), dtype=float_dtype("exponential", dtype)
    )


@in_rows
def laplace_values(bits: Bits, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Numbers of the Laplace distribution."""
    u = scaled_uniform(bits, shape, dtype, -1 + float(dtypes.finfo(dtype).epsneg), 1)
    return sign(u) * log1p(-abs_(u))


@sampler(static=("shape", "dtype"))
def _laplace(bits: Bits, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return laplace_values(bits, shape, dtype)


def laplace(
    key: Array, shape: Shape = (), dtype: OptionalDType = None, *, out_sharding: OptionalSharding = None
) -> Array:
    """Numbers of the Laplace distribution, density e^-|x| / 2.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype.
    Example: ``arrax.random.laplace(arrax.random.key(0), (3,))``.
    """
    return _laplace(key, out_sharding, shape=checked_shape("laplace", shape), dtype=float_dtype("laplace", dtype))


@in_rows
def logistic_values(bits: Bits, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Numbers of the logistic distribution."""
    u = scaled_uniform(bits, shape, dtype, dtypes.finfo(dtype).tiny, 1)
    return log(u) - log1p(-u)


@sampler(static=("shape", "dtype"))
def _logistic(bits: Bits, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return logistic_values(bits, shape, dtype)


def logistic(
    key: Array, shape: Shape = (), dtype: OptionalDType = None, *, out_sharding: OptionalSharding = None
) -> Array:
    """Numbers of the logistic distribution, whose distribution function is 1 / (1 + e^-x).

    Args:
      key: a key.
      shape: the result's shape.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype.
    Example: ``arrax.random.logistic(arrax.random.key(0), (3,))``.
    """
    return _logistic(key, out_sharding, shape=checked_shape("logistic", shape), dtype=float_dtype("logistic", dtype))


def maxwell_values(bits: Bits, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Lengths of vectors of three standard normal numbers."""
    parts = normal_values(bits, (*shape, 3), dtype)
    return sqrt(reduce_sum(parts * parts, (len(shape),)))


@sampler(static=("shape", "dtype"))
def _maxwell(bits: Bits, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return maxwell_values(bits, shape, dtype)


def maxwell(
    key: Array, shape: Shape = (), dtype: OptionalDType = None, *, out_sharding: OptionalSharding = None
) -> Array:
    """Numbers of the one-sided Maxwell distribution, density sqrt(2/pi) x^2 e^(-x^2/2) for x >= 0.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: floating dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype.
    Example: ``arrax.random.maxwell(arrax.random.key(0), (3,))``.
    """
    return _maxwell(key, out_sharding, shape=checked_shape("maxwell", shape), dtype=float_dtype("maxwell", dtype))


@in_rows
def gumbel_values(bits: Bits, shape: tuple[int, ...], dtype: np.dtype, mode: str) -> Array:
    """Gumbel numbers from one uniform number each (``low``), or from two or three, for a finer upper tail."""
    if mode != "low":
        return -log(-log1p(-fine_uniform(bits, shape, dtype, _DRAWS[mode])))
    return -log(-log(scaled_uniform(bits, shape, dtype, dtypes.finfo(dtype).tiny, 1)))


_DRAWS = {"high": 2, "highest": 3}


def fine_uniform(bits: Bits, shape: tuple[int, ...], dtype: np.dtype, draws: int) -> Array:
    """Positive numbers below 1, the lower half of them with ``draws`` times the usual number of random bits."""
    limits = dtypes.finfo(dtype)
    parts = scaled_uniform(bits, (draws, *shape), dtype, limits.tiny, 1)
    finer = parts[draws - 1]
    for number in range(draws - 2, -1, -1):
        finer = parts[number] + finer * np.asarray(2.0**-limits.nmant, dtype)[()]
    return select_where(parts[0] < np.asarray(0.5, dtype)[()], finer, parts[0])


@sampler(static=("shape", "dtype", "mode"))
def _gumbel(bits: Bits, *, shape: tuple[int, ...], dtype: np.dtype, mode: str) -> Array:
    return gumbel_values(bits, shape, dtype, mode)


def checked_mode(name: str, mode: str | None) -> str:
    """``low``, ``high`` or ``highest``; None is ``low``.

    Raises:
      ValueError: another mode.
    """
    if mode not in (None, "low", *_DRAWS):
        raise ValueError(f"{name}: mode must be 'low', 'high' or 'highest', got {mode!r}")
    return mode or "low"


def gumbel(
    key: Array,
    shape: Shape = (),
    dtype: OptionalDType = None,
    mode: str | None = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Numbers of the Gumbel distribution, density e^-(x + e^-x).

    Args:
      key: a key.
      shape: the result's shape.
      dtype: floating dtype.
      mode: ``"low"``, ``"high"`` or ``"highest"``: the latter two draw two and three times as many bits, so that rare,
        great values are as they should be.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype or mode.
    Example: ``arrax.random.gumbel(arrax.random.key(0), (3,))``.
    """
    return _gumbel(
        key,
        out_sharding,
        shape=checked_shape("gumbel", shape),
        dtype=float_dtype("gumbel", dtype),
        mode=checked_mode("gumbel", mode),
    )
