"""The Threefry-2x32 generator: a keyed hash of counters, twenty rounds of adding, rotating and mixing.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11. How keys are split and
counters laid out follows "JAX PRNG Design" and the chapter on partitionable random numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax.core import config
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_below
from arrax.core.operand_memories import memories_as_typed
from arrax.core.types import ShapedArray, is_arraylike, typeof
from arrax.dtypes.wording import shown
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax import arithmetic, bitwise, concatenation, filled_arrays, selection, shapes, static_slicing
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.families import batch_with_ranks, memoized_rule
from arrax.lax.operand_checks import broadcast_shapes_strict, checked_operand
from arrax.random.implementations import Implementation, register
from arrax.random.materialized import has_short_rows, materialized, materialized_keys
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array, ArrayLike

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)
_u32 = np.dtype(np.uint32)


def _rotate(x: Array, amount: int) -> Array:
    left = bitwise.shift_left(x, np.uint32(amount))
    return bitwise.bitwise_or(left, bitwise.shift_right_logical(x, np.uint32(32 - amount)))


def _hash(key0: Array, key1: Array, x0: Array, x1: Array) -> tuple[Any, Any]:
    schedule = (key0, key1, bitwise.bitwise_xor(bitwise.bitwise_xor(key0, key1), PARITY))
    x0, x1 = arithmetic.add(x0, schedule[0]), arithmetic.add(x1, schedule[1])
    for group in range(5):
        for amount in ROTATIONS[group % 2]:
            x0 = arithmetic.add(x0, x1)
            x1 = bitwise.bitwise_xor(_rotate(x1, amount), x0)
        x0 = arithmetic.add(x0, schedule[(group + 1) % 3])
        x1 = arithmetic.add(x1, arithmetic.add(schedule[(group + 2) % 3], np.uint32(group + 1)))
    return x0, x1


threefry2x32_p = Primitive("threefry2x32", multiple_results=True, cost=16)


@memoized_rule
def _type_rule(*avals: ShapedArray) -> list[ShapedArray]:
    if any(aval.dtype != _u32 for aval in avals):
        raise TypeError(f"threefry2x32 takes uint32 arrays, got {[aval.str_short(True) for aval in avals]}")
    shape = broadcast_shapes_strict("threefry2x32", avals)
    return [ShapedArray(shape, _u32)] * 2


threefry2x32_p.type_rule = _type_rule
threefry2x32_p.memories = memories_as_typed
threefry2x32_p.lower[None] = cached_lower_fun(_hash, "threefry2x32", multiple_results=True)
threefry2x32_p.batch = batch_with_ranks(threefry2x32_p)
threefry2x32_p.jvp = None


def _key_words(keypair: Any) -> list[Any]:
    """The two words of a key. Raises TypeError where it has not two."""
    pair = isinstance(keypair, list | tuple) or (is_arraylike(keypair) and typeof(keypair).shape[:1] == (2,))
    words = list(keypair) if pair else []
    if len(words) != 2:
        raise TypeError(f"threefry_2x32: argument keypair: must be two uint32 scalars, got {shown(keypair)}")
    return [checked_operand("threefry_2x32", word) for word in words]


def threefry_2x32(keypair: tuple[Any, Any], count: Array) -> Array:
    """Hash counters with a key, the array's first half together with its second half.

    Args:
      keypair: two uint32 scalars.
      count: uint32 array.
    Returns: uint32 array of ``count``'s shape.
    Raises:
      TypeError: a key that is no pair of words, or other dtypes than uint32.
    Example: ``threefry_2x32((jnp.uint32(0), jnp.uint32(0)), jnp.zeros(2, 'uint32'))`` is ``[1797259609, 2579123966]``.
    """
    words = _key_words(keypair)
    if any(typeof(word).dtype != _u32 for word in (*words, count)):
        kinds = [typeof(word).str_short(True) for word in (*words, count)]
        raise TypeError(f"threefry_2x32 takes uint32 arrays, got {kinds}")
    size = typeof(count).size
    shape = typeof(count).shape
    flat = shapes.reshape(count, (size,))
    if size % 2:
        flat = concatenation.concatenate([flat, np.zeros(1, np.uint32)], 0)
    half = (size + 1) // 2
    first, second = static_slicing.slice_in_dim(flat, 0, half), static_slicing.slice_in_dim(flat, half, 2 * half)
    out = concatenation.concatenate(list(threefry2x32_p.bind(*words, first, second)), 0)
    if size % 2:
        out = static_slicing.slice_in_dim(out, 0, size)
    return shapes.reshape(out, shape)


def _pair(key: ArrayLike) -> tuple[Any, Any]:
    return tuple(shapes.reshape(static_slicing.slice_in_dim(key, i, i + 1), ()) for i in (0, 1))  # type: ignore[return-value]


def _check_key(key: ArrayLike) -> None:
    aval = typeof(key)
    if aval.shape != (2,) or aval.dtype != _u32:
        raise TypeError(f"threefry2x32 keys are uint32 arrays of shape (2,), got {aval.str_short(True)}")


def seed(number: Array) -> Array:
    """Key data of an integer: its high and low 32 bits."""
    aval = typeof(number)
    if aval.shape != ():
        raise TypeError(f"a seed must be a single integer, got {aval.str_short(True)}")
    if aval.dtype.kind not in "iu":
        raise TypeError(f"a seed must be a single integer, got {aval.str_short(True)}")
    low = convert(
        number if aval.dtype.itemsize < 8 else bitwise.bitwise_and(number, np.asarray(0xFFFFFFFF, aval.dtype)[()]),
        np.uint32,
    )
    high = (
        convert(bitwise.shift_right_logical(number, np.asarray(32, aval.dtype)[()]), np.uint32)
        if aval.dtype.itemsize == 8
        else np.uint32(0)
    )
    return concatenation.concatenate([shapes.reshape(high, (1,)), shapes.reshape(low, (1,))], 0)


def _counters(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The high and low halves of each position's number, in row-major order."""
    size = math.prod(shape)
    if is_below(size, 1 << 32, True):
        return filled_arrays.full(shape, np.uint32(0)), shapes.reshape(filled_arrays.iota(np.uint32, size), shape)
    with config.enable_x64(True):
        number = shapes.reshape(filled_arrays.iota(np.uint64, size), shape)
        high = convert(bitwise.shift_right_logical(number, np.uint64(32)), np.uint32)
        return high, convert(bitwise.bitwise_and(number, np.uint64(0xFFFFFFFF)), np.uint32)


def split(key: ArrayLike, shape: tuple[int, ...]) -> Any:
    """Keys from a key."""
    _check_key(key)
    if config.threefry_partitionable.cell.value:
        high, low = threefry2x32_p.bind(*_pair(key), *_counters(shape))
        return materialized_keys(
            concatenation.concatenate([shapes.expand_dims(x, (len(shape),)) for x in (high, low)], len(shape))
        )
    if not math.prod(shape):
        return filled_arrays.full((*shape, 2), np.uint32(0))
    return shapes.reshape(materialized(_words(key, math.prod(shape) * 2)), (*shape, 2))


def fold_in(key: Array, number: Array) -> Array:
    """A key from a key and a number."""
    _check_key(key)
    words = threefry_2x32(_pair(key), seed(convert(number, np.uint32)))
    return materialized_keys(words) if config.threefry_partitionable.cell.value else words


def random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    """Uniformly distributed unsigned ints of 8, 16, 32 or 64 bits."""
    _check_key(key)
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random bits come 8, 16, 32 or 64 at a time, not {bit_width}")
    if config.threefry_partitionable.cell.value:
        return _bits_by_position(key, bit_width, shape)
    return _bits_in_sequence(key, bit_width, shape)


def _bits_by_position(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    high, low = threefry2x32_p.bind(*_pair(key), *_counters(shape))
    if bit_width == 64:
        return _joined(high, low)
    mixed = bitwise.bitwise_xor(high, low)
    return mixed if bit_width == 32 else convert(mixed, np.dtype(f"uint{bit_width}"))


def _words(key: ArrayLike, size: int) -> Array:
    """The first words of a key's sequence: hashes of 0, 1, …, the first half of the numbers with the second half.

    Each word is computed by itself, as one of the two words of its pair: twice the arithmetic, but one pass that nothing
    interrupts, and that fuses with whatever is made of the words.
    """
    if not is_below(size, _LONGEST + 1, True):
        return _blocks_of_words(key, size)
    half = length_of_axis((size + 1) // 2, _u32)
    number = filled_arrays.iota(np.uint32, size)
    in_second = arithmetic.ge(number, half)
    low = selection.select(in_second, arithmetic.sub(number, half), number)
    high = arithmetic.add(low, half)
    if size % 2:  # the last number's partner is 0; of an even length none is so great
        zero = filled_arrays.full((size,), np.uint32(0))
        high = selection.select(arithmetic.eq(high, length_of_axis(size, _u32)), zero, high)
    first, second = threefry2x32_p.bind(*_pair(key), low, high)
    return selection.select(in_second, second, first)


_LONGEST = (1 << 32) - 1  # words of one sequence: 32 bits count them


def _blocks_of_words(key: ArrayLike, size: int) -> Array:
    """More words than one sequence has: sequences of keys split from the key, one after the other."""
    blocks, rest = divmod(size, _LONGEST)
    keys = split(key, (blocks + 1,))
    # One program for all whole blocks: of each its own, compiling would take as long as there are blocks.
    whole = vmap(lambda row: _words(row, _LONGEST))(static_slicing.slice_in_dim(keys, 0, blocks))
    words = shapes.reshape(whole, (blocks * _LONGEST,))
    if not rest:
        return words
    last = shapes.reshape(static_slicing.slice_in_dim(keys, blocks, blocks + 1), (2,))
    return concatenation.concatenate([words, _words(last, rest)], 0)


def _bits_in_sequence(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    size, dtype = math.prod(shape), np.dtype(f"uint{bit_width}")
    if size == 0:
        return filled_arrays.full(shape, np.zeros((), dtype)[()])
    if bit_width == 32:
        words = _words(key, size)
        return shapes.reshape(materialized(words) if has_short_rows(shape) else words, shape)
    if bit_width == 64 and not is_below(2 * size, _LONGEST + 1, True):
        words = _words(key, 2 * size)
        halves = (static_slicing.slice_in_dim(words, n * size, (n + 1) * size) for n in (0, 1))
        return _joined(*(shapes.reshape(half, shape) for half in halves))
    if bit_width == 64:  # the high and the low words are the two halves of the sequence
        number = shapes.reshape(filled_arrays.iota(np.uint32, size), shape)
        return _joined(*threefry2x32_p.bind(*_pair(key), number, arithmetic.add(number, length_of_axis(size, _u32))))
    per_word = 32 // bit_width
    count = -(-size // per_word)
    words = materialized(_words(key, count))  # or each piece would compute its word anew
    amounts = arithmetic.mul(filled_arrays.broadcasted_iota(np.uint32, (count, per_word), 1), np.uint32(bit_width))
    broadcasted = shapes.broadcast_in_dim(words, (count, per_word), (0,))
    pieces = convert(bitwise.shift_right_logical(broadcasted, amounts), dtype)
    return shapes.reshape(static_slicing.slice_in_dim(shapes.reshape(pieces, (count * per_word,)), 0, size), shape)


def _joined(high: Array, low: Array) -> Array:
    wide = bitwise.shift_left(convert(high, np.uint64), np.uint64(32))
    return bitwise.bitwise_or(wide, convert(low, np.uint64))


threefry = Implementation((2,), seed, split, random_bits, fold_in, "threefry2x32", "fry")
register(threefry)
