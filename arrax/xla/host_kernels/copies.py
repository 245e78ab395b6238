"""Copies of parts of arrays side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def concatenate(source: np.ndarray, out: np.ndarray, blocks: Sequence[int]) -> None:
    """Blocks of a matrix side by side, and rows of them one below another.

    Args:
      blocks: for each block four numbers, its first row, the one behind its last, and its columns in the same way; the
        blocks of a row of blocks have the same rows, and together the width of ``out``.
    """
    plain = np.dtype(f"V{out.dtype.itemsize}") if out.dtype.itemsize > 8 else np.dtype(f"u{out.dtype.itemsize}")
    given, target, top, left = source.view(plain), out.view(plain), 0, 0
    for first_row, end_row, first, end in zip(blocks[::4], blocks[1::4], blocks[2::4], blocks[3::4], strict=True):
        bottom, right = top + end_row - first_row, left + end - first
        target[top:bottom, left:right] = given[first_row:end_row, first:end]
        top, left = (top, right) if right < target.shape[1] else (bottom, 0)
