"""Uniform, normal and integer samplers: the ground on which other distributions stand."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.types import typeof
from arrax.dtypes import DTypeLike, OptionalDType
from arrax.lax import arithmetic, bitwise
from arrax.lax.bitcast import bitcast_convert_type
from arrax.lax.conversion import convert
from arrax.lax.selection import select
from arrax.lax.shape_slots import broadcast_to_shape
from arrax.lax.shapes import broadcast_shapes, reshape
from arrax.lax.special import erf_inv
from arrax.numpy_api.operands import broadcast_to
from arrax.random.materialized import has_short_rows, materialized
from arrax.random.parameters import check_broadcast, checked_shape, float_dtype, type_of
from arrax.random.samplers import sampler, split_in_two
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.random.samplers import Bits


def in_rows(values: Callable[..., Any]) -> Callable[..., Any]:
    """Let ``values(bits, shape, dtype, …)`` work on a vector and shape the result: short rows are slow on CPUs.

    Where generation is partitionable, numbers are made in the array's own shape, so that each device makes its own.
    """

    @functools.wraps(values)
    def shaped(bits_of: Bits, shape: tuple[int, ...], dtype: np.dtype, *rest: Any) -> Array:
        if len(shape) < 2 or config.threefry_partitionable.cell.value:
            return values(bits_of, shape, dtype, *rest)
        vector = values(bits_of, (math.prod(shape),), dtype, *rest)
        return reshape(materialized(vector) if has_short_rows(shape) else vector, shape)

    return shaped


@in_rows
def unit_uniform(bits_of: Bits, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Numbers in [0, 1): random mantissas under the exponent of 1, minus 1."""
    limits = dtypes.finfo(dtype)
    width, mantissa = limits.bits, limits.nmant
    drawn = 8 if mantissa < 8 else width
    bits = bits_of(drawn, shape)
    unsigned = np.dtype(f"uint{width}")
    if drawn != width:
        bits = convert(bits, unsigned)
    one = np.ones((), dtype).view(unsigned)[()]
    shifted = bitwise.shift_right_logical(bits, unsigned.type(drawn - mantissa))
    return arithmetic.sub(bitcast_convert_type(bitwise.bitwise_or(shifted, one), dtype), np.ones((), dtype)[()])


def positive_uniform(bits_of: Bits, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Numbers in (0, 1], whose logarithms are finite: those of ``unit_uniform``, with 1 in the place of 0."""
    u = unit_uniform(bits_of, shape, dtype)
    return select_where(arithmetic.eq(u, np.zeros((), dtype)[()]), np.ones((), dtype)[()], u)


def scaled_uniform(bits_of: Bits, shape: tuple[int, ...], dtype: np.dtype, minval: ArrayLike, maxval: ArrayLike) -> Any:
    """Numbers in [minval, maxval)."""
    low, high = convert(minval, dtype), convert(maxval, dtype)
    if not typeof(low).ndim and not typeof(high).ndim:
        return between(bits_of, shape, dtype, low, high)
    return _between(bits_of, shape, dtype, low, high)


def _between(bits_of: Bits, shape: tuple[int, ...], dtype: np.dtype, low: Array, high: Array) -> Array:
    """Numbers in [low, high) for bounds of the dtype."""
    floats = unit_uniform(bits_of, shape, dtype)
    if typeof(low).shape != typeof(high).shape:
        low, high = broadcast_to(low, shape), broadcast_to(high, shape)
    span = arithmetic.sub(high, low)
    low, span = broadcast_to(low, shape), broadcast_to(span, shape)
    return arithmetic.max_(low, arithmetic.add(arithmetic.mul(floats, span), low))


between = in_rows(_between)
"""Numbers in [low, high) for scalar bounds of the dtype: ``between(bits_of, shape, dtype, low, high)``."""


@sampler(static=("shape", "dtype"))
def _uniform(bits_of: Bits, minval: ArrayLike, maxval: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return scaled_uniform(bits_of, shape, dtype, minval, maxval)


@sampler(static=("shape", "dtype"), name="uniform")
def _standard_uniform(bits_of: Bits, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return unit_uniform(bits_of, shape, dtype)


def uniform(
    key: Array,
    shape: Shape = (),
    dtype: OptionalDType = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Uniformly distributed numbers in [minval, maxval).

    Args:
      key: a key.
      shape: the result's shape.
      dtype: floating dtype.
      minval, maxval: bounds, broadcast to ``shape``. Where that is ``()``, bounds of one element give the result their shape.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: a dtype that is not floating.
    Example: ``arrax.random.uniform(arrax.random.key(0), (3,))``.
    """
    lengths, chosen = checked_shape("uniform", shape), float_dtype("uniform", dtype)
    if type(minval) is type(maxval) is float and minval == 0 and maxval == 1:
        return _standard_uniform(key, out_sharding, shape=lengths, dtype=chosen)
    lengths = lengths or _single(minval, maxval)
    check_broadcast("uniform", lengths, minval, maxval)
    return _uniform(key, out_sharding, minval, maxval, shape=lengths, dtype=chosen)


def _single(*bounds: ArrayLike) -> tuple[int, ...]:
    """The shape of a number between bounds: theirs, if they have one element, as libraries give them."""
    shapes = {type_of("uniform", "a bound", bound).shape for bound in bounds} - {()}
    shape = shapes.pop() if len(shapes) == 1 else ()
    return shape if all(length == 1 for length in shape) else ()


@in_rows
def normal_values(bits_of: Bits, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Standard normal numbers, by the inverse of the distribution function."""
    low = np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype))
    drawn = scaled_uniform(bits_of, shape, dtype, low[()], np.ones((), dtype)[()])
    return arithmetic.mul(np.asarray(math.sqrt(2), dtype)[()], erf_inv(drawn))


def complex_normal_values(bits_of: Bits, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Complex normal numbers: independent parts of variance 1/2."""
    part = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
    first, second = split_in_two(bits_of)
    values = arithmetic.complex_(normal_values(first, shape, part), normal_values(second, shape, part))
    return arithmetic.xla_div(values, np.asarray(math.sqrt(2), dtype)[()])


@sampler(static=("shape", "dtype"))
def _normal(bits_of: Bits, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return (
        complex_normal_values(bits_of, shape, dtype)
        if dtypes.is_complex(dtype)
        else normal_values(bits_of, shape, dtype)
    )


def normal(
    key: Array, shape: Shape = (), dtype: OptionalDType = None, *, out_sharding: OptionalSharding = None
) -> Array:
    """Standard normal numbers, complex ones with independent parts of variance 1/2.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: floating or complex dtype.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: another dtype.
    Example: ``arrax.random.normal(arrax.random.key(0), (3,))``.
    """
    return _normal(
        key, out_sharding, shape=checked_shape("normal", shape), dtype=float_dtype("normal", dtype, also_complex=True)
    )


@in_rows
def random_signs(bits_of: Bits, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Numbers that are 1 or -1 with equal probability."""
    u = unit_uniform(bits_of, shape, float_dtype("rademacher", None))
    one, minus_one = np.ones((), dtype)[()], np.asarray(-1).astype(dtype)[()]
    return select_where(arithmetic.lt(u, np.asarray(0.5, typeof(u).dtype)[()]), one, minus_one)


def integer_values(
    bits_of: Bits, shape: tuple[int, ...], dtype: np.dtype, minval: ArrayLike, maxval: ArrayLike
) -> Array:
    """Integers in [minval, maxval)."""
    limits = dtypes.iinfo(dtype)
    width = max(32, dtypes.itemsize_bits(dtype))  # narrow integers are drawn from 32 bits too
    unsigned = np.dtype(f"uint{width}")
    exceeds = (
        arithmetic.gt(maxval, np.asarray(limits.max, typeof(maxval).dtype)[()]) if _wider(maxval, limits) else None
    )
    low, high = _clamped(minval, limits, dtype), _clamped(maxval, limits, dtype)
    # What depends on the bounds alone is computed in their own shape, which is often small.
    own = broadcast_shapes(typeof(low).shape, typeof(high).shape)
    low, high = broadcast_to(low, own), broadcast_to(high, own)
    first, second = split_in_two(bits_of)
    upper, lower = first(width, shape), second(width, shape)
    one = unsigned.type(1)
    span = _span(low, high, unsigned)
    span = select_where(arithmetic.le(high, low), one, span)
    if exceeds is not None:
        grown = bitwise.bitwise_and(broadcast_to(exceeds, own), arithmetic.gt(high, low))
        span = select_where(grown, arithmetic.add(span, one), span)
    multiplier = arithmetic.rem(broadcast_to_shape(unsigned.type(2 ** (width // 2)), own), span)
    multiplier = arithmetic.rem(arithmetic.mul(multiplier, multiplier), span)
    low, span, multiplier = (broadcast_to(x, shape) for x in (low, span, multiplier))
    offset = arithmetic.add(arithmetic.mul(arithmetic.rem(upper, span), multiplier), arithmetic.rem(lower, span))
    offset = arithmetic.rem(offset, span)
    return arithmetic.add(low, convert(offset, dtype))


@sampler(static=("shape", "dtype"))
def _randint(bits_of: Bits, minval: ArrayLike, maxval: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return integer_values(bits_of, shape, dtype, minval, maxval)


def _span(low: Array, high: Array, unsigned: np.dtype) -> Array:
    """The difference as an unsigned int, without overflow in narrow dtypes."""
    if typeof(low).dtype.itemsize < unsigned.itemsize:
        return arithmetic.sub(convert(convert(high, np.int32), unsigned), convert(convert(low, np.int32), unsigned))
    return convert(arithmetic.sub(high, low), unsigned)


def select_where(mask: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Any:
    """``on_true`` where the mask holds; scalars are repeated."""
    shape = typeof(mask).shape
    from_true, from_false = broadcast_to_shape(on_true, shape), broadcast_to_shape(on_false, shape)
    return select(mask, from_true, from_false)


def _wider(value: ArrayLike, limits: Any) -> bool:
    own = dtypes.iinfo(typeof(value).dtype)
    return own.max > limits.max


def _clamped(value: ArrayLike, limits: Any, dtype: np.dtype) -> Array:
    own = dtypes.iinfo(typeof(value).dtype)
    if own.min >= limits.min and own.max <= limits.max:
        return convert(value, dtype)
    wide = typeof(value).dtype
    low, high = np.asarray(max(limits.min, own.min), wide)[()], np.asarray(min(limits.max, own.max), wide)[()]
    return convert(arithmetic.min_(arithmetic.max_(value, low), high), dtype)


_INT64 = np.dtype(np.int64)


def _requested_integer(dtype: DTypeLike) -> np.dtype:
    chosen = dtypes.check_user_dtype("randint", dtype)
    if not dtypes.is_integer(chosen):
        raise TypeError(f"randint: dtype must be one of integers, got {chosen.name}")
    return chosen


def _bound(value: int, dtype: np.dtype) -> Any:
    """A Python int as a bound: int32 where it fits, otherwise of 64 bits, or of 32 without 64-bit types.

    Raises:
      OverflowError: it does not fit.
    """
    if -(1 << 31) <= value < 1 << 31:
        return np.int32(value) if config.enable_x64.cell.value else value
    if config.enable_x64.cell.value:
        limits = dtypes.iinfo(dtype)
        clamped = min(max(value, limits.min), limits.max + 1)
        return np.int64(clamped) if clamped < 1 << 63 else np.uint64(min(clamped, (1 << 64) - 1))
    if 0 <= value < 1 << 32:
        return np.uint32(value)
    raise OverflowError(f"randint: the bound {value} does not fit into 32 bits, and 64-bit types are off (enable_x64)")


def randint(
    key: Array,
    shape: Shape,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: OptionalDType = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Uniformly distributed integers in [minval, maxval).

    Args:
      key: a key.
      shape: the result's shape.
      minval, maxval: integer bounds, broadcast to ``shape``.
      dtype: integer dtype, by default int32 (int64 with x64).
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      TypeError: not integers.
    Example: ``arrax.random.randint(arrax.random.key(0), (3,), 0, 10)``.
    """
    lengths = checked_shape("randint", shape)
    chosen = dtypes.canonicalize_dtype(_INT64) if dtype is None else _requested_integer(dtype)
    if type(minval) is type(maxval) is int:
        return _randint(key, out_sharding, _bound(minval, chosen), _bound(maxval, chosen), shape=lengths, dtype=chosen)
    bounds = []
    for value in (minval, maxval):
        if isinstance(value, int):
            value = _bound(value, chosen)
        own = type_of("randint", "a bound", value).dtype
        if dtypes.is_float(own):
            value = convert(value, dtypes.canonicalize_dtype(np.int64))
        elif not dtypes.is_integer(own):
            raise TypeError(f"randint: minval and maxval must be integers, got {own.name}")
        bounds.append(value)
    check_broadcast("randint", lengths, *bounds)
    return _randint(key, out_sharding, *bounds, shape=lengths, dtype=chosen)
