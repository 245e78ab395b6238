"""Numbers of 2 bits in whole bytes, where XLA's operations on several elements at once do not have narrower ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext

# Without this XLA mixes up elements, does not compile, or ends the process.
_WHOLE_BYTES = {"int2": np.dtype(np.int8), "uint2": np.dtype(np.uint8)}


def whole_bytes(dtype: np.dtype) -> np.dtype:
    """The dtype that takes the place of one of 2 bits; others stay as they are."""
    return _WHOLE_BYTES.get(dtype.name, dtype)


def _widened(avals: Sequence[ShapedArray]) -> list[ShapedArray]:
    return [ShapedArray(aval.shape, whole_bytes(aval.dtype)) for aval in avals]


def _converted(values: Sequence[Value], before: Sequence[ShapedArray], after: Sequence[ShapedArray]) -> list[Value]:
    return [
        value if old.dtype == new.dtype else builder.op("convert", new, value)
        for value, old, new in zip(values, before, after, strict=True)
    ]


def in_whole_bytes(rule: Callable[..., list[Value]]) -> Callable[..., list[Value]]:
    """The lowering rule, for which 2-bit integers, which it takes and gives, have a byte each."""

    def lowered(ctx: LoweringContext, *values: Value, **params: Any) -> list[Value]:
        narrow = any(aval.dtype.name in _WHOLE_BYTES for aval in ctx.avals_in)
        if not narrow or all(type(aval.size) is int and aval.size == 0 for aval in ctx.avals_in):
            return rule(ctx, *values, **params)  # the extreme of no elements is one of the dtype itself
        operands, outs = _widened(ctx.avals_in), _widened(ctx.avals_out)
        inner = ctx.replace(avals_in=operands, avals_out=outs)
        results = rule(inner, *_converted(values, ctx.avals_in, operands), **params)
        return _converted(results, outs, ctx.avals_out)

    return lowered
