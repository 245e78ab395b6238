"""Logic, shifts, counts of bits, and neighbours of floating-point numbers."""

import numpy as np
import pytest

from arrax import lax
from arrax.lax import bitwise
from tests.support import FLOATING, INTEGERS, bfloat16, check_batching, operations_of, x64_for

# fmt: off
LOGIC = {
    lax.bitwise_not: np.invert,
    lax.bitwise_and: np.bitwise_and,
    lax.bitwise_or:  np.bitwise_or,
    lax.bitwise_xor: np.bitwise_xor,
}
# fmt: on
SHIFTS = [lax.shift_left, lax.shift_right_arithmetic, lax.shift_right_logical]
COUNTS = [lax.population_count, lax.clz]
each_integer = pytest.mark.parametrize("dtype", INTEGERS, ids=str)


def patterns(dtype, count=2):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    return [rng.integers(info.min, info.max, 16, dtype, endpoint=True) for _ in range(count)]


def test_all_operations_are_tested():
    assert operations_of(bitwise) == {*LOGIC, *SHIFTS, *COUNTS, lax.nextafter}


@pytest.mark.parametrize("operation", LOGIC, ids=lambda operation: operation.__name__)
@pytest.mark.parametrize("dtype", [np.dtype(bool), *INTEGERS], ids=str)
def test_logic_is_that_of_numpy(operation, dtype):
    count = 1 if operation is lax.bitwise_not else 2
    truth = [np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)]
    operands = truth[:count] if dtype.kind == "b" else patterns(dtype, count)
    with x64_for(dtype):
        result = operation(*operands)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, LOGIC[operation](*operands))


@each_integer
def test_shifts_push_out_all_bits_where_the_amount_is_out_of_range(dtype):
    bits = 8 * dtype.itemsize
    (x,) = patterns(dtype, 1)
    amounts = (np.arange(16) % 4 * bits // 3).astype(dtype)
    inside = amounts.astype(np.int64) < bits
    unsigned = x.astype(f"u{dtype.itemsize}")
    safe = np.where(inside, amounts, 0).astype(dtype)
    signed = x.view(f"i{dtype.itemsize}")  # the top bit of unsigned numbers repeats, too
    with x64_for(dtype):
        np.testing.assert_array_equal(lax.shift_left(x, amounts), np.where(inside, x << safe, 0).astype(dtype))
        arithmetic = np.where(inside, signed >> safe.astype(signed.dtype), np.where(signed < 0, -1, 0)).astype(dtype)
        np.testing.assert_array_equal(lax.shift_right_arithmetic(x, amounts), arithmetic)
        logical = np.where(inside, unsigned >> safe.astype(unsigned.dtype), 0).astype(dtype)
        np.testing.assert_array_equal(lax.shift_right_logical(x, amounts), logical)


@each_integer
def test_counts_of_bits(dtype):
    (x,) = patterns(dtype, 1)
    bits = 8 * dtype.itemsize
    texts = [format(int(v) % (1 << bits), f"0{bits}b") for v in x]
    with x64_for(dtype):
        np.testing.assert_array_equal(lax.population_count(x), [text.count("1") for text in texts])
        np.testing.assert_array_equal(lax.clz(x), [(text + "1").index("1") if "1" in text else bits for text in texts])


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_nextafter_is_the_neighbour_towards_the_second_operand(dtype):
    x, y = np.array([1, 1, -2, 0.5], dtype), np.array([2, 0, -3, 0.5], dtype)
    if dtype == bfloat16:
        expected = np.array([1 + 2**-7, 1 - 2**-8, -2 - 2**-6, 0.5], dtype)
    else:
        expected = np.nextafter(x, y)
    with x64_for(dtype):
        np.testing.assert_array_equal(np.asarray(lax.nextafter(x, y)).astype(float), expected.astype(float))


def test_batches_agree_with_loops():
    x, y = np.int32([1, 2, 3]), np.int32([4, 7, 1])
    check_batching(lax.bitwise_xor, [x, y])
    check_batching(lax.shift_left, [x, y])


def test_floats_and_mixed_types_are_refused():
    with pytest.raises(TypeError, match="and does not accept dtype float32"):
        lax.bitwise_and(np.float32([1]), np.float32([1]))
    with pytest.raises(TypeError, match="population_count does not accept dtype bool"):
        lax.population_count(np.array([True]))
    with pytest.raises(TypeError, match="same dtypes"):
        lax.shift_left(np.int32([1]), np.int8([1]))
