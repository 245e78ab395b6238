"""Computed arrays that are regrouped: which programs compute them in the shape they have first, values, derivatives."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.cpu.routes import formed_text
from tests.support import check_gradients

NUMBERS = np.random.default_rng(0)
ROWS, COLUMN, ROW = (NUMBERS.standard_normal(shape).astype(np.float32) for shape in ((40, 12, 15), (40, 12), (15,)))
WEIGHTS = np.ones((180, 3), np.float32)


def is_apart(function, *arguments):
    return "name=regrouped" in formed_text(function, *arguments)


@pytest.mark.parametrize("function", [
    lambda x, column, row: (column[:, :, None] * row).reshape(40, 180),
    lambda x, column, row: (column[:, :, None] * row).reshape(-1),
    lambda x, column, row: jnp.exp((x * row).reshape(60, 120)),
    lambda x, column, row: jnp.where(x > 0, column[:, :, None], 0).reshape(40, 180) + 1,
    lambda x, column, row: arrax.nn.one_hot(column.astype(int), 15).reshape(40, 180) @ WEIGHTS,
    lambda x, column, row: (x + lax.broadcasted_iota(np.float32, x.shape, 2)).reshape(40, 180),
    lambda x, column, row: (2 * x)[:, :, 1:].reshape(40, 168),
    lambda x, column, row: jnp.pad(2 * x, ((0, 0), (0, 0), (1, 0))).reshape(40, 192),
    lambda x, column, row: (2 * x)[:, :, ::-1].reshape(40, 180),
    lambda x, column, row: (2 * x[:, jnp.arange(12) // 2]).reshape(40, 180),
    lambda x, column, row: arrax.nn.softmax((x * row).reshape(40, 180)),
], ids="outer flat regrouped where one_hot iota slice pad reversed rows softmax".split())  # fmt: skip
def test_arrays_computed_from_elements_elsewhere_are_computed_before_they_are_regrouped(function):
    assert is_apart(function, ROWS, COLUMN, ROW)


@pytest.mark.parametrize("function", [
    lambda x, column, row: (2 * x).reshape(40, 180),
    lambda x, column, row: (column[:, :, None] * row).reshape(480, 15),
    lambda x, column, row: (column[:, :, None] * row).reshape(40, 12, 3, 5),
    lambda x, column, row: (column[:, :, None] * row).reshape(-1)[::181],
    lambda x, column, row: (x * 2)[1:].reshape(39, 180),
    lambda x, column, row: (x * column[:, :1, None]).reshape(40, 180),
    lambda x, column, row: (column[:, :, None] * row).reshape(40, 180).sum(1),
    lambda x, column, row: jnp.maximum((column[:, :, None] * row).reshape(40, 180), 0).max(0),
    lambda x, column, row: jnp.exp(jnp.broadcast_to(column[:, :, None], x.shape).reshape(40, 180)),
    lambda x, column, row: (column[:4, :, None] * row).reshape(4, 180),
], ids="elementwise leading split diagonal first_axis rows summed extremes repeated small".split())  # fmt: skip
def test_others_are_computed_with_what_follows(function):
    assert not is_apart(function, ROWS, COLUMN, ROW)


def test_what_a_host_kernel_takes_in_one_row_is_computed_before():
    x = arrax.ShapeDtypeStruct((300, 300), np.float32)
    assert is_apart(lambda x: (x > x[::-1]).all(), x)
    assert not is_apart(lambda x: (x > 0).all(), x)


def test_operands_of_products_are_regrouped_apart():
    weights = np.ones((40, 2, 12), np.float32)

    def product(column, row, weights):
        return lax.dot_general(weights, column[:, :, None] * row, (((2,), (1,)), ((0,), (0,))))

    def planes(column, row):
        planes = column[:, :, None] * row
        return jnp.einsum("ni,nhw->ihw", column, planes)

    assert not is_apart(product, COLUMN, ROW, weights)
    assert is_apart(planes, COLUMN, ROW)
    wanted = np.einsum("ni,nhw->ihw", COLUMN, COLUMN[:, :, None] * ROW)
    np.testing.assert_allclose(arrax.jit(planes)(COLUMN, ROW), wanted, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("subscripts", ["nhw,nhw->n", "nhw,khw->nk", "nhw,hwk->nk", "nhw,hkw->nk"])
def test_products_that_sum_over_several_axes_have_them_regrouped(subscripts):
    letters = subscripts.split("->")[0].partition(",")[2]
    other = NUMBERS.standard_normal([dict(n=40, h=12, w=15, k=2)[letter] for letter in letters]).astype(np.float32)

    def function(column, row, other):
        return jnp.einsum(subscripts, column[:, :, None] * row, other)

    assert is_apart(function, COLUMN, ROW, other) == (letters != "hkw")
    wanted = np.einsum(subscripts, COLUMN[:, :, None] * ROW, other)
    np.testing.assert_allclose(arrax.jit(function)(COLUMN, ROW, other), wanted, rtol=2e-5, atol=1e-4)


def test_values_and_derivatives():
    def function(column, row):
        return (column[:, :, None] * row).reshape(20, -1) ** 2

    wanted = ((COLUMN[:, :, None] * ROW) ** 2).reshape(20, -1)
    np.testing.assert_array_equal(arrax.jit(function)(COLUMN, ROW), wanted)
    check_gradients(arrax.jit(function), [COLUMN.astype(np.float64), ROW.astype(np.float64)], order=2)
    outs = arrax.jit(arrax.vmap(function, (None, 0)))(COLUMN, np.stack([ROW, 2 * ROW]))
    np.testing.assert_array_equal(outs, np.stack([wanted, 4 * wanted]))
