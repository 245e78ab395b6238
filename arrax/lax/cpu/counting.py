"""Counting and finding flags on the CPU by host kernels, where the compiler's code goes from one element to the next."""

from __future__ import annotations

from typing import Any

from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.host_calls import call_kernel
from arrax.lax.cpu.ordering import from_rows, to_rows
from arrax.xla.host_kernels import table

_LEAST_ELEMENTS = 1 << 14  # a call costs some 30 us


def lower_count(ctx: Any, x: Any, *, length: int, dtype: Any) -> list[Any] | None:
    """How often numbers occur in each row."""
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    if aval.size < _LEAST_ELEMENTS or aval.dtype.name.endswith(("int2", "int4")) or length > aval.shape[-1]:
        return None
    value, rows = to_rows(x, aval, aval.ndim - 1)
    counts = ShapedArray((rows.shape[0], length), out.dtype)
    found = call_kernel(ctx, table.count, [value], [rows], [counts])
    return [from_rows(found[0], out, out.ndim - 1)]


def lower_places(ctx: Any, flags: Any, *, size: int, dtype: Any) -> list[Any] | None:
    """The places of flags in each row."""
    aval, (places, count) = ctx.avals_in[0], ctx.avals_out
    if aval.size < _LEAST_ELEMENTS or not size:
        return None
    value, rows = to_rows(flags, aval, aval.ndim - 1)
    outs = [ShapedArray((rows.shape[0], length), places.dtype) for length in (size, 1)]
    found = call_kernel(ctx, table.places, [value], [rows], outs)
    return [builder.op("reshape", out, one) for out, one in zip((places, count), found, strict=True)]
