"""Batching: operations on values with a batch axis, wherever it is; programs over a batch."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.interpreters.batching import AxisData, batch, batch_program, bdim_at_front, move_batch_axis
from arrax.interpreters.staging import eval_jaxpr

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_results_say_where_their_batch_axis_is():
    outs, dims = batch(lambda x, y: [lax.sin(x), y, lax.mul(y, y)], [X, np.float32(2)], [1, None])
    assert dims == [1, None, None]
    np.testing.assert_allclose(outs[0], np.sin(X), 1e-6)


@pytest.mark.parametrize("dims", [(0, 0), (1, 0), (0, 1), (1, 1), (0, None), (None, 1)])
def test_operands_with_their_batches_in_other_places_meet(dims):
    size, operands, rows = 4, [], []
    for seed, dim in enumerate(dims):
        one = np.random.default_rng(seed).standard_normal((4, 3)).astype(np.float32)
        operands.append(one[0] if dim is None else np.moveaxis(one, 0, dim))
        rows.append([one[0]] * size if dim is None else list(one))
    (out,), (dim,) = batch(lambda x, y: [lax.add(x, y)], operands, dims)
    expected = np.stack([x + y for x, y in zip(*rows, strict=True)])
    np.testing.assert_array_equal(np.moveaxis(np.asarray(out), dim, 0), expected)


def test_batch_axes_are_moved_and_made():
    assert bdim_at_front(X, 1, 3).shape == (3, 2)
    assert np.array_equal(bdim_at_front(np.float32(1), None, 3), np.ones(3))
    assert move_batch_axis(np.ones((2, 3, 4)), 0, 2, 2).shape == (3, 4, 2)


def test_programs_over_a_batch_are_made_once_and_say_what_is_mapped():
    program = arrax.make_jaxpr(lambda x, y: (lax.sin(x), lax.cos(y)))(1.0, 2.0)
    derived, mapped = batch_program(program, AxisData(None, 5), [True, False])
    assert mapped == [True, False] and [aval.shape for aval in derived.in_avals] == [(5,), ()]
    assert batch_program(program, AxisData(None, 5), [True, False])[0] is derived
    all_mapped, flags = batch_program(program, AxisData(None, 5), [True, False], instantiate=True)
    assert flags == [True, True] and [out.aval.shape for out in all_mapped.jaxpr.outvars] == [(5,), (5,)]
    outs = eval_jaxpr(derived.jaxpr, derived.consts, np.arange(5, dtype=np.float32), np.float32(0))
    np.testing.assert_allclose(outs[0], np.sin(np.arange(5)), 1e-6)


def test_named_axes_are_known_inside_only():
    total = batch(lambda x: [lax.psum(x, "rows")], [X], [0], AxisData("rows", 2))[0][0]
    assert np.array_equal(np.asarray(total).reshape(-1, 3)[0], X.sum(0))
    with pytest.raises(NameError, match="rows"):
        lax.psum(1.0, "rows")


def test_what_is_not_mapped_is_computed_once():
    jaxpr = arrax.make_jaxpr(arrax.vmap(lambda x, y: x + jnp.sin(y), (0, None)))(jnp.ones(4), 1.0)
    (sine,) = (eqn for eqn in jaxpr.eqns if eqn.primitive.name == "sin")
    assert sine.outvars[0].aval.shape == ()


def test_mapped_values_tell_their_batch_and_its_axis():
    told = []
    arrax.vmap(lambda x: told.append((x.val.shape, x.batch_dim)) or x, in_axes=1)(jnp.ones((2, 3)))
    assert told == [((2, 3), 1)]
