"""Places of flags: values, batches, derivatives, both routes."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.core import config
from arrax.lax.counting import nonzero_indices

RNG = np.random.default_rng(0)


def wanted(flags, size):
    found = np.flatnonzero(flags)
    return np.concatenate([found[:size], np.zeros(max(size - found.size, 0), int)]), found.size


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize(("length", "size"), [(0, 3), (10, 0), (10, 4), (10, 20), (40_000, 300), (40_000, 40_000)])
def test_places_are_those_that_numpy_finds(kernels, length, size):
    flags = RNG.integers(0, 2, length).astype(bool)
    with config.cpu_kernels(kernels):
        compiled = arrax.jit(lambda flags: nonzero_indices(flags, size, np.int32))
        places, count = compiled(flags)
        text = compiled.lower(flags).as_text()
    assert ("custom_call" in text) == (kernels and length > 10)
    expected, number = wanted(flags, size)
    np.testing.assert_array_equal(places, expected)
    assert count == number and places.dtype == count.dtype == np.int32


def test_rows_are_searched_by_themselves():
    flags = RNG.integers(0, 2, (3, 4, 2000)).astype(bool)
    places, counts = nonzero_indices(flags, 990, np.int32)
    mapped = arrax.vmap(arrax.vmap(lambda f: nonzero_indices(f, 990, np.int32)))(jnp.asarray(flags))
    last = arrax.vmap(lambda f: nonzero_indices(f, 990, np.int32), in_axes=1, out_axes=(1, 0))(jnp.asarray(flags[0].T))
    for row in np.ndindex(3, 4):
        expected, number = wanted(flags[row], 990)
        for found, count in ((places, counts), mapped):
            np.testing.assert_array_equal(found[row], expected)
            assert count[row] == number
    np.testing.assert_array_equal(last[0].T, places[0])


def test_derivatives_pass_by():
    x = RNG.standard_normal(50).astype(np.float32)
    gradient = arrax.grad(lambda x: x[jnp.nonzero(x > 0, size=50, fill_value=0)[0]].sum())(x)
    count = (x > 0).sum()
    expected = (x > 0).astype(np.float32)
    expected[0] += 50 - count
    np.testing.assert_array_equal(gradient, expected)
