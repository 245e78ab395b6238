"""What depends on small arrays that a function closes over is computed before it is compiled, with the bits that it has there."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.interpreters.constant_folding import with_constants_folded
from arrax.interpreters.staging import eval_jaxpr

LEFT, RIGHT = jnp.array([1.0, 2.0, -0.0]), jnp.array([3.0, -0.1, 7.0])
X = np.arange(9, dtype=np.float32).reshape(3, 3)


def folded(function, *args):
    program = arrax.make_jaxpr(function)(*args)
    return program, with_constants_folded(program, arrax.devices()[0])


def names(program):
    return [eqn.primitive.name for eqn in program.eqns]


def test_results_take_the_place_of_constants():
    def function(x):
        table = jnp.outer(LEFT, RIGHT)
        return x * table, x @ table.T

    program, lean = folded(function, X)
    assert "transpose" in names(program) and names(lean) == ["mul", "dot_general"]
    table = np.outer(LEFT, RIGHT)
    assert len(lean.consts) == 2
    np.testing.assert_array_equal(np.sort([lean.consts[0], lean.consts[1]], 0), np.sort([table, table.T], 0))
    for found, expected in zip(eval_jaxpr(lean.jaxpr, lean.consts, X), function(X), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_result_of_the_function_may_be_one():
    _, lean = folded(lambda x: (x, LEFT * RIGHT), X)
    assert not lean.eqns and len(lean.consts) == 1
    np.testing.assert_array_equal(arrax.jit(lambda x: (x, LEFT * RIGHT))(X)[1], np.asarray(LEFT) * RIGHT)


TINY = jnp.array([1e-20, 1.0, 1.0])
LARGE = jnp.arange(5000.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * (LEFT * 2), x + LEFT),  # the constant is needed all the same
        lambda x: (x + LEFT[0], x * LEFT[1], x - LEFT[2]),  # three for one
        lambda x: x * (TINY * TINY),  # subnormal numbers are 0 to some devices
        lambda x: x * (TINY * 1e38 * 1e38),  # infinite
        lambda x: x[0, 0] * (LARGE * 2),
        lambda x: x * jnp.exp(LEFT),  # has other bits in NumPy
        lambda x: x * (LEFT.astype(np.float16) * 2),
        lambda x: x * (np.ones(3, np.float32) * 2),  # the compiler knows it
        lambda x: x * lax.mul(LEFT, RIGHT, out_dtype=np.float32),
    ],
)
def test_what_stays(function):
    program, lean = folded(function, X)
    assert lean is program
    for found, expected in zip(arrax.tree.leaves(arrax.jit(function)(X)), arrax.tree.leaves(function(X)), strict=True):
        np.testing.assert_array_equal(found, expected)


MATRIX = np.array([[1.5, -0.0, 3.0], [0.1, 1e18, -2.0]], np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x,
        lambda x: x + x[0],
        lambda x: x - x[:, :1],
        lambda x: -x,
        lambda x: x * 3,
        lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)),
        lambda x: lax.broadcast_in_dim(x[:, :1], (2, 3), (0, 1)),
        lambda x: lax.broadcast_in_dim(x[0, 1], (2, 3), ()),
        lambda x: lax.reshape(x, (3, 2)),
        lambda x: lax.squeeze(x[:1], (0,)),
        lambda x: lax.transpose(x, (1, 0)),
        lambda x: lax.rev(x, (1,)),
        lambda x: lax.slice(x, (0, 1), (2, 3), (1, 2)),
        lambda x: lax.concatenate([x, x], 1),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_operations_that_fold_have_the_bits_of_compiled_ones(function, dtype):
    values = MATRIX if dtype == np.float32 else (MATRIX % 200 * 100).astype(dtype)
    closed = jnp.asarray(values)
    _, lean = folded(lambda: function(closed))
    assert not lean.eqns
    (found,) = map(np.asarray, lean.consts)
    expected = np.asarray(arrax.jit(function)(values))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


def test_one_program_serves_all_values():
    def made(value):
        closed = jnp.array([1.0, value])
        return arrax.jit(lambda x: x @ jnp.outer(closed, closed))

    x = np.array([1.0, 2.0], np.float32)
    assert made(2.0).lower(x).as_text() == made(3.0).lower(x).as_text()
    np.testing.assert_array_equal(made(2.0)(x), [5, 10])
    np.testing.assert_array_equal(made(3.0)(x), [7, 21])


def test_deleted_constants_are_not_read():
    closed = jnp.array([1.0, 2.0])
    program = arrax.make_jaxpr(lambda x: x * (closed + 1))(1.0)
    closed.delete()
    assert with_constants_folded(program, arrax.devices()[0]) is program


def test_constants_in_the_host_s_memory_stay():
    place = arrax.sharding.SingleDeviceSharding(arrax.devices()[0], memory_kind="pinned_host")
    closed = arrax.device_put(jnp.array([1.0, 2.0]), place)
    program, lean = folded(lambda: closed[::-1])
    assert lean is program


@pytest.mark.skipif(len(arrax.devices()) < 2, reason="one device")
def test_constants_elsewhere_stay():
    closed = arrax.device_put(jnp.array([1.0, 2.0]), arrax.devices()[1])
    program, lean = folded(lambda x: x * (closed + 1), 1.0)
    assert lean is program
