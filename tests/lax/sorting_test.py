"""Sorting and greatest elements: values against NumPy, order of special values, derivatives, batching."""

import ml_dtypes
import numpy as np
import pytest

import arrax
from arrax.lax import sorting
from tests.support import check_batching, check_gradients

RNG = np.random.default_rng(0)
FLOATS = RNG.standard_normal((4, 6)).astype(np.float32)
SPECIAL = np.array([1, np.nan, -0.0, 0.0, np.inf, -np.inf, -np.nan, -0.0, 2], np.float32)
DTYPES = [bool, np.int8, np.uint8, np.int32, np.float32, np.float16, ml_dtypes.bfloat16]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)


def sample(dtype):
    return RNG.integers(0, 5, (4, 6)).astype(dtype)


@each_dtype
@pytest.mark.parametrize("dimension", [0, 1, -1])
def test_values_are_those_of_numpy(dtype, dimension):
    x = sample(dtype)
    expected = np.sort(x.astype(np.float32), axis=dimension)
    result = sorting.sort(x, dimension=dimension)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(result).astype(np.float32), expected)


@each_dtype
@pytest.mark.parametrize("dimension", [0, 1])
def test_values_follow_their_keys_in_a_stable_order(dtype, dimension):
    keys, places = sample(dtype), np.arange(24).reshape(4, 6).astype(np.int32)
    order = np.argsort(keys.astype(np.float32), axis=dimension, kind="stable")
    ordered, along = sorting.sort_key_val(keys, places, dimension=dimension)
    np.testing.assert_array_equal(along, np.take_along_axis(places, order, dimension))


def test_zeros_are_equal_and_nans_come_last():
    ordered, places = sorting.sort((SPECIAL, np.arange(9)))
    np.testing.assert_array_equal(places, [5, 2, 3, 7, 0, 8, 4, 1, 6])
    np.testing.assert_array_equal(ordered, SPECIAL[[5, 2, 3, 7, 0, 8, 4, 1, 6]])


def test_complex_numbers_go_by_real_then_imaginary_part():
    x = np.array([1 + 1j, 1 - 1j, 5j, complex(np.nan, 0), complex(1, np.nan)], np.complex64)
    np.testing.assert_array_equal(sorting.sort(x), x[[2, 1, 0, 4, 3]])


def test_later_keys_decide_where_earlier_ones_are_equal():
    first, second = RNG.integers(0, 3, (2, 50))
    third = SPECIAL[RNG.integers(0, 9, 50)]
    order = np.lexsort((third, second, first))
    outs = sorting.sort([first, second, third, np.arange(50)], num_keys=3)
    np.testing.assert_array_equal(outs[3], order)


@pytest.mark.parametrize("axis", [0, 1])
def test_derivatives_follow_the_permutation(axis):
    check_gradients(lambda x, y: sorting.sort((x, y), dimension=axis), [FLOATS, FLOATS[::-1]])
    check_gradients(lambda x: sorting.top_k(x, 2, axis=axis)[0], [FLOATS], order=2)
    check_gradients(lambda x: sorting.approx_min_k(x, 2, reduction_dimension=axis)[0], [FLOATS])


@pytest.mark.parametrize("axis", [0, 1])
def test_batching(axis):
    check_batching(lambda x: sorting.sort(x, dimension=axis), [FLOATS])
    check_batching(lambda x, y: sorting.sort((x, y), dimension=axis), [FLOATS, FLOATS])
    check_batching(lambda x: sorting.top_k(x, 2, axis=axis), [FLOATS])
    check_batching(lambda x: sorting.approx_max_k(x, 2, reduction_dimension=axis), [FLOATS])


@each_dtype
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("k", [0, 1, 3])
def test_the_greatest_come_in_order_with_their_indices(dtype, axis, k):
    x = sample(dtype)
    values, indices = sorting.top_k(x, k, axis=axis)
    order = np.argsort(-x.astype(np.float32), axis=axis, kind="stable").take(range(k), axis)
    np.testing.assert_array_equal(indices, order)
    assert values.dtype == x.dtype and indices.dtype == np.int32
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, axis))


def test_the_greatest_and_their_indices_are_a_list():
    assert [type(f(FLOATS, 1)) for f in (sorting.top_k, sorting.approx_max_k, sorting.approx_min_k)] == [list] * 3


def test_approximate_search_finds_all():
    values, indices = sorting.approx_max_k(FLOATS, 3)
    np.testing.assert_array_equal(values, -np.sort(-FLOATS)[:, :3])
    values, _ = sorting.approx_min_k(FLOATS, 2, reduction_dimension=0)
    np.testing.assert_array_equal(values, np.sort(FLOATS, axis=0)[:2])
    candidates, _ = sorting.approx_max_k(RNG.standard_normal(5000).astype(np.float32), 3, aggregate_to_topk=False)
    assert candidates.shape == (2048,)
    assert [x.weak_type for x in arrax.eval_shape(lambda: sorting.approx_min_k(arrax.lax.full((3,), 1.5), 2))] == [
        True,
        False,
    ]


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn])
def test_numbers_of_less_than_a_byte_have_greatest_ones(dtype):
    x = np.array([[1, 3], [2, 0]], dtype)
    values, indices = sorting.top_k(x, 1, axis=0)
    assert values.dtype == dtype
    np.testing.assert_array_equal(np.asarray(values).astype(np.float32), [[2, 3]])
    np.testing.assert_array_equal(indices, [[1, 0]])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: sorting.sort(()), TypeError),
        (lambda: sorting.sort((FLOATS, FLOATS[0])), TypeError),
        (lambda: sorting.sort((FLOATS, FLOATS), num_keys=3), ValueError),
        (lambda: sorting.sort(FLOATS, dimension=2), ValueError),
        (lambda: sorting.sort(np.float32(1)), ValueError),
        (lambda: sorting.top_k(FLOATS, 7), ValueError),
        (lambda: sorting.top_k(FLOATS, -1), ValueError),
        (lambda: sorting.top_k(np.array([1j], np.complex64), 1), ValueError),
        (lambda: sorting.top_k([1, 2], 1), TypeError),
        (lambda: sorting.approx_max_k(np.arange(3), 1), ValueError),
        (lambda: sorting.approx_max_k(FLOATS, 9), ValueError),
    ],
)
def test_wrong_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


def test_sorting_is_the_same_under_jit():
    np.testing.assert_array_equal(arrax.jit(sorting.sort)(SPECIAL), sorting.sort(SPECIAL))
