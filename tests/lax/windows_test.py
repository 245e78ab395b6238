"""Reductions over windows: values, derivatives and batching, for all ways to lay windows."""

import numpy as np
import pytest

import arrax
from arrax import export, lax
from arrax.lax.window_geometry import Windows, dilated
from tests.support import bfloat16, check_batching, check_gradients, samples

# fmt: off
LAYOUTS = {  # window_dimensions, window_strides, padding, base_dilation, window_dilation
    "plain":             ((2, 2), None, "VALID", None, None),
    "strides":           ((2, 3), (1, 2), "VALID", None, None),
    "same":              ((2, 2), (2, 2), "SAME", None, None),
    "same lower":        ((3, 2), (2, 1), "SAME_LOWER", None, None),
    "padding":           ((2, 2), (1, 1), ((1, 0), (2, 3)), None, None),
    "negative padding":  ((2, 2), (1, 2), ((-1, 0), (0, -2)), None, None),
    "one element, cut":  ((1, 1), (1, 1), ((-1, 0), (0, -2)), None, None),
    "cut and padded":    ((2, 3), (1, 1), ((-1, 2), (3, -2)), (2, 3), None),
    "all cut":           ((2, 2), (1, 1), ((-9, 6), (0, 0)), None, None),
    "base dilation":     ((2, 2), (1, 1), ((0, 1), (1, 0)), (2, 3), None),
    "window dilation":   ((2, 3), (1, 2), ((1, 0), (1, 1)), None, (2, 1)),
    "both dilations":    ((2, 2), (2, 1), ((3, 2), (1, 0)), (2, 1), (1, 2)),
    "large window":      ((4, 9), (1, 1), ((0, 0), (4, 4)), None, None),
}
COMPUTATIONS = {  # computation, initial value, NumPy's
    "sum":  (lax.add, 0.0, np.add),
    "max":  (lax.max, -np.inf, np.maximum),
    "min":  (lax.min, np.inf, np.minimum),
    "prod": (lax.mul, 1.0, np.multiply),
    "sum from 0.5": (lax.add, 0.5, np.add),
}
# fmt: on
each_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
each_computation = pytest.mark.parametrize("computation", COMPUTATIONS.values(), ids=COMPUTATIONS)


def reference(x, init, combine, layout):
    """One window after another; places outside of the operand are NaN here, and passed over."""
    windows = Windows.read("reference", x.shape, *layout)
    spread = np.full([dilated(n, d) for n, d in zip(x.shape, windows.base_dilation, strict=True)], np.nan)
    spread[tuple(slice(None, None, d) for d in windows.base_dilation)] = x
    spread = np.pad(spread, [(max(low, 0), max(high, 0)) for low, high in windows.padding], constant_values=np.nan)
    crops = zip(windows.padding, spread.shape, strict=True)
    spread = spread[tuple(slice(max(-low, 0), n - max(-high, 0)) for (low, high), n in crops)]
    out = np.full(windows.output_shape(x.shape), init, np.float64)
    for place in np.ndindex(out.shape):
        for offset in windows.offsets():
            steps = zip(place, windows.window_strides, offset, strict=True)
            value = spread[tuple(i * step + o for i, step, o in steps)]
            if not np.isnan(value):
                out[place] = combine(out[place], value)
    return out


def well_separated(shape):
    """Numbers that are far from equal, so that small steps do not change their order."""
    count = int(np.prod(shape))
    return [np.random.default_rng(0).permutation(np.linspace(-2, 2, count)).reshape(shape)]


def reducer(computation, layout):
    combine, init, _ = computation
    return lambda v: lax.reduce_window(v, init, combine, *layout)


@each_computation
@each_layout
def test_values_are_those_of_a_loop_over_windows(computation, layout):
    (x,) = samples([(-2, 2)], np.float32, (5, 6))
    _, init, combine = computation
    expected = reference(x, init, combine, layout)
    result = reducer(computation, layout)(x)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("computation", list(COMPUTATIONS.values())[:3], ids=list(COMPUTATIONS)[:3])
@each_layout
def test_derivatives_agree_with_differences(computation, layout):
    (x,) = well_separated((5, 6))
    f = reducer(computation, layout)
    if not np.all(np.isfinite(f(x.astype(np.float32)))):
        pytest.skip("windows without an element have no differences")
    check_gradients(f, [x], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["prod", "sum from 0.5"])
@pytest.mark.parametrize("layout", ["padding", "both dilations"])
def test_derivatives_of_any_computation_agree_with_differences(name, layout):
    f = reducer(COMPUTATIONS[name], LAYOUTS[layout])
    check_gradients(arrax.jit(f), samples([(-2, 2)], np.float64, (5, 6)), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["sum", "max", "prod"])
def test_second_derivatives_agree_with_differences(name):
    f = reducer(COMPUTATIONS[name], LAYOUTS["strides"])
    check_gradients(lambda v: f(lax.mul(v, v)), [x / 3 + 1 for x in well_separated((3, 4))], order=2, rtol=1e-4)


@each_computation
def test_batches_agree_with_loops(computation):
    f = reducer(computation, LAYOUTS["same"])
    (x,) = samples([(-2, 2)], np.float32, (3, 4))
    check_batching(f, [x], rtol=1e-5)
    check_batching(arrax.grad(lambda v: lax.reduce_sum(lax.square(f(v)), (0, 1))), [x], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", [((5, 5, 2), (2, 1, 1), ((2, 0), (0, 0), (2, 0))), ((2, 1, 4), None, ((0, 1),) * 3)])
def test_elements_are_combined_in_their_order(layout):
    x = np.random.default_rng(0).integers(-30, 9, (11, 9, 8)).astype(np.float32)
    first = lambda a, b: lax.select(lax.ge(a, np.float32(0)), a, b)  # noqa: E731
    result = arrax.jit(lambda x: lax.reduce_window(x, np.float32(-1), first, *layout))(x)
    expected = reference(x, -1.0, lambda a, b: np.where(a >= 0, a, b), (*layout, None, None))
    # Of windows without an element that is not less than 0, any is right.
    np.testing.assert_array_equal(np.maximum(result, -1), np.maximum(expected, -1))


@pytest.mark.parametrize(("shape", "layout"), [((10, 5), ((2, 3), (1, 1))), ((6, 7, 7), ((3, 4, 4), (2, 4, 4)))])
def test_derivatives_of_equal_extremes_agree_forward_and_in_reverse(shape, layout):
    x = np.random.default_rng(4).integers(0, 2, shape).astype(np.float32)
    pooled = lambda x: lax.reduce_window(x, -np.inf, lax.max, *layout, "SAME")  # noqa: E731
    forward = arrax.jit(arrax.vmap(lambda t: arrax.jvp(pooled, (x,), (t,))[1].ravel()))(
        np.eye(x.size, dtype=np.float32).reshape(-1, *x.shape)
    )
    reverse = arrax.jit(arrax.jacrev(lambda x: pooled(x).ravel()))(x)
    np.testing.assert_array_equal(forward.T.reshape(reverse.shape), reverse)


def test_averages_along_axes_of_symbolic_lengths_are_differentiated():
    averaged = lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 2), ((0, 0), (0, 1)))  # noqa: E731
    derivative = arrax.jit(arrax.grad(lambda x: lax.reduce_sum(lax.square(averaged(x)), (0, 1))))
    exported = export.export(derivative)(arrax.ShapeDtypeStruct(export.symbolic_shape("rows, columns"), np.float32))
    (x,) = samples([(-2, 2)], np.float32, (3, 7))
    np.testing.assert_allclose(exported.call(x), derivative(x), rtol=1e-6)


def test_the_first_of_equal_extremes_gets_the_derivative():
    ones = np.ones((3, 3), np.float32)
    for computation in ("max", "min"):
        f = reducer(COMPUTATIONS[computation], LAYOUTS["plain"])
        np.testing.assert_array_equal(
            arrax.grad(lambda v: lax.reduce_sum(f(v), (0, 1)))(ones),  # noqa: B023
            [[1, 1, 0], [1, 1, 0], [0, 0, 0]],
        )


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), bfloat16], ids=str)
@pytest.mark.parametrize(
    ("lengths", "steps", "padding"),
    [((2, 2), (2, 2), ((0, 0), (0, 0))), ((2, 3), (3, 3), ((1, 0), (2, 2))), ((3, 2), (2, 2), ((1, 1), (0, 1)))],
)
def test_the_derivative_of_an_extreme_goes_to_its_place(dtype, lengths, steps, padding):
    rng = np.random.default_rng(0)
    x = rng.permutation(56).reshape(8, 7).astype(dtype)
    pooled = lambda x: lax.reduce_window(x, -np.inf, lax.max, lengths, steps, padding)  # noqa: E731
    value, pull = arrax.vjp(pooled, x)
    weights = rng.integers(1, 9, value.shape).astype(dtype)
    expected = np.zeros(x.shape, np.float32)
    for place, greatest in np.ndenumerate(value):  # each number stands once in x
        expected[np.asarray(x) == greatest] += weights[place]
    np.testing.assert_array_equal(np.asarray(pull(weights)[0], np.float32), expected)


@pytest.mark.parametrize("dtype", [bfloat16, np.dtype(np.float16)], ids=str)
@pytest.mark.parametrize("size", [3, 6])  # by slices, and by the compiler's operation
def test_derivatives_of_extremes_are_summed_in_32_bits(dtype, size):
    rng = np.random.default_rng(0)
    x, weights = rng.integers(0, 9, (12, 12)).astype(dtype), rng.standard_normal((12, 12)).astype(dtype)

    def total(x, weights):
        greatest = lax.reduce_window(x, -np.inf, lax.max, (size, size), (1, 1), "SAME")
        return lax.reduce_sum(greatest * weights, (0, 1))

    narrow = arrax.jit(arrax.grad(total))(x, weights)
    wide = arrax.jit(arrax.grad(total))(x.astype(np.float32), weights.astype(np.float32))
    assert narrow.dtype == dtype
    np.testing.assert_array_equal(narrow, np.asarray(wide).astype(dtype))


def test_integers_and_small_floats_keep_their_types():
    x = np.arange(6, dtype=np.int32)
    result = lax.reduce_window(x, 0, lax.add, (3,))
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, [3, 6, 9, 12])
    halves = np.full((600,), 0.5, bfloat16)
    result = lax.reduce_window(halves, 0, lax.add, (600,))
    assert result.dtype == bfloat16
    assert float(lax.squeeze(result, (0,))) == 300
    greatest = arrax.grad(lambda v: lax.reduce_sum(lax.reduce_window(v, -np.inf, lax.max, (600,)), (0,)))
    assert greatest(halves).dtype == bfloat16


def test_pytrees_and_initial_values_per_example():
    (x,) = samples([(-2, 2)], np.float32, (3, 4))
    total, product = lax.reduce_window(
        (x, x), (0.0, 1.0), lambda a, b: (lax.add(a[0], b[0]), lax.mul(a[1], b[1])), (2, 2)
    )
    np.testing.assert_allclose(total, reference(x, 0, np.add, LAYOUTS["plain"]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(product, reference(x, 1, np.multiply, LAYOUTS["plain"]), rtol=1e-5, atol=1e-6)
    check_batching(lambda v, init: lax.reduce_window(v, init, lax.add, (2, 2)), [x, np.float32(0.2)], rtol=1e-5)


@pytest.mark.parametrize("computation", [(lax.max, 0.5, np.maximum), (lax.min, -0.5, np.minimum)], ids=["max", "min"])
def test_what_extremes_start_with_is_compared_with_those_of_windows(computation):
    (x,) = samples([(-2, 2)], np.float32, (3, 4))
    combine, init, numpy = computation
    function = reducer(computation, LAYOUTS["padding"])
    np.testing.assert_array_equal(function(x), reference(x, init, numpy, LAYOUTS["padding"]))
    assert "reduce_window_" in str(arrax.make_jaxpr(function)(x))
    check_gradients(function, well_separated((3, 4)))


def test_named_paddings_and_shapes():
    assert lax.padtype_to_pads((10, 9), (3, 2), (2, 2), "SAME") == [(0, 1), (0, 1)]
    assert lax.padtype_to_pads((10, 9), (3, 2), (2, 2), "SAME_LOWER") == [(1, 0), (1, 0)]
    assert lax.padtype_to_pads((10, 9), (3, 2), (2, 2), "valid") == [(0, 0), (0, 0)]
    for windows in (((10, 9), (3,), (2,)), ((10,), (3,), (0,))):
        with pytest.raises(ValueError, match="padtype_to_pads: "):
            lax.padtype_to_pads(*windows, "SAME")
    pads = lax.padtype_to_pads(np.array([10]), np.array([3]), np.array([2]), "SAME")
    assert pads == [(0, 1)] and {type(length) for length in pads[0]} == {int}
    with pytest.raises(TypeError, match="padtype_to_pads"):
        lax.padtype_to_pads((10.0,), (3,), (2,), "SAME")
    assert lax.reduce_window_shape_tuple((10,), (3,), (2,), ((1, 1),)) == (5,)
    assert lax.reduce_window_shape_tuple((3, 4), (4, 2), (1, 1), "VALID") == (0, 3)
    assert lax.reduce_window(np.ones((3, 4), np.float32), 0.0, lax.add, (4, 2)).shape == (0, 3)


def test_ill_fitting_windows_are_refused():
    x = np.ones((3, 4), np.float32)
    with pytest.raises(TypeError, match="one entry of window_dimensions per axis"):
        lax.reduce_window(x, 0.0, lax.add, (2,))
    with pytest.raises(TypeError, match="every entry of window_strides must be positive"):
        lax.reduce_window(x, 0.0, lax.add, (2, 2), (0, 1))
    with pytest.raises(ValueError, match="unknown padding 'FOO'"):
        lax.reduce_window(x, 0.0, lax.add, (2, 2), padding="FOO")
    with pytest.raises(TypeError, match="reduce_window_sum does not accept dtype bool"):
        lax.reduce_window_sum_p.bind(x > 0, **Windows.read("", x.shape, (1, 1), None, "VALID", None, None)._asdict())
