"""Reductions of integers and flags, and products, over other axes than the last: by groups of rows, on the CPU."""

import numpy as np
import pytest

import arrax
from arrax import lax
from tests.support import x64_for

RNG = np.random.default_rng(0)
REDUCTIONS = {
    lax.reduce_sum: np.add, lax.reduce_prod: np.multiply, lax.reduce_max: np.maximum, lax.reduce_min: np.minimum,
    lax.reduce_and: np.bitwise_and, lax.reduce_or: np.bitwise_or, lax.reduce_xor: np.bitwise_xor,
}  # fmt: skip
OF_FLAGS = list(REDUCTIONS)[2:]
# Lengths that groups divide, that leave a row or most of a group, and of which the groups are reduced by groups themselves.
CASES = [
    ((33, 9), (0,)),
    ((48, 8), (0,)),
    ((37, 3, 5), (0,)),
    ((2, 100, 9), (1,)),
    ((7, 9, 11), (0, 1)),
    ((700, 8), (0,)),
]


def reduced(x, axes, names):
    return [function(x, axes) for function in names]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64"])
def test_columns_of_integers_and_flags(dtype):
    functions = OF_FLAGS if dtype == "bool" else list(REDUCTIONS)
    with x64_for(dtype):
        for shape, axes in CASES:
            # Odd numbers: products of even ones would be 0. Few flags are set, and few are not.
            x = RNG.integers(0, 2**7, shape).astype(dtype) | np.ones((), dtype)
            if dtype == "bool":
                x = RNG.random(shape) < RNG.choice([0.02, 0.98], shape[-1])
            found = arrax.jit(lambda x, axes=axes: reduced(x, axes, functions))(x)
            for function, out in zip(functions, found, strict=True):
                exact = REDUCTIONS[function].reduce(x, axes, x.dtype)
                np.testing.assert_array_equal(out, exact, strict=True)


@pytest.mark.parametrize(
    ("shape", "axes", "dtype", "grouped"),
    [((33, 8), (0,), "int32", True), ((32, 8), (0,), "int32", False), ((33, 7), (0,), "int32", False),
     ((33, 8), (1,), "int32", False), ((6, 6, 8), (0, 1), "int32", True), ((33, 5, 8), (0, 2), "int32", False),
     ((33, 8), (0,), "bool", True), ((33, 8), (0,), "int8", False), ((33, 2), (0,), "bfloat16", True), ((33, 1), (0,), "float32", False),
     ((33, 8), (1,), "float32", False)],
)  # fmt: skip
def test_which_columns_are_reduced_by_groups(shape, axes, dtype, grouped):
    function = lax.reduce_prod if "float" in dtype else lax.reduce_max
    text = arrax.jit(lambda x: function(x, axes)).lower(arrax.ShapeDtypeStruct(shape, dtype)).as_text("jaxpr")
    assert ("of_groups" in text) == grouped


def test_columns_in_batches():
    x = RNG.integers(-50, 50, (3, 40, 9), np.int32)
    batched = arrax.jit(arrax.vmap(lambda x: reduced(x, (0,), [lax.reduce_sum, lax.reduce_max])))(x)
    for found, exact in zip(batched, (x.sum(1, x.dtype), x.max(1)), strict=True):
        np.testing.assert_array_equal(found, exact, strict=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_products_of_columns(dtype):
    with x64_for(dtype):
        for shape, axes in CASES:
            signs = RNG.choice([-1, 1j] if dtype == "complex64" else [-1, 1], shape)
            powers = (2.0 ** RNG.choice([-1, 0, 1], shape, p=[0.02, 0.96, 0.02]) * signs).astype(dtype)
            found = arrax.jit(lambda x, axes=axes: lax.reduce_prod(x, axes))(powers)
            exact = powers.astype(complex if dtype == "complex64" else float).prod(axes).astype(dtype)
            np.testing.assert_array_equal(found, exact, strict=True)


def test_small_floats_are_rounded_once():
    x = (1 + RNG.integers(0, 8, (50, 9)) / 128).astype("bfloat16")
    found = arrax.jit(lambda x: lax.reduce_prod(x, (0,)))(x)
    exact = x.astype(np.float64).prod(0)
    np.testing.assert_allclose(np.asarray(found, np.float64), exact, rtol=2**-8)


def test_a_product_is_the_same_beside_any_other_columns():
    x, product = RNG.uniform(0.9, 1.1, (3, 77, 20)).astype(np.float32), arrax.jit(lambda x: lax.reduce_prod(x, (1,)))
    whole = product(x)
    np.testing.assert_array_equal(product(x[1:2, :, 4:6]), whole[1:2, 4:6])
    np.testing.assert_array_equal(arrax.vmap(lambda x: lax.reduce_prod(x, (0,)))(x), whole)
    np.testing.assert_array_equal(arrax.jit(lambda x: lax.reduce_prod(abs(x), (1,)))(x), whole)
