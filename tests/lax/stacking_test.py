"""Splitting, stacking, unstacking and tiling, against NumPy."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.support import check_batching, check_gradients

MATRIX = np.arange(12.0).reshape(3, 4).astype(np.float32)
# fmt: off
OPERATIONS = {  # name: (operation, NumPy's, number of operands)
    "split":    (lambda x: lax.split(x, (1, 3), 1),      lambda x: np.split(x, [1], 1), 1),
    "split -1": (lambda x: lax.split(x, (0, 4), -1),     lambda x: np.split(x, [0], 1), 1),
    "stack":    (lambda x, y: lax.stack([x, y]),         lambda x, y: np.stack([x, y]), 2),
    "stack 1":  (lambda x, y: lax.stack([x, y], 1),      lambda x, y: np.stack([x, y], 1), 2),
    "stack -1": (lambda x, y: lax.stack([x, y, x], -1),  lambda x, y: np.stack([x, y, x], -1), 2),
    "unstack":  (lambda x: lax.unstack(x),               lambda x: list(x), 1),
    "unstack 1": (lambda x: lax.unstack(x, -1),          lambda x: list(x.T), 1),
    "tile":     (lambda x: lax.tile(x, (2, 3)),          lambda x: np.tile(x, (2, 3)), 1),
    "tile 0":   (lambda x: lax.tile(x, (1, 0)),          lambda x: np.tile(x, (1, 0)), 1),
}
# fmt: on
each_operation = pytest.mark.parametrize("name", OPERATIONS)


def operands(count):
    return [MATRIX, MATRIX[::-1] * 2][:count]


@each_operation
def test_values_are_those_of_numpy_also_under_jit(name):
    operation, reference, count = OPERATIONS[name]
    for run in (operation, arrax.jit(operation)):
        outs, expected = run(*operands(count)), reference(*operands(count))
        assert len(outs) == len(expected)
        for out, wanted in zip(outs, expected, strict=True):
            np.testing.assert_array_equal(out, wanted)


@each_operation
def test_derivatives_agree_with_differences(name):
    operation, _, count = OPERATIONS[name]
    check_gradients(lambda *xs: [out**2 for out in operation(*xs)], operands(count), order=2)


@each_operation
def test_batches_agree_with_a_loop(name):
    operation, _, count = OPERATIONS[name]
    check_batching(operation, operands(count))


def test_programs_hold_one_operation_each():
    printed = str(arrax.make_jaxpr(lambda x: (lax.split(x, (1, 3), 1), lax.unstack(x), lax.tile(x, (2, 1))))(MATRIX))
    for text in ("split[axis=1 sizes=(1, 3)]", "unstack[axis=0]", "tile[reps=(2, 1)]"):
        assert text in printed


@pytest.mark.parametrize("function", [lambda x, y: lax.stack([x, y], 1), lambda x, y: lax.concatenate([y, x], 1)])
def test_examples_may_lie_along_different_axes(function):
    x, y = np.arange(24.0, dtype=np.float32).reshape(3, 4, 2), np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    for in_axes, pair in (((2, 0), (x, y)), ((2, None), (x, y[0])), ((None, 0), (x[..., 1], y))):
        examples = [
            [a if dim is None else np.moveaxis(a, dim, 0)[i] for a, dim in zip(pair, in_axes, strict=True)]
            for i in range(2)
        ]
        for out_axes in (0, -1):
            expected = np.stack([function(*example) for example in examples], out_axes)
            np.testing.assert_array_equal(arrax.vmap(function, in_axes, out_axes)(*pair), expected)


def test_cotangents_of_pieces_are_put_together_at_once():
    def loss(x):
        first, second = jnp.split(x, 2, axis=1)
        return (jnp.concatenate([second, first]) ** 3).sum() + jnp.stack(jnp.unstack(x)).sum()

    names = [eqn.primitive.name for eqn in arrax.make_jaxpr(arrax.grad(loss))(MATRIX).eqns]
    assert "pad" not in names and names.count("split") == 2
    np.testing.assert_allclose(arrax.grad(loss)(MATRIX), 3 * np.asarray(MATRIX) ** 2 + 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.split(MATRIX, (1, 1), 1), ValueError, "must sum to the length 4"),
        (lambda: lax.split(MATRIX, (5, -1), 1), ValueError, "must not be negative"),
        (lambda: lax.split(MATRIX, (4,), 2), ValueError, "out of bounds"),
        (lambda: lax.stack([MATRIX, MATRIX[0]]), ValueError, r"\(3, 4\), \(4,\)"),
        (lambda: lax.stack([MATRIX, MATRIX.astype(np.int32)]), TypeError, "float32, int32"),
        (lambda: lax.stack([]), ValueError, "at least one"),
        (lambda: lax.unstack(np.float32(1)), ValueError, "out of bounds"),
        (lambda: lax.tile(MATRIX, (2,)), TypeError, "one number of repetitions per axis"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
