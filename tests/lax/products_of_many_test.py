"""Products of many numbers, which the CPU multiplies in blocks."""

import numpy as np
import pytest

import arrax
from arrax import lax


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "complex64"])
@pytest.mark.parametrize(
    "shape, axes", [((1003, 67), (0,)), ((1003, 67), (0, 1)), ((67, 1003), (1,)), ((70, 3, 300), (2, 0))]
)
def test_products_of_many_numbers(dtype, shape, axes):
    drawn = np.random.default_rng(0)
    numbers = drawn.integers(1, 4, shape) if dtype in ("int32", "uint8") else drawn.uniform(0.99, 1.01, shape)
    numbers = numbers.astype(dtype)
    exact = numbers.astype(np.float64) if dtype.startswith("float") else numbers
    expected = np.prod(exact, axis=axes, dtype=None if dtype.startswith("float") else dtype)
    result = lax.reduce_prod(numbers, axes)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, expected, rtol=2e-3)


def test_their_derivatives_do_not_mind_zeros():
    numbers = np.full((128, 300), 1.0, np.float32)
    numbers[3, 5] = 0
    gradient = arrax.grad(lambda x: lax.reduce_prod(x, (0,)).sum())(numbers)
    expected = np.ones_like(numbers)
    expected[:, 5] = 0
    expected[3, 5] = 1
    np.testing.assert_array_equal(gradient, expected)
