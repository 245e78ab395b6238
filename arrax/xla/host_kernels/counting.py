"""Counting numbers."""

from __future__ import annotations

import numpy as np

_PIECE = 1 << 15  # elements, so that what is made of them stays in the processor's cache


def count_values(rows: np.ndarray, counts: np.ndarray) -> None:
    """How often numbers occur in each row; negative ones count as 0, those beyond are left out.

    Args:
      rows: integers, shape (rows, length).
      counts: shape (rows, numbers), what is to be filled.
    """
    for row, out in zip(rows, counts, strict=True):
        total = np.zeros(out.size + 1, np.intp)
        for start in range(0, row.size, _PIECE):
            part = row[start : start + _PIECE]
            if int(part.max()) >= out.size or int(part.min()) < 0:
                part = np.clip(part, 0, min(out.size, np.iinfo(part.dtype).max))
            total += np.bincount(part.astype(np.intp, copy=False), minlength=total.size)
        out[...] = total[:-1]
