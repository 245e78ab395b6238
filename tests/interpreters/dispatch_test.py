"""Calls that C++ repeats: when Python runs again, what failed calls leave, what the callables hold."""

import copy
import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.interpreters.dispatch import callable_of, operation_callable


def counting(result=None):
    """A first call that counts its runs and gives C++ nothing to repeat."""
    runs = []

    def run_first(*args, **kwargs):
        runs.append((args, kwargs))
        return result, None

    return run_first, runs


def test_a_call_that_cannot_be_repeated_comes_to_python_each_time():
    run_first, runs = counting("result")
    call = callable_of("call", lambda x: x, run_first)
    assert [call(1.0), call(1.0)] == ["result", "result"] and len(runs) == 2


def test_static_arguments_arrive_as_they_are():
    run_first, runs = counting()
    callable_of("call", lambda x, mode: x, run_first, static_argnums=[1], static_argnames=["mode"])(1.0, "fast")
    assert runs == [((1.0, "fast"), {})]


def test_a_failed_first_call_is_tried_again():
    attempts = []

    @arrax.jit
    def f(x):
        attempts.append(x)
        if len(attempts) == 1:
            raise ValueError("once")
        return x + 1

    x = jnp.arange(3.0)
    with pytest.raises(ValueError, match="once"):
        f(x)
    assert np.array_equal(f(x), [1, 2, 3]) and np.array_equal(f(x), [1, 2, 3]) and len(attempts) == 2
    assert f._cache_size() == 1  # the call is repeated in C++: it did not stay slow


def fails_at(count, error):
    """A function on the host that raises from a call on, and the jitted function that calls it."""
    traces, calls = [], []

    def host(x):
        calls.append(x)
        if len(calls) >= count:
            raise error
        return np.asarray(x)

    @arrax.jit
    def f(x):
        traces.append(x)
        return arrax.pure_callback(host, arrax.ShapeDtypeStruct((), "float32"), x) + 1

    return f, traces


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_exceptions_of_functions_on_the_host_keep_their_class_however_often_a_call_is_repeated(count):
    error = KeyError("no such file")
    f, _ = fails_at(count, error)
    for _ in range(count - 1):
        assert f(1.0) == 2
    for _ in range(2):
        with pytest.raises(KeyError, match="no such file") as caught:
            f(1.0).block_until_ready()
        assert caught.value.__cause__ is error and isinstance(caught.value, arrax.errors.JaxRuntimeError)


def test_exits_of_functions_on_the_host_end_repeated_calls_too():
    f, _ = fails_at(3, SystemExit(3))
    f(1.0), f(1.0)
    with pytest.raises(SystemExit):
        f(1.0).block_until_ready()


def test_programs_that_call_functions_on_the_host_are_repeated_without_tracing_until_they_are_forgotten():
    f, traces = fails_at(9, ValueError("once"))
    twice = arrax.jit(f)
    assert [float(f(1.0)), float(f(2.0)), float(f(3.0)), float(twice(1.0)), float(twice(2.0))] == [2, 3, 4, 2, 3]
    assert len(traces) == 1 and f._repeating[0]._cache_size() == twice._repeating[0]._cache_size() == 1
    f.clear_cache()
    assert f._repeating[0]._cache_size() == 0 and f(1.0) == 2 and len(traces) == 2


def test_disable_jit_leaves_single_operations_compiled():
    run_first, runs = counting("result")
    call = operation_callable("operation", run_first)
    with arrax.disable_jit():
        assert call(1.0) == "result"
    assert len(runs) == 1


def test_disable_jit_runs_the_python_function_of_others():
    run_first, runs = counting()
    call = callable_of("call", lambda x: x + 1, run_first)
    with arrax.disable_jit():
        assert call(1.0) == 2.0
    assert not runs


def test_what_a_dropped_callable_closed_over_goes_at_once():
    class Held:
        pass

    held = Held()
    alive = weakref.ref(held)
    f = arrax.jit(lambda x, held=held: x + 1, static_argnames="held")
    f(1.0)
    del f, held
    gc.collect()
    assert alive() is None


def test_copies_are_the_same_callable():
    f = arrax.jit(lambda x: x)
    assert copy.deepcopy({"f": f})["f"] is f


def test_masked_arrays_are_refused_by_repeated_calls_too():
    masked = np.ma.masked_array(np.ones(3, np.float32), [True, False, False])
    f = arrax.jit(lambda x: x + 1)
    f(np.ones(3, np.float32))
    for _ in range(3):
        with pytest.raises(ValueError, match="masked"):
            f(masked)


MASKS_COME_LATER = """
import sys
import numpy as np, arrax, arrax.numpy as jnp
f = arrax.jit(lambda x: x + 1)
f(np.ones(3)), jnp.sin(np.ones(3))
assert "numpy.ma" not in sys.modules
masked = np.ma.masked_array(np.ones(3), [True, False, False])
for call in (f, jnp.sin, f, jnp.sin):
    try:
        call(masked)
    except ValueError as error:
        assert "masked" in str(error)
    else:
        raise AssertionError
assert np.ma.__spec__.loader is np.ma.__loader__ and type(np.ma.__loader__).__module__.startswith(("_frozen", "importlib"))
"""


def test_masked_arrays_are_refused_by_functions_that_were_compiled_before_there_were_any():
    done = subprocess.run([sys.executable, "-c", MASKS_COME_LATER], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_stages_repeat_calls_with_keys():
    key = arrax.random.key(0)
    compiled = arrax.jit(arrax.random.split).lower(key).compile()
    first, second = compiled(key), compiled(key)
    assert np.array_equal(arrax.random.key_data(first), arrax.random.key_data(second))
    assert np.array_equal(arrax.random.key_data(first), arrax.random.key_data(arrax.random.split(key)))


class Doubled:
    __slots__ = ()  # as NumPy's ufuncs, it has no weak references

    def __call__(self, x):
        return 2 * x


def test_callables_without_weak_references_are_compiled():
    double = Doubled()
    for _ in range(3):  # the second one crashed
        assert arrax.jit(double)(3.0) == 6.0
        with pytest.raises(arrax.errors.TracerArrayConversionError):
            arrax.jit(np.sin)(3.0)
