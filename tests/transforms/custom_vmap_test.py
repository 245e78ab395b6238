"""Functions with batching rules of their own."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.custom_batching import custom_vmap, sequential_vmap

X, Y = jnp.array([1.0, 2.0, 3.0]), jnp.array([0.5, 1.5, 2.5])


@pytest.fixture
def calls():
    return []


@pytest.fixture
def f(calls):
    """x + y ** 2, whose rule multiplies by ten, so that one sees who computed."""

    @custom_vmap
    def function(x, y):
        return x + y**2

    @function.def_vmap
    def rule(axis_size, in_batched, x, y):
        calls.append((axis_size, in_batched, jnp.shape(x), jnp.shape(y)))
        return 10 * function(x, y), any(in_batched)

    return function


def test_plain_calls_run_the_function(f, calls):
    assert f(1.0, 2.0) == f(y=2.0, x=1.0) == arrax.jit(f)(1.0, 2.0) == 5
    assert calls == []


def test_results_of_plain_calls_are_arrays_of_the_default_width():
    f = sequential_vmap(lambda x: (x * 2, 3))
    for given in (1.5, np.float64(1.5)):
        double, three = f(given)
        assert isinstance(double, arrax.Array) and double == 3 and double.dtype == np.float32
        assert isinstance(three, arrax.Array)


def test_vmap_calls_the_rule(f, calls):
    np.testing.assert_array_equal(arrax.vmap(f)(X, Y), 10 * (X + Y**2))
    assert calls == [(3, [True, True], (3,), (3,))]


def test_the_batch_comes_in_front_and_what_has_none_is_told(f, calls):
    arrax.vmap(f, (None, 1))(X, jnp.ones((3, 2)))
    assert calls == [(2, [False, True], (3,), (2, 3))]


def test_what_is_not_mapped_at_all_runs_the_function(f, calls):
    np.testing.assert_array_equal(arrax.vmap(lambda x: f(1.0, 2.0) + x)(X), X + 5)
    assert calls == []


def test_programs_keep_the_rule(f, calls):
    np.testing.assert_array_equal(arrax.jit(arrax.vmap(arrax.jit(f)))(X, Y), 10 * (X + Y**2))
    assert len(calls) == 1
    assert "custom_vmap_call" in str(arrax.make_jaxpr(f)(1.0, 2.0))


def test_loops_keep_the_rule(f):
    def looped(x):
        return arrax.lax.scan(lambda c, _: (f(c, x), None), x, None, length=2)[0]

    np.testing.assert_array_equal(arrax.vmap(looped)(X), 10 * (10 * (X + X**2) + X**2))


def test_vmap_of_vmap_calls_the_rule_of_the_rule(f, calls):
    x = jnp.ones((2, 3))
    np.testing.assert_array_equal(arrax.vmap(arrax.vmap(f))(x, x), np.full((2, 3), 200.0))
    assert [size for size, *_ in calls] == [3, 2]


def test_forward_derivatives(f):
    tangents = jnp.array([1.0, 0.0, 2.0]), jnp.array([0.0, 1.0, 1.0])
    expected = tangents[0] + 2 * Y * tangents[1]
    assert arrax.jvp(f, (1.0, 2.0), (1.0, 1.0)) == (5, 5)
    for derivative in (
        lambda: arrax.jvp(arrax.vmap(f), (X, Y), tangents),
        lambda: arrax.vmap(lambda *v: arrax.jvp(f, v[:2], v[2:]))(X, Y, *tangents),
        lambda: arrax.vmap(arrax.jit(lambda *v: arrax.jvp(f, v[:2], v[2:])))(X, Y, *tangents),
    ):
        out, moved = derivative()
        np.testing.assert_array_equal(out, 10 * (X + Y**2))
        np.testing.assert_array_equal(moved, 10 * expected)


def test_derivatives_of_one_argument_of_two(f):
    out, moved = arrax.vmap(lambda x, t: arrax.jvp(lambda x: f(x, 2), (x,), (t,)))(X, Y)
    np.testing.assert_array_equal(moved, 10 * Y)
    np.testing.assert_array_equal(out, 10 * (X + 4))


def test_reverse_derivatives(f):
    np.testing.assert_array_equal(arrax.grad(f, (0, 1))(1.0, 2.0), (1, 4))
    np.testing.assert_array_equal(arrax.vmap(arrax.grad(f, 1))(X, Y), 2 * Y)
    np.testing.assert_array_equal(arrax.grad(lambda y: arrax.vmap(f)(X, y).sum())(Y), 20 * Y)
    np.testing.assert_array_equal(arrax.grad(arrax.checkpoint(lambda y: arrax.vmap(f)(X, y).sum()))(Y), 20 * Y)


def test_trees():
    @custom_vmap
    def swapped(d):
        return {"a": d["b"], "b": d["a"]}

    @swapped.def_vmap
    def rule(axis_size, in_batched, d):
        (flags,) = in_batched
        return {"a": d["b"], "b": d["a"]}, {"a": flags["b"], "b": flags["a"]}

    out = arrax.vmap(swapped, ({"a": 0, "b": None},))({"a": X, "b": 1.0})
    np.testing.assert_array_equal(out["a"], np.ones(3))
    np.testing.assert_array_equal(out["b"], X)


def test_methods():
    class Scaled:
        @custom_vmap
        def times(self, x):
            return x

    assert Scaled().times.func.fun.__name__ == "times"


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda n, mapped, x: (x, (True, True)), ValueError, "do not match"),
        (lambda n, mapped, x: ((x, x), (True, True)), ValueError, "original custom-vmapped function"),
        (lambda n, mapped, x: x, TypeError, "must give a pair"),
    ],
)
def test_wrong_rules_are_refused(rule, error, message):
    f = custom_vmap(lambda x: x)
    f.def_vmap(rule)
    with pytest.raises(error, match=message):
        arrax.vmap(f)(X)


def test_a_missing_rule_is_told():
    with pytest.raises(AttributeError, match="No batching rule defined"):
        custom_vmap(lambda x: x)(1.0)


def test_closed_over_values_must_not_be_differentiated():
    def outer(a):
        f = custom_vmap(lambda x: x * a)
        f.def_vmap(lambda n, mapped, x: (x, True))
        return arrax.jit(f)(1.0)

    with pytest.raises(arrax.errors.UnexpectedTracerError, match="closes over"):
        arrax.jvp(arrax.jit(outer), (1.0,), (1.0,))


def test_sequential_vmap_is_a_loop():
    f = sequential_vmap(jnp.sin)
    np.testing.assert_array_equal(arrax.vmap(f)(X), jnp.sin(X))
    assert "scan" in str(arrax.make_jaxpr(arrax.vmap(f))(X))
    two = sequential_vmap(lambda x, y: (x * y, {"sum": x + y}))
    product, total = arrax.vmap(two, (0, None))(X, 2.0)
    np.testing.assert_array_equal(product, 2 * X)
    np.testing.assert_array_equal(total["sum"], X + 2)
    np.testing.assert_allclose(arrax.vmap(arrax.grad(f))(X), np.cos(X), rtol=1e-6)


def test_jacobians_whose_results_alone_are_not_mapped():
    @custom_vmap
    def wave(x):
        return jnp.sin(x)

    wave.def_vmap(lambda size, batched, x: (jnp.sin(x), batched[0]))
    x = jnp.arange(3.0)
    expected = np.diag(np.cos(x))
    for jacobian in (arrax.jacfwd(wave), arrax.jit(arrax.jacfwd(wave)), arrax.jacrev(wave)):
        np.testing.assert_allclose(jacobian(x), expected, rtol=1e-6)
    second = arrax.grad(lambda x: arrax.jacfwd(arrax.checkpoint(wave))(x).sum())(x)
    np.testing.assert_allclose(second, -np.sin(x), rtol=1e-6)
    value, slope = arrax.vmap(lambda t: arrax.jvp(wave, (x,), (t,)), out_axes=(None, 0))(jnp.eye(3))
    np.testing.assert_allclose(value, np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(slope, expected, rtol=1e-6)
