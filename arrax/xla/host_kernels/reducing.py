"""Rows or columns into one element each: what NumPy vectorises and the compiler does not."""

from __future__ import annotations

import platform
import sys
from typing import Any

import numpy as np

_LONG_ROW = 8192
_COMPARED_FIRST, _COMPARED_AT_ONCE = 1 << 12, 1 << 20  # the first ones may settle it
FOLDS = ("add", "maximum", "minimum", "logical_and", "logical_or", "count", "fmax", "fmin")
_REDUCE = {name: getattr(np, name).reduce for name in FOLDS if name != "count"}
FLAG_FOLDS = ("logical_and", "logical_or", "count")


def place_of_extreme(matrix: np.ndarray, out: np.ndarray, greatest: int) -> None:
    """The place of the greatest (or least) element of each row, the first of several; that of the first NaN before all.

    Args:
      matrix: two axes.
      out: a column of integers.
    """
    if len(matrix) == 1:
        row = matrix[0]
        out[0, 0] = row.argmax() if greatest else row.argmin()
    else:
        find = np.argmax if greatest else np.argmin
        out[...] = find(matrix, axis=1, keepdims=True)


def fold(matrix: np.ndarray, out: np.ndarray, operation: int, axis: int) -> None:
    """Elements along an axis combined by one of ``FOLDS``; "count" counts flags.

    Args:
      matrix: two axes.
      out: the same shape but for the axis, which has length 1.
    """
    name = FOLDS[operation]
    if name == "count" and axis == 1 and matrix.shape[1] >= _LONG_ROW:
        out[:, 0] = [np.count_nonzero(row) for row in matrix]
    elif name in ("count", "add"):
        np.add.reduce(matrix, axis=axis, dtype=out.dtype, out=out, keepdims=True)
    else:
        if name in ("fmax", "fmin"):
            matrix = _with_quiet_nans(matrix)
        _REDUCE[name](matrix, axis, None, out, True)


# Where NumPy does not use vector instructions, at the ends of rows and on other processors throughout, its fmax and fmin return
# NaN for signalling ones, and lose what they have found so far.
_ENDS = 64 if platform.machine().lower() in ("x86_64", "amd64") else sys.maxsize


def _with_quiet_nans(matrix: np.ndarray) -> np.ndarray:
    """The matrix, or a copy if there are signalling NaNs where they matter."""
    ends = matrix[:, -_ENDS:]
    nans = np.isnan(ends)
    count = np.count_nonzero(nans)  # much quicker than any()
    if count:
        quiet = _QUIET[matrix.itemsize]
        if np.count_nonzero(ends.view(quiet.dtype)[nans] & quiet) < count:
            return np.where(np.isnan(matrix), matrix.dtype.type(np.nan), matrix)
    return matrix


_QUIET: dict[int, Any] = {4: np.uint32(1 << 22), 8: np.uint64(1 << 51)}  # this bit is set in quiet NaNs


COMPARISONS = {
    "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
}  # fmt: skip
DIRECTIONS = tuple(COMPARISONS)

# All are greater than a number where the least is; NaN is the least and the greatest, and compares false.
_SETTLING: dict[Any, Any] = {
    (compare, name, kind): reduce
    for name, kinds, reductions in (
        ("logical_and", "iuf", (np.maximum.reduce, np.minimum.reduce)),
        ("logical_or", "iu", (np.minimum.reduce, np.maximum.reduce)),
    )
    for kind in kinds
    for compares, reduce in zip(((np.less, np.less_equal), (np.greater, np.greater_equal)), reductions, strict=True)
    for compare in compares
}


def fold_comparison(x: np.ndarray, y: np.ndarray, out: np.ndarray, direction: int, operation: int) -> None:
    """Whether comparisons hold everywhere or somewhere in each row, or how often, without all the flags in memory.

    Args:
      x: two axes.
      y: the same shape, or one element.
      out: a column.
      direction: the place in ``DIRECTIONS``.
      operation: the place in ``FLAG_FOLDS``.
    """
    compare, name = COMPARISONS[DIRECTIONS[direction]], FLAG_FOLDS[operation]
    other = y.reshape(-1)[0] if y.size == 1 else y
    if x.shape[1] >= _COMPARED_AT_ONCE // 16:
        for number, row in enumerate(x):
            out[number, 0] = _fold_row(compare, name, row, other if y.size == 1 else y[number])
        return
    fold_rows = np.add if name == "count" else getattr(np, name)
    step = _COMPARED_AT_ONCE // x.shape[1]
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        found = compare(x[rows], other if y.size == 1 else y[rows])
        fold_rows.reduce(found, axis=1, dtype=out.dtype, out=out[rows], keepdims=True)


def _fold_row(compare: np.ufunc, name: str, row: np.ndarray, other: np.ndarray) -> int:
    start, length, count = 0, _COMPARED_FIRST if name != "count" else _COMPARED_AT_ONCE, 0
    extreme = None if other.ndim else _SETTLING.get((compare, name, row.dtype.kind))
    while start < row.size:
        if start and extreme is not None:
            return bool(compare(extreme(row[start:]), other))
        part = row[start : start + length]
        found = compare(part, other[start : start + length] if other.ndim else other)
        start, length = start + length, _COMPARED_AT_ONCE
        if name == "count":
            count += int(np.count_nonzero(found))
        elif found.any() if name == "logical_or" else not found.all():
            return name == "logical_or"
    return count if name == "count" else name == "logical_and"
