"""Reductions by universal functions beside NumPy's, whose loops go from element to element."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp

RNG = np.random.default_rng(0)
LOGICAL, BITWISE = ["logical_and", "logical_or", "logical_xor"], ["bitwise_and", "bitwise_or", "bitwise_xor"]
OPTIONS = [
    {}, {"axis": 1}, {"axis": None}, {"axis": (1, 0), "keepdims": True}, {"initial": 1},
    {"axis": 1, "where": np.array([True, False, True])}, {"axis": None, "initial": 0, "where": np.array([False])},
]  # fmt: skip


def both_ways(name, x, options):
    function = getattr(jnp, name)
    yield function.reduce(x, **options)
    yield arrax.jit(lambda x: function.reduce(x, **options))(x)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", LOGICAL + BITWISE)
def test_reductions_of_truth_and_of_bits(name, options):
    dtypes = [bool, np.int8, np.uint32] + [np.float32] * (name in LOGICAL)
    for dtype in dtypes:
        x = (RNG.integers(0, 128, (4, 3)) * RNG.choice([0, 1], (4, 3))).astype(dtype)
        expected = getattr(np, name).reduce(x, **options)
        for found in both_ways(name, x, options):
            np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("options", OPTIONS)
def test_sums_of_exponentials(options):
    x = RNG.normal(0, 100, (4, 3)).astype(np.float32)
    expected = np.logaddexp.reduce(x.astype(np.float64), **options)
    for found in both_ways("logaddexp", x, options):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_sums_of_exponentials_of_special_numbers():
    x = np.array([[np.inf, -np.inf, 1], [-np.inf, -np.inf, np.nan]], np.float32)
    np.testing.assert_array_equal(jnp.logaddexp.reduce(x), [np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(jnp.logaddexp.reduce(x[:0]), [-np.inf] * 3)
    np.testing.assert_array_equal(jnp.logaddexp.reduce(np.zeros((4, 2), np.int32)), np.float32(np.log([4, 4])))


def test_the_derivative_of_a_sum_of_exponentials():
    x = np.array([0.0, 1.0, -2.0], np.float32)
    gradient = arrax.grad(jnp.logaddexp.reduce)(x)
    np.testing.assert_allclose(gradient, np.exp(x) / np.exp(x).sum(), rtol=1e-6)


def test_dtypes_that_have_no_bits_are_refused():
    with pytest.raises(TypeError, match="bitwise_or.reduce does not accept dtype float32"):
        jnp.bitwise_or.reduce(jnp.ones(3))


def test_reductions_begin_with_a_scalar():
    with pytest.raises(ValueError, match="logical_or.reduce: initial must be a scalar, got shape \\(2,\\)"):
        jnp.logical_or.reduce(np.array([True, False]), initial=np.array([True, False]))
    with pytest.raises(ValueError, match="logaddexp.reduce: initial must be a scalar, got shape \\(1,\\)"):
        jnp.logaddexp.reduce(np.ones(2, np.float32), initial=np.ones(1, np.float32))
