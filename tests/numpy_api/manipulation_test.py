"""Shapes, joining, rearranging, building of matrices, padding: the functions that only move elements, against NumPy."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.numpy_api.comparison import assert_same

MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
VECTOR = np.array([3, 0, 5, 2], dtype=np.int32)
CUBE = np.arange(24, dtype=np.int32).reshape(2, 3, 4)

# Each case is a call in terms of a namespace (numpy or arrax.numpy) and the three arrays.
# fmt: off
CASES = {
    "reshape":              lambda np, m, v, c: np.reshape(m, (3, -1)),
    "reshape to scalar axes": lambda np, m, v, c: np.reshape(v, 4),
    "reshape in F order":   lambda np, m, v, c: np.reshape(c, (4, 6), order="F"),
    "ravel":                lambda np, m, v, c: np.ravel(c),
    "ravel in F order":     lambda np, m, v, c: np.ravel(m, order="F"),
    "transpose":            lambda np, m, v, c: np.transpose(c),
    "transpose by axes":    lambda np, m, v, c: np.transpose(c, (1, -1, 0)),
    "swapaxes":             lambda np, m, v, c: np.swapaxes(c, 0, -1),
    "moveaxis":             lambda np, m, v, c: np.moveaxis(c, (0, 1), (-1, 0)),
    "rollaxis":             lambda np, m, v, c: np.rollaxis(c, 2, 1),
    "rollaxis onwards":     lambda np, m, v, c: np.rollaxis(c, 0, 3),
    "squeeze":              lambda np, m, v, c: np.squeeze(np.reshape(m, (1, 2, 1, 3))),
    "squeeze an axis":      lambda np, m, v, c: np.squeeze(np.reshape(m, (1, 2, 1, 3)), axis=2),
    "expand_dims":          lambda np, m, v, c: np.expand_dims(m, (0, -1)),
    "broadcast_to":         lambda np, m, v, c: np.broadcast_to(np.reshape(v, (4, 1)), (2, 4, 3)),
    "broadcast_arrays":     lambda np, m, v, c: list(np.broadcast_arrays(c, 2, v)),
    "atleast_1d":           lambda np, m, v, c: np.atleast_1d(np.trace(m)),
    "atleast_2d":           lambda np, m, v, c: list(np.atleast_2d(v, m, c)),
    "atleast_3d":           lambda np, m, v, c: list(np.atleast_3d(v, m, c)),
    "concatenate":          lambda np, m, v, c: np.concatenate([m, np.flip(m)], axis=1),
    "concatenate an array": lambda np, m, v, c: np.concatenate(c),
    "concatenate all":      lambda np, m, v, c: np.concatenate([m, m], axis=None),
    "stack":                lambda np, m, v, c: np.stack([m, np.flip(m)], axis=-1),
    "stack an array":       lambda np, m, v, c: np.stack(c, axis=1),
    "vstack":               lambda np, m, v, c: np.vstack([v, v]),
    "hstack":               lambda np, m, v, c: np.hstack([m, m]),
    "hstack of vectors":    lambda np, m, v, c: np.hstack([v, np.ravel(c)]),
    "dstack":               lambda np, m, v, c: np.dstack([m, m]),
    "column_stack":         lambda np, m, v, c: np.column_stack([v, v, np.stack([v, v], 1)]),
    "append":               lambda np, m, v, c: np.append(m, m, axis=0),
    "append all":           lambda np, m, v, c: np.append(v, m),
    "block":                lambda np, m, v, c: np.block([[m, m], [np.flip(m), m]]),
    "split":                lambda np, m, v, c: np.split(v, 2),
    "split at places":      lambda np, m, v, c: np.split(c, [1, -1, 9], axis=2),
    "array_split":          lambda np, m, v, c: np.array_split(v, 3),
    "vsplit":               lambda np, m, v, c: np.vsplit(m, 2),
    "hsplit":               lambda np, m, v, c: np.hsplit(v, 2),
    "dsplit":               lambda np, m, v, c: np.dsplit(c, [3]),
    "flip":                 lambda np, m, v, c: np.flip(c, (0, 2)),
    "flip all":             lambda np, m, v, c: np.flip(m),
    "fliplr":               lambda np, m, v, c: np.fliplr(m),
    "flipud":               lambda np, m, v, c: np.flipud(m),
    "rot90":                lambda np, m, v, c: [np.rot90(c, k, axes) for k in range(-1, 4) for axes in ((0, 1), (2, 0))],
    "roll":                 lambda np, m, v, c: np.roll(v, 5),
    "roll flattened":       lambda np, m, v, c: np.roll(m, -2),
    "roll axes":            lambda np, m, v, c: np.roll(c, (1, -3, 2), axis=(0, 2, 0)),
    "tile":                 lambda np, m, v, c: np.tile(m, (2, 1, 2)),
    "tile a cube":          lambda np, m, v, c: np.tile(c, 2),
    "repeat":               lambda np, m, v, c: np.repeat(m, 2),
    "repeat along":         lambda np, m, v, c: np.repeat(c, 3, axis=1),
    "repeat by number":     lambda np, m, v, c: np.repeat(m, np.array([2, 0, 3]), axis=1),
    "resize":               lambda np, m, v, c: np.resize(v, (3, 3)),
    "insert":               lambda np, m, v, c: np.insert(v, 1, 9),
    "insert rows":          lambda np, m, v, c: np.insert(m, 1, m, axis=0),
    "insert many":          lambda np, m, v, c: np.insert(v, np.array([0, 2, 2, -1]), np.array([7, 8, 9, 10])),
    "insert in slice":      lambda np, m, v, c: np.insert(m, slice(0, 2), 5, axis=1),
    "delete":               lambda np, m, v, c: np.delete(v, 1),
    "delete many":          lambda np, m, v, c: np.delete(c, np.array([0, -1, 0]), axis=2),
    "delete a slice":       lambda np, m, v, c: np.delete(v, slice(None, None, 2)),
    "delete by mask":       lambda np, m, v, c: np.delete(v, np.array([True, False, False, True])),
    "tril":                 lambda np, m, v, c: np.tril(c, -1),
    "triu":                 lambda np, m, v, c: np.triu(m, 1),
    "diag of a vector":     lambda np, m, v, c: [np.diag(v), np.diag(v, 2), np.diag(v, -1)],
    "diag of a matrix":     lambda np, m, v, c: [np.diag(m, k) for k in range(-2, 4)],
    "diagflat":             lambda np, m, v, c: np.diagflat(m, -1),
    "diagonal":             lambda np, m, v, c: [np.diagonal(c, k, 2, 0) for k in (-3, -1, 0, 1)],
    "trace":                lambda np, m, v, c: [np.trace(c, 1, 2, 1), np.trace(m), np.trace(np.tri(3, dtype=bool))],
    "meshgrid":             lambda np, m, v, c: list(np.meshgrid(v, np.ravel(m))),
    "meshgrid ij sparse":   lambda np, m, v, c: list(np.meshgrid(v, np.ravel(m), v, indexing="ij", sparse=True)),
    "vander":               lambda np, m, v, c: [np.vander(np.diag(m)), np.vander(np.ravel(m), 2, increasing=True), np.vander(v)],
    "pad":                  lambda np, m, v, c: np.pad(m, 1),
    "pad with values":      lambda np, m, v, c: np.pad(m, ((1, 2), (0, 3)), constant_values=((1, 2), (3, 4))),
    "pad a pair":           lambda np, m, v, c: np.pad(v, (2, 1), constant_values=(7, 8)),
    "pad empty":            lambda np, m, v, c: np.pad(m, ((0, 0), (0, 0)), mode="empty"),
    "pad edge":             lambda np, m, v, c: np.pad(c, ((1, 0), (2, 1), (0, 3)), mode="edge"),
    "pad wrap":             lambda np, m, v, c: np.pad(v, (3, 9), mode="wrap"),
    "pad reflect":          lambda np, m, v, c: np.pad(v, (5, 8), mode="reflect"),
    "pad symmetric":        lambda np, m, v, c: np.pad(m, ((3, 1), (4, 7)), mode="symmetric"),
    "pad reflect odd":      lambda np, m, v, c: np.pad(m, ((1, 0), (4, 7)), mode="reflect", reflect_type="odd"),
    "pad symmetric odd":    lambda np, m, v, c: np.pad(v, (5, 2), mode="symmetric", reflect_type="odd"),
    "pad ramp":             lambda np, m, v, c: np.pad(m, ((2, 1), (0, 3)), mode="linear_ramp", end_values=((1, 2), (3, 9))),
    "pad maximum":          lambda np, m, v, c: np.pad(m, ((2, 1), (0, 3)), mode="maximum", stat_length=2),
    "pad minimum":          lambda np, m, v, c: np.pad(c, 1, mode="minimum"),
    "pad mean":             lambda np, m, v, c: np.pad(v, (2, 1), mode="mean", stat_length=3),
    "pad median":           lambda np, m, v, c: np.pad(m, 1, mode="median"),
}
# fmt: on


@pytest.mark.parametrize("case", CASES)
def test_eager_results_are_those_of_numpy(case):
    arrays = (MATRIX, VECTOR, CUBE)
    assert_same(CASES[case](jnp, *map(jnp.asarray, arrays)), CASES[case](np, *arrays))


def test_compiled_results_are_those_of_numpy():
    arrays = (MATRIX, VECTOR, CUBE)
    compiled = arrax.jit(lambda *xs: {name: case(jnp, *xs) for name, case in CASES.items()})(*arrays)
    for name, case in CASES.items():
        assert_same(compiled[name], case(np, *arrays))
