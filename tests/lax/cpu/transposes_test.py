"""Arrays with their axes in another order, as results, operands of loops and of products."""

import itertools

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.cpu.routes import EVERY, awkward, formed_text
from tests.support import x64_for

RNG = np.random.default_rng(0)
COPY = "name=transposed"
X = RNG.integers(-4, 5, (32, 3, 32)).astype(np.float32)

# fmt: off
USES = {  # name: (of an array of three axes and its transposed one, whether that is copied)
    "a result":             (lambda x, t: t, True),
    "regrouped":            (lambda x, t: t.reshape(-1), True),
    "carried by a loop":    (lambda x, t: lax.fori_loop(0, 3, lambda i, c: c + 1, t), True),
    "read in a loop":       (lambda x, t: lax.fori_loop(0, 3, lambda i, c: c + t[i].sum(), 0.0), True),
    "sorted":               (lambda x, t: lax.sort(t), True),
    "a regrouped factor":   (lambda x, t: t.reshape(-1, 2).T @ t.reshape(-1, 2), True),
    "added to":             (lambda x, t: t + 1, False),
    "added up":             (lambda x, t: t.sum(0), False),
    "a factor":             (lambda x, t: lax.batch_matmul(t, t.mT), True),
    "a factor as it lies":  (lambda x, t: lax.batch_matmul(x, x.mT), False),
}
ORDERS = {"rows stay together": (1, 0, 2), "reversed": (2, 1, 0), "two swapped": (0, 2, 1)}
# fmt: on


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("use", USES)
def test_every_use_has_the_same_elements(use, order):
    function, _ = USES[use]
    of = lambda x: function(x, jnp.transpose(x, ORDERS[order]))  # noqa: E731
    expected = np.asarray(function(jnp.asarray(X), jnp.asarray(np.transpose(X, ORDERS[order]).copy())))
    np.testing.assert_array_equal(arrax.jit(of)(X), expected)
    np.testing.assert_array_equal(arrax.jit(lambda x: of(x * 2))(X / 2), expected)
    np.testing.assert_array_equal(arrax.jit(lambda x: of(x.reshape(X.shape)))(X.ravel()), expected)
    np.testing.assert_array_equal(arrax.jit(arrax.vmap(of))(np.stack([X, X]))[1], expected)


@pytest.mark.parametrize("use", USES)
def test_arrays_that_must_lie_in_memory_are_copied(use):
    function, copied = USES[use]
    text = formed_text(lambda x: function(x, jnp.transpose(x, (1, 0, 2))), X)
    assert (COPY in text) == copied


def test_short_rows_and_short_last_axes_are_left_to_the_compiler():
    for shape, order in (((100, 3), (1, 0)), ((3, 100), (1, 0)), ((4, 50, 8), (1, 0, 2)), ((1, 40, 40), (1, 0, 2))):
        assert COPY not in formed_text(lambda x, order=order: jnp.transpose(x, order), np.zeros(shape, np.float32))
    assert COPY in formed_text(lambda x: x.T, np.zeros((16, 100), np.float32))


def test_transposed_products_are_products_the_other_way_round():
    x = np.ones((32, 32), np.float32)
    assert COPY not in formed_text(lambda x: (x @ (x + 1)).T, x)
    assert COPY in formed_text(lambda x: lax.batch_matmul(x[None], x[None] + 1).mT, x)


def test_transposed_arrays_may_be_printed(capsys):
    arrax.jit(lambda x: arrax.debug.print("{}", x.T.sum() + x.T[0, 1]) or arrax.debug.print("{}", x.T))(np.eye(16, 17))
    arrax.effects_barrier()
    assert capsys.readouterr().out.startswith("16.0")


def test_axes_of_length_1_stay_where_they_are():
    """A factor that is transposed twice, whose free axis of length 1 lay behind the other one before."""
    x, y = RNG.integers(-4, 5, (32, 3, 16, 1)).astype(np.float32), RNG.integers(-4, 5, (3, 32)).astype(np.float32)

    def function(x, y):
        one = jnp.transpose(x, (1, 0, 2, 3))  # batch, sum, places, 1
        other = jnp.transpose(one, (0, 3, 2, 1))  # batch, 1, places, sum
        return lax.dot_general(other, y, (((3,), (1,)), ((0,), (0,))))

    expected = np.einsum("bupk,bk->bup", np.transpose(x, (1, 3, 2, 0)), y)
    np.testing.assert_array_equal(arrax.jit(function)(x, y), expected)


@pytest.mark.parametrize("dtype", EVERY, ids=str)
def test_all_dtypes_keep_their_bits(dtype):
    x = awkward(dtype, (32, 16, 64))
    with x64_for(dtype):
        for order in itertools.permutations(range(3)):
            copied = np.asarray(arrax.jit(lambda x, order=order: jnp.transpose(x, order))(x))
            np.testing.assert_array_equal(
                copied.reshape(-1).view(np.uint8), np.transpose(x, order).reshape(-1).view(np.uint8)
            )


def lengths_of(names, lengths):
    return tuple(lengths[name] for name in names)


@pytest.mark.parametrize("seed", range(12))
def test_products_of_any_order_of_axes(seed):
    """Batch b c, contracted d e, free f of one side and g of the other; small integers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    lengths = dict(zip("bcdefg", rng.choice([1, 2, 3, 16, 17], 6), strict=True))
    one, other = ("".join(rng.permutation(list(names))) for names in ("bcdef", "bcdeg"))
    result = "".join(rng.permutation(list("bcfg")))
    x, y = (rng.integers(-4, 5, lengths_of(names, lengths)).astype(np.float32) for names in (one, other))
    spec = f"{one},{other}->{result}"
    expected = np.einsum(spec, x, y)
    np.testing.assert_array_equal(arrax.jit(lambda x, y: jnp.einsum(spec, x, y))(x, y), expected)
    order = rng.permutation(5)
    moved = arrax.jit(lambda x, y: jnp.einsum(spec, jnp.transpose(x, order), y + 1))
    np.testing.assert_array_equal(moved(np.transpose(x, np.argsort(order)), y - 1), expected)


def heads(x):
    return x.reshape(*x.shape[:2], 4, -1)


def attention(q, k, v):
    weights = arrax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", heads(q), heads(k)))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, heads(v)).reshape(q.shape)


def test_heads_of_attention_are_copied_once_and_give_the_same_bits_everywhere():
    q, k, v = (RNG.standard_normal((2, 16, 64)).astype(np.float32) for _ in range(3))
    assert formed_text(attention, q, k, v).count(COPY) == 4  # of q, k, v and the result
    whole = arrax.jit(attention)(q, k, v)
    np.testing.assert_array_equal(whole, attention(q, k, v))
    looped = lax.map(lambda each: attention(*(x[None] for x in each))[0], (q, k, v))
    np.testing.assert_array_equal(whole, looped)


def test_a_cache_that_a_loop_writes_is_not_copied_to_be_read():
    """Else the compiler makes the written array twice, and copies it before."""
    cache, x = np.zeros((32, 64), np.float32), RNG.integers(-4, 5, 64).astype(np.float32)

    def step(i, cache):
        cache = lax.dynamic_update_slice(cache, (x + i)[None], (i, 0))
        scores = jnp.einsum("hd,thd->ht", x.reshape(4, 16), cache.reshape(32, 4, 16))
        return cache.at[i, 0].set(scores.sum() % 8)

    text = arrax.jit(lambda c: lax.fori_loop(0, 8, step, c)).lower(cache).compile().as_text()
    assert "dynamic-update-slice_bitcast" not in text
    expected = cache.copy()
    for i in range(8):
        expected[i] = x + i
        expected[i, 0] = np.einsum("hd,thd->ht", x.reshape(4, 16), expected.reshape(32, 4, 16)).sum() % 8
    np.testing.assert_array_equal(arrax.jit(lambda c: lax.fori_loop(0, 8, step, c))(cache), expected)


def test_derivatives_have_the_same_copies():
    q, k, v = (RNG.integers(-2, 3, (1, 16, 64)).astype(np.float32) / 4 for _ in range(3))
    gradient = arrax.grad(lambda q: (attention(q, k, v) ** 2).sum())
    shift = np.zeros_like(q)
    shift[0, 3, 5] = 1e-2
    value = lambda q: float((np.asarray(attention(q, k, v), np.float64) ** 2).sum())  # noqa: E731
    slope = (value(q + shift) - value(q - shift)) / 2e-2
    np.testing.assert_allclose(arrax.jit(gradient)(q)[0, 3, 5], slope, rtol=2e-2, atol=1e-3)
