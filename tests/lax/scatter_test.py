"""Scatter: values against a loop over windows, modes, derivatives, batching, refusals."""

import itertools

import numpy as np
import pytest

from arrax import lax
from arrax.lax import ScatterDimensionNumbers as Numbers
from tests.support import check_batching, check_gradients

MATRIX = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
PLACES = np.array([[0, 1], [2, 3], [0, 1], [5, 0], [1, -1]], np.int32)  # a repeated one, two out of bounds

# fmt: off
OPERATIONS = {
    lax.scatter:     lambda old, new: new,
    lax.scatter_add: np.add,
    lax.scatter_sub: np.subtract,
    lax.scatter_mul: np.multiply,
    lax.scatter_min: np.minimum,
    lax.scatter_max: np.maximum,
}
# name: (dimension numbers, indices, shape of the updates)
CASES = {
    "rows":         (Numbers((1,), (0,), (0,)), PLACES[:, :1], (5, 4)),
    "elements":     (Numbers((), (0, 1), (0, 1)), PLACES, (5,)),
    "windows":      (Numbers((0, 2), (), (0, 1)), PLACES, (2, 5, 2)),
    "columns":      (Numbers((0,), (1,), (1,)), PLACES[:, 1:], (3, 5)),
    "axes swapped": (Numbers((), (0, 1), (1, 0)), PLACES, (5,)),
    "one index":    (Numbers((0,), (0,), (0,)), np.array([1], np.int32), (4,)),
    "batched":      (Numbers((), (1,), (1,), (0,), (0,)), PLACES[:3, 1:].reshape(3, 1, 1), (3, 1)),
}
# fmt: on
each_case = pytest.mark.parametrize("case", CASES)
INSIDE = {name: (numbers, np.clip(indices, 0, 1), shape) for name, (numbers, indices, shape) in CASES.items()}


def updates_for(case):
    return np.random.default_rng(1).standard_normal(CASES[case][2]).astype(np.float32)


def looped(x, numbers, indices, updates, combine, mode):
    """Scatter as a loop over windows, in order."""
    out = x.copy()
    window_axes = list(numbers.update_window_dims)
    outer = [axis for axis in range(updates.ndim) if axis not in window_axes]
    updates = np.moveaxis(updates, outer, range(len(outer)))
    gone = sorted((*numbers.inserted_window_dims, *numbers.operand_batching_dims))
    for place in itertools.product(*map(range, indices.shape[:-1])):
        window = np.expand_dims(updates[place], tuple(gone))
        starts = [0] * x.ndim
        for axis, at in zip(numbers.scatter_dims_to_operand_dims, indices[place], strict=True):
            starts[axis] = int(at)
        for axis, at in zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True):
            starts[axis] = place[at]
        limits = [length - size for length, size in zip(x.shape, window.shape, strict=True)]
        if mode == "clip":
            starts = [min(max(s, 0), limit) for s, limit in zip(starts, limits, strict=True)]
        if all(0 <= s <= limit for s, limit in zip(starts, limits, strict=True)):
            at = tuple(slice(s, s + n) for s, n in zip(starts, window.shape, strict=True))
            out[at] = combine(out[at], window)
    return out


MODES = ["clip", "drop", "promise_in_bounds", None]
USES = [
    (lax.scatter_add, case, mode) for case in CASES for mode in MODES
]  # one operation in every way, the others by turns
USES += [
    (operation, case, MODES[(i + j) % len(MODES)])
    for i, operation in enumerate(OPERATIONS)
    for j, case in enumerate(CASES)
    if operation is not lax.scatter_add
]


@pytest.mark.parametrize(("operation", "case", "mode"), USES)
def test_values_are_those_of_a_loop_over_windows(operation, case, mode):
    (numbers, indices, _), updates = CASES[case], updates_for(case)
    result = operation(MATRIX, indices, updates, numbers, mode=mode)
    expected = looped(MATRIX, numbers, indices, updates, OPERATIONS[operation], mode)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.complex64, np.float16])
def test_values_of_other_dtypes(dtype):
    x, updates = np.array([1, 0, 3], dtype), np.array([2, 1, 1], dtype)
    indices, numbers = np.array([[2], [0], [2]], np.int32), Numbers((), (0,), (0,))
    expected = x.copy()
    np.add.at(expected, indices[:, 0], updates)
    np.testing.assert_array_equal(lax.scatter_add(x, indices, updates, numbers), expected)


def test_a_function_is_applied_once_per_index():
    indices, numbers = np.array([[0], [0], [2]], np.int32), Numbers((), (0,), (0,))
    doubled = lax.scatter_apply(np.array([1.0, 2, 3], np.float32), indices, lambda x: x * 2, numbers, update_shape=(3,))
    np.testing.assert_array_equal(doubled, [4, 2, 6])


@pytest.mark.parametrize("operation", [lax.scatter, lax.scatter_add, lax.scatter_sub], ids=lambda f: f.__name__)
@each_case
@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_derivatives_with_respect_to_operand_and_updates(operation, case, mode):
    numbers, indices, _ = CASES[case]
    check_gradients(lambda x, u: operation(x, indices, u, numbers, mode=mode), [MATRIX, updates_for(case)])


@pytest.mark.parametrize("operation", [lax.scatter_min, lax.scatter_max], ids=lambda f: f.__name__)
def test_derivatives_of_extremes(operation):
    numbers, indices, _ = CASES["elements"]
    check_gradients(lambda x, u: operation(x, indices, u, numbers), [MATRIX, updates_for("elements")])


def test_derivatives_of_products():
    numbers, indices, _ = CASES["elements"]
    updates = updates_for("elements")
    check_gradients(lambda x: lax.scatter_mul(x, indices, updates.astype(x.dtype), numbers), [MATRIX])
    once = indices[1:]
    check_gradients(lambda x, u: lax.scatter_mul(x, once, u, numbers, unique_indices=True), [MATRIX, updates[1:]])
    with pytest.raises(NotImplementedError, match="unique_indices"):
        check_gradients(lambda u: lax.scatter_mul(MATRIX.astype(u.dtype), indices, u, numbers), [updates])


@pytest.mark.parametrize(
    ("operation", "case"),
    [(lax.scatter_add, case) for case in CASES]
    + [
        (f, list(CASES)[n % len(CASES)])
        for i, f in enumerate(OPERATIONS)
        if f is not lax.scatter_add
        for n in (i, i + 3)
    ],
)
def test_batching(operation, case):
    numbers, indices, _ = INSIDE[case]
    check_batching(lambda x, i, u: operation(x, i, u, numbers), [MATRIX, indices, updates_for(case)], rtol=1e-5)


@pytest.mark.parametrize(
    ("indices", "updates", "numbers"),
    [
        (PLACES[:, :1], np.ones((5, 4), int), Numbers((1,), (0,), (0,))),
        (PLACES[:, :1], np.ones((3, 4)), Numbers((1,), (0,), (0,))),
        (PLACES[:, :1], np.ones((5, 5)), Numbers((1,), (0,), (0,))),
        (PLACES[:, :1], np.ones(5), Numbers((1,), (0,), (0,))),
        (PLACES[:, :1], np.ones((5, 4)), Numbers((1,), (), (0,))),
        (PLACES[:, :1], np.ones((5, 4)), Numbers((1,), (0,), (0, 1))),
        (PLACES[:, :1], np.ones((5, 4)), Numbers((2,), (0,), (0,))),
        (PLACES[:, :1], np.ones((5, 4)), Numbers((1,), (2,), (0,))),
        (PLACES[:, :1], np.ones((5, 4)), Numbers((1,), (0,), (2,))),
    ],
)
def test_what_does_not_fit_is_refused(indices, updates, numbers):
    updates = updates.astype(np.float32) if updates.dtype == float else updates
    with pytest.raises(TypeError):
        lax.scatter(MATRIX, indices, updates, numbers)


@pytest.mark.parametrize("operation", [lax.scatter_add, lax.scatter_sub, lax.scatter_mul], ids=lambda f: f.__name__)
def test_bools_have_no_arithmetic(operation):
    with pytest.raises(TypeError, match="does not accept dtype bool"):
        operation(np.array([True, False]), np.array([[0]]), np.array([True]), Numbers((), (0,), (0,)))


def test_indices_that_are_no_integers_are_refused():
    with pytest.raises(ValueError, match="integer type"):
        lax.scatter(MATRIX, np.array([[0.0]]), np.ones((1, 4), np.float32), Numbers((1,), (0,), (0,)))
