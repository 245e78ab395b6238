"""Rounding to integers and to fewer bits."""

import numpy as np
import pytest

import arrax
from arrax import lax
from tests.support import FLOATING, bfloat16, check_batching, wide, x64_for

HALVES = np.array([-2.5, -1.5, -0.5, -0.4, 0.5, 0.6, 1.5, 2.5])


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_halves_go_away_from_zero_or_to_even(dtype):
    x = HALVES.astype(dtype)
    with x64_for(dtype):
        away = lax.round(x)
        even = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
        assert away.dtype == even.dtype == dtype
        np.testing.assert_array_equal(wide(away), [-3, -2, -1, 0, 1, 1, 2, 3])
        np.testing.assert_array_equal(wide(even), np.round(HALVES))


def test_the_derivative_of_rounding_is_zero():
    assert float(arrax.grad(lambda x: lax.round(x))(1.3)) == 0
    assert float(arrax.grad(lambda x: lax.mul(x, lax.round(x)))(1.7)) == 2


def test_an_unknown_method_and_integers_are_refused():
    with pytest.raises(ValueError):
        lax.round(HALVES.astype(np.float32), 7)
    with pytest.raises(TypeError, match="round does not accept dtype int32"):
        lax.round(np.int32([1]))


def test_reduce_precision_rounds_as_the_smaller_type_does():
    x = np.float32([1 / 3, -7.77, 1e-3, 12345.678])
    np.testing.assert_array_equal(lax.reduce_precision(x, 8, 7), x.astype(bfloat16).astype(np.float32))
    np.testing.assert_array_equal(lax.reduce_precision(x, 5, 10), x.astype(np.float16).astype(np.float32))


def test_derivatives_are_rounded_too():
    x = np.float32([1.0, 2.0])
    third = np.float32(1 / 3)
    pulled = arrax.vjp(lambda v: lax.reduce_precision(v, 8, 7), x)[1](np.full_like(x, third))[0]
    np.testing.assert_array_equal(pulled, np.full_like(x, third).astype(bfloat16).astype(np.float32))


def test_too_few_bits_are_refused():
    with pytest.raises(ValueError, match="exponent_bits=0"):
        lax.reduce_precision(np.float32(1), 0, 3)
    with pytest.raises(ValueError, match="mantissa_bits=-1"):
        lax.reduce_precision(np.float32(1), 5, -1)
    with pytest.raises(TypeError, match="reduce_precision does not accept dtype int32"):
        lax.reduce_precision(np.int32(1), 5, 2)


def test_batches_agree_with_loops():
    x = HALVES.astype(np.float32)
    check_batching(lax.round, [x])
    check_batching(lambda v: lax.reduce_precision(v, 5, 2), [x])
