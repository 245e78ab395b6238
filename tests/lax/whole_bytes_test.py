"""Integers of 2 bits in operations that XLA does not have for less than a byte."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax

X = np.array([1, 0, 1, -2, -1, 0, 1, -1])
FUNCTIONS = {
    "sort": jnp.sort,
    "argsort": jnp.argsort,
    "sort of two": lambda x: lax.sort((x, x[::-1]), num_keys=2),
    "argmax": lambda x: jnp.argmax(x.reshape(2, 4), 1),
    "reduce_max": lambda x: jnp.max(x.reshape(2, 4), 0),
    "concatenate": lambda x: jnp.concatenate([x, x[1:]]) + x[0],
    "pad": lambda x: lax.pad(x, x[0], ((1, 2, 1),)) * x[0],
    "matmul": lambda x: x.reshape(2, 4) @ x.reshape(4, 2),
}


@pytest.mark.parametrize("dtype", ["int2", "uint2"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_bits_give_what_bytes_give(name, dtype):
    wide = (X % 4).astype(np.uint8) if dtype == "uint2" else X.astype(np.int8)
    narrow = jnp.asarray(wide.astype(getattr(jnp, dtype).dtype))
    found = arrax.tree.leaves(arrax.jit(FUNCTIONS[name])(narrow))
    expected = arrax.tree.leaves(FUNCTIONS[name](jnp.asarray(wide)))
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype == dtype) == (other.dtype == wide.dtype)
        np.testing.assert_array_equal(np.asarray(one).astype(int), np.asarray(other).astype(one.dtype).astype(int))


def test_the_extreme_of_no_elements_is_one_of_the_dtype():
    nothing = jnp.zeros((0, 1), jnp.int2)
    assert int(lax.reduce_max(nothing, (0,))[0]) == -2 and int(lax.reduce_min(nothing, (0,))[0]) == 1
