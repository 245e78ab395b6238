"""Initial value problems: closed forms, and gradients against finite differences."""

import logging

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental.ode import odeint, ravel_first_arg
from arrax.flatten_util import ravel_pytree

TIMES = jnp.linspace(0.0, 2.0, 5)


def decay(y, t, rate):
    return -rate * y


def test_decay():
    found = arrax.jit(lambda y, a: odeint(decay, y, TIMES, a))(1.0, 2.0)
    np.testing.assert_allclose(found, np.exp(-2 * np.asarray(TIMES)), rtol=1e-5)


def test_order_of_the_method_and_tolerances():
    with arrax.enable_x64(True):
        t = jnp.linspace(0.0, 5.0, 7)
        errors = [
            float(jnp.abs(odeint(lambda y, t: jnp.cos(t) * y, 1.0, t, rtol=tol, atol=tol) - jnp.exp(jnp.sin(t))).max())
            for tol in (1e-4, 1e-8, 1e-11)
        ]
    assert errors[0] < 1e-3
    assert errors[1] < 1e-7
    assert errors[2] < 1e-10


def test_trees_and_complex_numbers():
    def rotate(y, t, factor):
        return {"re": -factor * y["im"], "im": factor * y["re"], "z": 1j * factor * y["z"]}

    y0 = {"re": jnp.ones(2), "im": jnp.zeros(2), "z": jnp.complex64(1)}
    found = odeint(rotate, y0, TIMES, 3.0)
    np.testing.assert_allclose(found["re"][:, 1], np.cos(3 * TIMES), atol=1e-4)
    np.testing.assert_allclose(found["z"], np.exp(3j * np.asarray(TIMES)), atol=1e-4)


def test_gradients_are_those_of_the_solution():
    def last(y, a, t):
        return odeint(lambda y, t, p: -p["a"] * y * t, y, t, {"a": a})[-1]

    y, a = 1.5, 0.7
    exact = y * np.exp(-a * 2)  # exp(-a t^2 / 2) at t = 2
    found = arrax.jit(arrax.grad(last, (0, 1, 2)))(y, a, TIMES)
    np.testing.assert_allclose(found[0], exact / y, rtol=1e-4)
    np.testing.assert_allclose(found[1], -2 * exact, rtol=1e-4)
    np.testing.assert_allclose(found[2], [0, 0, 0, 0, -2 * a * exact], atol=1e-4)


def test_gradients_through_all_times_and_closures():
    weights = jnp.array([[-0.1, 2.0], [-2.0, -0.1]])
    start, step = jnp.array([1.0, 0.5]), 1e-5

    def loss(weights, y):
        return (odeint(lambda y, t: jnp.tanh(y @ weights) - y**3, y, jnp.linspace(0.1, 1.0, 4)) ** 2).sum()

    with arrax.enable_x64(True):
        weights, start = weights.astype("float64"), start.astype("float64")
        found = arrax.grad(loss, (0, 1))(weights, start)
        run = arrax.jit(loss)
        for i in np.ndindex(2, 2):
            change = jnp.zeros((2, 2)).at[i].set(step)
            wanted = (run(weights + change, start) - run(weights - change, start)) / (2 * step)
            np.testing.assert_allclose(found[0][i], wanted, rtol=1e-5)
        change = jnp.array([step, 0])
        wanted = (run(weights, start + change) - run(weights, start - change)) / (2 * step)
        np.testing.assert_allclose(found[1][0], wanted, rtol=1e-5)


def test_vmap_and_integer_arguments():
    ys, rates = jnp.array([1.0, 2.0]), jnp.array([1, 2])
    found = arrax.vmap(arrax.grad(lambda y, n: odeint(decay, y, TIMES, n)[-1]))(ys, rates)
    np.testing.assert_allclose(found, np.exp([-2.0, -4.0]), rtol=1e-4)


def test_no_step_is_longer_than_asked():
    seen = []

    def slope(y, t):
        arrax.debug.callback(lambda t: seen.append(float(t)), t)
        return jnp.zeros_like(y)

    odeint(slope, 1.0, jnp.array([0.0, 1.0]), hmax=0.25).block_until_ready()
    arrax.effects_barrier()
    times = np.unique(seen)
    assert np.diff(times).max() <= 0.25


def test_later_calls_trace_and_compile_nothing(caplog):
    def gradients(rate):
        fresh = arrax.grad(lambda a: odeint(lambda y, t: -a * y, 1.0, TIMES, rtol=1e-3)[-1])(rate)
        return fresh, arrax.grad(lambda a: odeint(decay, 1.0, TIMES, a, rtol=1e-3)[-1])(rate)

    gradients(2.0)
    with arrax.log_compiles(True), caplog.at_level(logging.INFO, logger="arrax"):
        found = gradients(3.0)
    assert not [record for record in caplog.records if "MLIR" in record.getMessage() or "ompil" in record.getMessage()]
    np.testing.assert_allclose(found, [-2 * np.exp(-6)] * 2, rtol=1e-2)


def test_what_is_not_reached_is_not_a_number():
    found = odeint(decay, 1.0, TIMES, 20.0, mxstep=2)
    assert found[0] == 1
    assert np.isnan(found[-1])
    assert np.isnan(odeint(decay, 1.0, TIMES[::-1], 1.0)[1:]).all()
    assert np.isnan(odeint(lambda y, t: y * np.nan, 1.0, TIMES)[1:]).all()


@pytest.mark.parametrize(("dtype", "times"), [("bfloat16", "float32"), ("float32", "float64")])
def test_values_and_gradients_have_the_dtype_of_the_start_whatever_the_times_have(dtype, times):
    with arrax.enable_x64(True):
        value, slope = arrax.value_and_grad(lambda y: odeint(lambda y, t: y * t, y, jnp.array([0, 1], times))[-1])(
            jnp.ones((), dtype)
        )
    assert value.dtype == slope.dtype == dtype
    np.testing.assert_allclose([float(value), float(slope)], np.exp(0.5), rtol=float(jnp.finfo(dtype).eps))


def test_lists_stand_for_vectors_and_tuples():
    vector = odeint(lambda y, t: jnp.stack([y[1], -y[0]]), jnp.array([0.0, 1.0]), TIMES)
    assert odeint(lambda y, t: [y[1], -y[0]], jnp.array([0.0, 1.0]), TIMES).tolist() == vector.tolist()
    pair = odeint(lambda y, t: [y[1], -y[0]], (0.0, 1.0), TIMES)
    assert isinstance(pair, tuple) and jnp.stack(pair, 1).tolist() == vector.tolist()
    for slope in (lambda y, t: [y[0]], lambda y, t: [y, y], lambda y, t: {"a": y[0], "b": y[1]}):
        with pytest.raises(TypeError, match="must give a slope like y0"):
            odeint(slope, jnp.array([0.0, 1.0]), TIMES)


def test_slopes_of_trees_are_slopes_of_vectors():
    tree = {"a": jnp.arange(3.0), "b": jnp.ones((2, 2))}
    vector, unravel = ravel_pytree(tree)
    slope = ravel_first_arg(lambda y, t: {"a": y["a"] * t, "b": -y["b"]}, unravel)
    assert slope(vector, 2.0).tolist() == [0, 2, 4, -1, -1, -1, -1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: odeint(decay, 1.0, TIMES, "x"), TypeError, "args must be arrays or scalars"),
        (lambda: odeint(decay, 1, TIMES, 1.0), TypeError, "y0 must consist of floating"),
        (lambda: odeint(decay, 1.0, 2.0, 1.0), ValueError, "t must be a vector"),
        (lambda: odeint(lambda y, t: (y, y), 1.0, TIMES), TypeError, "must give a slope like y0"),
        (lambda: odeint(lambda y, t: jnp.ones(3), 1.0, TIMES), TypeError, "must give a slope like y0"),
        (lambda: odeint(lambda y, t: 1j * y, 1.0, TIMES), TypeError, "must give a slope like y0"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
