"""Settings of a library's own that compiled functions depend on."""

import threading

import pytest

import arrax
import arrax.numpy as jnp


def test_compiled_functions_are_traced_anew_for_each_value_and_only_then():
    scale, traced = arrax.make_user_context(1), []

    @arrax.jit
    def f(x):
        traced.append(scale.value)
        return x * scale.value

    with scale(3):
        assert f(2) == 6
        with scale(4):
            assert f(2) == 8
        assert f(2) == 6
    assert f(2) == f(2) == 2
    assert traced == [3, 4, 1]


def test_inner_functions_loops_and_derivatives_depend_on_the_value():
    scale = arrax.make_user_context(default_value=1)
    inner = arrax.jit(lambda x: x * scale.value)
    mapped = arrax.jit(lambda x: arrax.vmap(inner)(x))

    def body(carry, _):
        return carry + scale.value, None

    def results():
        return [*mapped(jnp.ones(2)).tolist(), float(arrax.grad(inner)(2.0)), int(arrax.lax.scan(body, 0, None, 2)[0])]

    assert results() == [1, 1, 1, 2]
    with scale(5):
        assert results() == [5, 5, 5, 10]
    assert results() == [1, 1, 1, 2]


def test_a_value_is_in_force_in_its_thread_alone():
    name, seen = arrax.make_user_context(), []
    with name("inside"):
        thread = threading.Thread(target=lambda: seen.append(name.value))
        thread.start()
        thread.join()
        seen.append(name.value)
    assert [*seen, name.value] == [None, "inside", None]


def test_values_have_hashes():
    with pytest.raises(TypeError):
        arrax.make_user_context([])
    context = arrax.make_user_context()
    with pytest.raises(TypeError, match="list has none"), context([]):
        pass
    assert context.value is None


def test_recompilations_for_a_value_are_told():
    scale = arrax.make_user_context(1)
    f = arrax.jit(lambda x: x * scale.value)
    arrax.debug.recompiles(clear=True)
    f(jnp.ones(3))
    with scale(2):
        f(jnp.ones(3))
    assert "setting of a user context: now 2, before 1" in str(arrax.debug.recompiles())
    arrax.make_user_context(7)
    f(jnp.ones(4))
    assert "setting of a user context: now 7, before None" in str(arrax.debug.recompiles(clear=True))
