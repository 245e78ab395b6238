"""Rows into one element each: what NumPy vectorises and the compiler does not."""

from __future__ import annotations

import numpy as np

_LONG_ROW = 1024
FOLDS = ("add", "maximum", "minimum", "logical_and", "logical_or", "count")


def place_of_extreme(matrix: np.ndarray, out: np.ndarray, greatest: int, axis: int) -> None:
    """The place of the greatest (or least) element along an axis, the first of several; that of the first NaN before all.

    Args:
      matrix: two axes.
      out: integers of the same shape but for the axis, which has length 1.
    """
    find = np.argmax if greatest else np.argmin
    out[...] = find(matrix, axis=axis, keepdims=True)


def fold(rows: np.ndarray, out: np.ndarray, operation: int) -> None:
    """Integers or flags of each row combined by one of ``FOLDS``; "count" counts flags.

    Args:
      rows: shape (rows, length).
      out: shape (rows, 1).
    """
    name, result = FOLDS[operation], out[:, 0]
    if name == "count":
        if rows.shape[1] >= _LONG_ROW:
            result[...] = [np.count_nonzero(row) for row in rows]
        else:
            np.add.reduce(rows, axis=-1, dtype=out.dtype, out=result)
    elif name.startswith("logical"):
        combine = np.all if name == "logical_and" else np.any
        result[...] = [combine(row) for row in rows] if rows.shape[1] >= _LONG_ROW else combine(rows, axis=-1)
    elif name == "add":
        np.add.reduce(rows, axis=-1, dtype=out.dtype, out=result)
    else:
        getattr(np, name).reduce(rows, axis=-1, out=result)
