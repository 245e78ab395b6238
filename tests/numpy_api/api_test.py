"""How public functions are declared: the host route, the step to a program, what traces see."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.numpy_api import api as module
from arrax.numpy_api.api import CALLS_BEFORE_COMPILING, api


def declared(**how):
    """A doubling function that notes whether its body ran, and on what."""
    bodies = []

    @api(static=("times",), **how)
    def grow(x, times):
        bodies.append(type(x))
        return x * times

    return grow, bodies


def test_the_host_function_serves_small_arrays_and_the_program_all_others():
    seen = []

    def on_host(values, times):
        seen.append(values)
        return values * times if times < 3 else None

    grow, bodies = declared(host=on_host)
    x = jnp.arange(3.0)
    assert np.array_equal(grow(x, 2), [0, 2, 4]) and len(seen) == 1 and not bodies
    assert np.array_equal(grow(x, 3), [0, 3, 6]) and len(seen) == 2 and len(bodies) == 1  # declined
    assert np.array_equal(arrax.jit(lambda x: grow(x, 2))(x), [0, 2, 4]) and len(seen) == 2  # traced
    large = jnp.ones((1 << 16) + 1)
    assert np.array_equal(grow(large, 2), 2 * np.ones((1 << 16) + 1)) and len(seen) == 2


def test_host_functions_may_give_several_arrays():
    @api(host=lambda values: [values[:1], values[1:]])
    def halves(x):
        return [x[:1], x[1:]]

    first, rest = halves(jnp.arange(3))
    assert isinstance(first, arrax.Array) and np.array_equal(first, [0]) and np.array_equal(rest, [1, 2])


def test_results_of_the_host_keep_weak_types_and_own_their_memory():
    x = jnp.broadcast_to(1.0, (4,))
    flipped = jnp.flip(x)
    assert flipped.weak_type == arrax.jit(jnp.flip)(x).weak_type
    y = jnp.arange(4.0)
    z = jnp.flip(y)
    del y
    assert np.array_equal(z, [3, 2, 1, 0])


def test_a_stepwise_function_is_compiled_once_a_signature_has_come_often():
    grow, bodies = declared(stepwise=True)
    x = jnp.arange(3.0)
    for _ in range(CALLS_BEFORE_COMPILING + 5):
        assert np.array_equal(grow(x, 2), [0, 2, 4])
    assert len(bodies) == CALLS_BEFORE_COMPILING + 1  # once more: traced for its program
    grow(jnp.arange(4.0), 2)
    assert len(bodies) == CALLS_BEFORE_COMPILING + 2  # another signature starts anew
    arrax.clear_caches()
    grow(x, 2)
    assert len(bodies) == CALLS_BEFORE_COMPILING + 3


def test_stepwise_functions_with_a_host_function_leave_the_host_for_their_program():
    seen = []
    grow, bodies = declared(stepwise=True, host=lambda values, times: seen.append(0) or values * times)
    for _ in range(CALLS_BEFORE_COMPILING + 5):
        assert np.array_equal(grow(jnp.arange(3.0), 2), [0, 2, 4])
    assert len(seen) == CALLS_BEFORE_COMPILING and len(bodies) == 1


def test_arguments_that_cannot_be_hashed_run_step_by_step():
    grow, bodies = declared(stepwise=True)
    for _ in range(CALLS_BEFORE_COMPILING + 5):
        assert np.array_equal(grow(np.arange(3), 2), [0, 2, 4])
    assert len(bodies) == CALLS_BEFORE_COMPILING + 5


def test_signatures_are_forgotten_before_they_are_too_many(monkeypatch):
    monkeypatch.setattr(module, "_SIGNATURES", 3)
    grow, bodies = declared(stepwise=True)
    for times in range(10):
        grow(jnp.arange(3.0), times)
    assert len(bodies) == 10


@pytest.mark.parametrize("calls", [1, 3 * CALLS_BEFORE_COMPILING])
@pytest.mark.parametrize("make", [jnp.ones, jnp.arange], ids=["ones", "arange"])
def test_iteration_gives_the_same_arrays_however_often(make, calls):
    x = make(37)
    for _ in range(calls):
        entries = list(x)
    assert len(entries) == 37 and all(e.shape == () and e.dtype == x.dtype for e in entries)
    assert np.array_equal(np.array(entries), np.asarray(x))


@pytest.mark.parametrize("start, stop", [(0, 1), (-1.0, 1.0), (1e-3, 1e3), (2, 3j)])
@pytest.mark.parametrize("num", [1, 2, 7, 1000])
def test_linspace_of_numbers_has_the_same_bits_under_jit(start, stop, num):
    eager = np.asarray(jnp.linspace(start, stop, num))
    assert eager.tobytes() == np.asarray(arrax.jit(lambda: jnp.linspace(start, stop, num))()).tobytes()
    assert eager.tobytes() == np.asarray(jnp.linspace(start, stop, num, retstep=True)[0]).tobytes()
    assert eager.tobytes() == np.linspace(start, stop, num).astype(eager.dtype).tobytes()


def _spread(x):
    return jnp.sqrt(jnp.sum(x * x)) / 2


@pytest.mark.parametrize("declare", [api(), arrax.jit(inline=True)])
def test_functions_of_several_operations_are_one_program_where_transformations_run_at_once(declare):
    bodies = []

    @declare
    def spread(x):
        bodies.append(x)
        return _spread(x)

    rows = jnp.array([[3.0, 4.0], [6.0, 8.0]])
    calls = [
        lambda f: arrax.grad(f)(rows[0]),
        lambda f: arrax.grad(arrax.grad(lambda x: f(x[None] * x)))(rows[0, 0]),
        lambda f: arrax.vmap(arrax.value_and_grad(f))(rows),
        lambda f: arrax.jvp(arrax.vmap(f), (rows,), (rows,)),
        lambda f: arrax.hessian(f)(rows[0]),
    ]
    for call in calls * 2:
        for found, wanted in zip(*map(arrax.tree.leaves, (call(spread), call(arrax.jit(_spread)))), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert len(bodies) == 2  # traced once for each shape
    traced = arrax.make_jaxpr(arrax.grad(spread))(rows[0]).eqns
    assert traced and "pjit" not in {eqn.primitive.name for eqn in traced}
