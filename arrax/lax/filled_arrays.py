"""Arrays of counted or equal numbers: iota and full."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.interpreter import Primitive, Rounding, Tracer, context
from arrax.core.types import ShapedArray, slots, typeof
from arrax.dtypes import DTypeLike, OptionalDType
from arrax.interpreters.lowering import builder
from arrax.lax.conversion import convert, scalar_of
from arrax.lax.operand_checks import checked_operand, requested_dtype
from arrax.lax.placement import device_put, own_sharding
from arrax.lax.shape_arguments import canonical_shape
from arrax.lax.shapes import broadcast_in_dim, broadcast_in_dim_p
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike

iota_p = Primitive("iota", rounding=Rounding.NONE)
iota_p.hidden_params = frozenset({"sharding"})
iota_p.type_rule = lambda *, dtype, shape, dimension, sharding=None: ShapedArray(shape, dtype)
iota_p.relocates = lambda eqn, axes: eqn.params["dimension"] in axes
iota_p.lower[None] = lambda ctx, *, dtype, shape, dimension, sharding=None: [
    builder.op("iota", ctx.avals_out[0], iota_dimension=builder.integer(dimension))
    if dtype != np.bool_
    else builder.constant(
        np.broadcast_to(
            np.arange(shape[dimension]).reshape([-1 if i == dimension else 1 for i in range(len(shape))]) != 0, shape
        )
    )
]


def broadcasted_iota(dtype: DTypeLike, shape: Shape, dimension: int, *, out_sharding: OptionalSharding = None) -> Array:
    """Indices along one axis of an array of the given shape.

    Args:
      dtype: an integer, floating or complex dtype.
      shape: the result's shape.
      dimension: the axis along which the numbers increase.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Example: ``lax.broadcasted_iota(jnp.int32, (2, 3), 1)`` has rows ``[0, 1, 2]``.
    """
    dtype = requested_dtype("broadcasted_iota", dtype)
    shape = canonical_shape(shape, "iota")
    dimension = as_index(dimension)
    if dtype in (np.bool_, dtypes.float0):
        raise TypeError(f"iota counts in integer, floating or complex numbers, got dtype {dtypes.short_name(dtype)}")
    if not 0 <= dimension < len(shape):
        raise ValueError(f"iota dimension must be between 0 and {len(shape)}, got {dimension} for shape {shape}")
    if out_sharding is not None:
        return slots.as_asked(out_sharding, functools.partial(broadcasted_iota, dtype, shape, dimension))
    return iota_p.bind(dtype=dtype, shape=shape, dimension=dimension, sharding=None)


def iota(dtype: DTypeLike, size: int) -> Array:
    """The numbers 0, 1, …, size - 1.

    Args:
      dtype: of the numbers.
      size: how many; an int.
    Example: ``lax.iota(jnp.int32, 3)`` is ``[0, 1, 2]``.
    """
    return broadcasted_iota(requested_dtype("iota", dtype), (size,), 0)


def full(shape: Shape, fill_value: ArrayLike, dtype: OptionalDType = None, *, sharding: Any = None) -> Array:
    """An array of the given shape, filled with a scalar.

    Args:
      dtype: dtype of the result, by default that of ``fill_value``; weak only where no sharding is asked for.
      sharding: where it lies, by default where the program runs.
    Raises:
      TypeError: ``fill_value`` is not a scalar.
    Example: ``lax.full((2,), 3.)`` is ``[3., 3.]``.
    """
    if sharding is not None:
        made = full(shape, fill_value, dtype)
        return device_put(convert(made, typeof(made).dtype) if typeof(made).weak_type else made, sharding)
    shape = canonical_shape(shape, "full")
    value = checked_operand("full", fill_value)
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(shape, value)
    target = None if dtype is None else requested_dtype("full", dtype)
    if type(value) is int and target not in (None, dtypes.float0):  # of any size that the dtype holds
        value = scalar_of(value, target)
    aval = typeof(value)
    if aval.shape != ():
        raise TypeError(f"full must be called with scalar fill_value, got fill_value.shape {aval.shape}.")
    weak = dtype is None and aval.weak_type
    target = aval.dtype if target is None else target
    if target == dtypes.float0:
        return np.zeros(shape, dtypes.float0)  # type: ignore[return-value]
    if isinstance(value, Tracer) or hasattr(value, "addressable_shards"):
        return broadcast_in_dim(convert(value, target, weak), shape, ())
    scalar = dtypes.saturated(value, target)[()] if not weak else value
    return broadcast_in_dim_p.bind(scalar, shape=shape, broadcast_dimensions=(), sharding=None)


def varying_like(value: Array, aval: Any) -> Array:
    """The value, declared to vary over the mesh axes over which one of a type does."""
    if not context.tracks_varying:
        return value
    missing = getattr(aval, "vma", frozenset()) - typeof(value).vma
    return slots.vary(value, missing) if missing else value


def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: OptionalDType = None,
    shape: Shape | None = None,
    sharding: Any = None,
) -> Array:
    """An array like ``x`` (in shape and dtype, unless given, and where ``x`` lies), filled with a scalar.

    Args:
      x: array.
      fill_value: number.
      dtype: of the result, instead of that of ``x``.
      shape: of the result, instead of that of ``x``.
      sharding: where it lies, instead of where ``x`` does.
    Example: ``lax.full_like(jnp.ones(2), 3)`` is ``[3., 3.]``.
    """
    aval = typeof(x) if not isinstance(x, ShapedArray) else x
    weak = dtype is None and sharding is None and aval.weak_type
    if dtype is not None and not isinstance(dtype, dtypes.ExtendedDType):
        dtype = requested_dtype("full_like", dtype)
    out = full(aval.shape if shape is None else shape, fill_value, aval.dtype if dtype is None else dtype)
    out = convert(out, typeof(out).dtype, weak) if weak else out
    out = varying_like(out, aval)
    chosen_sharding = own_sharding(x, typeof(out).shape) if sharding is None else sharding
    return out if chosen_sharding is None else device_put(out, chosen_sharding)


def zeros_of(aval: ShapedArray) -> ArrayLike:
    """Zeros of a type."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    zero = np.zeros((), aval.dtype)[()]
    if aval.weak_type and typeof(zero.item()).dtype == aval.dtype:
        zero = zero.item()
        return zero if aval.shape == () else broadcast_in_dim(zero, aval.shape, ())
    return zero if aval.shape == () else full(aval.shape, 0, aval.dtype)


def zeros_like_array(x: ArrayLike) -> Array:
    """Zeros of the shape and dtype of an array.

    Args:
      x: array or number.
    Example: ``lax.zeros_like_array(x)`` is ``[0.0, 0.0, 0.0, 0.0]``.
    """
    return full_like(x, 0)
