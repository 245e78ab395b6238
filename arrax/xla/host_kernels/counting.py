"""Counting numbers, and finding flags."""

from __future__ import annotations

import numpy as np

_PIECE = 1 << 16  # elements, so that what is made of them stays in the processor's cache


def count_values(rows: np.ndarray, counts: np.ndarray) -> None:
    """How often numbers occur in each row; negative ones count as 0, those beyond are left out.

    Args:
      rows: integers, shape (rows, length).
      counts: shape (rows, numbers), what is to be filled.
    """
    unsigned = np.dtype(f"u{rows.itemsize}")
    bound = min(counts.shape[1], int(np.iinfo(rows.dtype).max) + 1)
    for row, out in zip(rows, counts, strict=True):
        total = np.zeros(out.size + 1, np.intp)
        for start in range(0, row.size, _PIECE):
            part = row[start : start + _PIECE]
            if int(part.view(unsigned).max()) >= bound:  # as unsigned ones, negative numbers are great
                part = np.clip(part, 0, min(out.size, np.iinfo(part.dtype).max))
            total += np.bincount(part.astype(np.intp, copy=False), minlength=total.size)
        out[...] = total[:-1]


def places_of_flags(rows: np.ndarray, places: np.ndarray, counts: np.ndarray) -> None:
    """Where flags are set in each row.

    Args:
      rows: bools, shape (rows, length).
      places: shape (rows, size), what is to be filled: the first places, then zeros.
      counts: a column: how many there are.
    """
    size = places.shape[1]
    for row, out, count in zip(rows, places, counts, strict=True):
        found = np.flatnonzero(row)
        count[0] = found.size
        out[: found.size] = found[:size]
        out[found.size :] = 0
