"""Contexts with and without 64-bit types."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental import disable_x64, enable_x64
from arrax.experimental.checkify import all_checks, checkify


def test_contexts():
    before = arrax.config.jax_enable_x64
    with enable_x64():
        assert jnp.arange(3).dtype == "int64"
        with disable_x64():
            assert jnp.arange(3).dtype == "int32"
        with enable_x64(False):
            assert jnp.ones(3).dtype == "float32"
    assert arrax.config.jax_enable_x64 == before


X = np.float32([3, 1, 2])


def wide_inside(x):
    """Products with 1 + 2**-30, which 32 bits do not tell from 1, and a loop that counts in 64 bits."""
    with enable_x64():
        whole = x.astype("float64")
        wide = (whole * (1 + 2.0**-30)) ** 3 - whole**3
        running = lax.fori_loop(0, 2, lambda i, c: c + i + jnp.argmax(x), jnp.zeros((), "int64"))
        return (wide * 2.0**30).astype("float32") + running.astype("float32")


VALUES, SLOPES = 3 * X**3 + 1, np.diag(9 * X**2)


# fmt: off
@pytest.mark.parametrize(("way", "expected"), [
    (lambda f: f(X), VALUES),
    (lambda f: arrax.jit(arrax.vmap(f))(X[None])[0], VALUES),
    (lambda f: checkify(f, errors=all_checks)(X)[1], VALUES),
    (lambda f: lax.cond(X[0] > 0, f, lambda x: x, X), VALUES),
    (lambda f: arrax.jacrev(f)(X), SLOPES),
    (lambda f: arrax.jit(arrax.jacfwd(arrax.checkpoint(f)))(X), SLOPES),
    (lambda f: arrax.linearize(f, X)[1](np.ones_like(X)), SLOPES.sum(1)),
])
# fmt: on
def test_parts_of_programs_may_have_64_bits(way, expected):
    with disable_x64():
        for function in (wide_inside, arrax.jit(wide_inside)):
            np.testing.assert_array_equal(way(function), expected)


@pytest.mark.parametrize("wide", [False, True])
def test_programs_are_evaluated_as_they_were_recorded(wide):
    def f(x):
        return lax.fori_loop(0, 2, lambda i, c: c * 2 + i + jnp.argmin(x), x)

    with enable_x64(not wide):
        x = jnp.asarray(X, float)
        program = arrax.make_jaxpr(f)(x)
        expected = f(x)
    with enable_x64(wide):
        evaluated = lambda x: arrax.core.eval_jaxpr(program.jaxpr, program.consts, x)[0]  # noqa: E731
        for way in (evaluated, arrax.jit(evaluated)):
            found = way(x)
            assert found.dtype == expected.dtype and (found == expected).all()
        np.testing.assert_array_equal(arrax.grad(lambda x: evaluated(x).sum())(x), [4, 4, 4])


def test_moving_elements_keeps_64_bits_without_them():
    with enable_x64():
        x = jnp.asarray([1 + 2.0**-30, 2, 3, 4])
    with disable_x64():
        for moved in (x[:1], x.reshape(2, 2)[0], jnp.concatenate([x, x])[4:], x[None][0], x.at[1].set(5)):
            assert moved.dtype == np.asarray(moved).dtype == "float64"
            assert float(moved[0]) == 1 + 2.0**-30


def test_values_that_are_no_bools_are_refused():
    with pytest.raises(TypeError, match="'enable_x64' takes a bool"):
        enable_x64(0.5)
    with enable_x64(np.True_):
        assert jnp.arange(1).dtype == "int64"
