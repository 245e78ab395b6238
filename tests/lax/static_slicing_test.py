"""Concatenating, padding, slicing, selecting and clamping: values, derivatives, batches, mistakes."""

import numpy as np
import pytest

import arrax
from arrax import lax
from tests.support import check_batching, check_gradients

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
WHICH = np.array([[0, 1, 2, 0], [2, 2, 1, 0], [1, 0, 1, 2]], np.int32)
# fmt: off
OPERATIONS = {  # name: (operation, NumPy's, operands)
    "concatenate":   (lambda x, y: lax.concatenate([x, y, x], 1), lambda x, y: np.concatenate([x, y, x], 1), [X, X[:, :2] * 2]),
    "pad":           (lambda x, v: lax.pad(x, v, ((1, 2, 0), (0, 1, 0))), lambda x, v: np.pad(x, ((1, 2), (0, 1)), constant_values=v), [X, np.float32(3)]),
    "pad cut":       (lambda x, v: lax.pad(x, v, ((-1, 0, 0), (0, -2, 0))), lambda x, v: x[1:, :-2], [X, np.float32(3)]),
    "slice":         (lambda x: lax.slice(x, (1, 0), (3, 4), (1, 2)), lambda x: x[1:3, ::2], [X]),
    "slice_in_dim":  (lambda x: lax.slice_in_dim(x, -3, -1, axis=1), lambda x: x[:, -3:-1], [X]),
    "select":        (lambda x, y: lax.select(X > 0, x, y), lambda x, y: np.where(X > 0, x, y), [X, X * 3]),
    "select scalar": (lambda x, y: lax.select(np.bool_(True), x, y), lambda x, y: x, [X, X * 3]),
    "select_n":      (lambda x, y, z: lax.select_n(WHICH, x, y, z), lambda x, y, z: np.choose(WHICH, [x, y, z]), [X, X * 3, -X]),
    "clamp":         (lambda x: lax.clamp(-2.5, x, 3.5), lambda x: np.clip(x, -2.5, 3.5), [X]),
    "clamp arrays":  (lambda low, x, high: lax.clamp(low, x, high), lambda low, x, high: np.clip(x, low, high), [X - 1.5, X[::-1].copy(), X + 2.5]),
}
# fmt: on
each_operation = pytest.mark.parametrize("name", OPERATIONS)


@each_operation
def test_values_are_those_of_numpy_also_under_jit(name):
    operation, reference, operands = OPERATIONS[name]
    for run in (operation, arrax.jit(operation)):
        np.testing.assert_array_equal(run(*operands), reference(*operands))


@each_operation
def test_derivatives_agree_with_differences(name):
    operation, _, operands = OPERATIONS[name]
    check_gradients(lambda *xs: operation(*xs) ** 2, operands, order=2)


@each_operation
def test_batches_agree_with_loops(name):
    operation, _, operands = OPERATIONS[name]
    check_batching(operation, operands)


def test_predicates_batch():
    flags, x, y = np.array([True, False, True]), X[:, :3].copy(), -X[:, :3]
    check_batching(lax.select, [np.eye(3) > 0, x, y])
    np.testing.assert_array_equal(arrax.vmap(lax.select)(flags, x, y), np.where(flags[:, None], x, y))
    np.testing.assert_array_equal(arrax.vmap(lax.select, (0, None, None))(flags, x, y)[1], y)


@pytest.mark.parametrize("dtype", ["bool", "int8", "complex64", "bfloat16", "float8_e4m3fn", "int4"])
def test_every_type_is_put_together(dtype):
    dtype = np.dtype(getattr(arrax.numpy, dtype).dtype if hasattr(getattr(arrax.numpy, dtype), "dtype") else dtype)
    x = np.array([0, 1, 1, 0]).astype(dtype)
    assert lax.concatenate([x, x], 0).dtype == dtype
    wide = lambda v: np.asarray(v).astype(np.complex64)  # noqa: E731
    np.testing.assert_array_equal(wide(lax.pad(x, x[1], ((1, 0, 0),))), [1, 0, 1, 1, 0])
    np.testing.assert_array_equal(wide(lax.slice(x, (1,), (4,), (2,))), [1, 0])
    np.testing.assert_array_equal(wide(lax.select(np.array([True, False] * 2), x, x[::-1].copy())), [0, 1, 1, 0])
    np.testing.assert_array_equal(wide(lax.clamp(x[0], x, x[0])), [0, 0, 0, 0])


def test_padding_with_interior():
    np.testing.assert_array_equal(lax.pad(np.array([1, 2, 3]), 0, ((1, -1, 2),)), [0, 1, 0, 0, 2, 0, 0])
    check_gradients(lambda x, v: lax.pad(x, v, ((1, -1, 2), (-1, 2, 1))) ** 2, [X, np.float32(2)])
    check_batching(lambda x, v: lax.pad(x, v, ((1, -1, 2), (-1, 2, 1))), [X, np.float32(2)])


def test_a_clamped_value_has_no_slope_at_the_bounds():
    slopes = arrax.grad(lambda low, x, high: lax.clamp(low, x, high).sum(), (0, 1, 2))
    low, x, high = slopes(np.float32(0), np.array([-1, 0, 0.5, 1, 2], np.float32), np.float32(1))
    np.testing.assert_array_equal(x, [0, 0, 1, 0, 0])
    assert float(low) == 1 and float(high) == 1


@pytest.mark.parametrize("x", [0.0, 1.5, 3.0])
def test_where_the_bounds_have_crossed_the_upper_one_is_the_answer_and_has_the_slope(x):
    assert arrax.grad(lax.clamp, (0, 1, 2))(2.0, x, 1.0) == (0, 0, 1)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint32])
def test_cases_are_numbered_by_integers_of_any_type(dtype):
    chosen = lax.select_n(np.array([0, 2, 1, 2], dtype), X[0], X[1], X[2])
    np.testing.assert_array_equal(chosen, [X[0, 0], X[2, 1], X[1, 2], X[2, 3]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.concatenate([X, X.astype(np.int32)], 0), TypeError, "float32, int32"),
        (lambda: lax.concatenate([X, X[:, :2]], 0), TypeError, r"\(3, 4\), \(3, 2\)"),
        (lambda: lax.concatenate([X], 2), TypeError, "out of bounds"),
        (lambda: lax.concatenate([], 0), ValueError, "non-empty"),
        (lambda: lax.pad(X, np.int32(0), ((0, 0, 0),) * 2), TypeError, "float32.*int32|dtype"),
        (lambda: lax.pad(X, X[0], ((0, 0, 0),) * 2), ValueError, "must be a scalar"),
        (lambda: lax.pad(X, np.float32(0), ((0, 0, 0),)), ValueError, "one entry per axis"),
        (lambda: lax.pad(X, np.float32(0), ((0, 0, -1), (0, 0, 0))), ValueError, "nonnegative|negative|interior"),
        (lambda: lax.slice(X, (0,), (3, 4)), TypeError, "start_indices"),
        (lambda: lax.slice(X, (0, 0), (4, 4)), TypeError, "limit_indices"),
        (lambda: lax.slice(X, (0, 0), (3, 4), (0, 1)), TypeError, "strides"),
        (lambda: lax.slice(X, (0, 0), (3, 4), ()), TypeError, r"strides must have one entry per axis.*\(\)"),
        (lambda: lax.slice(X, (0, 0), (3, 4), (1,)), TypeError, "strides must have one entry per axis"),
        (lambda: lax.select(X, X, X), TypeError, "boolean or integer type, got float32"),
        (lambda: lax.select(X > 0, X, X.astype(np.int32)), TypeError, "float32.*int32|same"),
        (lambda: lax.select((X > 0)[:2], X, X), TypeError, r"\(2, 4\)"),
        (lambda: lax.select_n(WHICH > 0, X, X, X), TypeError, "bool|int32"),
        (lambda: lax.clamp(np.int32(0), X, np.float32(1)), TypeError, "int32, float32, float32"),
        (lambda: lax.clamp(X[0], X, np.float32(1)), TypeError, r"min.shape=\(4,\)"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
