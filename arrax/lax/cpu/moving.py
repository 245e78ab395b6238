"""Copies and running extremes on the CPU by host kernels, where the compiler's code takes element by element."""

from __future__ import annotations

import itertools
import math
from typing import Any

from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.host_calls import call_kernel
from arrax.lax.cpu import sources
from arrax.lax.cpu.ordering import from_rows, to_rows
from arrax.xla.host_kernels import moving, table

_LEAST_ELEMENTS = 1 << 16  # a call costs some 20 us
_LEAST_BYTES_IN_ROW = 1024
_NARROW = 16  # elements behind an axis; where there are more, the compiler copies as fast
_MARGINS = 8  # what is computed of an array with margins: at most this part of it
_LEAST_LENGTH = 1 << 14
_MOST_BESIDE = 16  # entries beside the axis; with more of them a loop over all at once has vectors
_ACCUMULATED = frozenset("float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())


def lower_joined(ctx: Any, *values: Any, dimension: int) -> list[Any] | None:
    """Parts of arrays in memory side by side, as in ``roll``, or one between margins, as in ``pad``.

    The compiler copies whole arrays well.
    """
    out = ctx.avals_out[0]
    if out.size < _LEAST_ELEMENTS or out.dtype.name not in _ACCUMULATED | {"bool", "complex64", "complex128"}:
        return None
    behind = math.prod(out.shape[dimension + 1 :])
    if out.shape[dimension] * behind * out.dtype.itemsize < _LEAST_BYTES_IN_ROW or behind >= _NARROW:
        return None
    if not all(aval.size for aval in ctx.avals_in):
        return None
    found = [sources.part_in_memory(value, dimension) for value in values]
    computed = sum(aval.size for part, aval in zip(found, ctx.avals_in, strict=True) if part is None)
    if all(map(sources.is_in_memory, values)) or (computed and len(values) != 3) or computed > out.size // _MARGINS:
        return None
    parts = [(value, 0) if part is None else part for part, value in zip(found, values, strict=True)]
    rows = math.prod(out.shape[:dimension])
    sides: list[Any] = []
    numbers: list[int] = []
    for (side, start), aval in zip(parts, ctx.avals_in, strict=True):
        if side not in sides:
            sides.append(side)
        numbers += [sides.index(side), start * behind, (start + aval.shape[dimension]) * behind]
    matrices = [ShapedArray((rows, math.prod(side.type.shape[dimension:])), out.dtype) for side in sides]
    reshaped = [builder.op("reshape", matrix, side) for matrix, side in zip(matrices, sides, strict=True)]
    whole = ShapedArray((rows, out.shape[dimension] * behind), out.dtype)
    (joined,) = call_kernel(ctx, table.join, reshaped, matrices, [whole], *numbers)
    return [builder.op("reshape", out, joined)]


def lower_padded(ctx: Any, x: Any, value: Any, *, padding_config: Any) -> list[Any] | None:
    """An array in memory between margins along one axis: as parts side by side, which the compiler copies."""
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    axes = [axis for axis, widths in enumerate(padding_config) if any(widths)]
    if len(axes) != 1 or not aval.size or out.size < _LEAST_ELEMENTS or not sources.is_argument(x):
        return None
    (axis,) = axes
    low, high, interior = padding_config[axis]
    if interior or min(low, high) < 0:
        return None

    def margin(width: int) -> tuple[Any, ShapedArray]:
        whole = ShapedArray((*out.shape[:axis], width, *out.shape[axis + 1 :]), out.dtype)
        return builder.broadcast(value, whole, ()), whole

    sides = [margin(low)] * bool(low), [(x, aval)], [margin(high)] * bool(high)
    parts, avals = zip(*itertools.chain(*sides), strict=True)
    joined = lower_joined(ctx.replace(avals_in=list(avals)), *parts, dimension=axis)
    return joined or [builder.op("concatenate", out, *parts, dimension=builder.integer(axis))]


def lower_accumulated(ctx: Any, x: Any, *, name: str, axis: int, reverse: bool) -> list[Any] | None:
    """Extremes, or totals of integers, along a long axis with little beside it; ``name`` is one of the kernel's."""
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    length = aval.shape[axis]
    if length < _LEAST_LENGTH or aval.size // length > _MOST_BESIDE or aval.dtype.name not in _ACCUMULATED:
        return None
    if aval.dtype.kind == "f" and name not in ("maximum", "minimum"):
        return None
    value, rows = to_rows(x, aval, axis)
    operation = moving.ACCUMULATIONS.index(name)
    (found,) = call_kernel(ctx, table.accumulate, [value], [rows], [rows], operation, int(reverse))
    return [from_rows(found, out, axis)]
