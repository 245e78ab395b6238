"""Rows in order only around some places."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from arrax.xla.host_kernels import keys, selecting
from arrax.xla.host_kernels.keys import integer_type, pieces

_FEW_PLACES = 16


def elements_at(rows: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The elements that would stand at some places if each row were sorted; ``rows`` may be left in another order.

    Args:
      rows: integers of shape (rows, length).
      indices: shape (rows, count).
    """
    wanted = np.flatnonzero(np.bincount(indices.ravel()))  # np.unique would import numpy.ma
    if rows.shape[1] >= selecting.MIN_LENGTH and wanted.size <= _FEW_PLACES:
        found = np.stack([selecting.select(row, wanted.tolist()) for row in rows])
        return np.take_along_axis(found, np.searchsorted(wanted, indices), -1)
    _partition_at(rows, wanted)
    return np.take_along_axis(rows, indices, -1)


def _partition_at(rows: np.ndarray, wanted: np.ndarray) -> None:
    """Bring the elements that belong to some places of each row there; ``wanted`` is ascending."""
    if wanted.size > _FEW_PLACES:
        rows.sort(axis=-1)
    elif wanted.size:
        middle = wanted.size // 2  # one at a time: NumPy is much slower at several
        index = int(wanted[middle])
        rows.partition(index, axis=-1)
        _partition_at(rows[:, :index], wanted[:middle])
        rest = wanted[middle + 1 :] - (index + 1)
        if rest.size == 1 and rest[0] == 0:
            _bring_least(rows[:, index + 1 :])
        else:
            _partition_at(rows[:, index + 1 :], rest)


def _bring_least(rows: np.ndarray) -> None:
    where, numbers = rows.argmin(axis=-1), np.arange(rows.shape[0])
    smallest = rows[numbers, where]
    rows[numbers, where] = rows[:, 0]
    rows[:, 0] = smallest


def partition_values(rows: np.ndarray, out: np.ndarray, kth: int) -> bool:
    """The values of rows of several bytes around one place; False, and nothing done, where there are negative NaNs."""
    if rows.dtype.kind in "iu":
        _partition(rows, out, kth)
        return True
    mask = _turning(rows.view(integer_type(rows.dtype)), rows.dtype, kth, kth)
    if mask is None:
        return False
    turned = out.view(mask.dtype)
    _partition(rows.view(mask.dtype) ^ mask, turned, kth)
    np.bitwise_xor(turned, mask, out=turned)
    return True


def _partition(rows: np.ndarray, out: np.ndarray, kth: int) -> None:
    if rows.shape[1] >= selecting.MIN_LENGTH:
        for row, parts in zip(rows, out, strict=True):
            selecting.partition_row(row, kth, parts)
    else:
        np.copyto(out, rows)
        out.partition(kth, axis=-1)


def partition_indices(rows: np.ndarray, kth: int) -> np.ndarray | None:
    """The places of the elements around one of their order; None where there are negative NaNs."""
    if rows.dtype.kind not in "iu":
        mask = _turning(rows.view(integer_type(rows.dtype)), rows.dtype, kth, kth)
        if mask is None:
            return None
        rows = rows.view(mask.dtype) ^ mask
    if rows.shape[1] >= selecting.MIN_LENGTH:
        return np.stack([selecting.argpartition_row(row, kth) for row in rows])
    return np.argpartition(rows, kth, axis=-1)


class Comparable(NamedTuple):
    """Rows of integers in whose order floats come, as far as it matters for some places; and how to get the floats back."""

    rows: np.ndarray
    undo: Callable[[np.ndarray], None]


def comparable(bits: np.ndarray, dtype: np.dtype, first: int, last: int) -> Comparable:
    """Rows that may be partitioned at places from ``first`` to ``last``.

    The bits of floats as signed integers are in order, but for the negative ones among themselves. Where all the places are
    behind these, that does not matter; where all are among these, the others may be in the wrong order instead.
    """
    mask = _turning(bits, dtype, first, last)
    if mask is not None:
        return Comparable(bits ^ mask, lambda found: np.bitwise_xor(found, mask, out=found))
    out = np.empty_like(bits)
    for index in pieces(bits.shape):
        keys.signed_keys(bits[index], out[index], np.empty_like(out[index]))
        keys.merge_nans(out[index], dtype)
    return Comparable(out, lambda found: keys.float_bits(found, np.empty_like(found)))


def _turning(bits: np.ndarray, dtype: np.dtype, first: int, last: int) -> np.ndarray | None:
    """For each row, the bits to be turned over; None where there are places on both sides, or negative NaNs."""
    top = 1 << (8 * dtype.itemsize - 1)
    negative = np.zeros(bits.shape[0], np.intp)
    largest, unsigned = 0, bits.view(integer_type(dtype, "u"))
    for index in pieces(bits.shape):
        largest = max(largest, int(unsigned[index].max()))
        signs = bits[index] < 0
        negative[index[0]] += np.count_nonzero(signs) if len(signs) == 1 else np.count_nonzero(signs, axis=-1)
    turned = negative > last
    if largest > top + keys.infinity(dtype) or (~turned & (negative > first)).any():
        return None
    return np.where(turned, bits.dtype.type(top - 1), bits.dtype.type(0))[:, None]
