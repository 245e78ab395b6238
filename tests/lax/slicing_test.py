"""Slices at places that are data, against NumPy's slices at clamped places."""

import numpy as np
import pytest

import arrax
from arrax import lax
from tests.support import check_batching, check_gradients

MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)


def clamped(start, size, length):
    start = start + length if start < 0 else start
    return slice(begin := min(max(start, 0), length - size), begin + size)


def expected_slices(x, starts, sizes):
    return tuple(clamped(s, n, length) for s, n, length in zip(starts, sizes, x.shape, strict=True))


each_start = pytest.mark.parametrize("starts", [(0, 0), (1, 2), (-1, -2), (7, 9), (-9, 1)], ids=str)
as_array, as_numpy = lambda s: arrax.numpy.asarray(np.int32(s)), np.int32
each_kind = pytest.mark.parametrize("kind", [int, np.int8, as_numpy, as_array], ids=["int", "int8", "int32", "array"])


@each_start
@each_kind
def test_dynamic_slice_begins_at_the_clamped_place(starts, kind):
    result = lax.dynamic_slice(MATRIX, [kind(s) for s in starts], (2, 3))
    np.testing.assert_array_equal(result, MATRIX[expected_slices(MATRIX, starts, (2, 3))])


@each_start
def test_dynamic_slice_is_the_same_under_jit(starts):
    result = arrax.jit(lambda x, s: lax.dynamic_slice(x, s, (2, 3)))(MATRIX, np.array(starts, np.int32))
    np.testing.assert_array_equal(result, MATRIX[expected_slices(MATRIX, starts, (2, 3))])


@each_start
@each_kind
def test_dynamic_update_slice_writes_at_the_clamped_place(starts, kind):
    update = -np.ones((2, 3), np.float32)
    expected = MATRIX.copy()
    expected[expected_slices(MATRIX, starts, (2, 3))] = update
    np.testing.assert_array_equal(lax.dynamic_update_slice(MATRIX, update, [kind(s) for s in starts]), expected)


def test_negative_indices_can_be_left_alone():
    result = lax.dynamic_slice(MATRIX, (-1, -1), (1, 2), allow_negative_indices=(False, True))
    np.testing.assert_array_equal(result, MATRIX[:1, 2:])


@pytest.mark.parametrize(
    ("start", "starts", "update"),
    [((), (), 2.0), ((0, 0), (0, 0), np.ones((3, 4), np.float32))],
    ids=["scalar", "whole"],
)
def test_everything_can_be_updated(start, starts, update):
    x = np.float32(1) if starts == () else MATRIX
    np.testing.assert_array_equal(lax.dynamic_update_slice(x, update, start), np.broadcast_to(update, np.shape(x)))


def test_forms_along_one_axis():
    index = arrax.numpy.asarray(np.int32(1))
    np.testing.assert_array_equal(lax.dynamic_slice_in_dim(MATRIX, index, 2, axis=1), MATRIX[:, 1:3])
    np.testing.assert_array_equal(lax.dynamic_index_in_dim(MATRIX, index, axis=-1), MATRIX[:, 1:2])
    np.testing.assert_array_equal(lax.dynamic_index_in_dim(MATRIX, index, keepdims=False), MATRIX[1])
    np.testing.assert_array_equal(lax.index_in_dim(MATRIX, -1, 1, keepdims=False), MATRIX[:, -1])
    expected = MATRIX.copy()
    expected[:, 1] = 7
    column = np.full(3, 7, np.float32)
    np.testing.assert_array_equal(lax.dynamic_update_index_in_dim(MATRIX, column, index, 1), expected)
    np.testing.assert_array_equal(lax.dynamic_update_slice_in_dim(MATRIX, column[:, None], index, 1), expected)


def test_index_take_counts_modulo_the_length():
    rows, columns = np.array([0, 4, -1]), np.array([-1, 1, 6])
    result = lax.index_take(arrax.numpy.asarray(MATRIX), (rows, columns), (0, 1))
    np.testing.assert_array_equal(result, MATRIX[rows % 3, columns % 4])
    np.testing.assert_array_equal(lax.index_take(MATRIX, (columns,), (1,)), MATRIX[:, columns % 4].T)


def test_derivatives():
    x = np.random.default_rng(0).standard_normal((3, 4))
    update = np.random.default_rng(1).standard_normal((2, 2))
    check_gradients(lambda x: lax.dynamic_slice(x, (1, -2), (2, 2)), [x])
    check_gradients(lambda x, u: lax.dynamic_update_slice(x, u, (7, 1)), [x, update])
    check_gradients(lambda x: lax.index_take(x, (np.array([0, 0, 1]),), (0,)), [x])


def test_batching_over_any_operand():
    starts, update = np.array([2, -1], np.int32), np.ones((1, 2), np.float32)
    check_batching(lambda x, s: lax.dynamic_slice(x, [s[0], s[1]], (1, 2)), [MATRIX, starts])
    check_batching(lambda x, s: lax.dynamic_slice(x, [s[0], 0], (1, 4)), [MATRIX, starts])
    check_batching(lambda x, u, s: lax.dynamic_update_slice(x, u, [s[0], s[1]]), [MATRIX, update, starts])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: lax.dynamic_slice(MATRIX, (0,), (1, 2)), ValueError),
        (lambda: lax.dynamic_slice(MATRIX, np.zeros((2, 2), int), (1, 2)), ValueError),
        (lambda: lax.dynamic_slice(MATRIX, (0, 0), (1,)), TypeError),
        (lambda: lax.dynamic_slice(MATRIX, (0, 0), (4, 1)), TypeError),
        (lambda: lax.dynamic_slice(MATRIX, (0, 0), (-1, 1)), TypeError),
        (lambda: lax.dynamic_slice(MATRIX, (0.0, 0), (1, 1)), TypeError),
        (lambda: lax.dynamic_slice(MATRIX, (np.array([0]), 0), (1, 1)), TypeError),
        (lambda: lax.dynamic_slice([1, 2], (0,), (1,)), TypeError),
        (lambda: lax.dynamic_update_slice(MATRIX, np.ones((1, 2), np.int32), (0, 0)), TypeError),
        (lambda: lax.dynamic_update_slice(MATRIX, np.ones(2, np.float32), (0, 0)), TypeError),
        (lambda: lax.dynamic_update_slice(MATRIX, np.ones((5, 2), np.float32), (0, 0)), TypeError),
        (lambda: lax.index_in_dim(MATRIX, 7), IndexError),
        (lambda: lax.dynamic_slice_in_dim(MATRIX, 0, 1, axis=2), ValueError),
    ],
)
def test_wrong_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()
