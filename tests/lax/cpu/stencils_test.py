"""Joins of parts of one array by the places of its rows: which programs have them, values, derivatives, batches."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.cpu.routes import EVERY, FLOAT8, awkward, formed_text
from tests.support import x64_for


def neighbours(x):
    """Rolls both ways along both axes, a join of three parts, and one that leaves rows out and repeats some."""
    return [
        jnp.roll(x, 3, 0), jnp.roll(x, -1, 0), jnp.roll(x, 2, 1), jnp.concatenate([x[7:], x[3:7], x[:3]]),
        jnp.concatenate([x[2:5], x[1:], x[:4]]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "dtype", [dtype for dtype in EVERY if dtype not in FLOAT8[1:]], ids=str
)  # whose NaNs the compiler changes
def test_the_bits_are_those_of_the_parts(dtype):
    x = awkward(dtype, (11, 20))
    with x64_for(x.dtype):
        outs = arrax.jit(neighbours)(x)
    wanted = [
        np.roll(x, 3, 0), np.roll(x, -1, 0), np.roll(x, 2, 1), np.concatenate([x[7:], x[3:7], x[:3]]),
        np.concatenate([x[2:5], x[1:], x[:4]]),
    ]  # fmt: skip
    for out, right in zip(outs, wanted, strict=True):
        assert out.dtype == dtype
        np.testing.assert_array_equal(np.asarray(out).reshape(-1).view(np.uint8), right.reshape(-1).view(np.uint8))


def test_several_rolls_along_leading_axes_take_rows_by_their_places():
    x = np.ones((8, 30), np.float32)
    assert formed_text(lambda x: jnp.roll(x, 1, 0) - jnp.roll(x, -1, 0), x).count("gather[") == 2
    batch = np.ones((3, 8, 30), np.float32)
    assert formed_text(arrax.vmap(lambda x: jnp.roll(x, 1, 0) - jnp.roll(x, -1, 0)), batch).count("gather[") == 2


@pytest.mark.parametrize("function", [
    lambda x: jnp.roll(x, 1, 0),
    lambda x: jnp.roll(x, 1, 1) - jnp.roll(x, -1, 1),
    lambda x: jnp.concatenate([x, 2 * x]) * jnp.concatenate([3 * x, x]),
    lambda x: jnp.roll(x, 1, 0) - jnp.concatenate([x[1:], x[:1] + 1]),
], ids=["one", "last axis", "other arrays", "one of the array"])  # fmt: skip
def test_other_joins_stay(function):
    assert "gather[" not in formed_text(function, np.ones((8, 30), np.float32))


def test_gradients_and_batches_agree_with_loops():
    x = np.random.default_rng(0).standard_normal((3, 9, 20)).astype(np.float32)
    curvature = lambda u: jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) - 2 * u  # noqa: E731
    mapped = arrax.jit(arrax.vmap(curvature))(x)
    looped = np.stack([np.roll(u, 1, 0) + np.roll(u, -1, 0) - 2 * u for u in x])
    np.testing.assert_array_equal(mapped, looped)
    slope = arrax.jit(arrax.grad(lambda u: jnp.vdot(curvature(u), x[1])))(x[0])
    np.testing.assert_allclose(slope, looped[1], rtol=1e-6, atol=1e-6)  # the operator is its own transpose


def test_in_a_loop_they_give_what_steps_give():
    x = np.random.default_rng(1).standard_normal((12, 16)).astype(np.float32)
    step = lambda u: jnp.roll(u, 1, 0) * 0.5 + jnp.roll(u, -2, 0) * 0.25  # noqa: E731
    wanted = x
    for _ in range(4):
        wanted = (np.roll(wanted, 1, 0) * np.float32(0.5) + np.roll(wanted, -2, 0) * np.float32(0.25)).astype(
            np.float32
        )
    np.testing.assert_array_equal(arrax.jit(lambda u: lax.fori_loop(0, 4, lambda _, u: step(u), u))(x), wanted)
