"""The upper halves of products of integers, which a product of their own width loses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax.arithmetic import add, lt, mul, scalar, sub
from arrax.lax.bitwise import bitwise_and, shift_right_logical
from arrax.lax.conversion import convert_element_type_p, convert_ir
from arrax.lax.families import binary, repeat_scalars
from arrax.lax.filled_arrays import full_like
from arrax.lax.operand_checks import integers, kind_of
from arrax.lax.selection import select
from arrax.lax.shape_slots import broadcast_to_shape

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.xla.arrays import Array


def _as_dtype(x: Array, dtype: Any) -> Array:
    return convert_element_type_p.bind(x, new_dtype=np.dtype(dtype), weak_type=False, sharding=None)


def _lower_wide(ctx: LoweringContext, x: Value, y: Value) -> list[Value]:
    """For narrow integers: the product in 64 bits."""
    out = ctx.avals_out[0]
    signed = kind_of(out.dtype) == "signed"
    wide = ShapedArray(out.shape, np.dtype(np.int64 if signed else np.uint64))
    x, y = (convert_ir(v, out, wide) for v in repeat_scalars(ctx, (x, y)))
    bits = builder.full(out.dtype.itemsize * 8, wide)
    shift = "shift_right_arithmetic" if signed else "shift_right_logical"
    return [convert_ir(builder.op(shift, wide, builder.op("multiply", wide, x, y), bits), wide, out)]


def _by_half_words(x: Array, y: Array) -> Array:
    """Four products of half words, with their carries."""
    shift, mask = scalar(32, x), scalar((1 << 32) - 1, x)
    x0, x1 = bitwise_and(x, mask), shift_right_logical(x, shift)
    y0, y1 = bitwise_and(y, mask), shift_right_logical(y, shift)
    middle = add(mul(x1, y0), shift_right_logical(mul(x0, y0), shift))
    carry = add(mul(x0, y1), bitwise_and(middle, mask))
    return add(mul(x1, y1), add(shift_right_logical(middle, shift), shift_right_logical(carry, shift)))


def _full_words(x: Array, y: Array) -> Array:
    shape = max(typeof(x).shape, typeof(y).shape, key=len)
    x, y = broadcast_to_shape(x, shape), broadcast_to_shape(y, shape)
    dtype = typeof(x).dtype
    upper = _as_dtype(_by_half_words(_as_dtype(x, np.uint64), _as_dtype(y, np.uint64)), dtype)
    if kind_of(dtype) == "unsigned":
        return upper
    zero = full_like(x, 0)  # a negative word stands for itself plus 2^64
    return sub(sub(upper, select(lt(x, zero), y, zero)), select(lt(y, zero), x, zero))


_lower_full_words = cached_lower_fun(_full_words, "mulhi")


def _lower(ctx: LoweringContext, x: Value, y: Value) -> list[Value]:
    return list((_lower_wide if ctx.avals_out[0].dtype.itemsize < 8 else _lower_full_words)(ctx, x, y))


mulhi = binary(
    "mulhi", integers, _lower,
    doc="upper half of the product of integers: x y divided by 2 to the number of bits, rounded down",
)  # fmt: skip
mulhi_p = mulhi.primitive
