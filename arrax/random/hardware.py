"""The generators ``rbg`` and ``unsafe_rbg``: bits by the compiler's own generator, four words per key.

``rbg`` splits and folds by Threefry, each half of a key on its own; ``unsafe_rbg`` does these by the generator too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax.core.types import typeof
from arrax.lax import bitwise, concatenation, shapes, static_slicing
from arrax.lax.random_bits import rng_bit_generator
from arrax.random import threefry
from arrax.random.implementations import Implementation, register
from arrax.xla.arrays import Array

_SPACING = 10  # unsafe_rbg takes each tenth row of words


def seed(number: Array) -> Array:
    """Key data of an integer: Threefry's, twice."""
    half = threefry.seed(number)
    return concatenation.concatenate([half, half], 0)


def _halves(key: Array) -> list[Any]:
    return [static_slicing.slice_in_dim(key, start, start + 2) for start in (0, 2)]


def split(key: Array, shape: tuple[int, ...]) -> Any:
    """Keys from a key, whose halves are split each on its own."""
    return concatenation.concatenate([threefry.split(half, shape) for half in _halves(key)], len(shape))


def fold_in(key: Any, number: Any) -> Any:
    """A key from a key and a number."""
    return concatenation.concatenate([threefry.fold_in(half, number) for half in _halves(key)], 0)


def random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    """Uniformly distributed unsigned ints of 8, 16, 32 or 64 bits."""
    if typeof(key).shape != (4,) or typeof(key).dtype != np.uint32:
        raise TypeError(f"rbg keys are uint32 arrays of shape (4,), got {typeof(key).str_short(True)}")
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random bits come 8, 16, 32 or 64 at a time, not {bit_width}")
    return rng_bit_generator(key, shape, np.dtype(f"uint{bit_width}"))[1]


def split_by_bits(key: Array, shape: tuple[int, ...]) -> Array:
    """Keys from a key: every tenth row of its random words."""
    count = math.prod(shape)
    words = random_bits(key, 32, (_SPACING * count, 4))
    return shapes.reshape(static_slicing.slice_(words, (0, 0), (_SPACING * count, 4), (_SPACING, 1)), (*shape, 4))


def fold_in_by_bits(key: Any, number: Any) -> Any:
    """A key from a key and a number: mixed with a row of the number's own random words."""
    words = random_bits(seed(number), 32, (_SPACING, 4))
    last = shapes.reshape(static_slicing.slice_in_dim(words, _SPACING - 1, _SPACING), (4,))
    return bitwise.bitwise_xor(key, last)


rbg = Implementation((4,), seed, split, random_bits, fold_in, "rbg", "rbg")
unsafe_rbg = Implementation((4,), seed, split_by_bits, random_bits, fold_in_by_bits, "unsafe_rbg", "urbg")
register(rbg)
register(unsafe_rbg)
