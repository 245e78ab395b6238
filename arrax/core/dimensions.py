"""Lengths of axes, which are ints, or symbols that stand for any in exported programs."""

from __future__ import annotations

from typing import Any

Dimension = Any  # an int, or an expression of symbols


def max_dim(first: Dimension, second: Dimension) -> Dimension:
    """The greater of two lengths of axes.

    Example: ``arrax.core.max_dim(2, 3)`` is 3.
    """
    return max(first, second)


def min_dim(first: Dimension, second: Dimension) -> Dimension:
    """The smaller of two lengths of axes.

    Example: ``arrax.core.min_dim(2, 3)`` is 2.
    """
    return min(first, second)
