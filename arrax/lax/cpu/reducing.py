"""Reductions on the CPU by host kernels or in parts, where the compiler's code works element by element or drops NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.host_calls import call_kernel, native_or
from arrax.lax.cpu import sources
from arrax.xla.host_kernels import reducing, table

LEAST_ELEMENTS = 1 << 16  # a call costs some 30 us
_LEAST_LENGTH = 128  # of a row: NumPy takes some 50 ns for each besides
_LEAST_HEIGHT = 64
# Of rows and of columns; for fewer long or wide ones, the compiler's code is quicker.
_LEAST_LENGTHS = {"floats": 512, "integers": 2048, "bytes": _LEAST_LENGTH}
_LEAST_WIDTHS = {"floats": 2048, "integers": 512, "bytes": 512}
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_PLAIN = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
_SMALL_FLOATS = frozenset(("float16", "bfloat16"))
_LEAST_IN_PARTS = 1 << 14  # elements
_SHORT = 32  # below this, axes are taken apart altogether


def _rows_along(aval: ShapedArray, axes: Sequence[int], least: int = _LEAST_LENGTH) -> ShapedArray | None:
    """The type of the matrix whose rows are reduced; None where they are short or do not lie side by side."""
    kept = aval.ndim - len(axes)
    if aval.size < LEAST_ELEMENTS or sorted(axes) != list(range(kept, aval.ndim)):
        return None
    length = math.prod(aval.shape[kept:])
    return ShapedArray((aval.size // length, length), aval.dtype) if length >= least else None


def _columns_along(aval: ShapedArray, axes: Sequence[int], least: int) -> ShapedArray | None:
    """The type of the matrix whose columns are reduced, where there are so many; the first axis is."""
    if aval.size < LEAST_ELEMENTS or tuple(axes) != (0,) or aval.shape[0] < _LEAST_HEIGHT:
        return None
    length = aval.shape[0]
    return ShapedArray((length, aval.size // length), aval.dtype) if aval.size >= length * least else None


def _called(ctx: Any, kernel: Any, x: Any, matrix: ShapedArray, *numbers: int, axis: int = 1) -> list[Any]:
    return _reduced(ctx, kernel, [builder.op("reshape", matrix, x)], [matrix], *numbers, axis=axis)


def _reduced(
    ctx: Any, kernel: Any, values: Sequence[Any], avals: Sequence[ShapedArray], *numbers: int, axis: int = 1
) -> list[Any]:
    """What a kernel makes of matrices: a column, or a row where the first axis is reduced."""
    out, shape = ctx.avals_out[0], avals[0].shape
    reduced = ShapedArray((shape[0], 1) if axis else (1, shape[1]), out.dtype)
    found = call_kernel(ctx, kernel, values, avals, [reduced], *numbers)
    return [builder.op("reshape", ShapedArray(out.shape, out.dtype), found[0])]


def _folded(ctx: Any, name: str, x: Any, matrix: ShapedArray, axis: int) -> list[Any]:
    return _called(ctx, table.fold, x, matrix, reducing.FOLDS.index(name), axis, axis=axis)


def use_kernel_for_places(primitive: Any, greatest: bool) -> None:
    """Let programs on the CPU find extremes by a host kernel."""

    def rule(ctx: Any, x: Any, *, axes: tuple[int, ...], index_dtype: Any) -> list[Any] | None:
        aval = ctx.avals_in[0]
        if aval.dtype.name not in _PLAIN and aval.dtype not in _FLOATS:
            return None
        matrix = _rows_along(aval, axes)  # NumPy takes longer along columns
        return None if matrix is None else _called(ctx, table.place_of_extreme, x, matrix, int(greatest))

    primitive.lower["cpu"] = native_or(primitive.lower[None], rule)


def _extreme(ctx: Any, x: Any, matrix: ShapedArray, name: str, axis: int) -> list[Any] | None:
    """The extremes of floats in memory, or of those that are not NaN."""
    if sources.is_argument(x):
        return _folded(ctx, name, x, matrix, axis)
    kept, number = sources.without_nan(x) or (x, None)
    if number is None or not sources.is_argument(kept) or not sources.is_infinite(number, name == "minimum"):
        return None
    without = {"maximum": "fmax", "minimum": "fmin"}[name]
    (found,) = _folded(ctx, without, kept, matrix, axis)
    out = ctx.avals_out[0]
    neutral = builder.full(np.inf if name == "minimum" else -np.inf, out)
    return [builder.op("select", out, builder.compare("NE", out.shape, found, found), neutral, found)]


def _fold_of_flags(ctx: Any, x: Any, matrix: ShapedArray, name: str, axis: int) -> list[Any]:
    """Flags combined; those of a comparison of rows in memory while they are made."""
    compared = sources.comparison(x)
    dtype = None if compared is None else builder.dtype_of(compared[1])
    if compared is not None and dtype is not None and (dtype.name in _PLAIN or dtype in _FLOATS):
        direction, left, right = compared
        if (direction, name) == ("NE", "logical_and") and left == right:
            reduced = ShapedArray((matrix.shape[0], 1) if axis else (1, matrix.shape[1]), dtype)
            extreme = _extreme_without_nan(left, reduced.shape, axis)
            if extreme is not None:  # there is none among NaNs only
                flags = builder.compare("NE", reduced.shape, extreme, extreme)
                return [builder.op("reshape", ctx.avals_out[0], flags)]
        if axis == 1:
            avals = [ShapedArray(matrix.shape, dtype)]
            values = [builder.op("reshape", avals[0], left)]
            if right != left:
                avals.append(avals[0] if right.type == left.type else ShapedArray((1, 1), dtype))
                values.append(builder.op("reshape", avals[1], right))
            numbers = reducing.DIRECTIONS.index(direction), reducing.FLAG_FOLDS.index(name)
            return _reduced(ctx, table.fold_comparison, values, avals, *numbers)
    return _folded(ctx, name, x, ShapedArray(matrix.shape, np.dtype(np.bool_)), axis)


def _extreme_without_nan(x: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The extremes of rows or columns of an argument that were just found, leaving out NaN, or None."""
    for name in ("fmax", "fmin"):
        number, _ = table.number_of(table.fold, (reducing.FOLDS.index(name), axis))
        found = sources.result_of_kernel(x, number, shape)
        if found is not None:
            return found
    return None


def use_kernel_for_fold(primitive: Any, name: str) -> None:
    """Let programs on the CPU reduce integers, flags and given floats by a host kernel; ``name`` is one of its ``FOLDS``."""

    def rule(ctx: Any, x: Any, *, axes: tuple[int, ...]) -> list[Any] | None:
        aval = ctx.avals_in[0]
        flags_behind = sources.flags_behind(x) if name == "add" else None
        narrow = aval.dtype.itemsize == 1 or flags_behind is not None
        kind = "floats" if aval.dtype in _FLOATS else "bytes" if narrow else "integers"
        axis, matrix = 1, _rows_along(aval, axes, _LEAST_LENGTHS[kind])
        if matrix is None:
            axis, matrix = 0, _columns_along(aval, axes, _LEAST_WIDTHS[kind])
            if matrix is None:
                return None
        if name in ("maximum", "minimum") and aval.dtype in _FLOATS:
            return _extreme(ctx, x, matrix, name, axis)
        if aval.dtype.name not in _PLAIN:
            return None
        if aval.dtype == np.bool_:
            flags = {"maximum": "logical_or", "minimum": "logical_and"}.get(name, name)
            return _fold_of_flags(ctx, x, matrix, flags, axis)
        if name.startswith("logical") or (name == "add" and axis == 0):
            return None
        if flags_behind is not None:
            return _fold_of_flags(ctx, flags_behind, matrix, "count", axis)
        return _folded(ctx, name, x, matrix, axis)

    primitive.lower["cpu"] = native_or(primitive.lower[None], rule)


# ---- in parts ------------------------------------------------------------------------------------------------------


def _takes_parts(ctx: Any, aval: ShapedArray) -> bool:
    return ctx.platform == "cpu" and ctx.module_context.cpu_kernels and aval.size >= _LEAST_IN_PARTS


def run_to_begin_with(ctx: Any, aval: ShapedArray, axes: Sequence[int]) -> list[int] | None:
    """Of axes that are not all neighbours, those to reduce before the others.

    They are such that elements are combined with those of other columns, where that is possible.
    """
    axes = sorted(axes)
    gaps = [at for at in range(1, len(axes)) if axes[at] - axes[at - 1] > 1]
    if not gaps or not _takes_parts(ctx, aval):
        return None
    last = axes[gaps[-1] :]
    return last if math.prod(aval.shape[axis] for axis in last) < _SHORT else axes[: gaps[0]]


def count_of_parts(ctx: Any, x: Any, aval: ShapedArray, axes: Sequence[int]) -> int:
    """How many parts of neighbouring axes are best combined element by element, before the rest is reduced.

    The compiler makes loops without branches of that. 1 where this does not pay. At least two elements are left to be
    reduced: the compiler would repeat elementwise operations for each use of a result, which it does not with reductions.
    """
    name, first, last = aval.dtype.name, min(axes, default=0), max(axes, default=-1)
    if not _takes_parts(ctx, aval):
        return 1
    if last - first + 1 != len(axes) or not (name in _PLAIN or name in _SMALL_FLOATS or aval.dtype in _FLOATS):
        return 1
    length, inner = math.prod(aval.shape[first : last + 1]), math.prod(aval.shape[last + 1 :])
    if name == "bool":
        return 4 if length >= _SHORT and inner > 1 else 1
    if inner == 1:  # the code is longer, with the computation of the elements in it for each
        limit = _SHORT if aval.dtype.itemsize >= 4 and sources.is_argument(x) else _SHORT // 2
        return -(-length // 2) if length <= limit else 1
    return -(-length // 2) if length < _SHORT else 1 if name in _SMALL_FLOATS else 8


def parts_of(x: Any, aval: ShapedArray, axes: Sequence[int], count: int) -> tuple[list[Any], list[int], ShapedArray]:
    """Neighbouring axes as one, in equally long parts that may overlap: the parts, where they start, and their type."""
    first, last = min(axes), max(axes)
    length = math.prod(aval.shape[first : last + 1])
    size = -(-length // count)
    starts = [min(start, length - size) for start in range(0, length, size)]
    before, after = aval.shape[:first], aval.shape[last + 1 :]
    x = builder.op("reshape", ShapedArray((*before, length, *after), aval.dtype), x)
    part = ShapedArray((*before, size, *after), aval.dtype)
    strides = builder.ints([1] * part.ndim)
    parts = []
    for start in starts:
        low = [start if axis == first else 0 for axis in range(part.ndim)]
        high = [offset + extent for offset, extent in zip(low, part.shape, strict=True)]
        bounds = {"start_indices": builder.ints(low), "limit_indices": builder.ints(high), "strides": strides}
        parts.append(builder.op("slice", part, x, **bounds))
    return parts, starts, part


def combined_pairwise(parts: Sequence[Any], combine: Callable[[Any, Any], Any]) -> Any:
    """Values combined to one, each with the next, and so on with the results."""
    while len(parts) > 1:
        pairs = [combine(*parts[at : at + 2]) for at in range(0, len(parts) - 1, 2)]
        parts = [*pairs, *parts[len(parts) - len(parts) % 2 :]]
    return parts[0]
