"""Selecting from rows: the elements at some places of their order, and the greatest ones."""

from __future__ import annotations

import numpy as np

from arrax.xla.host_kernels import keys, ordering
from arrax.xla.host_kernels.keys import integer_type, pieces

_FEW_PLACES = 16
_FEW_ROWS = 16


# ---- order statistics --------------------------------------------------------------------------------------------------


def select_places(rows: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
    """The elements that would stand at some places if each row were sorted, stably.

    Args:
      rows: shape (rows, length), real.
      places: integers of shape (rows, count), from 0 to length - 1.
      out: shape (rows, count), of the dtype of ``rows``.
    """
    dtype = rows.dtype
    if keys.is_small(dtype) and dtype.kind not in "iu":
        ordered = np.empty_like(rows)
        ordering.order_values(rows, ordered)
        out[...] = np.take_along_axis(ordered, places, -1)
        return
    work = rows.copy() if dtype.kind in "iu" else _float_keys(rows)
    wanted = np.unique(places)
    if wanted.size <= _FEW_PLACES:
        work.partition(wanted, axis=-1)
    else:
        work.sort(axis=-1)
    found = np.take_along_axis(work, places.astype(np.intp), -1)
    if dtype.kind in "iu":
        out[...] = found
        return
    zeros = np.argwhere(found == 0)
    bits = out.view(found.dtype)
    keys.float_bits(found, np.empty_like(found))
    bits[...] = found
    source = rows.view(found.dtype)
    least = np.iinfo(found.dtype).min
    if zeros.size and (source == least).any():
        for row, column in zeros:  # which of the zeros it is, by their order in the row
            all_zeros = source[row][(source[row] & ~least) == 0]
            before = int(np.count_nonzero(work[row] < 0))
            bits[row, column] = all_zeros[places[row, column] - before]


def _float_keys(rows: np.ndarray) -> np.ndarray:
    bits = rows.view(integer_type(rows.dtype))
    out = np.empty_like(bits)
    for place in pieces(bits.shape):
        keys.signed_keys(bits[place], out[place], np.empty_like(out[place]))
        keys.merge_nans(out[place], rows.dtype)
    return out


# ---- the greatest ------------------------------------------------------------------------------------------------------


def greatest(rows: np.ndarray, values: np.ndarray, indices: np.ndarray) -> None:
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
        order = ordering.permutation([falling], count - 1 if falling.dtype.itemsize <= 4 else -1)[:, :count]
        if falling.dtype.itemsize <= 4:
            order = _sorted_by(falling, order)
    places = order.astype(np.intp)
    bits = integer_type(rows.dtype)
    values.view(bits)[...] = np.take_along_axis(rows.view(bits), places, -1)
    indices[...] = order


def _falling_keys(rows: np.ndarray) -> np.ndarray:
    """Unsigned keys in the opposite order."""
    signed, unsigned = integer_type(rows.dtype), integer_type(rows.dtype, "u")
    out = np.empty(rows.shape, unsigned)
    top = unsigned.type(1 << (8 * rows.dtype.itemsize - 1))
    for place in pieces(rows.shape):
        part = out[place]
        if rows.dtype.kind == "u":
            np.invert(rows[place], out=part)
            continue
        bits = rows.view(signed)[place]
        if rows.dtype.kind != "i":
            bits = bits ^ ((bits >> (8 * rows.dtype.itemsize - 1)) & np.iinfo(signed).max)
        np.bitwise_xor(bits.view(unsigned), ~top, out=part)
    return out


def _least_of_row(row: np.ndarray, count: int) -> np.ndarray:
    """The places of the least keys of a row, in order."""
    bound = np.partition(row, count - 1)[count - 1]
    below = np.flatnonzero(row < bound)
    level = np.flatnonzero(row == bound)[: count - below.size]
    chosen = np.concatenate([below, level])
    return chosen[np.argsort(row[chosen], kind="stable")]


def _sorted_by(falling: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Places in each row, sorted by key and place."""
    order = np.sort(order, axis=-1)
    ranks = np.argsort(np.take_along_axis(falling, order.astype(np.intp), -1), axis=-1, kind="stable")
    return np.take_along_axis(order, ranks, -1)
