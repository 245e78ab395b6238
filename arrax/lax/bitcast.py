"""Reinterpreting the bits of elements as another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.explicit_axes import leading_axes
from arrax.core.interpreter import Primitive, Rounding
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.dtypes import DTypeLike
from arrax.interpreters.lowering import builder
from arrax.lax.axis_order import move_axis
from arrax.lax.operand_checks import checked_operand, kind_of, requested_dtype
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent

bitcast_convert_type_p = Primitive("bitcast_convert_type", rounding=Rounding.NONE)


def _type_rule(aval: ShapedArray, *, new_dtype: np.dtype) -> ShapedArray:
    if new_dtype == dtypes.float0:
        raise TypeError("bitcast_convert_type: elements of dtype float0 have no bits")
    old, new = dtypes.itemsize_bits(aval.dtype), dtypes.itemsize_bits(new_dtype)
    if aval.dtype != new_dtype and not {kind_of(aval.dtype), kind_of(new_dtype)}.isdisjoint({"bool", "complex"}):
        raise TypeError(
            "bitcast_convert_type turns bool and complex elements into no other dtype, nor others into them: got "
            f"{aval.dtype.name} and {new_dtype.name}"
        )
    if old == new:
        return ShapedArray(aval.shape, new_dtype)
    if old > new:
        return ShapedArray((*aval.shape, old // new), new_dtype)
    if not aval.shape or aval.shape[-1] * old != new:
        raise ValueError(
            f"Attempting to convert array of shape {aval.shape} from {aval.dtype.name} of size {old} bits to "
            f"{new_dtype.name} of size {new} bits: the last axis must have length {new // old}."
        )
    return ShapedArray(aval.shape[:-1], new_dtype)


def _batch(values: Sequence[ArrayLike], dims: Sequence[int], *, new_dtype: np.dtype) -> tuple[Any, int]:
    (x,), (dim,) = values, dims
    if dim == typeof(x).ndim - 1:
        x, dim = move_axis(x, dim, 0), 0
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), dim


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, new_dtype: np.dtype) -> tuple[Any, Any]:
    out = bitcast_convert_type_p.bind(*primals, new_dtype=new_dtype)
    return out, Zero.of(out)


bitcast_convert_type_p.type_rule = _type_rule
bitcast_convert_type_p.divides = lambda avals, out, **params: leading_axes(max(avals[0].ndim - out.ndim, 0))(avals, out)
bitcast_convert_type_p.lower[None] = lambda ctx, x, *, new_dtype: [builder.op("bitcast_convert", ctx.avals_out[0], x)]
bitcast_convert_type_p.jvp = _jvp
bitcast_convert_type_p.batch = _batch


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The same bits as elements of another dtype; a wider or narrower one changes the last axis.

    Args:
      operand: array.
      new_dtype: dtype.
    Raises:
      TypeError: bool or complex elements on one side, and another dtype on the other.
      ValueError: a last axis that doesn't fit.
    Example: ``lax.bitcast_convert_type(jnp.float32(1.), jnp.int32)``. Source: StableHLO ``bitcast_convert``.
    """
    x = checked_operand("bitcast_convert_type", operand)
    dtype = requested_dtype("bitcast_convert_type", new_dtype)
    if typeof(x).dtype == dtype:
        return x
    return bitcast_convert_type_p.bind(x, new_dtype=dtype)
