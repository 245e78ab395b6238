"""Rows or columns into one element each: what NumPy vectorises and the compiler does not.

Numbers that the result's dtype does not hold wrap around, as in the compiler's code: NumPy does so for arrays, not for one number.
"""

from __future__ import annotations

import numpy as np

_LONG_ROW = 8192
OPERATIONS = ("add", "maximum", "minimum", "logical_and", "logical_or", "count")
_REDUCE = {name: getattr(np, name).reduce for name in OPERATIONS if name != "count"}


def argmax(matrix: np.ndarray, out: np.ndarray, largest: int) -> None:
    """The index of the greatest (or least) element of each row, the first of several; that of the first NaN before all.

    Args:
      matrix: two axes.
      out: a column of integers.
    """
    if len(matrix) == 1:
        row = matrix[0]
        out[0] = row.argmax(keepdims=True) if largest else row.argmin(keepdims=True)
    else:
        find = np.argmax if largest else np.argmin
        out[...] = find(matrix, axis=1, keepdims=True)


def reduce(matrix: np.ndarray, out: np.ndarray, operation: int, axis: int) -> None:
    """Elements along an axis combined by one of ``OPERATIONS``; "count" counts flags.

    Args:
      matrix: two axes.
      out: the same shape but for the axis, which has length 1.
    """
    name = OPERATIONS[operation]
    if name == "count" and axis == 1 and matrix.shape[1] >= _LONG_ROW:
        out[:, 0] = np.array([np.count_nonzero(row) for row in matrix])
    elif name in ("count", "add"):
        np.add.reduce(matrix, axis=axis, dtype=out.dtype, out=out, keepdims=True)
    else:
        _REDUCE[name](matrix, axis, None, out, True)
