"""Gather: values against a loop over windows, modes, derivatives, batching, refusals."""

import itertools

import numpy as np
import pytest

import arrax
from arrax import lax
from arrax.lax import GatherDimensionNumbers as Numbers
from tests.support import check_batching, check_gradients

CUBE = np.random.default_rng(0).standard_normal((3, 4, 2)).astype(np.float32)
PLACES = np.array([[0, 1], [2, 3], [-1, 2], [5, 0]], np.int32)

# name: (dimension numbers, slice sizes, indices)
# fmt: off
CASES = {
    "rows":         (Numbers((1, 2), (0,), (0,)), (1, 4, 2), PLACES[:, :1]),
    "elements":     (Numbers((1,), (0, 1), (0, 1)), (1, 1, 2), PLACES),
    "windows":      (Numbers((0, 1, 2), (), (0, 1)), (2, 3, 1), PLACES),
    "axes swapped": (Numbers((0,), (0, 1), (1, 0)), (1, 1, 2), PLACES),
    "one index":    (Numbers((0, 1), (0,), (0,)), (1, 4, 2), np.array([1], np.int32)),
    "grid":         (Numbers((1,), (0, 1), (0, 1)), (1, 1, 2), PLACES.reshape(2, 2, 2)),
    "batched":      (Numbers((1,), (1,), (1,), (0,), (0,)), (1, 1, 2), PLACES[:3, :1]),
    "batch inside": (Numbers((), (1, 2), (1, 2), (0,), (1,)), (1, 1, 1), np.stack([PLACES[:3]] * 2)),
}
# fmt: on
each_case = pytest.mark.parametrize("case", CASES)


def windows(x, numbers, sizes, indices, mode, fill=np.nan):
    """Gather as a loop: one window per index, its axes put at the offset dims."""
    batch_shape = indices.shape[:-1]
    gone = sorted((*numbers.collapsed_slice_dims, *numbers.operand_batching_dims))
    window_shape = [n for axis, n in enumerate(sizes) if axis not in gone]
    rank = len(batch_shape) + len(window_shape)
    outer = [place for place in range(rank) if place not in numbers.offset_dims]
    out = np.zeros((*batch_shape, *window_shape), x.dtype)
    for place in itertools.product(*map(range, batch_shape)):
        starts = [0] * x.ndim
        for axis, at in zip(numbers.start_index_map, indices[place], strict=True):
            starts[axis] = int(at)
        for axis, at in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
            starts[axis] = place[at]
        limits = [length - size for length, size in zip(x.shape, sizes, strict=True)]
        inside = all(0 <= s <= limit for s, limit in zip(starts, limits, strict=True))
        starts = [min(max(s, 0), limit) for s, limit in zip(starts, limits, strict=True)]
        window = x[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))].squeeze(tuple(gone))
        out[place] = window if inside or mode != "fill" else fill
    return np.moveaxis(out, range(rank), [*outer, *numbers.offset_dims])


@each_case
@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds", None])
def test_values_are_those_of_a_loop_over_windows(case, mode):
    numbers, sizes, indices = CASES[case]
    result = lax.gather(CUBE, indices, numbers, sizes, mode=mode)
    np.testing.assert_array_equal(result, windows(CUBE, numbers, sizes, indices, mode))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_narrow_indices_reach_as_far_as_their_axis_asks(dtype):
    x = np.arange(1000, dtype=np.float32)
    indices = np.array([[np.iinfo(dtype).max], [1]], dtype)
    for mode in ("clip", "fill"):
        result = lax.gather(x, indices, Numbers((), (0,), (0,)), (1,), mode=mode)
        wide = lax.gather(x, indices.astype(np.int32), Numbers((), (0,), (0,)), (1,), mode=mode)
        np.testing.assert_array_equal(result, wide)


@pytest.mark.parametrize(
    ("dtype", "filler"),
    [
        (np.int32, -(2**31)),
        (np.int8, -128),
        (np.uint8, 255),
        (bool, True),
        (np.float16, np.nan),
        (np.complex64, np.nan),
    ],
)
def test_windows_out_of_bounds_are_filled_with_an_invalid_value(dtype, filler):
    numbers, x = Numbers((), (0,), (0,)), np.zeros(3, dtype)
    np.testing.assert_array_equal(lax.gather(x, np.array([[5]]), numbers, (1,), mode="fill"), np.array([filler], dtype))
    chosen = lax.gather(x, np.array([[5]]), numbers, (1,), mode="fill", fill_value=1)
    np.testing.assert_array_equal(chosen, np.ones(1, dtype))


@each_case
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_derivatives(case, mode):
    numbers, sizes, indices = CASES[case]
    check_gradients(lambda x: lax.gather(x, indices, numbers, sizes, mode=mode, fill_value=0), [CUBE])


@each_case
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_batching(case, mode):
    numbers, sizes, indices = CASES[case]
    check_batching(lambda x, i: lax.gather(x, i, numbers, sizes, mode=mode, fill_value=0), [CUBE, indices])


def test_a_batched_gather_stays_one_gather():
    numbers, sizes, indices = CASES["rows"]
    batched = arrax.vmap(lambda x, i: lax.gather(x, i, numbers, sizes))
    program = arrax.make_jaxpr(batched)(np.stack([CUBE] * 2), np.stack([indices] * 2))
    assert [eqn.primitive.name for eqn in program.eqns] == ["gather"]
    assert program.eqns[0].params["dimension_numbers"].operand_batching_dims == (0,)


@pytest.mark.parametrize("name", ["clip", "fill", "drop", "promise_in_bounds", "one_hot", None])
def test_modes_have_names(name):
    mode = lax.GatherScatterMode.from_any(name)
    assert lax.GatherScatterMode.from_any(mode) is mode


@pytest.mark.parametrize(
    ("indices", "numbers", "sizes"),
    [
        (np.int32(0), Numbers((0, 1), (0,), (0,)), (1, 4, 2)),
        (PLACES[:, :1], Numbers((1, 2), (0,), (0,)), (1, 5, 2)),
        (PLACES[:, :1], Numbers((1, 2), (0,), (0,)), (1, 4)),
        (PLACES[:, :1], Numbers((2, 1), (0,), (0,)), (1, 4, 2)),
        (PLACES[:, :1], Numbers((1, 1), (0,), (0,)), (1, 4, 2)),
        (PLACES[:, :1], Numbers((1, 5), (0,), (0,)), (1, 4, 2)),
        (PLACES[:, :1], Numbers((1,), (0,), (0,)), (1, 4, 2)),
        (PLACES[:, :1], Numbers((1, 2), (1,), (0,)), (1, 4, 2)),
        (PLACES[:, :1], Numbers((1, 2), (0,), (0, 1)), (1, 4, 2)),
        (PLACES[:, :1], Numbers((1, 2), (0,), (3,)), (1, 4, 2)),
        (PLACES, Numbers((1, 2), (0,), (0, 0)), (1, 4, 2)),
        (PLACES[:3, :1], Numbers((1,), (1,), (1,), (0,), ()), (1, 1, 2)),
        (PLACES[:2, :1], Numbers((1,), (1,), (1,), (0,), (0,)), (1, 1, 2)),
        (PLACES[:3, :1], Numbers((1,), (1,), (0,), (0,), (0,)), (1, 1, 2)),
        (PLACES[:3, :1], Numbers((1,), (1,), (1,), (0,), (0,)), (2, 1, 2)),
    ],
)
def test_dimension_numbers_that_do_not_fit_are_refused(indices, numbers, sizes):
    with pytest.raises(TypeError):
        lax.gather(CUBE, indices, numbers, sizes)


def test_indices_that_are_no_integers_are_refused():
    with pytest.raises(ValueError, match="integer type"):
        lax.gather(CUBE, PLACES[:, :1].astype(float), Numbers((1, 2), (0,), (0,)), (1, 4, 2))


def test_unknown_modes_are_refused():
    numbers, sizes, indices = CASES["rows"]
    with pytest.raises(ValueError, match="Unknown gather mode"):
        lax.gather(CUBE, indices, numbers, sizes, mode="wrap")
