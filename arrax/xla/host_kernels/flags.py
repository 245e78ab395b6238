"""Where flags are set."""

from __future__ import annotations

import numpy as np


def nonzero_indices(rows: np.ndarray, indices: np.ndarray, counts: np.ndarray) -> None:
    """Where flags are set in each row.

    Args:
      rows: bools, shape (rows, length).
      indices: shape (rows, size), what is to be filled: the first indices, then zeros.
      counts: a column: how many there are.
    """
    size = indices.shape[1]
    for row, out, count in zip(rows, indices, counts, strict=True):
        found = np.flatnonzero(row)
        count[0] = found.size
        out[: found.size] = found[:size]
        out[found.size :] = 0
