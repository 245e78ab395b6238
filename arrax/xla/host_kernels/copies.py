"""Copies of parts of arrays side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def concatenate(inputs: Sequence[np.ndarray], out: np.ndarray, parts: Sequence[int]) -> None:
    """Columns of some matrices side by side.

    Args:
      parts: for each part three numbers: which of ``inputs``, its first column, and the one behind its last.
    """
    plain = np.dtype(f"V{out.dtype.itemsize}") if out.dtype.itemsize > 8 else np.dtype(f"u{out.dtype.itemsize}")
    target, start = out.view(plain), 0
    for number, first, last in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        target[:, start : start + last - first] = inputs[number].view(plain)[:, first:last]
        start += last - first
