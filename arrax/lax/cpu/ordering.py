"""Sorting and selecting on the CPU by host kernels, which are many times faster there than the compiler's code.

The compiler's sort stays where it is faster, for few elements, and where kernels cannot be used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.program import DropVar
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.host_calls import call_kernel
from arrax.xla.host_kernels import table

LEAST_ELEMENTS = 1000  # a call of a kernel costs some 30 us, as much as sorting this many by the compiler's code
_ODD_TYPES = frozenset({"int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float8_e8m0fnu"})


def fits(avals: Sequence[ShapedArray], axis: int) -> bool:
    """Whether kernels put these arrays in order faster than the compiler's code."""
    aval = avals[0]
    return aval.size >= LEAST_ELEMENTS and aval.shape[axis] > 1 and not any(a.dtype.name in _ODD_TYPES for a in avals)


def as_integers(dtype: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """A pair of scalars to be compared, as signed integers in the same order where they are floats of several bytes."""
    if dtype.kind in "iub" or dtype.itemsize == 1:
        return dtype, x, y
    integer = ShapedArray((), np.dtype(f"int{8 * dtype.itemsize}"))
    return integer.dtype, _as_integer(dtype, integer, x), _as_integer(dtype, integer, y)


def _as_integer(dtype: Any, integer: ShapedArray, x: Any) -> Any:
    """Zeros of both signs give 0, all NaNs the greatest integer."""
    least = int(np.iinfo(integer.dtype).min)
    bits = builder.op("bitcast_convert", integer, x)
    magnitude = builder.op("and", integer, bits, builder.full(~least, integer))
    key = builder.op(
        "select", integer, builder.compare("LT", (), bits, builder.full(0, integer)),
        builder.op("negate", integer, magnitude), magnitude,
    )  # fmt: skip
    is_nan = builder.compare(
        "GT", (), magnitude, builder.full(int(np.array(np.inf, dtype).view(integer.dtype)), integer)
    )
    return builder.op("select", integer, is_nan, builder.full(~least, integer), key)


def _order_of_axes(rank: int, axis: int) -> list[int]:
    return [*(dim for dim in range(rank) if dim != axis), axis]


def _rows_type(aval: ShapedArray, axis: int) -> ShapedArray:
    length = aval.shape[axis]
    return ShapedArray((aval.size // length if length else 0, length), aval.dtype)


def to_rows(x: Any, aval: ShapedArray, axis: int) -> tuple[Any, ShapedArray]:
    """A value as a matrix whose rows lie along an axis."""
    order = _order_of_axes(aval.ndim, axis)
    moved = ShapedArray(tuple(aval.shape[dim] for dim in order), aval.dtype)
    if order != list(range(aval.ndim)):
        x = builder.op("transpose", moved, x, permutation=builder.ints(order))
    rows = ShapedArray((math.prod(moved.shape[:-1]), moved.shape[-1]), aval.dtype)
    return (x if rows.shape == moved.shape else builder.op("reshape", rows, x)), rows


def from_rows(x: Any, aval: ShapedArray, axis: int) -> Any:
    """The inverse of ``to_rows``; ``aval`` is the result's type."""
    order = _order_of_axes(aval.ndim, axis)
    moved = ShapedArray(tuple(aval.shape[dim] for dim in order), aval.dtype)
    if len(moved.shape) != 2:
        x = builder.op("reshape", moved, x)
    if order == list(range(aval.ndim)):
        return x
    return builder.op("transpose", aval, x, permutation=builder.ints(np.argsort(order).tolist()))


def _is_place(x: Any, aval: ShapedArray, axis: int) -> bool:
    """Whether a value numbers the places along an axis."""
    operation = builder.source(x)
    if operation is None or operation.name != "stablehlo.iota" or aval.dtype.kind not in "iu":
        return False
    return int(operation.attributes["iota_dimension"]) == axis


def lower_order(ctx: Any, *values: Any, dimension: int, num_keys: int, kth: int = -1, **_: Any) -> list[Any] | None:
    """Rows in order, or only so far that the place ``kth`` is right."""
    avals = ctx.avals_in
    if not fits(avals, dimension):
        return None
    dropped = [type(var) is DropVar for var in ctx.eqn.outvars] if ctx.eqn is not None else [False] * len(values)
    inputs: list[Any] = []
    sources: list[int] = []
    for number, (value, aval, unused) in enumerate(zip(values, avals, dropped, strict=True)):
        is_place = number >= num_keys and _is_place(value, aval, dimension)
        if number < num_keys or not (unused or is_place):
            sources.append(-2 if unused else len(inputs))
            inputs.append(to_rows(value, aval, dimension))
        else:
            sources.append(-2 if unused else -1)
    wanted = [number for number, unused in enumerate(dropped) if not unused]
    outs = [_rows_type(ctx.avals_out[number], dimension) for number in wanted]
    found = call_kernel(
        ctx, table.order, [value for value, _ in inputs], [aval for _, aval in inputs], outs, num_keys, kth,
        *(sources[number] for number in wanted),
    )  # fmt: skip
    results: list[Any] = list(values)  # what nobody reads may be anything
    for number, one in zip(wanted, found, strict=True):
        results[number] = from_rows(one, ctx.avals_out[number], dimension)
    return results


def lower_partition(ctx: Any, *values: Any, kth: int) -> list[Any] | None:
    """Rows along the last axis, in order around one place."""
    return lower_order(ctx, *values, dimension=ctx.avals_in[0].ndim - 1, num_keys=1, kth=kth)


def lower_select(ctx: Any, x: Any, places: Any) -> list[Any] | None:
    """The elements at places of the order of each row."""
    avals, axis = ctx.avals_in, ctx.avals_in[0].ndim - 1
    if not fits(avals[:1], axis) or not avals[1].size or avals[0].dtype.kind == "c":
        return None
    rows = [to_rows(value, aval, axis) for value, aval in zip((x, places), avals, strict=True)]
    out = ctx.avals_out[0]
    found = call_kernel(
        ctx, table.select, [value for value, _ in rows], [aval for _, aval in rows], [_rows_type(out, axis)]
    )
    return [from_rows(found[0], out, axis)]


def lower_greatest(ctx: Any, x: Any, *, k: int, axis: int) -> list[Any] | None:
    """The greatest elements of each row, where they are so many that the compiler's partial sort takes long."""
    aval, length = ctx.avals_in[0], ctx.avals_in[0].shape[axis]
    if not k or not fits([aval], axis) or aval.dtype.itemsize == 1:
        return None
    insertions = aval.size // length * k * (1 + math.log(length / k))
    if aval.size < 20 * LEAST_ELEMENTS or length < 100 or insertions < aval.size / 8:
        return None
    value, rows = to_rows(x, aval, axis)
    outs = ctx.avals_out
    found = call_kernel(ctx, table.greatest, [value], [rows], [_rows_type(out, axis) for out in outs])
    return [from_rows(one, out, axis) for one, out in zip(found, outs, strict=True)]
