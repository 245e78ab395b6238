"""Selecting from a long row of integers: what stands at some places of its order, by way of a sample.

A sample tells two bounds between which the wanted elements lie, and few others. Only these few are put in order; of all the
others it matters below or above which bound they are. NumPy's own selection goes through the row several times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

MIN_LENGTH = 1 << 15  # elements; the sample and the passes over a shorter row cost as much as NumPy's selection
_DEVIATIONS = 4  # of a rank in the sample, on both sides
_GOLDEN = (math.sqrt(5) - 1) / 2


class _Bounds(NamedTuple):
    """Two values, and how many elements of a row are less than the first, and greater than the second."""

    low: np.generic
    high: np.generic
    below: int
    above: int


def select(row: np.ndarray, wanted_ranks: Sequence[int]) -> np.ndarray:
    """The elements that would stand at some places, in ascending order, if a row were sorted."""
    parts = []
    for near in _neighbours(wanted_ranks, row.size >> 7):
        bounds = _bounds_of(row, near[0], near[-1])
        if bounds is not None and bounds.low == bounds.high:
            parts.append(np.full(len(near), bounds.low))
            continue
        among = row.copy() if bounds is None else row.compress(_is_between(row, bounds))
        indices = np.subtract(near, 0 if bounds is None else bounds.below)
        among.partition(indices)
        parts.append(among[indices])
    return np.concatenate(parts)


def partition_row(row: np.ndarray, kth: int, out: np.ndarray) -> None:
    """Fill ``out`` with the elements of a row in order around one place."""
    bounds = _bounds_of(row, kth, kth)
    if bounds is None:
        np.copyto(out, row)
        out.partition(kth)
        return
    above = row.size - bounds.above
    row.compress(row < bounds.low, out=out[: bounds.below])
    row.compress(row > bounds.high, out=out[above:])
    among = out[bounds.below : above]
    row.compress(_is_between(row, bounds), out=among)
    among.partition(kth - bounds.below)


def argpartition_row(row: np.ndarray, kth: int) -> np.ndarray:
    """The places of the elements of a row in order around one place."""
    bounds = _bounds_of(row, kth, kth)
    if bounds is None:
        return np.argpartition(row, kth)
    among = np.flatnonzero(_is_between(row, bounds))
    order = np.argpartition(row[among], kth - bounds.below)
    return np.concatenate([np.flatnonzero(row < bounds.low), among[order], np.flatnonzero(row > bounds.high)])


def _bounds_of(row: np.ndarray, first: int, last: int) -> _Bounds | None:
    """Bounds between which the elements from place ``first`` to ``last`` lie; None if the sample does not tell any."""
    if row.size < MIN_LENGTH:
        return None
    sample = np.sort(row[_sampled(row.size)])
    low, high = _rank(first, row.size, sample.size, -1), _rank(last, row.size, sample.size, 1)
    least, greatest = sample[max(low, 0)], sample[min(high, sample.size - 1)]
    if low < 0:
        least = row.min()
    if high >= sample.size:
        greatest = row.max()
    bounds = _Bounds(least, greatest, int(np.count_nonzero(row < least)), int(np.count_nonzero(row > greatest)))
    return bounds if bounds.below <= first and last < row.size - bounds.above else None


def _is_between(row: np.ndarray, bounds: _Bounds) -> np.ndarray:
    return (row >= bounds.low) & (row <= bounds.high)


def _sampled(length: int) -> np.ndarray:
    """Some places, spread evenly, and in no step that a row might repeat itself in."""
    return np.arange(int(length ** (2 / 3))) * (int(length * _GOLDEN) | 1) % length


def _rank(wanted_rank: int, length: int, count: int, side: int) -> int:
    """The rank in a sample that very likely is on one side of an element's."""
    share = (wanted_rank + 0.5) / length
    return math.floor(share * count + side * (1 + _DEVIATIONS * math.sqrt(count * share * (1 - share))))


def _neighbours(wanted_ranks: Sequence[int], distance: int) -> Iterator[list[int]]:
    """Ascending places in groups, within which each is near the one before."""
    near = [int(wanted_ranks[0])]
    for wanted_rank in map(int, wanted_ranks[1:]):
        if wanted_rank - near[-1] > distance:
            yield near
            near = []
        near.append(wanted_rank)
    yield near
