"""Values as integers that are in the same order.

All kernels compare integers only. The threads of the runtime treat subnormal floats as zeros, so that comparing floats
would give another order there than on the thread of the caller.

Arrays are two-dimensional here, rows to be put in order, and are worked on in pieces that stay in the processor's cache.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

PIECE = 1 << 16  # elements; smaller pieces cost more in calls than they save in memory traffic


def pieces(shape: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the pieces of an array: parts of a row, or several whole rows."""
    rows, length = shape
    if length >= PIECE:
        for row in range(rows):
            for start in range(0, length, PIECE):
                yield slice(row, row + 1), slice(start, start + PIECE)
    else:
        step = PIECE // max(length, 1)
        for start in range(0, rows, step):
            yield slice(start, start + step), slice(None)


def integer_type(dtype: np.dtype, kind: str = "i") -> np.dtype:
    """The integer dtype of the same size; ``kind`` is "i" for signed, "u" for unsigned."""
    return np.dtype(f"{kind}{dtype.itemsize}")


def is_small(dtype: np.dtype) -> bool:
    """Whether a dtype has one byte: its values are looked up in a table."""
    return dtype.itemsize == 1


@functools.cache
def rank_table(dtype: np.dtype) -> np.ndarray:
    """The rank of each of the 256 patterns of a dtype of one byte; zeros are equal, NaNs are equal and last."""
    patterns = np.arange(256, dtype=np.uint8).view(dtype)
    values = patterns.astype(np.float64)
    return np.unique(values, return_inverse=True)[1].astype(np.uint8)


@functools.cache
def infinity(dtype: np.dtype) -> int:
    """The bits of positive infinity of a float dtype."""
    return int(np.array(np.inf, dtype).view(integer_type(dtype)))


def signed_keys(bits: np.ndarray, out: np.ndarray, spare: np.ndarray) -> None:
    """Floats' bits as signed integers in the same order; zeros of both signs give 0, NaNs give what is beyond infinity.

    Args:
      bits, out, spare: signed integers of one shape; ``out`` may be ``bits``.
    """
    width = 8 * bits.dtype.itemsize
    np.right_shift(bits, width - 1, out=spare)  # -1 where negative
    signs = np.bitwise_and(spare, np.iinfo(bits.dtype).max)
    np.bitwise_xor(bits, signs, out=out)
    np.subtract(out, spare, out=out)


def float_bits(keys: np.ndarray, spare: np.ndarray) -> None:
    """The inverse of ``signed_keys``, in place; 0 gives positive zero."""
    width = 8 * keys.dtype.itemsize
    np.right_shift(keys, width - 1, out=spare)
    signs = np.bitwise_and(spare, np.iinfo(keys.dtype).max)
    np.add(keys, spare, out=keys)
    np.bitwise_xor(keys, signs, out=keys)


def merge_nans(keys: np.ndarray, dtype: np.dtype) -> bool:
    """Make the keys of all NaNs the greatest key, in place; whether there are any."""
    bound = infinity(dtype)
    if not keys.size or (keys.max() <= bound and keys.min() >= -bound):
        return False
    keys[(keys > bound) | (keys < -bound)] = np.iinfo(keys.dtype).max
    return True


def words(values: np.ndarray) -> list[np.ndarray]:
    """A piece of keys as unsigned integers to be compared one after the other: one, or for complex numbers two."""
    dtype = values.dtype
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        pairs = values.view(part)
        return [*words(np.ascontiguousarray(pairs[:, 0::2])), *words(np.ascontiguousarray(pairs[:, 1::2]))]
    if dtype.kind in "ub":
        return [values.view(integer_type(dtype, "u"))]
    if is_small(dtype):
        return [np.take(rank_table(dtype), values.view(np.uint8))]
    unsigned = integer_type(dtype, "u")
    top = unsigned.type(1 << (8 * dtype.itemsize - 1))
    signed = values.view(integer_type(dtype))
    if dtype.kind != "i":
        keys = np.empty_like(signed)
        signed_keys(signed, keys, np.empty_like(signed))
        merge_nans(keys, dtype)
        signed = keys
    return [np.bitwise_xor(signed.view(unsigned), top)]


def word_widths(dtype: np.dtype) -> list[int]:
    """The bits of each of the ``words`` of a dtype."""
    if dtype.kind == "c":
        return [4 * dtype.itemsize] * 2
    return [8 * dtype.itemsize]
