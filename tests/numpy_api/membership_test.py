"""isin: every method, against NumPy."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp

RNG = np.random.default_rng(0)


def values(dtype, size):
    if np.dtype(dtype).kind == "b":
        return RNG.integers(0, 2, size).astype(bool)
    drawn = RNG.integers(-9 if np.dtype(dtype).kind != "u" else 0, 40, size).astype(dtype)
    if np.dtype(dtype).kind in "fc":
        drawn[::7] = np.nan
        drawn[1::7] = -0.0
        drawn[2::7] = np.inf
    return drawn


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint32, np.int32, np.float32, np.float16, np.complex64])
@pytest.mark.parametrize(("size", "count"), [(50, 3), (5000, 20), (5000, 200), (7, 0), (0, 5)])
def test_every_method_finds_what_numpy_finds(dtype, size, count):
    element, test = values(dtype, size), values(dtype, count)
    methods = ["auto", "compare_all"] + (["binary_search", "sort"] if dtype != np.complex64 else [])
    for method in methods:
        found = arrax.jit(jnp.isin, static_argnames=("method", "invert"))(element, test, method=method)
        assert found.dtype == bool and found.shape == element.shape
        np.testing.assert_array_equal(found, np.isin(element, test))
        np.testing.assert_array_equal(
            jnp.isin(element, test, invert=True, method=method), np.isin(element, test, invert=True)
        )


def test_shapes_dtypes_and_mapping():
    element, test = values(np.int32, 600).reshape(20, 30), values(np.float32, 90).reshape(9, 10)
    np.testing.assert_array_equal(jnp.isin(element, test), np.isin(element, test))
    mapped = arrax.vmap(lambda e: jnp.isin(e, jnp.asarray(test), method="binary_search"))(jnp.asarray(element))
    np.testing.assert_array_equal(mapped, np.isin(element, test))
    assert jnp.isin(3, jnp.arange(5)) and not jnp.isin(7, jnp.arange(5))
    with pytest.raises(ValueError, match="method"):
        jnp.isin(element, test, method="guess")


def test_the_operator_in_takes_numbers():
    x = jnp.array([1.0, 2.0])
    assert 2 in x and np.float32(1) in x and 3 not in x
    for element, error in [(x, ValueError), (None, TypeError), ("a", TypeError), ([1.0], TypeError)]:
        with pytest.raises(error, match="Array.__contains__"):
            element in x  # noqa: B015
