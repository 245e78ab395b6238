"""Sequences of equal lengths: map, zip, cutting into pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps as wraps
from typing import Any


def safe_zip(*sequences: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Like ``list(zip(...))``, but lengths must agree.

    Raises:
      ValueError: lengths that differ.
    Example: ``safe_zip([1, 2], "ab")`` is ``[(1, "a"), (2, "b")]``.
    """
    return list(zip(*sequences, strict=True))


def safe_map(function: Callable[..., Any], *sequences: Iterable[Any]) -> list[Any]:
    """Like ``list(map(...))``, but lengths must agree.

    Raises:
      ValueError: lengths that differ.
    Example: ``safe_map(abs, [-1, 2])`` is ``[1, 2]``.
    """
    return [function(*values) for values in zip(*sequences, strict=True)]


def split_list(values: Sequence[Any], counts: Sequence[int]) -> list[list[Any]]:
    """Pieces of the given lengths, and the rest.

    Example: ``split_list([1, 2, 3], [1])`` is ``[[1], [2, 3]]``.
    """
    pieces, rest = [], list(values)
    for count in counts:
        pieces.append(rest[:count])
        rest = rest[count:]
    return [*pieces, rest]


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Two tuples from pairs.

    Example: ``unzip2([(1, 2), (3, 4)])`` is ``((1, 3), (2, 4))``.
    """
    listed = list(pairs)
    return tuple(x for x, _ in listed), tuple(y for _, y in listed)
