"""Typed keys are array elements: what arrays of them can do, and what they refuse."""

import copy
import pickle

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax, random


def words(keys):
    return np.asarray(random.key_data(keys))


KEYS = random.split(random.key(7), (2, 3))
WORDS = words(KEYS)

# fmt: off
STRUCTURAL = {  # operation: the same on the words, whose last axis is a key's own
    "index":            (lambda k: k[1],                                  lambda w: w[1]),
    "negative index":   (lambda k: k[-1, -2],                             lambda w: w[-1, -2]),
    "slice":            (lambda k: k[:, 1:],                              lambda w: w[:, 1:]),
    "stride":           (lambda k: k[::-1, ::2],                          lambda w: w[::-1, ::2]),
    "ellipsis":         (lambda k: k[..., 0],                             lambda w: w[:, 0]),
    "new axis":         (lambda k: k[:, None],                            lambda w: w[:, None]),
    "array index":      (lambda k: k[:, jnp.array([2, 0])],               lambda w: w[:, [2, 0]]),
    "host mask":        (lambda k: k[np.array([False, True])],            lambda w: w[[False, True]]),
    "reshape":          (lambda k: k.reshape(3, 2),                       lambda w: w.reshape(3, 2, 2)),
    "reshape, -1":      (lambda k: jnp.reshape(k, -1),                    lambda w: w.reshape(-1, 2)),
    "ravel":            (lambda k: k.ravel(),                             lambda w: w.reshape(-1, 2)),
    "flatten":          (lambda k: k.flatten(),                           lambda w: w.reshape(-1, 2)),
    "transpose":        (lambda k: k.T,                                   lambda w: w.transpose(1, 0, 2)),
    "swapaxes":         (lambda k: jnp.swapaxes(k, 0, 1),                 lambda w: w.transpose(1, 0, 2)),
    "moveaxis":         (lambda k: jnp.moveaxis(k, 0, 1),                 lambda w: w.transpose(1, 0, 2)),
    "expand_dims":      (lambda k: jnp.expand_dims(k, 0),                 lambda w: w[None]),
    "squeeze":          (lambda k: k[:1].squeeze(0),                      lambda w: w[0]),
    "concatenate":      (lambda k: jnp.concatenate([k, k], axis=1),       lambda w: np.concatenate([w, w], 1)),
    "stack":            (lambda k: jnp.stack([k, k], axis=1),             lambda w: np.stack([w, w], 1)),
    "broadcast_to":     (lambda k: jnp.broadcast_to(k, (4, 2, 3)),        lambda w: np.broadcast_to(w, (4, 2, 3, 2))),
    "where":            (lambda k: jnp.where(np.array([True, False, True]), k, k[::-1]), lambda w: np.where(np.array([True, False, True])[:, None], w, w[::-1])),
    "where, scalar":    (lambda k: jnp.where(np.array([True, False, True]), k, k[0, 0]), lambda w: np.where(np.array([True, False, True])[:, None], w, w[0, 0])),
    "at set":           (lambda k: k.at[0].set(k[1]),                     lambda w: np.stack([w[1], w[1]])),
    "flip":             (lambda k: jnp.flip(k, 0),                        lambda w: w[::-1]),
    "roll":             (lambda k: jnp.roll(k, 1, 0),                     lambda w: np.roll(w, 1, 0)),
    "repeat":           (lambda k: jnp.repeat(k, 2, 0),                   lambda w: np.repeat(w, 2, 0)),
    "tile":             (lambda k: jnp.tile(k, (2, 1)),                   lambda w: np.tile(w, (2, 1, 1))),
    "take":             (lambda k: jnp.take(k, jnp.array([1, 1]), axis=0), lambda w: w[[1, 1]]),
    "split":            (lambda k: jnp.split(k, 3, axis=1)[1],            lambda w: w[:, 1:2]),
    "dynamic_slice":    (lambda k: lax.dynamic_slice(k, (0, 1), (2, 2)),  lambda w: w[:, 1:3]),
    "dynamic_update":   (lambda k: lax.dynamic_update_slice(k, k[:1, :1], (1, 2)), lambda w: np.concatenate([w.reshape(-1, 2)[:5], w[:1, 0]]).reshape(2, 3, 2)),
    "squared away":     (lambda k: lax.rev(k, (1,)),                      lambda w: w[:, ::-1]),
    "vmap":             (lambda k: arrax.vmap(lambda row: row[1])(k),     lambda w: w[:, 1]),
    "vmap, in_axes":    (lambda k: arrax.vmap(lambda c: c, in_axes=1, out_axes=1)(k), lambda w: w),
    "scan":             (lambda k: lax.scan(lambda c, x: (x, c), k[0], k)[1], lambda w: np.stack([w[0], w[0]])),
    "map":              (lambda k: lax.map(lambda row: row[::-1], k),     lambda w: w[:, ::-1]),
    "cond":             (lambda k: lax.cond(True, lambda k: k[0], lambda k: k[1], k), lambda w: w[0]),
    "while":            (lambda k: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1][::-1]), (0, k))[1], lambda w: w[::-1]),
    "full_like":        (lambda k: jnp.full_like(k, k[0, 0]),             lambda w: np.broadcast_to(w[0, 0], w.shape)),
    "copy":             (lambda k: k.copy(),                              lambda w: w),
    "device_put":       (lambda k: arrax.device_put(k),                   lambda w: w),
    "astype itself":    (lambda k: k.astype(k.dtype),                     lambda w: w),
    "asarray":          (lambda k: jnp.asarray(k),                        lambda w: w),
    "wrap":             (lambda k: random.wrap_key_data(random.key_data(k)), lambda w: w),
}
# fmt: on


@pytest.mark.parametrize("name", STRUCTURAL)
def test_structural_operations_move_whole_keys(name):
    operation, on_words = STRUCTURAL[name]
    expected = on_words(WORDS)
    for result in (operation(KEYS), arrax.jit(operation)(KEYS)):
        assert result.dtype == KEYS.dtype
        assert result.shape == expected.shape[:-1]
        np.testing.assert_array_equal(words(result), expected)


def test_attributes_speak_of_keys_and_not_of_words():
    key = random.key(0)
    assert (key.shape, key.ndim, key.size, key.itemsize, str(key.dtype)) == ((), 0, 1, 8, "key<fry>")
    assert (KEYS.shape, KEYS.ndim, KEYS.size, KEYS.nbytes, len(KEYS)) == ((2, 3), 2, 6, 48, 2)
    assert isinstance(key, arrax.Array)
    assert random.key_impl(KEYS) == "threefry2x32"
    assert random.key_dtype() == key.dtype == random.key_dtype("threefry2x32")


def test_keys_print_with_their_words():
    assert repr(random.key(42)) == "Array((), dtype=key<fry>) overlaying:\n[ 0 42]"
    keys = arrax.vmap(random.key)(jnp.arange(4))
    assert repr(keys) == "Array((4,), dtype=key<fry>) overlaying:\n[[0 0]\n [0 1]\n [0 2]\n [0 3]]"
    assert repr(random.key(0, impl="rbg")) == "Array((), dtype=key<rbg>) overlaying:\n[0 0 0 0]"
    assert repr(random.PRNGKey(0)) == "Array([0, 0], dtype=uint32)"


def test_dtypes_of_keys_are_extended_ones():
    dtype = random.key(0).dtype
    assert arrax.dtypes.issubdtype(dtype, arrax.dtypes.prng_key)
    assert jnp.issubdtype(dtype, arrax.dtypes.extended)
    assert arrax.dtypes.issubdtype(arrax.dtypes.prng_key, arrax.dtypes.extended)
    assert not arrax.dtypes.issubdtype(random.PRNGKey(0).dtype, arrax.dtypes.prng_key)


def test_keys_iterate_and_unpack():
    first, *rest = random.split(random.key(0), 4)
    assert (first.shape, len(rest)) == ((), 3)
    with pytest.raises(TypeError, match="no sequence"):
        iter(first)


def test_keys_are_equal_where_their_words_are():
    same = KEYS == KEYS.at[0, 0].set(KEYS[1, 1])
    np.testing.assert_array_equal(same, [[False, True, True], [True, True, True]])
    np.testing.assert_array_equal(KEYS != KEYS, np.zeros((2, 3), bool))


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k))])
def test_keys_are_copied_and_pickled(clone):
    for impl in ("threefry2x32", "rbg"):
        keys = random.split(random.key(3, impl=impl))
        other = clone(keys)
        assert other.dtype == keys.dtype
        np.testing.assert_array_equal(words(other), words(keys))


def test_key_dtypes_are_pickled():
    assert pickle.loads(pickle.dumps(KEYS.dtype)) == KEYS.dtype


# fmt: off
REFUSED = {
    "add":      (lambda k: k + 1,             "int32, key<fry> do not go together"),
    "radd":     (lambda k: 1 + k,             "key<fry>"),
    "multiply": (lambda k: jnp.multiply(k, 2), "key<fry>"),
    "negate":   (lambda k: -k,                "key<fry>"),
    "less":     (lambda k: k < k,             "key<fry>"),
    "sum":      (lambda k: jnp.sum(k),        "key<fry>"),
    "sin":      (lambda k: jnp.sin(k),        "key<fry>"),
    "lax.add":  (lambda k: lax.add(k, k),     "key<fry>"),
    "floor":    (lambda k: jnp.floor(k),      "key<fry>"),
    "isreal":   (lambda k: jnp.isreal(k),     "key<fry>"),
    "int16":    (lambda k: jnp.int16(k),      "from key<fry> to int16"),
    "asarray":  (lambda k: jnp.asarray(k, "float32"), "from key<fry> to float32"),
    "astype":   (lambda k: k.astype("uint32"), "key<fry>"),
    "to NumPy": (lambda k: np.asarray(k),     "key_data"),
    "bool":     (lambda k: bool(k[0, 0]),     "neither true"),
    "with data": (lambda k: jnp.concatenate([k, jnp.zeros((2, 3), "uint32")]), "key<fry>"),
    "mixed":    (lambda k: jnp.concatenate([k, random.split(random.key(0, impl="rbg"), (2, 3))]), "key<"),
    "words by index": (lambda k: k[0, 0, 1],  "indices for a key array"),
    "as a seed": (lambda k: random.key(k[0, 0]), "key"),
    "a batch":  (lambda k: random.split(k), "vmap"),
    "grad":     (lambda k: arrax.grad(lambda k: 1.0)(k[0, 0]), "key<fry>"),
}
# fmt: on


@pytest.mark.parametrize("operation, words_of_error", REFUSED.values(), ids=REFUSED)
def test_what_is_meant_for_numbers_is_refused(operation, words_of_error):
    with pytest.raises((TypeError, ValueError, IndexError), match=words_of_error):
        operation(KEYS)


def test_keys_are_found_among_others():
    rows = KEYS.reshape(-1)
    np.testing.assert_array_equal(jnp.isin(rows, rows[1:3]), [n in (1, 2) for n in range(rows.size)])
    assert jnp.isin(KEYS, random.split(random.key(7), 40)).shape == KEYS.shape


def test_keys_are_hashed_like_arrays_not_at_all():
    with pytest.raises(TypeError):
        hash(random.key(0))


def test_functions_of_keys_are_transformed():
    key = random.key(0)
    scale = arrax.grad(lambda x: jnp.sum(x * random.normal(key, (3,))))(2.0)
    np.testing.assert_allclose(scale, np.sum(random.normal(key, (3,))), rtol=1e-6)
    sample, slope = arrax.jvp(lambda x: random.normal(key) * x, (2.0,), (1.0,))
    np.testing.assert_allclose(slope, sample / 2)
    both = arrax.vmap(arrax.grad(lambda x, k: x * random.normal(k)), in_axes=(None, 0))(1.0, random.split(key))
    np.testing.assert_allclose(both, [random.normal(k) for k in random.split(key)], rtol=1e-6)


def test_keys_are_leaves_of_pytrees_through_programs():
    @arrax.jit
    def step(state):
        key, total = state["key"], state["total"]
        key, sub = random.split(key)
        return {"key": key, "total": total + random.uniform(sub)}

    state = {"key": random.key(0), "total": 0.0}
    for _ in range(3):
        state = step(state)
    assert state["key"].dtype == random.key(0).dtype
    assert 0 < float(state["total"]) < 3
    again = lax.fori_loop(0, 3, lambda i, s: step(s), {"key": random.key(0), "total": 0.0})
    np.testing.assert_allclose(again["total"], state["total"], rtol=1e-6)


def test_shape_inference_knows_keys():
    out = arrax.eval_shape(lambda k: random.split(k, 3), random.key(0))
    assert (out.shape, out.dtype) == ((3,), random.key(0).dtype)
    spec = arrax.ShapeDtypeStruct((), random.key(0).dtype)
    assert arrax.eval_shape(lambda k: random.normal(k, (2,)), spec).shape == (2,)


def test_programs_show_random_operations():
    text = str(arrax.make_jaxpr(lambda k: random.bits(random.split(k)[0], (2,)))(random.key(0)))
    assert "random_split" in text and "random_bits" in text and "key<fry>[]" in text
    made = str(arrax.make_jaxpr(random.key)(0))
    assert made == "{ lambda ; a:i32[]. let b:key<fry>[] = random_seed[impl=fry] a in (b,) }"


def test_a_key_indexed_in_a_loop_by_the_loop_is_a_key():
    keys = random.split(random.key(0), 3)
    total = lax.fori_loop(0, 3, lambda i, s: s + random.uniform(keys[i]), 0.0)
    np.testing.assert_allclose(total, sum(float(random.uniform(k)) for k in keys), rtol=1e-6)


def test_key_arrays_join_and_compare_as_arrays():
    key = random.key(1)
    keys = random.split(key, 3)
    assert jnp.stack([key, key]).shape == (2,) and jnp.stack(keys).shape == (3,)
    assert jnp.vstack(keys).shape == (3, 1) and jnp.concatenate([keys, keys]).shape == (6,)
    np.testing.assert_array_equal(key == keys, [False, False, False])
    np.testing.assert_array_equal(keys[1] == keys, [False, True, False])
    np.testing.assert_array_equal(keys[:, None] == keys, np.eye(3, dtype=bool))
    assert bool(jnp.isclose(key, key)) and not bool(jnp.isclose(key, keys[0]))


@pytest.mark.parametrize("form", [random.key, random.PRNGKey], ids=["typed", "raw"])
@pytest.mark.parametrize(
    "draw",
    [
        lambda key: random.uniform(key, (2,)),
        lambda key: random.bits(key),
        lambda key: random.gamma(key, np.array([1.0, 2.0])),
        lambda key: random.permutation(key, 4),
        lambda key: random.choice(key, 5, (3,), replace=False),
        lambda key: random.categorical(key, np.zeros(3)),
        lambda key: random.poisson(key, 3.0),
        lambda key: random.orthogonal(key, 2),
    ],
    ids=["uniform", "bits", "gamma", "permutation", "choice", "categorical", "poisson", "orthogonal"],
)
def test_samplers_are_mapped_over_several_keys_with_a_warning(draw, form):
    keys = random.split(form(0), 3)
    with pytest.warns(FutureWarning, match="single key.*vmap"):
        drawn = draw(keys)
    np.testing.assert_array_equal(drawn, arrax.vmap(draw)(keys))


def test_several_axes_of_keys():
    with pytest.warns(FutureWarning, match=r"shape \(2, 3\)"):
        assert arrax.jit(lambda keys: random.normal(keys, (4,)))(random.split(random.key(0), (2, 3))).shape == (2, 3, 4)


def test_arrays_of_keys_tell_of_their_memory():
    keys = arrax.block_until_ready(random.split(random.key(1), 3))
    assert keys.is_ready() and not keys.is_deleted()
    assert keys.on_device_size_in_bytes() == keys.nbytes == 24
