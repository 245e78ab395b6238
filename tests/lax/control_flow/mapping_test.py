"""lax.map: element by element, or in batches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import arrax
from arrax import lax


def f(x):
    return {"sin": lax.sin(x["a"]), "sum": lax.add(x["a"], x["b"])}


XS = {"a": np.linspace(0, 1, 7, dtype=np.float32), "b": np.arange(7.0, dtype=np.float32)}


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 7, 10])
def test_values_are_stacked_in_order(batch_size):
    out = lax.map(f, XS, batch_size=batch_size)
    assert_allclose(out["sin"], np.sin(XS["a"]), rtol=1e-6)
    assert_allclose(out["sum"], XS["a"] + XS["b"], rtol=1e-6)


@pytest.mark.parametrize("batch_size", [None, 3])
def test_it_is_differentiable_and_may_be_mapped_again(batch_size):
    def total(a):
        return lax.reduce_sum(lax.map(lambda x: lax.mul(x, lax.sin(x)), a, batch_size=batch_size), (0,))

    a = XS["a"]
    expected = np.sin(a) + a * np.cos(a)
    assert_allclose(arrax.jit(arrax.grad(total))(a), expected, rtol=1e-5)
    assert_allclose(arrax.vmap(arrax.grad(total))(np.stack([a, a])), [expected, expected], rtol=1e-5)


def test_no_elements_give_no_results():
    assert lax.map(lax.sin, np.ones((0, 2), np.float32)).shape == (0, 2)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="batch_size must be positive"):
        lax.map(lax.sin, XS["a"], batch_size=-1)
    with pytest.raises(ValueError, match="different sizes"):
        lax.map(lambda x: x, (XS["a"], XS["a"][:2]))
