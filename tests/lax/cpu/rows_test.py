"""The contract for functions of rows: eager, compiled and mapped calls give a row the same bits (docs/cpu.md)."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp

ALWAYS = {
    "max": jnp.max, "sort": jnp.sort, "median": jnp.median, "cumsum": jnp.cumsum, "cumprod": jnp.cumprod,
}  # fmt: skip
ALONE = {  # whose sums the compiler's library orders by the size of the whole array
    "sum": jnp.sum, "mean": jnp.mean, "var": jnp.var, "std": jnp.std, "softmax": arrax.nn.softmax, "prod": jnp.prod,
    "norm": jnp.linalg.norm, "logsumexp": arrax.nn.logsumexp, "log_softmax": arrax.nn.log_softmax,
}  # fmt: skip
LENGTHS = [3, 33, 100, 1000]


def rows(length):
    return np.random.default_rng(length).standard_normal((64, length)).astype(np.float32)


def bits(x):
    return np.asarray(x).tobytes()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ALWAYS)
def test_a_row_has_the_same_bits_in_every_batch(name, length):
    function, x = ALWAYS[name], rows(length)
    alone = bits(function(x[0]))
    assert bits(arrax.jit(function)(x[0])) == alone
    for count in (1, 7, 64):
        assert bits(arrax.jit(arrax.vmap(function))(x[:count])[0]) == alone, count


@pytest.mark.parametrize("special", [-np.nan, 0.0], ids=str)
def test_nan_and_zeros_of_either_sign_are_found_alike_in_every_batch(special):
    x = -np.abs(rows(100)) * (special != 0)
    x[0, 7], x[:, 99] = -special, special
    alone = bits(jnp.max(x[0]))
    for count in (1, 4, 64):
        assert bits(arrax.jit(arrax.vmap(jnp.max))(x[:count])[0]) == alone, count


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ALONE)
def test_a_row_has_the_same_bits_eagerly_compiled_and_in_loops(name, length):
    function, x = ALONE[name], rows(length)
    alone = bits(function(x[0]))
    assert bits(arrax.jit(function)(x[0])) == alone
    assert bits(arrax.jit(arrax.vmap(function))(x[:1])[0]) == alone
    assert bits(arrax.lax.map(function, x[:3])[0]) == alone
