"""Sums with a part of an array: values, derivatives that copy nothing, batching."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import jet
from arrax.lax.slice_additions import dynamic_add_slice
from tests.support import check_batching, check_gradients

MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4) - 6
BLOCK = np.array([[0.5, -1.5], [2, 3]], np.float32)


@pytest.mark.parametrize("starts", [(0, 0), (1, 2), (7, 9)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, jnp.bfloat16], ids=str)
def test_a_block_is_added_at_the_clamped_place(starts, dtype):
    x, block = MATRIX.astype(dtype), BLOCK.astype(dtype)
    row, column = min(starts[0], 1), min(starts[1], 2)
    expected = x.copy()
    expected[row : row + 2, column : column + 2] += block
    np.testing.assert_array_equal(dynamic_add_slice(x, block, starts), expected)
    np.testing.assert_array_equal(arrax.jit(dynamic_add_slice)(x, block, starts), expected)


def test_derivatives():
    check_gradients(lambda x, u: dynamic_add_slice(x**2, jnp.sin(u), (1, 1)), [MATRIX, BLOCK], order=2)
    check_gradients(lambda u: dynamic_add_slice(np.float64(MATRIX), u, (1, 1)), [BLOCK])
    check_gradients(lambda x: dynamic_add_slice(x, np.float64(BLOCK), (1, 1)), [MATRIX])


def test_batching_over_any_operand():
    starts = np.array([2, 1], np.int32)
    check_batching(lambda x, u: dynamic_add_slice(x, u, (1, 2)), [MATRIX, BLOCK])
    check_batching(lambda x, u, s: dynamic_add_slice(x, u, [s[0], s[1]]), [MATRIX, BLOCK, starts])


def test_derivatives_of_every_order_in_one_pass():
    (_, series) = jet.jet(lambda x: (x * x).at[1:].add(x[1:]), (jnp.ones(3),), ([jnp.ones(3), jnp.zeros(3)],))
    np.testing.assert_array_equal(series[0], [2, 3, 3])
    np.testing.assert_array_equal(series[1], [2, 2, 2])


@pytest.mark.parametrize("name", ["add", "subtract"])
def test_updates_of_a_known_part_are_such_sums(name):
    def update(x, y):
        return getattr(x.at[1:, 0], name)(y)

    y = np.array([-0.0, 5], np.float32)
    found = update(jnp.asarray(MATRIX), y)
    np.testing.assert_array_equal(arrax.jit(update)(MATRIX, y), found)
    names = [eqn.primitive.name for eqn in arrax.make_jaxpr(update)(MATRIX, y).eqns]
    assert "dynamic_add_slice" in names and "dynamic_update_slice" not in names
    _, pullback = arrax.vjp(update, MATRIX, y)
    names = [eqn.primitive.name for eqn in arrax.make_jaxpr(pullback)(jnp.asarray(MATRIX)).eqns]
    assert not {"pad", "add", "dynamic_update_slice"} & set(names)  # the cotangent itself, and a part of it


def test_zeros_keep_their_sign():
    x = jnp.full((2, 3), -0.0)
    assert np.signbit(arrax.jit(lambda x: x.at[0, :2].add(1.0))(x)).tolist() == [[False, False, True], [True] * 3]
    assert np.signbit(arrax.jit(lambda x: x.at[0, :2].subtract(0.0))(x)).all()


def test_other_updates_stay_as_they_are():
    whole = str(arrax.make_jaxpr(lambda x: x.at[:].add(1))(MATRIX))
    integers = str(arrax.make_jaxpr(lambda x: x.at[1:].add(1))(MATRIX.astype(np.int32)))
    empty = str(arrax.make_jaxpr(lambda x: x.at[3:].add(1))(MATRIX))
    assert "dynamic_add_slice" not in whole + integers + empty
