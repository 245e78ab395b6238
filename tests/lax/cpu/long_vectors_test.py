"""Joins that give long vectors as parts written one after the other: which programs have them, values."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.lax.cpu import thresholds
from tests.lax.cpu.routes import EVERY, FLOAT8, awkward
from tests.support import x64_for

SIZE = 60_001  # elements of 32 bits, from thresholds.JOIN_MIN_BYTES on


def is_written(function, x):
    return "name=joined" in arrax.jit(function).lower(x).as_text("jaxpr")


@pytest.fixture
def of_any_size(monkeypatch):
    monkeypatch.setattr(thresholds, "JOIN_MIN_BYTES", 0)


def joins(lib, x):
    """Rolls, parts of two arrays with gaps and steps, parts that are computed, and vectors that are matrices of one row."""
    y = x[::-1]
    return [
        lib.roll(x, 7), lib.concatenate([x[5:9], y[:20], x[3:40]]), lib.concatenate([x[1::2], y[2:]]),
        lib.concatenate([lib.where(lib.arange(61) % 3 == 0, x, y), y[:3]]), lib.roll(x[None], 3, 1), lib.concatenate([x[:2], x[:30, None][:, 0]]),
    ]  # fmt: skip


@pytest.mark.usefixtures("of_any_size")
@pytest.mark.parametrize("dtype", [dtype for dtype in EVERY if dtype not in FLOAT8 and dtype.kind != "c"], ids=str)
def test_the_bits_are_those_of_the_parts(dtype):
    x = awkward(dtype, (61,))
    with x64_for(x.dtype):
        outs = arrax.jit(lambda x: joins(jnp, x))(x)
    for out, right in zip(outs, joins(np, x), strict=True):
        assert out.dtype == dtype
        np.testing.assert_array_equal(np.asarray(out).reshape(-1).view(np.uint8), right.reshape(-1).view(np.uint8))


def test_unequal_parts_of_long_vectors():
    x = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    for function in (
        lambda lib, x: lib.roll(x, 12345),
        lambda lib, x: lib.concatenate([2 * x[:700], x[5:], 3 * x[:9]]),
    ):
        assert is_written(lambda x, function=function: function(jnp, x), x)
        np.testing.assert_array_equal(arrax.jit(lambda x, function=function: function(jnp, x))(x), function(np, x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.concatenate([x, x[:1] * 2]),  # the long part is in memory
        lambda x: jnp.roll(x[:60_000], 30_000),  # equal parts
        lambda x: jnp.append(x[:60_000] * 2, 3.0),  # single elements are not looped over
        lambda x: jnp.roll(x[:300], 7),
        lambda x: jnp.roll(x[:60_000].reshape(-1, 2), 7, 0),
    ],
)
def test_other_joins_are_left_to_the_compiler(function):
    assert not is_written(function, jnp.zeros(SIZE))


@pytest.mark.usefixtures("of_any_size")
def test_derivatives_batches_and_loops():
    x = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    weights = np.arange(1.0, 7.0, dtype=np.float32)
    gradient = arrax.jit(arrax.grad(lambda x: jnp.sum(weights * jnp.roll(x, 2))))
    np.testing.assert_array_equal(gradient(x[0]), np.roll(weights, -2))
    np.testing.assert_array_equal(arrax.jit(arrax.vmap(lambda x: jnp.roll(x, 2)))(x), np.roll(x, 2, axis=1))
    stepped, _ = arrax.lax.scan(lambda x, _: (jnp.roll(x, 1) + 1, None), x[0], None, length=5)
    np.testing.assert_array_equal(stepped, np.roll(x[0], 5) + 5)


def test_parts_of_a_split_are_taken_where_they_are():
    def back_and_forth(x):
        return jnp.sum(jnp.roll(x, 1) ** 2 * jnp.roll(x, -1))

    gradient = arrax.grad(back_and_forth)
    text = arrax.jit(gradient).lower(jnp.zeros(SIZE)).as_text("jaxpr")
    assert "pad" not in text
    x = np.arange(5.0, dtype=np.float32)
    right = 2 * x * np.roll(x, -2) + np.roll(x, 2) ** 2
    np.testing.assert_array_equal(arrax.jit(gradient)(x), right)
