"""Functions of Python with the memory of their arguments and results: values, batching, aliases, failures."""

import threading

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental.buffer_callback import Buffer, ExecutionContext, ExecutionStage, buffer_callback

F3 = arrax.ShapeDtypeStruct((3,), np.float32)
X = np.arange(3, dtype=np.float32)


def double(context, out, x):
    np.asarray(out)[...] = 2 * np.asarray(x)


def test_a_function_fills_its_results():
    seen = []

    def fill(context, out, x, *, shift):
        seen.append((type(context), context.stage, type(x), x.shape, x.ndim, x.dtype, x.writeable))
        np.asarray(out["sum"])[...] = np.asarray(x) + np.asarray(shift)
        np.asarray(out["flags"])[...] = np.from_dlpack(x) > 1

    call = buffer_callback(fill, {"sum": F3, "flags": arrax.ShapeDtypeStruct((3,), bool)})
    for function in (call, arrax.jit(call)):
        found = function(X, shift=2)
        np.testing.assert_array_equal(found["sum"], X + 2)
        np.testing.assert_array_equal(found["flags"], X > 1)
    assert set(seen) == {(ExecutionContext, ExecutionStage.EXECUTE, Buffer, (3,), 1, np.dtype(np.float32), False)}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "uint32", "complex64", "bool"])
def test_dtypes_go_through(dtype):
    def copy(context, out, x):
        np.asarray(out)[...] = np.asarray(x)

    x = jnp.arange(-1, 3).astype(dtype)
    found = buffer_callback(copy, arrax.ShapeDtypeStruct(x.shape, x.dtype))(x)
    assert found.dtype == x.dtype and (found == x).all()


def test_empty_arrays_and_the_words_of_keys_go_through():
    shapes = []

    def note(context, out, *args):
        shapes.extend(np.asarray(each).shape for each in (*out, *args))

    key = arrax.random.key(0)
    call = buffer_callback(note, (F3, arrax.ShapeDtypeStruct((0, 2), np.float32)))
    assert call(jnp.ones((2, 0)), key)[1].shape == (0, 2) and shapes == [(3,), (0, 2), (2, 0), (2,)]

    def copy(context, out, given):
        np.asarray(out)[...] = np.asarray(given)

    assert buffer_callback(copy, arrax.ShapeDtypeStruct((), key.dtype))(key) == key


@pytest.mark.parametrize(
    "method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]
)
def test_mapped_calls(method):
    shapes = []

    def add(context, out, x, y):
        shapes.append((x.shape, y.shape))
        np.asarray(out)[...] = np.asarray(x) + np.asarray(y)

    call = buffer_callback(add, F3, vmap_method=method)
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(arrax.jit(arrax.vmap(call, in_axes=(0, None)))(rows, X), rows + X)
    several = {"expand_dims": (1, 3), "broadcast_all": (2, 3), "legacy_vectorized": (3,)}
    assert shapes == ([((2, 3), several[method])] if method in several else [((3,), (3,))] * 2)
    columns = arrax.vmap(call, in_axes=(1, None), out_axes=1)(rows.T, X)
    np.testing.assert_array_equal(columns, (rows + X).T)


def test_what_the_method_does_not_say_is_refused():
    with pytest.raises(NotImplementedError, match="vmap of buffer_callback needs its vmap_method"):
        arrax.vmap(buffer_callback(double, F3))(jnp.ones((2, 3)))
    with pytest.raises(ValueError, match="vmap_method must be one of .*got 'all'"):
        buffer_callback(double, F3, vmap_method="all")
    with pytest.raises(TypeError, match="must be callable"):
        buffer_callback(3, F3)
    with pytest.raises(TypeError, match="result_shape_dtypes must hold things with a shape and a dtype"):
        buffer_callback(double, 3)
    with pytest.raises(TypeError):
        buffer_callback(double, F3)("text")


def test_derivatives_are_refused_and_can_be_given():
    call = buffer_callback(double, F3)
    with pytest.raises(ValueError, match="the derivative of what buffer_callback calls.*custom_jvp"):
        arrax.grad(lambda x: call(x).sum())(X)

    @arrax.custom_jvp
    def twice(x):
        return call(x)

    twice.defjvps(lambda t, ans, x: 2 * t)
    np.testing.assert_array_equal(arrax.grad(lambda x: twice(x).sum())(X), [2, 2, 2])


def test_results_may_take_the_memory_of_arguments():
    def bump(context, out, x):
        assert np.shares_memory(np.asarray(out), np.asarray(x))
        np.asarray(out)[0] += 5

    call = buffer_callback(bump, F3, input_output_aliases={0: 0})
    given = jnp.arange(1.0, 4.0)
    np.testing.assert_array_equal(arrax.jit(call)(given), [6, 2, 3])
    np.testing.assert_array_equal(given, [1, 2, 3])  # which was copied, since it was not donated
    np.testing.assert_array_equal(lax.fori_loop(0, 4, lambda i, x: call(x), given), [21, 2, 3])
    for aliases, shape in (({1: 0}, (3,)), ({0: 1}, (3,)), ({0: 0}, (4,))):
        with pytest.raises(ValueError, match="input_output_aliases contains the mapping"):
            buffer_callback(bump, F3, input_output_aliases=aliases)(jnp.ones(shape))


def test_calls_with_side_effects_are_kept_and_others_are_not():
    called = []

    def note(context, out, x):
        called.append(float(np.asarray(x)))

    scalar = arrax.ShapeDtypeStruct((), np.float32)
    for effect in (False, True):
        call = buffer_callback(note, scalar, has_side_effect=effect)
        arrax.jit(lambda x, call=call: (call(x), x + 1)[1])(float(effect))
        arrax.effects_barrier()
    assert called == [1.0]


@pytest.mark.parametrize("message", ["oops", "fills its results and returns None, got <class 'int'>"])
def test_failures_say_what_happened(message):
    def fail(context, out, x):
        if message == "oops":
            raise ArithmeticError(message)
        return 3

    with pytest.raises(arrax.errors.JaxRuntimeError, match=message) as caught:
        arrax.block_until_ready(arrax.jit(buffer_callback(fail, F3))(X))
    assert isinstance(caught.value, ArithmeticError if message == "oops" else ValueError)


def test_several_threads_call_at_once():
    call = arrax.jit(buffer_callback(double, F3))
    found = {}

    def work(n):
        found[n] = [np.asarray(call(X + n)) for _ in range(10)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all((each == 2 * (X + n)).all() for n in range(4) for each in found[n])
