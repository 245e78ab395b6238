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
from arrax.xla.host_kernels.partitioning import partition_indices, partition_values
from arrax.xla.host_kernels.sharing import sort_row

_LONG_FOR_RADIX = 512


def put_in_place(rows: np.ndarray, kth: int) -> None:
    """Sort rows of integers, or with ``kth`` not negative only so far that this place is right."""
    if kth >= 0:
        rows.partition(kth, axis=-1)
    elif rows.size == rows.shape[-1] and rows.dtype.itemsize > 2:
        sort_row(rows if rows.ndim == 1 else rows[0])
    else:
        short = rows.dtype.itemsize <= 2 and rows.shape[-1] >= _LONG_FOR_RADIX
        rows.sort(axis=-1, kind="stable" if short else None)  # a radix sort, for short types


# ---- one array ---------------------------------------------------------------------------------------------------------

_LONG_ROW = 4096


def order_values(rows: np.ndarray, out: np.ndarray, kth: int = -1) -> None:
    """The values of each row in order; ``out`` is other memory."""
    dtype = rows.dtype
    if dtype.kind == "c":
        order_together([rows], [out], [0], 1, kth)
    elif dtype.kind in "iub":
        np.copyto(out, rows)
        put_in_place(out.view(np.uint8) if dtype.kind == "b" else out, kth)
    elif keys.is_small(dtype):
        _order_small_floats(rows, out, kth)
    elif kth >= 0 and partition_values(rows, out, kth):
        return
    elif rows.shape[1] >= _LONG_ROW:
        bits = integer_type(dtype)
        for row, ordered in zip(rows.view(bits), out.view(bits), strict=True):
            _order_float_row(row, ordered, keys.infinity(dtype))
    else:
        _order_floats(rows, out)


def _order_float_row(bits: np.ndarray, out: np.ndarray, infinity: int) -> None:
    """Signed integers put the bits of floats in order but for the negative ones, which come in front the wrong way round."""
    np.copyto(out, bits)
    put_in_place(out, -1)
    kind = out.dtype.type
    smallest = np.iinfo(out.dtype).min
    negative, positive = (int(n) for n in np.searchsorted(out, [kind(0), kind(infinity + 1)]))
    zeros, numbers = (
        int(n) for n in np.searchsorted(out[:negative], [kind(smallest + 1), kind(smallest + infinity + 1)])
    )
    nans = (negative - numbers) + (out.size - positive)
    out[:negative] = out[:negative][::-1].copy()
    if negative > numbers:
        out[: out.size - nans] = out[negative - numbers : positive].copy()
    if nans:
        out[out.size - nans :] = bits[(bits & kind(~smallest)) > infinity]
    if zeros:
        start = numbers - zeros
        originals = bits[(bits & kind(~smallest)) == 0]
        out[start : start + originals.size] = originals


_WIDE = (np.dtype(np.float32), np.dtype(np.float64))  # which NumPy sorts fast as they are


def _order_floats(rows: np.ndarray, out: np.ndarray) -> None:
    """As they are, where none count as equal without being identical; else by integer keys."""
    bits = rows.view(integer_type(rows.dtype))
    if rows.dtype in _WIDE and not any(_count_as_zeros(bits[index], rows.dtype) for index in pieces(bits.shape)):
        np.copyto(out, rows)
        put_in_place(out, -1)
        if not np.isnan(out[:, -1:]).any():
            return
    _order_by_keys(bits, out.view(bits.dtype), rows.dtype)


def _count_as_zeros(bits: np.ndarray, dtype: np.dtype) -> bool:
    """Whether any numbers besides 0.0 itself count as zeros: -0.0, and subnormal ones on the compiler's threads."""
    tiny = (bits & bits.dtype.type(np.iinfo(bits.dtype).max)) < np.asarray(np.finfo(dtype).tiny).view(bits.dtype)
    return bool(tiny.any()) and bool(bits[tiny].any())


def _order_by_keys(bits: np.ndarray, ordered: np.ndarray, dtype: np.dtype) -> None:
    """Values that are equal without being identical are put where they belong in the end, in the order they came in."""
    for index in pieces(bits.shape):
        keys.signed_keys(bits[index], ordered[index], np.empty_like(ordered[index]))
        keys.merge_nans(ordered[index], dtype)
    put_in_place(ordered, -1)
    alike = [(ordered == key, bits[where]) for key, where in _unlike_equals(bits, dtype)]
    for index in pieces(ordered.shape):
        keys.float_bits(ordered[index], np.empty_like(ordered[index]))
    for where, originals in alike:
        ordered[where] = originals


def _unlike_equals(bits: np.ndarray, dtype: np.dtype) -> list[tuple[int, np.ndarray]]:
    """(key, where) of zeros, if there are negative ones, and of NaNs."""
    smallest, infinity = np.iinfo(bits.dtype).min, keys.infinity(dtype)
    magnitudes = bits & bits.dtype.type(~smallest)
    found = []
    if (bits == smallest).any():
        found.append((0, magnitudes == 0))
    if magnitudes.max() > infinity:
        found.append((~smallest, magnitudes > infinity))
    return found


def _order_small_floats(rows: np.ndarray, out: np.ndarray, kth: int) -> None:
    bits, table = rows.view(np.uint8), keys.rank_table(rows.dtype)
    ordered = np.take(table, bits)
    put_in_place(ordered, kth)
    ranks, first, counts = np.unique(table, return_index=True, return_counts=True)
    patterns = np.zeros(256, np.uint8)
    patterns[ranks] = first
    result = out.view(np.uint8)
    np.take(patterns, ordered, out=result)
    for rank in ranks[counts > 1]:
        result[ordered == rank] = bits[np.take(table, bits) == rank]


# ---- several arrays ----------------------------------------------------------------------------------------------------


def order_together(
    operands: Sequence[np.ndarray], outs: Sequence[np.ndarray], sources: Sequence[int], num_keys: int, kth: int = -1
) -> None:
    """Rows of several arrays in the order of the first ``num_keys`` of them.

    Args:
      sources: for each of ``outs`` the operand it is made of; -1 for the places themselves, -2 where nobody reads it.
    """
    order = None
    if kth >= 0 and num_keys == 1 and _is_plain(operands[0].dtype):
        order = partition_indices(operands[0], kth)
    if order is None:
        order = permutation(operands[:num_keys], kth)
    flat: np.ndarray | None = None
    for out, source in zip(outs, sources, strict=True):
        if source == -1:
            out[...] = order
        elif source >= 0:
            if flat is None:
                flat = _flat_indices(order)
            _take(operands[source], flat, out)


def _take(operand: np.ndarray, flat: np.ndarray, out: np.ndarray) -> None:
    """Bits are taken, whatever they mean: assignments of floats may change them."""
    size = operand.dtype.itemsize
    plain = np.dtype(f"u{size}") if size <= 8 else operand.dtype
    np.take(operand.view(plain).reshape(-1), flat, out=out.view(plain), mode="clip")


def _flat_indices(order: np.ndarray) -> np.ndarray:
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
    index_bits = max(1, int(shape[1] - 1).bit_length())
    widths = [width for operand in operands for width in keys.word_widths(operand.dtype)]
    smallest = [0] * len(widths)
    if sum(widths) > 64 - index_bits or all(operand.dtype.kind in "iub" for operand in operands):
        smallest, widths = _ranges(operands)
    passes = _split(widths, 64 - index_bits)
    if len(passes) == 1:
        packed = np.empty(shape, np.uint64 if sum(widths) + index_bits > 32 else np.uint32)
        for index in pieces(shape):
            _pack(_shifted(operands, index, smallest), passes[0], packed[index])
            _add_indices(packed[index], index[1].start or 0, index_bits)
        return _order_of(packed, index_bits, kth)
    words = [np.empty(shape, word.dtype) for word in _shifted(operands, (slice(0, 1), slice(0, 1)), smallest)]
    for index in pieces(shape):
        for word, part in zip(words, _shifted(operands, index, smallest), strict=True):
            word[index] = part
    found = _by_first_bits(words, widths, index_bits)
    return _in_passes(words, passes, index_bits) if found is None else found


def _is_plain(dtype: np.dtype) -> bool:
    return dtype.kind in "iu" or (dtype.kind not in "bc" and not keys.is_small(dtype))


def _by_first_bits(words: Sequence[np.ndarray], widths: Sequence[int], index_bits: int) -> np.ndarray | None:
    """The order by the bits that fit into one pass, mended where the others decide; None if they often do."""
    first, rest = _first_bits(widths, 64 - index_bits)
    packed = np.empty(words[0].shape, np.uint64)
    _pack(words, first, packed)
    _add_indices(packed, 0, index_bits)
    order = _order_of(packed, index_bits, -1)
    heads = np.right_shift(packed, np.uint64(index_bits), out=packed)
    undecided = heads[:, 1:] == heads[:, :-1]
    amount = np.count_nonzero(undecided)
    if not amount:
        return order
    if amount > order.size // 32:
        return None
    among = np.zeros(order.shape, bool)
    among[:, 1:] |= undecided
    among[:, :-1] |= undecided
    row, column = np.nonzero(among)
    indices = order[row, column]
    tails = [_bits_of(words[field.word][row, indices], field) for field in rest]
    # The leading bits and the rows come first, so that each element stays among those that it has these in common with.
    inner = np.lexsort([indices, *reversed(tails), heads[row, column], row])
    order[row, column] = indices[inner]
    return order


def _in_passes(words: Sequence[np.ndarray], passes: Sequence[Sequence[Field]], index_bits: int) -> np.ndarray:
    """By the last bits first; each pass keeps the order of the one before where its bits are equal."""
    packed, order = np.empty(words[0].shape, np.uint64), np.empty(0)
    for number, fields in enumerate(passes):
        flat = _flat_indices(order) if number else None
        _pack([word if flat is None else np.take(word.reshape(-1), flat) for word in words], fields, packed)
        _add_indices(packed, 0, index_bits)
        later = _order_of(packed, index_bits, -1)
        order = later if flat is None else np.take_along_axis(order, later.astype(np.intp), -1)
    return order


def _ranges(operands: Sequence[np.ndarray]) -> tuple[list[int], list[int]]:
    """The least value of each word, and the bits that the differences from it need."""
    shape, bounds = operands[0].shape, []
    for index in pieces(shape):
        words = [word for operand in operands for word in keys.words(operand[index])]
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


def _first_bits(widths: Sequence[int], room: int) -> tuple[list[Field], list[Field]]:
    """The first ``room`` bits of words set side by side, and the others."""
    first, rest = [], []
    for word, width in enumerate(widths):
        taken = min(width, room)
        if taken:
            first.append(Field(word, width - taken, taken))
        if taken < width:
            rest.append(Field(word, 0, width - taken))
        room -= taken
    return first, rest


def _shifted(operands: Sequence[np.ndarray], index: tuple[slice, slice], smallest: Sequence[int]) -> list[np.ndarray]:
    words = [word for operand in operands for word in keys.words(operand[index])]
    return [word - word.dtype.type(low) if low else word for word, low in zip(words, smallest, strict=True)]


def _bits_of(word: np.ndarray, field: Field) -> np.ndarray:
    kind, size = word.dtype.type, 8 * word.dtype.itemsize
    if field.dropped:
        word = word >> kind(field.dropped)
    return word & kind((1 << field.width) - 1) if field.dropped + field.width < size else word


def _pack(words: Sequence[np.ndarray], fields: Sequence[Field], out: np.ndarray) -> None:
    """Fields side by side."""
    for number, field in enumerate(fields):
        bits = _bits_of(words[field.word], field)
        if number == 0:
            out[...] = bits
        else:
            np.left_shift(out, out.dtype.type(field.width), out=out)
            np.bitwise_or(out, bits, out=out, casting="unsafe")


def _add_indices(packed: np.ndarray, start: int, index_bits: int) -> None:
    """Behind each key its place in the row, the first of them being ``start``."""
    np.left_shift(packed, packed.dtype.type(index_bits), out=packed)
    np.bitwise_or(packed, np.arange(start, start + packed.shape[1], dtype=packed.dtype), out=packed)


def _order_of(packed: np.ndarray, index_bits: int, kth: int) -> np.ndarray:
    """Sort packed keys, and read the places."""
    put_in_place(packed, kth)
    order = np.empty(packed.shape, np.uint32 if index_bits <= 32 else np.uint64)
    for index in pieces(packed.shape):
        np.bitwise_and(packed[index], packed.dtype.type((1 << index_bits) - 1), out=order[index], casting="unsafe")
    return order
