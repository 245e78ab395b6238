"""Putting rows in order: one array by its own values, or several together by keys, stably.

Several arrays: a key and its place in the row are packed into one 64-bit integer, so that a plain sort of these gives a
stable order and the permutation at once. Keys that leave no room for the place take several passes, the first one by their
last bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arrax.xla.host_kernels import keys
from arrax.xla.host_kernels.keys import integer_type, pieces


def put_in_place(rows: np.ndarray, kth: int) -> None:
    """Sort rows of integers, or with ``kth`` not negative only so far that this place is right."""
    if kth >= 0:
        rows.partition(kth, axis=-1)
    else:
        rows.sort(axis=-1, kind="stable" if rows.dtype.itemsize <= 2 else None)  # a radix sort for the short types


# ---- one array ---------------------------------------------------------------------------------------------------------


def order_values(rows: np.ndarray, out: np.ndarray, kth: int = -1) -> None:
    """The values of each row in order; ``out`` may be the memory of ``rows``."""
    dtype = rows.dtype
    if dtype.kind == "c":
        return _order_complex(rows, out, kth)
    if dtype.kind in "iub":
        if out.ctypes.data != rows.ctypes.data:
            np.copyto(out, rows)
        plain = out.view(np.uint8) if dtype.kind == "b" else out
        return put_in_place(plain, kth)
    _order_floats(rows, out, kth)


def _order_floats(rows: np.ndarray, out: np.ndarray, kth: int) -> None:
    """As integers; values that are equal without being identical are then put where they were found, in their order."""
    dtype = rows.dtype
    bits = rows.view(integer_type(dtype, "u"))
    odd = [(key, bits[bits_are]) for key, bits_are in _unlike_equals(bits, dtype)]
    if keys.is_small(dtype):
        ordered = np.take(keys.rank_table(dtype), bits)
        put_in_place(ordered, kth)
        np.take(_first_of_rank(dtype), ordered, out=out.view(np.uint8))
    else:
        ordered = out.view(integer_type(dtype))
        _keys_of(rows.view(ordered.dtype), ordered, dtype)
        put_in_place(ordered, kth)
    places = [ordered == key for key, _ in odd]
    if not keys.is_small(dtype):
        for place in pieces(ordered.shape):
            keys.float_bits(ordered[place], np.empty_like(ordered[place]))
    for where, (_, originals) in zip(places, odd, strict=True):
        out.view(bits.dtype)[where] = originals


def _first_of_rank(dtype: np.dtype) -> np.ndarray:
    table = keys.rank_table(dtype)
    first = np.zeros(256, np.uint8)
    for pattern in range(255, -1, -1):
        first[table[pattern]] = pattern
    return first


def _keys_of(bits: np.ndarray, out: np.ndarray, dtype: np.dtype) -> None:
    for place in pieces(bits.shape):
        part = out[place]
        keys.signed_keys(bits[place], part, np.empty_like(part))
        keys.merge_nans(part, dtype)


def _unlike_equals(bits: np.ndarray, dtype: np.dtype) -> list[tuple[int, np.ndarray]]:
    """(key, where) of zeros, if there are negative ones, and of NaNs."""
    if keys.is_small(dtype):
        table = keys.rank_table(dtype)
        ranks, counts = np.unique(table, return_counts=True)
        return [(rank, np.isin(bits, np.nonzero(table == rank)[0])) for rank in ranks[counts > 1]]
    top = bits.dtype.type(1 << (8 * dtype.itemsize - 1))
    found = []
    if (bits == top).any():
        found.append((0, (bits | top) == top))
    magnitude = top - bits.dtype.type(1)
    bound = keys.infinity(dtype)
    if any((bits[place] & magnitude).max() > bound for place in pieces(bits.shape)):
        found.append((int(np.iinfo(integer_type(dtype)).max), (bits & magnitude) > bound))
    return found


def _order_complex(rows: np.ndarray, out: np.ndarray, kth: int) -> None:
    order_together([rows], [out], [0], 1, kth)


# ---- several arrays ----------------------------------------------------------------------------------------------------


def order_together(
    operands: Sequence[np.ndarray], outs: Sequence[np.ndarray], sources: Sequence[int], num_keys: int, kth: int = -1
) -> None:
    """Rows of several arrays in the order of the first ``num_keys`` of them.

    Args:
      sources: for each of ``outs`` the operand it is made of; -1 for the places themselves, -2 where nobody reads it.
    """
    order = permutation(operands[:num_keys], kth)
    flat: np.ndarray | None = None
    for out, source in zip(outs, sources, strict=True):
        if source == -1:
            out[...] = order
        elif source >= 0:
            if flat is None:
                flat = _flat_places(order)
            _take(operands[source], flat, out)


def _take(operand: np.ndarray, flat: np.ndarray, out: np.ndarray) -> None:
    """Bits are taken, whatever they mean: assignments of floats may change them."""
    size = operand.dtype.itemsize
    plain = np.dtype(f"u{size}") if size <= 8 else operand.dtype
    np.take(operand.view(plain).reshape(-1), flat, out=out.view(plain), mode="clip")


def _flat_places(order: np.ndarray) -> np.ndarray:
    rows, length = order.shape
    flat = order.astype(np.intp)
    if rows > 1:
        flat += (np.arange(rows, dtype=np.intp) * length)[:, None]
    return flat


class Field(NamedTuple):
    """Some bits of a word of the keys: ``width`` of them, above the ``dropped`` last ones."""

    word: int
    dropped: int
    width: int


def permutation(operands: Sequence[np.ndarray], kth: int = -1) -> np.ndarray:
    """For each row the places of its elements in order, as unsigned integers; equal elements keep their order."""
    shape = operands[0].shape
    place_bits = max(1, int(shape[1] - 1).bit_length())
    widths = [width for operand in operands for width in keys.word_widths(operand.dtype)]
    least = [0] * len(widths)
    if sum(widths) > 64 - place_bits:
        least, widths = _ranges(operands)
    passes = _split(widths, 64 - place_bits)
    if len(passes) == 1:
        packed = np.empty(shape, np.uint64)
        for place in pieces(shape):
            _pack(_shifted(operands, place, least), passes[0], packed[place])
            _add_places(packed[place], place[1].start or 0, place_bits)
        return _order_of(packed, place_bits, kth)
    words = [np.empty(shape, word.dtype) for word in _shifted(operands, (slice(0, 1), slice(0, 1)), least)]
    for place in pieces(shape):
        for word, part in zip(words, _shifted(operands, place, least), strict=True):
            word[place] = part
    return _in_passes(words, passes, place_bits)


def _in_passes(words: Sequence[np.ndarray], passes: Sequence[Sequence[Field]], place_bits: int) -> np.ndarray:
    packed, order = np.empty(words[0].shape, np.uint64), None
    for fields in passes:
        flat = None if order is None else _flat_places(order)
        _pack([word if flat is None else np.take(word.reshape(-1), flat) for word in words], fields, packed)
        _add_places(packed, 0, place_bits)
        later = _order_of(packed, place_bits, -1)
        order = later if flat is None else np.take_along_axis(order, later.astype(np.intp), -1)
    return order


def _ranges(operands: Sequence[np.ndarray]) -> tuple[list[int], list[int]]:
    """The least value of each word, and the bits that the differences from it need."""
    shape, bounds = operands[0].shape, []
    for place in pieces(shape):
        words = [word for operand in operands for word in keys.words(operand[place])]
        bounds.append([(int(word.min()), int(word.max())) for word in words])
    ranges = [(min(low for low, _ in word), max(high for _, high in word)) for word in zip(*bounds, strict=True)]
    return [low for low, _ in ranges], [max(1, (high - low).bit_length()) for low, high in ranges]


def _split(widths: Sequence[int], room: int) -> list[list[Field]]:
    """The bits of words set side by side, in portions of at most ``room`` bits; the portion of the last bits first."""
    passes: list[list[Field]] = [[]]
    left = room
    for word in reversed(range(len(widths))):
        dropped = 0
        while dropped < widths[word]:
            if not left:
                passes.append([])
                left = room
            taken = min(widths[word] - dropped, left)
            passes[-1].insert(0, Field(word, dropped, taken))
            dropped, left = dropped + taken, left - taken
    return passes


def _shifted(operands: Sequence[np.ndarray], place: tuple[slice, slice], least: Sequence[int]) -> list[np.ndarray]:
    words = [word for operand in operands for word in keys.words(operand[place])]
    return [word - word.dtype.type(low) if low else word for word, low in zip(words, least, strict=True)]


def _pack(words: Sequence[np.ndarray], fields: Sequence[Field], out: np.ndarray) -> None:
    """Fields side by side."""
    for number, field in enumerate(fields):
        word = words[field.word]
        kind, size = word.dtype.type, 8 * word.dtype.itemsize
        if field.dropped:
            word = word >> kind(field.dropped)
        if field.dropped + field.width < size:
            word = word & kind((1 << field.width) - 1)
        if number == 0:
            out[...] = word
        else:
            np.left_shift(out, np.uint64(field.width), out=out)
            np.bitwise_or(out, word, out=out)


def _add_places(packed: np.ndarray, start: int, place_bits: int) -> None:
    """Behind each key its place in the row, the first of them being ``start``."""
    np.left_shift(packed, np.uint64(place_bits), out=packed)
    np.bitwise_or(packed, np.arange(start, start + packed.shape[1], dtype=np.uint64), out=packed)


def _order_of(packed: np.ndarray, place_bits: int, kth: int) -> np.ndarray:
    """Sort packed keys, and read the places."""
    put_in_place(packed, kth)
    order = np.empty(packed.shape, np.uint32 if place_bits <= 32 else np.uint64)
    for place in pieces(packed.shape):
        np.bitwise_and(packed[place], np.uint64((1 << place_bits) - 1), out=order[place], casting="unsafe")
    return order
