"""``pmap``: what it computes, where its results lie, and what it refuses."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax

X = np.arange(8.0, dtype=np.float32).reshape(4, 2)


def test_slices_go_to_devices():
    out = arrax.pmap(lambda x: x * 2)(X)
    assert np.array_equal(out, X * 2) and [s.data.shape for s in out.addressable_shards] == [(1, 2)] * 4
    chosen = arrax.pmap(lambda x: x + 1, devices=arrax.devices()[4:8])(X)
    assert chosen.devices() == set(arrax.devices()[4:8])
    assert np.array_equal(arrax.pmap(lambda x: x - 1)(out), X * 2 - 1)


def test_collectives_run_over_the_axis():
    f = arrax.pmap(lambda x: (lax.psum(x, "i"), lax.axis_index("i"), x / lax.pmax(x, "i")), axis_name="i")
    total, index, scaled = f(X)
    assert np.array_equal(total, np.tile(X.sum(0), (4, 1))) and index.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(scaled, X / X.max(0))
    assert np.array_equal(arrax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(X), X.sum(0))
    sent = arrax.pmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)]), axis_name="i")(X)
    assert np.array_equal(sent, np.stack([X[1], X[0], 0 * X[2], 0 * X[3]]))


def test_axes_of_arguments_and_results_may_be_any():
    f = arrax.pmap(
        lambda t, y: {"s": t["a"] + y, "n": t["b"]}, in_axes=({"a": 1, "b": None}, 0), out_axes={"s": 1, "n": 0}
    )
    out = f({"a": X, "b": 3.0}, np.arange(2.0))
    assert np.array_equal(out["s"], X + np.arange(2.0)) and out["n"].tolist() == [3.0, 3.0]
    assert arrax.pmap(lambda x: x, in_axes=None, axis_size=2)(5.0).tolist() == [5.0, 5.0]
    assert np.array_equal(arrax.pmap(lambda x, y: x + y)(X, y=X), 2 * X)
    assert np.array_equal(arrax.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(X, 3), 3 * X)


def test_another_mesh_in_force_has_no_say():
    with arrax.set_mesh(arrax.make_mesh((4, 2), ("x", "y"))):
        assert np.array_equal(arrax.pmap(lambda x: x * 2)(X), X * 2)


def test_it_composes():
    def loss(x):
        return arrax.pmap(lambda x: lax.psum(x**2, "i"), axis_name="i")(x).sum()

    np.testing.assert_allclose(arrax.grad(loss)(X), 8 * X)
    inside = arrax.pmap(arrax.grad(lambda x: (jnp.sin(x)).sum()))(X)
    np.testing.assert_allclose(inside, np.cos(X), rtol=1e-6)
    assert arrax.vmap(arrax.pmap(lambda x: x + 1))(np.ones((3, 4, 2))).shape == (3, 4, 2)
    nested = arrax.pmap(arrax.pmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i")(X)
    assert np.array_equal(nested, np.full((4, 2), X.sum()))
    assert np.array_equal(arrax.jit(arrax.pmap(lambda x: x + 1))(X), X + 1)


def test_training_with_shared_gradients_is_training_on_all_examples():
    rng = np.random.default_rng(0)
    inputs, targets = rng.normal(size=(8, 4, 3)).astype(np.float32), rng.normal(size=(8, 4)).astype(np.float32)

    def loss(w, x, y):
        return ((x @ w - y) ** 2).mean()

    step = arrax.pmap(lambda w, x, y: w - 0.1 * lax.pmean(arrax.grad(loss)(w, x, y), "batch"), axis_name="batch")
    weights, single = np.zeros((8, 3), np.float32), np.zeros(3, np.float32)
    for _ in range(3):
        weights = step(weights, inputs, targets)
        single = single - 0.1 * arrax.grad(loss)(single, inputs.reshape(32, 3), targets.reshape(32))
    np.testing.assert_allclose(weights, np.tile(single, (8, 1)), rtol=1e-5)


def test_donated_arguments_are_gone_and_lowering_shows_the_program():
    x = arrax.pmap(lambda x: x)(X)
    out = arrax.pmap(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and np.array_equal(out, X + 1)
    text = arrax.pmap(lambda x: lax.psum(x, "i"), axis_name="i").lower(X).as_text()
    assert "all_reduce" in text and "manual_computation" in text


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: arrax.pmap(lambda x: x)(np.ones((9, 2))), ValueError, "requires 9 logical devices, but only 8"),
        (lambda: arrax.pmap(lambda x, y: x)(X, np.ones(3)), ValueError, "inconsistent sizes"),
        (lambda: arrax.pmap(lambda x: x)(3.0), ValueError, "axis 0"),
        (lambda: arrax.pmap(lambda x: x, in_axes=None)(3.0), ValueError, "at least one argument with a mapped axis"),
        (lambda: arrax.pmap(lambda x: x, in_axes="foo"), TypeError, "in_axes must be"),
        (lambda: arrax.pmap(lambda x: x, in_axes=(0, 0))(X), ValueError, "tree prefix"),
        (lambda: arrax.pmap(3), TypeError, "callable"),
        (lambda: arrax.pmap(lambda x: x)(np.ones((0, 3))), ValueError, "length 0"),
        (
            lambda: arrax.pmap(lambda x: x, axis_size=8)(X),
            ValueError,
            "axis_size is 8, but the mapped axes have length 4",
        ),
        (lambda: arrax.pmap(lambda x: x, devices=arrax.devices()[:2])(X), ValueError, "only 2"),
        (lambda: arrax.pmap(lambda x, n: x, static_broadcasted_argnums=1)(X, [1]), ValueError, "Non-hashable"),
        (
            lambda: arrax.pmap(lambda x, n: x, static_broadcasted_argnums=2)(X, X),
            ValueError,
            r"static_broadcasted_argnums=\(2,\), but there are 2",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_compiled_ahead_of_time_it_takes_the_arguments_of_the_function():
    f = arrax.pmap(lambda factor, t, *, shift: factor * t["a"] + shift, static_broadcasted_argnums=0)
    compiled = f.lower(2, {"a": X}, shift=X).compile()
    np.testing.assert_array_equal(compiled({"a": X}, shift=X + 1), 3 * X + 1)
    assert compiled.in_tree == arrax.tree.structure((({"a": 0},), {"shift": 0}))
    with pytest.raises(TypeError, match="another structure"):
        compiled(X, shift=X)
