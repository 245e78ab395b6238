"""Selecting from rows: the elements at some places of their order, and the greatest ones."""

from __future__ import annotations

import numpy as np

from arrax.xla.host_kernels import keys, selecting, sorting
from arrax.xla.host_kernels.keys import integer_type, pieces
from arrax.xla.host_kernels.partitioning import comparable, elements_at

_FEW_ROWS = 16

# ---- order statistics --------------------------------------------------------------------------------------------------


def order_statistics(rows: np.ndarray, indices: np.ndarray, out: np.ndarray) -> None:
    """The elements that would stand at some places if each row were sorted, stably.

    Args:
      rows: shape (rows, length), real.
      indices: integers of shape (rows, count), from 0 to length - 1.
      out: shape (rows, count), of the dtype of ``rows``.
    """
    dtype, where = rows.dtype, indices.astype(np.intp)
    if dtype.kind in "iu":
        out[...] = elements_at(rows.copy(), where)
    elif keys.is_small(dtype):
        ordered = np.empty_like(rows)
        sorting.order_values(rows, ordered)
        out[...] = np.take_along_axis(ordered, where, -1)
    else:
        bits = rows.view(integer_type(dtype))
        keyed = comparable(bits, dtype, int(indices.min()), int(indices.max()))
        found = elements_at(keyed.rows, where)
        keyed.undo(found)
        _choose_zeros(bits, keys.infinity(dtype), indices, found)
        out.view(bits.dtype)[...] = found


def _choose_zeros(bits: np.ndarray, infinity: int, indices: np.ndarray, found: np.ndarray) -> None:
    """Where zeros were found: which of the row's zeros it is, by their order in the row."""
    smallest = np.iinfo(bits.dtype).min
    zeros = np.argwhere((found == 0) | (found == smallest))
    if not zeros.size or not (bits == smallest).any():
        return
    for row, column in zeros:
        magnitudes = bits[row] & ~smallest
        before = np.count_nonzero((bits[row] < 0) & (magnitudes != 0) & (magnitudes <= infinity))
        found[row, column] = bits[row][magnitudes == 0][indices[row, column] - before]


# ---- the greatest ------------------------------------------------------------------------------------------------------


def top_k(rows: np.ndarray, values: np.ndarray, indices: np.ndarray) -> None:
    """The greatest elements of each row, descending, and their places; of equal ones the first come first.

    Floats are in total order: by sign first, positive NaNs the greatest, negative zero below positive zero.

    Args:
      rows: shape (rows, length), integers or floats of at least two bytes.
      values, indices: shape (rows, count), what is to be filled.
    """
    count = values.shape[1]
    falling = _falling_keys(rows)
    if rows.shape[0] <= _FEW_ROWS and count <= rows.shape[1] // 8:
        order = np.stack([_least_of_row(row, count) for row in falling])
    else:
        order = sorting.permutation([falling], count - 1 if falling.dtype.itemsize <= 4 else -1)[:, :count]
        if falling.dtype.itemsize <= 4:
            order = _sorted_by(falling, order)
    positions = order.astype(np.intp)
    bits = integer_type(rows.dtype)
    values.view(bits)[...] = np.take_along_axis(rows.view(bits), positions, -1)
    indices[...] = order


def _falling_keys(rows: np.ndarray) -> np.ndarray:
    """Unsigned keys in the opposite order."""
    signed, unsigned = integer_type(rows.dtype), integer_type(rows.dtype, "u")
    out = np.empty(rows.shape, unsigned)
    top = unsigned.type(1 << (8 * rows.dtype.itemsize - 1))
    for index in pieces(rows.shape):
        part = out[index]
        if rows.dtype.kind == "u":
            np.invert(rows[index], out=part)
            continue
        bits = rows.view(signed)[index]
        if rows.dtype.kind != "i":
            bits = bits ^ ((bits >> (8 * rows.dtype.itemsize - 1)) & np.iinfo(signed).max)
        np.bitwise_xor(bits.view(unsigned), ~top, out=part)
    return out


def _least_of_row(row: np.ndarray, count: int) -> np.ndarray:
    """The places of the least keys of a row, in order."""
    bound = selecting.select(row, [count - 1])[0]
    below = np.flatnonzero(row < bound)
    level = np.flatnonzero(row == bound)[: count - below.size]
    chosen = np.concatenate([below, level])
    return chosen[np.argsort(row[chosen], kind="stable")]


def _sorted_by(falling: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Places in each row, sorted by key and place."""
    order = np.sort(order, axis=-1)
    ranks = np.argsort(np.take_along_axis(falling, order.astype(np.intp), -1), axis=-1, kind="stable")
    return np.take_along_axis(order, ranks, -1)
