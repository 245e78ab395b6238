"""Numbers of less than a byte in whole bytes, where XLA's operations on several elements at once do not have narrower ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext

# What takes their place. Without this XLA mixes up elements of 2 bits, does not compile, or ends the process.
_TWO_BITS: dict[str, np.dtype] = {"int2": np.dtype(np.int8), "uint2": np.dtype(np.uint8)}
NARROW: dict[str, np.dtype] = {
    **_TWO_BITS, "int4": np.dtype(np.int8), "uint4": np.dtype(np.uint8), "float4_e2m1fn": np.dtype(np.float16)
}  # fmt: skip


def whole_bytes(dtype: np.dtype, table: Mapping[str, np.dtype] = _TWO_BITS) -> np.dtype:
    """The dtype that takes the place of one of 2 bits, or of one that is in a table; others stay as they are."""
    return table.get(dtype.name, dtype)


def _widened(avals: Sequence[ShapedArray], table: Mapping[str, np.dtype]) -> list[ShapedArray]:
    return [ShapedArray(aval.shape, whole_bytes(aval.dtype, table)) for aval in avals]


def _converted(values: Sequence[Value], before: Sequence[ShapedArray], after: Sequence[ShapedArray]) -> list[Value]:
    return [
        value if old.dtype == new.dtype else builder.op("convert", new, value)
        for value, old, new in zip(values, before, after, strict=True)
    ]


def in_whole_bytes(
    rule: Callable[..., list[Value]], table: Mapping[str, np.dtype] = _TWO_BITS
) -> Callable[..., list[Value]]:
    """The lowering rule, for which numbers of 2 bits, or those of a table, have whole bytes in what it takes and gives."""

    def lowered(ctx: LoweringContext, *values: Value, **params: Any) -> list[Value]:
        narrow = any(aval.dtype.name in table for aval in ctx.avals_in)
        if not narrow or all(type(aval.size) is int and aval.size == 0 for aval in ctx.avals_in):
            return rule(ctx, *values, **params)  # the extreme of no elements is one of the dtype itself
        operands, outs = _widened(ctx.avals_in, table), _widened(ctx.avals_out, table)
        inner = ctx.replace(avals_in=operands, avals_out=outs)
        results = rule(inner, *_converted(values, ctx.avals_in, operands), **params)
        return _converted(results, outs, ctx.avals_out)

    return lowered
