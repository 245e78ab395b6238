"""A few keys by Threefry-2x32 on the host: the same bits as ``arrax.random.threefry``, without compiling a program for them.

A program for one shape of keys takes the compiler as long as thousands of keys take here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax.core import config
from arrax.numpy_api.host import on_host, view
from arrax.random.implementations import Implementation
from arrax.random.threefry import PARITY, ROTATIONS, threefry

_MAX_KEYS = 16  # more are compiled: each takes some 7 us here
_MASK = 0xFFFFFFFF


def _hash(key: list[int], x0: int, x1: int) -> tuple[int, int]:
    """The two words that two key words make of two counter words, all of 32 bits."""
    schedule = (*key, key[0] ^ key[1] ^ int(PARITY))
    x0, x1 = (x0 + schedule[0]) & _MASK, (x1 + schedule[1]) & _MASK
    for group in range(5):
        for amount in ROTATIONS[group % 2]:
            x0 = (x0 + x1) & _MASK
            x1 = ((x1 << amount | x1 >> (32 - amount)) & _MASK) ^ x0
        x0 = (x0 + schedule[(group + 1) % 3]) & _MASK
        x1 = (x1 + schedule[(group + 2) % 3] + group + 1) & _MASK
    return x0, x1


def split_on_host(data: np.ndarray, implementation: Implementation, shape: tuple[int, ...]) -> np.ndarray | None:
    """Keys from a key of shape (2,): their data, or None where they are many or of another generator."""
    count = math.prod(shape)
    if implementation is not threefry or type(count) is not int or count > _MAX_KEYS:
        return None
    key = data.tolist()
    if config.threefry_partitionable.cell.value:
        words = [_hash(key, 0, number) for number in range(count)]
    else:  # the numbers from 0 on, the first half of them with the second half
        pairs = [_hash(key, number, number + count) for number in range(count)]
        words = [pair[half] for half in (0, 1) for pair in pairs]  # type: ignore[misc]
    return np.array(words, np.uint32).reshape(*shape, 2)


def fold_in_on_host(data: np.ndarray, number: Any, implementation: Implementation) -> np.ndarray | None:
    """A key from a key and an integer: its data, or None where the integer is elsewhere or the key of another generator."""
    if implementation is not threefry:
        return None
    if not isinstance(number, np.generic | np.ndarray):
        if not on_host(number):
            return None
        number = view(number)
    if number.dtype.kind not in "iu":
        return None
    return np.array(_hash(data.tolist(), 0, int(number) & _MASK), np.uint32)
