"""Joins of an array's end and its beginning as slices of the array with its ends repeated: which programs have them, values."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.lax.cpu.routes import EVERY, FLOAT8, awkward
from tests.support import x64_for


def is_extended(function, x):
    return "name=extended" in arrax.jit(function).lower(x).as_text("jaxpr")


def windows(lib, x):
    """Rolls by little, by half and by all but one, one of two axes, and windows that are shorter than the array."""
    return [
        lib.roll(x, 1, 1), lib.roll(x, -2, 1), lib.roll(x, 30, 1), lib.roll(x, 59, 1), lib.roll(lib.roll(x, 1, 0), -1, 1),
        lib.concatenate([x[:, 58:], x[:, :7]], 1), lib.concatenate([x[:, 58:], x[:, :7], x[:, 7:9]], 1),
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [dtype for dtype in EVERY if dtype not in FLOAT8], ids=str)
def test_the_bits_are_those_of_the_parts(dtype):
    x = awkward(dtype, (11, 60))
    with x64_for(x.dtype):
        outs = arrax.jit(lambda x: windows(jnp, x))(x)
    for out, right in zip(outs, windows(np, x), strict=True):
        assert out.dtype == dtype
        np.testing.assert_array_equal(np.asarray(out).reshape(-1).view(np.uint8), right.reshape(-1).view(np.uint8))


@pytest.mark.parametrize("shape", [(600, 60), (9, 20, 60), (9, 60, 3)], ids=str)
def test_large_arrays_and_others_than_matrices(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    axis = shape.index(60)
    rolls = lambda lib, x: [lib.roll(x, 3, axis), lib.roll(x, -1, axis)]  # noqa: E731
    assert is_extended(lambda x: rolls(jnp, x), x)
    for out, right in zip(arrax.jit(lambda x: rolls(jnp, x))(x), rolls(np, x), strict=True):
        np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("function", [
    lambda x: jnp.roll(x, 1, 1),
    lambda x: jnp.roll(x[:, :20], 1, 1) - jnp.roll(x[:, :20], -1, 1),
    lambda x: jnp.concatenate([x[:, 1:], x[:, 59:]], 1) - jnp.concatenate([x[:, :1], x[:, :59]], 1),
    lambda x: jnp.roll(x[:5], 1, 1) - jnp.roll(x[:5], -1, 1),
], ids=["one", "short rows", "repeated edges", "few elements"])  # fmt: skip
def test_other_joins_stay(function):
    assert not is_extended(function, np.ones((40, 60), np.float32))


def test_gradients_batches_and_loops_agree_with_numpy():
    x = np.random.default_rng(0).standard_normal((3, 9, 60)).astype(np.float32)
    curvature = lambda lib, u: lib.roll(u, 1, -1) + lib.roll(u, -1, -1) - 2 * u  # noqa: E731
    looped = np.stack([curvature(np, u) for u in x])
    np.testing.assert_array_equal(arrax.jit(arrax.vmap(lambda u: curvature(jnp, u)))(x), looped)
    slope = arrax.jit(arrax.grad(lambda u: jnp.vdot(curvature(jnp, u), x[1])))(x[0])
    np.testing.assert_allclose(slope, looped[1], rtol=1e-6, atol=1e-6)  # the operator is its own transpose
    steps = arrax.jit(lambda u: arrax.lax.fori_loop(0, 2, lambda _, u: curvature(jnp, u), u))(x)
    np.testing.assert_array_equal(steps, curvature(np, curvature(np, x)))
