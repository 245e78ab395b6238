"""What the documentation prints of random numbers is what comes out."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import random


def printed(value):
    return str(value)


def test_random_numbers_among_the_sharp_bits():
    key = random.key(0)
    assert printed(random.normal(key, shape=(1,))) == "[-0.20584226]"
    assert printed(random.normal(key, shape=(1,))) == "[-0.20584226]"
    assert repr(key) == "Array((), dtype=key<fry>) overlaying:\n[0 0]"


def test_splitting_among_the_sharp_bits():
    key = random.key(0)
    key, subkey = random.split(key)
    assert printed(random.normal(subkey, shape=(1,))) == "[-1.2515389]"
    key, subkey = random.split(key)
    assert printed(random.normal(subkey, shape=(1,))) == "[-0.58665055]"
    key, *subkeys = random.split(key, 4)
    shown = [printed(random.normal(subkey, shape=(1,))) for subkey in subkeys]
    assert shown == ["[-0.37533438]", "[0.98645043]", "[0.14553197]"]


def test_pseudorandom_numbers_explicit_state():
    key = random.key(42)
    assert printed(key) == "Array((), dtype=key<fry>) overlaying:\n[ 0 42]"
    assert printed(random.normal(key)) == "-0.18471177"
    draws = []
    for _ in range(3):
        key, subkey = random.split(key)
        draws.append(f"{random.normal(subkey)}")
    assert draws == ["1.369469404220581", "-0.19947023689746857", "-2.298278331756592"]
    key, *forty_two_subkeys = random.split(key, num=43)
    assert len(forty_two_subkeys) == 42


def test_pseudorandom_numbers_have_no_sequential_equivalence():
    subkeys = random.split(random.key(42), 3)
    individually = np.stack([random.normal(subkey) for subkey in subkeys])
    assert printed(individually) == "[-0.04838832  0.10796154 -1.2226542 ]"
    assert printed(random.normal(random.key(42), shape=(3,))) == "[ 0.18693547 -1.2806505  -1.5593132 ]"
    assert printed(arrax.vmap(random.normal)(subkeys)) == "[-0.04838832  0.10796154 -1.2226542 ]"


def test_the_module_s_own_page():
    key = random.key(0)
    assert repr(random.uniform(key)) == "Array(0.41845703, dtype=float32)"
    key, subkey = random.split(key)
    assert repr(random.uniform(subkey)) == "Array(0.10536897, dtype=float32)"


def test_typed_keys_and_their_generators():
    raw = random.PRNGKey(0)
    assert (repr(raw), raw.shape, repr(raw.dtype)) == ("Array([0, 0], dtype=uint32)", (2,), "dtype('uint32')")
    key = random.key(0)
    assert (key.shape, repr(key.dtype)) == ((), "key<fry>")
    assert repr(random.key_data(key)) == "Array([0, 0], dtype=uint32)"
    with pytest.raises(ValueError, match="dtype=key<fry> is not a valid dtype for JAX type promotion."):
        key + 1
    fry = random.uniform(random.key(0, impl="threefry2x32"), shape=(3,))
    assert repr(fry) == "Array([0.9653214 , 0.31468165, 0.63302994], dtype=float32)"
    rbg = random.uniform(random.key(0, impl="rbg"), shape=(3,))
    assert repr(rbg) == "Array([0.39904642, 0.8805201 , 0.73571277], dtype=float32)"


def test_generating_random_numbers_in_both_settings():
    @arrax.jit
    def f(key, x):
        return x + random.uniform(key, x.shape)

    key, x = random.key(42), jnp.arange(24)
    stable, partitionable = f(key, x), None
    with arrax.threefry_partitionable(True):
        partitionable = f(key, x)
    assert printed(stable).split()[1:4] == ["0.72503686", "1.8532515", "2.983416"]
    assert printed(stable).split()[-2] == "23.223194"
    assert printed(partitionable).split()[1:4] == ["0.48870957", "1.6797972", "2.6162715"]
    assert printed(partitionable).split()[-2] == "23.63918"


def test_negative_and_great_seeds_as_the_change_log_says():
    np.testing.assert_array_equal(random.PRNGKey(-1), [0, 4294967295])
    np.testing.assert_array_equal(arrax.jit(random.PRNGKey)(-1), [0, 4294967295])
    recovered = random.PRNGKey(-1).at[0].set(0xFFFFFFFF)
    np.testing.assert_array_equal(recovered, [4294967295, 4294967295])
    for seed in (2**63, -(2**63) - 1, 2**64):
        with pytest.raises(OverflowError):
            random.PRNGKey(seed)
    with arrax.enable_x64(True):
        np.testing.assert_array_equal(random.PRNGKey(2**40 + 5), [256, 5])
        np.testing.assert_array_equal(random.PRNGKey(-1), [4294967295, 4294967295])


def test_misuses_of_raw_keys_that_typed_keys_refuse():
    raw = random.PRNGKey(999)
    np.testing.assert_array_equal(random.PRNGKey(raw[1]), raw)
    assert (raw + jnp.arange(10, dtype=raw.dtype)[:, None]).shape == (10, 2)
    assert arrax.vmap(random.uniform, in_axes=1)(random.split(raw)).shape == (2,)
    with pytest.raises(IndexError):
        random.key(999)[1]
    with pytest.raises(ValueError):
        arrax.vmap(random.uniform, in_axes=1)(random.split(random.key(0)))


def test_programs_of_the_design_note():
    def serial(*layers):
        def apply(key, inputs):
            for sub, layer in zip(random.split(key, len(layers)), layers, strict=True):
                inputs = layer(sub, inputs)
            return inputs

        return apply

    def dropout(rate):
        return lambda key, x: jnp.where(random.bernoulli(key, rate, x.shape), x / rate, 0)

    network = serial(dropout(0.5), lambda key, x: jnp.tanh(x), dropout(0.8))
    eager, compiled = network(random.key(1), jnp.ones(8)), arrax.jit(network)(random.key(1), jnp.ones(8))
    np.testing.assert_allclose(eager, compiled, rtol=1e-6)
    assert 0 < np.count_nonzero(eager) < 8
