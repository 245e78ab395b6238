"""Generators other than the default: rbg, unsafe_rbg, and those that users define; options; what keys are made of."""

import numpy as np
import pytest

import arrax
import arrax.extend.random as extend
import arrax.numpy as jnp
from arrax import random


def words(keys):
    return np.asarray(random.key_data(keys))


def make_counting(name="<unnamed>"):
    """A generator for tests, which counts: its bits are the positions plus the key."""

    def bits(key, width, shape):
        count = int(np.prod(shape, dtype=int))
        return (jnp.arange(count).reshape(shape) + key[0]).astype(f"uint{width}")

    return extend.define_prng_impl(
        key_shape=(1,),
        seed=lambda number: jnp.asarray(number).astype("uint32").reshape(1),
        split=lambda key, shape: (
            jnp.arange(int(np.prod(shape, dtype=int)), dtype="uint32").reshape(*shape, 1) + key * 10
        ),
        random_bits=bits,
        fold_in=lambda key, number: key + jnp.asarray(number).astype("uint32"),
        name=name,
        tag="count",
    )


def test_a_generator_of_one_s_own():
    impl = make_counting()
    key = random.key(5, impl=impl)
    assert str(key.dtype) == "key<count>" and key.shape == ()
    np.testing.assert_array_equal(words(key), [5])
    np.testing.assert_array_equal(random.bits(key, (3,)), [5, 6, 7])
    np.testing.assert_array_equal(words(random.split(key, 3)), [[50], [51], [52]])
    np.testing.assert_array_equal(words(random.fold_in(key, 4)), [9])
    np.testing.assert_array_equal(arrax.vmap(lambda k: random.bits(k, (2,)))(random.split(key)), [[50, 51], [51, 52]])
    np.testing.assert_array_equal(arrax.jit(random.bits, static_argnums=1)(key, (2,)), [5, 6])
    assert random.uniform(key, (4,)).shape == (4,)
    np.testing.assert_array_equal(words(random.wrap_key_data(jnp.uint32([[1], [2]]), impl=impl)), [[1], [2]])


def test_named_generators_are_known_by_their_names():
    make_counting("counting")
    assert str(random.key(0, impl="counting").dtype) == "key<count>"
    with pytest.raises(ValueError, match="already"):
        make_counting("counting")


@pytest.mark.parametrize("impl, tag", [("threefry2x32", "fry"), ("rbg", "rbg"), ("unsafe_rbg", "urbg")])
def test_generators_of_the_house(impl, tag):
    key = random.key(3, impl=impl)
    assert str(key.dtype) == f"key<{tag}>"
    assert random.key_impl(key) == impl
    assert random.key(3, impl=random.key_impl(key)).dtype == key.dtype == random.key(0, dtype=key.dtype).dtype
    a, b = random.split(key)
    assert not np.array_equal(words(a), words(b))
    x, y = np.asarray(random.normal(a, (500,))), np.asarray(random.normal(b, (500,)))
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.25 and abs(x.mean()) < 0.25 and abs(x.std() - 1) < 0.2
    np.testing.assert_array_equal(words(extend.seed_with_impl(getattr(extend, {"fry": "threefry", "rbg": "rbg", "urbg": "unsafe_rbg"}[tag] + "_prng_impl"), 3)), words(key))  # fmt: skip
    assert random.uniform(random.PRNGKey(0, impl=impl) if impl == "threefry2x32" else key).shape == ()


def test_keys_of_rbg_split_like_two_of_threefry():
    key = random.key(3, impl="rbg")
    half = random.split(random.key(3))
    np.testing.assert_array_equal(words(random.split(key)), np.concatenate([words(half)] * 2, 1))


def test_mapped_keys_of_rbg_draw_one_stream():
    """The compiler's generator takes one key: a batch of draws is one draw of the first key."""
    keys = random.split(random.key(3, impl="rbg"), 4)
    batch = arrax.vmap(lambda k: random.bits(k, (5,)))(keys)
    assert batch.shape == (4, 5)
    np.testing.assert_array_equal(batch, random.bits(keys[0], (4, 5)))
    fry = random.split(random.key(3), 4)
    for row, key in zip(arrax.vmap(lambda k: random.bits(k, (5,)))(fry), fry, strict=True):
        np.testing.assert_array_equal(row, random.bits(key, (5,)))


def test_mapped_keys_of_rbg_give_each_its_own_gamma_numbers():
    """They are drawn in turn, so that no key takes part in the stream of another."""
    keys, a = random.split(random.key(3, impl="rbg"), 3), jnp.array([0.5, 1, 2])
    mapped = arrax.vmap(lambda key, a: random.gamma(key, a, (2,)))(keys, a)
    np.testing.assert_array_equal(mapped, [random.gamma(key, a, (2,)) for key, a in zip(keys, a, strict=True)])


def test_the_default_generator_is_an_option():
    with arrax.default_prng_impl("rbg"):
        assert str(random.key(0).dtype) == "key<rbg>"
        assert random.PRNGKey(0).shape == (4,)
        assert (
            repr(random.uniform(random.PRNGKey(0), (3,)))
            == "Array([0.39904642, 0.8805201 , 0.73571277], dtype=float32)"
        )
        with pytest.raises(TypeError):
            random.uniform(jnp.zeros(2, "uint32"))


def test_custom_keys_are_an_option():
    with arrax.enable_custom_prng(True):
        assert str(random.PRNGKey(0).dtype) == "key<fry>"


def test_raw_keys_can_be_warned_of_and_refused():
    raw = random.PRNGKey(0)
    with arrax.legacy_prng_key("warn"), pytest.warns(UserWarning, match="raw uint32 array"):
        random.uniform(raw)
    with arrax.legacy_prng_key("error"):
        with pytest.raises(ValueError, match="raw uint32 array"):
            random.split(raw)
        random.uniform(random.key(0))


def test_the_hash_has_the_published_values():
    """Known answers of Threefry-2x32 with twenty rounds."""
    for key, count, answer in (
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ):
        hashed = extend.threefry_2x32(tuple(map(jnp.uint32, key)), jnp.array(count, "uint32"))
        np.testing.assert_array_equal(hashed, np.array(answer, np.uint32))
        pair = extend.threefry2x32_p.bind(*map(jnp.uint32, key), *map(jnp.uint32, count))
        np.testing.assert_array_equal(pair, np.array(answer, np.uint32))


def test_the_hash_takes_any_number_of_counters():
    key = (jnp.uint32(7), jnp.uint32(9))
    for shape in ((), (1,), (5,), (2, 3)):
        assert extend.threefry_2x32(key, jnp.zeros(shape, "uint32")).shape == shape


@pytest.mark.parametrize(
    ("keypair", "count", "message"),
    [
        (jnp.zeros(3, "uint32"), jnp.zeros(3, "uint32"), "argument keypair: must be two uint32 scalars"),
        (None, jnp.zeros(3, "uint32"), "argument keypair: must be two uint32 scalars"),
        (jnp.zeros(2, "uint32"), jnp.zeros(3), r"takes uint32 arrays, got \['u32\[\]', 'u32\[\]', 'f32\[3\]'\]"),
    ],
)  # fmt: skip
def test_hashing_refuses_what_is_no_key_and_no_counter(keypair, count, message):
    with pytest.raises(TypeError, match=f"threefry_2x32.* {message}"):
        extend.threefry_2x32(keypair, count)


@pytest.mark.parametrize("partitionable", [False, True])
def test_more_numbers_than_32_bits_count_can_be_asked_for(partitionable):
    key = arrax.random.key(0)
    with arrax.threefry_partitionable(partitionable):
        for width in ("uint8", "uint16", "uint32"):
            arrax.jit(lambda k, width=width: arrax.random.bits(k, (2**31 + 1, 5), width)).lower(key)
        arrax.jit(lambda k: arrax.random.split(k, (2**33,))).lower(key)


def test_more_words_than_one_sequence_has_are_those_of_several_keys(monkeypatch):
    from arrax.random import threefry

    key = np.uint32([3, 4])
    keys = threefry.split(key, (3,))
    expected = np.concatenate([threefry._words(row, length) for row, length in zip(keys, (7, 7, 3), strict=True)])
    monkeypatch.setattr(threefry, "_LONGEST", 7)
    np.testing.assert_array_equal(threefry._words(key, 17), expected)


def test_the_halves_of_large_counters_are_those_of_64_bits():
    from arrax.random import threefry

    high, low = arrax.make_jaxpr(lambda: threefry._counters((3, 5)))().out_avals
    assert high.dtype == low.dtype == np.uint32


def test_bits_are_computed_once_for_all_their_uses():
    def program(length):
        bits = arrax.jit(lambda key: (lambda x: (x.sum(), x * 2))(arrax.random.normal(key, (length,))))
        return bits.lower(arrax.random.key(0)).as_text()

    assert "stablehlo.while" in program(1000)  # which the compiler does not fuse with what comes after it
    assert "stablehlo.while" in program(16) and "stablehlo.while" not in program(2)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_a_number_folded_into_several_keys_gives_what_it_gives_each_key(impl):
    keys = random.split(random.key(0, impl=impl), (2, 3))
    folded = arrax.vmap(arrax.vmap(lambda key: random.fold_in(key, 5)))(keys)
    np.testing.assert_array_equal(words(folded)[1, 2], words(random.fold_in(keys[1, 2], 5)))
    several = arrax.vmap(lambda number: arrax.vmap(lambda key: random.fold_in(key, number))(keys[0]))(np.arange(4))
    assert several.shape == (4, 3)
