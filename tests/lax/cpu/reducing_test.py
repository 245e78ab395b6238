"""Places of extremes, counts, sums of integers, running extremes, searches and convolutions: the CPU's own routes."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.lax import computations
from tests.lax.cpu.routes import (
    FLOATS,
    INTEGERS,
    assert_as_numpy,
    assert_routes_agree,
    awkward,
    by_turns,
    formed_text,
    lowered_text,
    on_both_routes,
    without_subnormals,
)
from tests.support import x64_for

RNG = np.random.default_rng(0)
SHAPE = (300, 250)


@pytest.mark.parametrize("dtype", [np.dtype(bool), *INTEGERS[:6], FLOATS[2], FLOATS[3]], ids=str)
def test_places_of_extremes(dtype):
    def everything(xp, x):
        return [f(v, axis) for f in (xp.argmax, xp.argmin) for v, axis in ((x, None), (x[0], None), (x, 0), (x, 1))]

    assert_as_numpy(everything, without_subnormals(awkward(dtype, SHAPE)))


@pytest.mark.parametrize("length", [*range(1, 10), 11, 15, 16, 17, 21, 24, 31, 32, 33, 63, 100, 126])
def test_places_of_extremes_along_short_axes(length):
    shapes = (np.float32, (4096, length)), (np.int32, (length, 4096)), (np.float32, (64, length, 65))
    arrays, axes = [awkward(dtype, shape) for dtype, shape in shapes], [shape.index(length) for _, shape in shapes]
    names = ("argmax", "argmin", "argmax") if length % 2 else ("argmin", "argmax", "argmin")
    places = arrax.jit(lambda xs: [getattr(jnp, f)(x, n) for f, x, n in zip(names, xs, axes, strict=True)])(arrays)
    for name, x, axis, found in zip(names, map(without_subnormals, arrays), axes, places, strict=True):
        np.testing.assert_array_equal(found, getattr(np, name)(x, axis))


@pytest.mark.parametrize(
    ("shape", "axis", "apart"),
    [((64, 100), 1, True), ((64, 64), 1, False), ((160, 40), 0, False), ((2, 77, 40), 1, False)],
)
def test_places_of_extremes_of_computed_elements(shape, axis, apart):
    x = RNG.integers(-9, 9, shape).astype(np.float32)

    def places(x):
        return jnp.argmax(abs(x), axis), jnp.argmin((x - x[:1]) ** 2, axis)

    for found, exact in zip(
        arrax.jit(places)(x), (np.argmax(abs(x), axis), np.argmin((x - x[:1]) ** 2, axis)), strict=True
    ):
        np.testing.assert_array_equal(found, exact)
    assert ("search_by_pairs" in lowered_text(places, x)) == apart


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_places_of_extremes_of_16_bit_floats(dtype):
    rows = [without_subnormals(awkward(np.dtype(dtype), (512, length))) for length in (3, 14, 25, 47)]
    places = arrax.jit(lambda xs: [(jnp.argmax(x, 1), jnp.argmin(x + x, 1), jnp.argmax(x, 0)) for x in xs])(rows)
    for x, (greatest, least, columns) in zip(rows, places, strict=True):
        np.testing.assert_array_equal(greatest, np.argmax(x, 1))
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(least, np.argmin(x + x, 1))
        np.testing.assert_array_equal(columns, np.argmax(x, 0))


@pytest.mark.parametrize("shape", [(3, 300), (1, 5001), (5001, 2), (2, 100_003), (1, 200_003)], ids=str)
@pytest.mark.parametrize("dtype", [np.dtype(bool), np.dtype(np.int32), FLOATS[0]], ids=str)
def test_places_that_the_dtype_of_indices_does_not_hold_wrap_around(dtype, shape):
    axis = int(np.argmax(shape))
    x = np.zeros(shape, dtype)
    np.moveaxis(x, axis, 0)[shape[axis] - 7] = 1
    places = arrax.jit(lambda x: [lax.argmax(x, axis, index_dtype) for index_dtype in (np.int8, np.uint8, np.int16)])(x)
    for index_dtype, found in zip((np.int8, np.uint8, np.int16), places, strict=True):
        np.testing.assert_array_equal(found, np.argmax(x, axis).astype(index_dtype), strict=True)


APART = [(40, 2, 40, 3, 2), (2, 9, 3, 500), (5, 50, 70, 3), (40, 5, 90)]


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [*by_turns(APART, FLOATS[2], np.dtype(bool), FLOATS[0], INTEGERS[3], FLOATS[1]), (FLOATS[3], APART[0])],
    ids=str,
)
def test_extremes_over_axes_that_are_not_neighbours(dtype, shape):
    x = without_subnormals(awkward(dtype, shape))
    x[(1,) * x.ndim] = np.nan if dtype.kind not in "iub" else 1
    choices = (0, 2), (1, x.ndim - 1), tuple(range(0, x.ndim, 2))
    assert_as_numpy(lambda xp, x: [f(x, axes) for axes in choices for f in (xp.max, xp.min, xp.any)], x)


def test_places_of_extremes_without_nan():
    x = awkward(np.float32, SHAPE)
    assert "custom_call" in lowered_text(lambda x: jnp.argmax(x, axis=1), x)
    assert_routes_agree(lambda x: [jnp.nanargmax(x, axis=1), jnp.nanargmin(x), jnp.nanargmax(x, axis=0)], x)


@pytest.mark.parametrize("dtype", [np.dtype(bool), *INTEGERS[:6]], ids=str)
def test_sums_and_extremes_of_integers(dtype):
    def everything(xp, x):
        functions = xp.sum, xp.max, xp.min, xp.all, xp.any
        return [f(x, axis) for f in functions for axis in (None, 1, 0)] + [xp.count_nonzero(x > 0), (x > 0).sum(1)]

    assert_as_numpy(everything, awkward(dtype, SHAPE))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_counts(dtype):
    info = np.iinfo(dtype)
    x = RNG.integers(max(info.min, -5), min(info.max, 1005), 20_000).astype(dtype)
    x[:5] = info.max
    x[5:9] = info.min

    def everything(x):
        return [jnp.bincount(x, length=100), jnp.bincount(x, length=1000), arrax.vmap(lambda v: jnp.bincount(v, length=9))(
            x.reshape(4, -1))]  # fmt: skip

    first, second, _ = assert_routes_agree(everything, x)
    expected = np.bincount(np.maximum(x.astype(np.int64)[x < 1000], 0), minlength=1000)
    np.testing.assert_array_equal(second, expected)
    np.testing.assert_array_equal(first, expected[:100])


@pytest.mark.parametrize("bins", [1, 7, 100, 5000])
def test_histograms_count_as_numpy_does(bins):
    x = np.concatenate([RNG.standard_normal(20_000), np.arange(-4, 5)]).astype(np.float32)
    edges = np.linspace(-3, 3, bins + 1, dtype=np.float32)
    x[: min(bins, 500)] = edges[: min(bins, 500)]
    counts, found = jnp.histogram(x, bins, range=(-3, 3))
    exact = np.histogram(x, np.asarray(found))[0]
    np.testing.assert_array_equal(counts, exact)
    np.testing.assert_array_equal(jnp.histogram(x, found)[0], exact)
    weighted = jnp.histogram(x, bins, range=(-3, 3), weights=np.full(x.size, 2, np.float32))[0]
    np.testing.assert_array_equal(weighted, 2 * exact)


@pytest.mark.parametrize(
    ("dtype", "length"),
    by_turns([1, 2, 7, 64, 100], FLOATS[2], np.dtype(np.int8), np.dtype(np.uint32), FLOATS[0]),
    ids=str,
)
def test_searches_find_the_places_that_numpy_finds(dtype, length):
    values = without_subnormals(np.concatenate([awkward(dtype, 500), np.zeros(3, dtype)]))
    table = np.sort(values[RNG.integers(0, 500, length)])
    if np.dtype(dtype).kind not in "iu":
        table = table[np.argsort(table.astype(np.float32), kind="stable")]
    ascending = table[~np.isnan(table.astype(np.float64))]
    numbers = values[~np.isnan(values.astype(np.float64))]

    def everything(xp, values, table, numbers, ascending):
        places = [xp.searchsorted(table, values, side) for side in ("left", "right")]
        return places + [xp.digitize(numbers, edges) for edges in (ascending, ascending[::-1]) if edges.size]

    assert_as_numpy(everything, values, table, numbers, ascending)


@pytest.mark.parametrize(
    "dtype", [np.dtype(np.int32), np.dtype(np.uint8), np.dtype(bool), FLOATS[0], FLOATS[2]], ids=str
)
def test_running_extremes(dtype):
    x, wide = (without_subnormals(awkward(dtype, shape)) for shape in (40_001, (3, 16_400, 2)))

    def everything(x, wide):
        return [f(x, 0, reverse) for f in (lax.cummax, lax.cummin) for reverse in (False, True)] + [lax.cummax(wide, 1)]

    if np.dtype(dtype).kind == "b":
        x, wide = x.astype(np.int8), wide.astype(np.int8)
    found = arrax.jit(everything)(x, wide)
    flat, maximum, minimum = x, np.maximum.accumulate, np.minimum.accumulate
    expected = [
        maximum(flat),
        maximum(flat[::-1])[::-1],
        minimum(flat),
        minimum(flat[::-1])[::-1],
        maximum(wide, axis=1),
    ]
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(own).astype(np.float64), other.astype(np.float64))


def test_running_totals_of_integers():
    x = RNG.integers(-(2**31), 2**31 - 1, 40_001).astype(np.int32)
    np.testing.assert_array_equal(lax.cumsum(x), np.cumsum(x, dtype=np.int32))
    np.testing.assert_array_equal(lax.cumprod(x, 0, True), np.cumprod(x[::-1], dtype=np.int32)[::-1])


@pytest.mark.parametrize("taps", [3, 16, 17, 200])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_long_vectors(taps, mode):
    x, kernel = RNG.standard_normal(6000).astype(np.float32), RNG.standard_normal(taps).astype(np.float32)
    for own, numpy in ((jnp.convolve, np.convolve), (jnp.correlate, np.correlate))[: 2 if taps == 17 else 1]:
        exact = numpy(x.astype(np.float64), kernel.astype(np.float64), mode)
        np.testing.assert_allclose(own(x, kernel, mode), exact, atol=3e-5 * np.sqrt(taps))


def test_infinities_reach_only_the_outputs_that_depend_on_them():
    x, kernel = RNG.standard_normal(6000).astype(np.float32), RNG.standard_normal(40).astype(np.float32)
    x[100], x[3000] = np.nan, np.inf
    own, general = on_both_routes(lambda x, k: jnp.convolve(x, k, "same"), x, kernel)
    np.testing.assert_allclose(own[0], general[0], atol=3e-4)


def test_convolutions_in_transformations():
    x, kernel = RNG.standard_normal((3, 5000)).astype(np.float32), RNG.standard_normal(20).astype(np.float32)

    def everything(x, kernel):
        def power(x, kernel):
            return (jnp.convolve(x, kernel) ** 2).sum()

        return [arrax.vmap(jnp.convolve, (0, None))(x, kernel), *arrax.grad(power, (0, 1))(x[0], kernel)]

    own, general = on_both_routes(everything, x, kernel)
    for one, other in zip(own, general, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=2e-2)


LARGE = [(70_000,), (50, 1400), (1400, 50), (6, 1203, 11)]


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [*by_turns(LARGE, FLOATS[2], *FLOATS[:2]), (FLOATS[3], LARGE[1]), (FLOATS[3], LARGE[3])],
    ids=str,
)
def test_extremes_of_floats_are_nan_where_there_is_any(dtype, shape):
    x = RNG.standard_normal(shape).astype(dtype)
    axes = dict.fromkeys((None, -1, 0, (len(shape) - 1) // 2))
    ways = (
        [("max", 1), ("min", -1)] if dtype.itemsize == 4 else [("min", 1), ("max", -1)]
    )  # of x, and of what is computed
    with x64_for(dtype):
        compiled = arrax.jit(lambda x: [getattr(x if sign > 0 else -x, f)(axis) for f, sign in ways for axis in axes])
        for place in (0, 7, x.size // 2, x.size - 1):
            bad = x.copy()
            bad.flat[place] = np.nan
            wide = bad.astype(np.float64)
            expected = [getattr(sign * wide, f)(axis) for f, sign in ways for axis in axes]
            for own, other in zip(compiled(bad), expected, strict=True):
                np.testing.assert_array_equal(np.float64(own), other)


def test_extremes_in_windows_are_nan_where_there_is_any():
    x = RNG.standard_normal((64, 64)).astype(np.float32)
    x[5, 9] = x[40, 63] = np.nan
    for operation, init, numpy in ((lax.max, -np.inf, np.max), (lax.min, np.inf, np.min)):
        found = lax.reduce_window(x, init, operation, (2, 2), (2, 2), "VALID")
        np.testing.assert_array_equal(found, numpy(x.reshape(32, 2, 32, 2), axis=(1, 3)))


WINDOWS = [
    ((2, 2), (2, 2), "VALID", (1, 1)), ((3, 3), (2, 1), "SAME", (1, 1)), ((1, 5), (1, 5), "SAME", (1, 1)),
    ((2, 3), (1, 1), ((3, 0), (0, 2)), (2, 3)), ((4, 4), (1, 3), "SAME_LOWER", (1, 2)), ((7, 7), (1, 1), "VALID", (1, 1)),
    ((1, 31), (1, 1), "VALID", (1, 1)), ((2, 2), (2, 2), ((-1, 2), (3, -2)), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "lengths", "strides", "padding", "dilation"),
    [(FLOATS[2], *window) for window in WINDOWS]
    + [(dtype, *window) for dtype in (FLOATS[1], np.dtype(np.int8)) for window in WINDOWS[1:4]],
    ids=str,
)
def test_extremes_in_windows_are_found_place_by_place(dtype, lengths, strides, padding, dilation):
    x, flags = without_subnormals(awkward(dtype, (23, 30))), np.zeros((23, 30), bool)
    rest = {"window_strides": strides, "padding": padding, "window_dilation": dilation}
    both = (computations.maximum, lax.max), (computations.minimum, lax.min)
    for extreme, operation in both if (lengths, strides) == WINDOWS[0][:2] else both[sum(lengths) % 2 :][:1]:
        init = extreme.identity(dtype)[()]
        joined = lambda a, b, op=operation: (op(a[0], b[0]), a[1] | b[1])  # noqa: E731

        def run(x, init=init, operation=operation, joined=joined):
            yield from (lax.reduce_window(y, init, operation, lengths, **rest) for y in (x, x + x))
            yield from (lax.reduce_window((y, flags), (init, False), joined, lengths, **rest)[0] for y in (x, x + x))

        own, own_of_computed, general, general_of_computed = arrax.jit(lambda x: list(run(x)))(x)
        np.testing.assert_array_equal(np.float64(own), np.float64(general))
        np.testing.assert_array_equal(np.float64(own_of_computed), np.float64(general_of_computed))


SUMMED_WINDOWS = [
    ((3, 3), (1, 1), (1, 1), True), ((2, 3), (2, 2), (1, 2), True), ((3, 2), (1, 3), (2, 1), True),
    ((2, 2), (2, 2), (1, 1), True), ((2, 1), (2, 1), (1, 1), False), ((7, 7), (1, 1), (1, 1), True),
    ((34, 2), (1, 1), (1, 1), False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "windows"),
    by_turns(SUMMED_WINDOWS, "float32", "int8", "bfloat16", "int32", "complex64", "float16"),
    ids=str,
)
def test_sums_in_windows_go_place_by_place(dtype, windows):
    lengths, steps, gaps, formed = windows
    x = RNG.integers(-9, 9, (21, 20)).astype(dtype)

    def sums(x):
        return lax.reduce_window(x, np.zeros((), dtype), lax.add, lengths, steps, "SAME", gaps)

    assert ("reduce_window_sum" not in formed_text(sums, x)) == formed
    assert_routes_agree(sums, x)  # whole numbers are exact in any order


@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize(
    ("lengths", "steps", "padding", "distances", "gaps"),
    [((2, 3), (1, 1), ((1, 0), (2, -1)), (2, 4), (1, 1)), ((40, 1), (1, 2), ((39, 39), (0, 0)), (40, 1), (1, 1)),
     ((3, 3), (1, 2), ((2, 2), (1, 1)), (3, 1), (1, 2)), ((2, 2), (1, 1), ((-1, 3), (-4, -3)), (5, 2), (1, 1))],
)  # fmt: skip
def test_elements_that_windows_see_alone_are_repeated(dtype, lengths, steps, padding, distances, gaps):
    x = RNG.integers(-9, 9, (6, 7)).astype(dtype)

    def sums(x):
        return lax.reduce_window(x, np.zeros((), dtype), lax.add, lengths, steps, padding, distances, gaps)

    assert "reduce_window_sum" not in formed_text(sums, x)
    assert_routes_agree(sums, x)  # whole numbers are exact in any order


def test_windows_of_few_elements_are_slices():
    x = np.ones((23, 30), np.float32)
    pooled = lambda x, lengths: lax.reduce_window(x, -np.inf, lax.max, lengths, (2, 2), "VALID")  # noqa: E731
    assert lowered_text(lambda x: pooled(x, (2, 2)), x).count("stablehlo.slice") == 4
    assert "reduce_window" in lowered_text(lambda x: pooled(x, (7, 7)), x)
    overlapping = lowered_text(lambda x: pooled(jnp.sin(x), (3, 3)), x)
    assert overlapping.count("stablehlo.sine") == 1 and "by_window_elements" in overlapping


@pytest.mark.parametrize("shape", [(2_500,), (3, 2_201), (2, 50, 51)], ids=str)
def test_flags_of_long_rows_are_reduced_as_floats(shape):
    axes = (0,) if len(shape) == 1 else tuple(range(1, len(shape)))
    none, one, both = np.zeros(shape, bool), np.zeros(shape, bool), np.arange(np.prod(shape)).reshape(shape) % 2 == 0
    one[..., -1] = True
    for flags in (none, one, both, ~one, ~none):
        for name in ("any", "all"):
            function = lambda x, name=name: getattr(jnp, name)(x, axes)  # noqa: E731
            out = arrax.jit(function)(flags)
            assert out.dtype == bool
            np.testing.assert_array_equal(out, getattr(np, name)(flags, axes))
            assert "reduce_or" not in formed_text(function, flags) and "reduce_and" not in formed_text(function, flags)


def test_counts_of_flags_in_rows_long_and_short():
    for shape in ((4, 20_000), (400, 300), (70, 1000)):
        x = RNG.random(shape) < 0.3
        for axis in (0, 1, None):
            np.testing.assert_array_equal(jnp.sum(x, axis=axis), x.sum(axis=axis))
            narrow = jnp.sum(x, axis=axis, dtype=np.int8)  # most counts wrap around
            np.testing.assert_array_equal(narrow, x.sum(axis=axis).astype(np.int8), strict=True)
            np.testing.assert_array_equal(jnp.all(x | True, axis=axis), (x | True).all(axis=axis))
            np.testing.assert_array_equal(jnp.any(x, axis=axis), x.any(axis=axis))


@pytest.mark.parametrize(
    "dtype", [np.dtype(bool), np.dtype(np.int8), FLOATS[1], FLOATS[2], np.dtype(np.complex64)], ids=str
)
def test_parts_are_put_side_by_side(dtype):
    def everything(xp, x, y):
        return [
            xp.roll(x, 77), xp.roll(x, 77, axis=1), xp.roll(x, -3, axis=0), xp.roll(x, (2, 3), (0, 1)),
            xp.concatenate([x[5:], y, x[:7]]), xp.concatenate([x[:, 9:], x, x[:, :1]], axis=1),
            xp.concatenate([x[::2], x[5:], x[9:9]]), xp.pad(x, ((3, 0), (2, 9)), mode="edge"), xp.pad(x, 7, mode="reflect"),
            xp.pad(x, 7, mode="wrap"), xp.concatenate([x[:, 1:], ~x[:, :1] if x.dtype == bool else -x[:, :1]], axis=1),
            xp.roll(x.reshape(6, 100, 450), (1, -2, 5), (0, 1, 2)), xp.roll(x.reshape(600, 90, 5), (2, 3), (0, 1)),
        ]  # fmt: skip

    assert_as_numpy(everything, awkward(dtype, (600, 450)), awkward(dtype, (40, 450), 1), bits=True)


def test_parts_of_rows_and_parts_that_are_computed_with_are_put_together_by_a_kernel():
    long, kernel = np.ones(1 << 18, np.float32), 'kernel = "concatenate"'
    assert kernel in lowered_text(lambda x: jnp.roll(x, 9, 1), long.reshape(2, -1))
    assert kernel in lowered_text(lambda x: jnp.roll(x, 9), long)
    assert kernel not in lowered_text(
        lambda x: jnp.roll(x, 9, 0), long.reshape(-1, 2)
    )  # the compiler copies part by part
    assert lowered_text(lambda x: jnp.roll(x, 9) + jnp.roll(2 * x, -9), long).count(kernel) == 2
    both = lowered_text(lambda x: jnp.roll(x, (3, 9), (0, 1)), long.reshape(512, -1))
    assert both.count(kernel) == 1 and "concatenate(" not in both and "stablehlo.concatenate" not in both


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [(dtype, shape) for dtype in FLOATS for shape in ((1, 3), (3, 4, 5), (40, 17))]
    + [(FLOATS[1 + n % 2], shape) for n, shape in enumerate([(2, 3), (3, 1), (7, 40), (33, 5), (40, 16), (3, 0, 2)])],
    ids=str,
)
def test_extremes_of_floats_keep_nan_along_every_axis(dtype, shape):
    x = RNG.standard_normal(shape).astype(dtype)
    x.flat[::11], x.flat[5::17], x.flat[3::13] = np.nan, np.inf, -np.inf
    with x64_for(dtype):
        choices = dict.fromkeys([-1, *range(len(shape) - 1), (0, 1), tuple(range(len(shape)))])
        if x.size == 0:
            choices = [axis for axis in choices if 1 not in np.atleast_1d(axis) % len(shape)]
        found = arrax.jit(lambda x: [(jnp.max(x, axis), jnp.min(x, axis)) for axis in choices])(x)
    for axis, (high, low) in zip(choices, found, strict=True):
        np.testing.assert_array_equal(np.float64(high), np.max(np.float64(x), axis))
        np.testing.assert_array_equal(np.float64(low), np.min(np.float64(x), axis))


@pytest.mark.parametrize(
    ("dtype", "axis"), [(FLOATS[0], 0), (FLOATS[1], -1), (FLOATS[2], 0), (FLOATS[2], -1), (FLOATS[3], 0)]
)
def test_extremes_of_stacks_compare_their_parts(dtype, axis):
    x = RNG.standard_normal((4, 6)).astype(dtype)
    x[0, 1], x[1, 2], x[2, 3], x[3, :2] = np.nan, np.inf, -np.inf, (0.0, -0.0)

    def parts(x):
        return [x, -x, x * 2, jnp.zeros_like(x)]

    def extremes(x):
        stack, joined = jnp.stack(parts(x), axis), lax.concatenate([lax.expand_dims(p, (0,)) for p in parts(x)], 0)
        return stack.max(axis), stack.min(axis), joined.max(0)

    with x64_for(dtype):
        assert "concatenate" not in lowered_text(lambda x: jnp.stack(parts(x), axis).max(axis), x)
        assert "concatenate" in lowered_text(lambda x: (stack := jnp.stack(parts(x), axis), stack.max(axis)), x)
        assert_routes_agree(extremes, x)


@pytest.mark.parametrize("bounds", [(0, 0, 2), (0, 2, 4), (0, 1, 4), (0, 0, 1)], ids=str)
def test_extremes_of_joins_of_parts_of_any_length_see_every_place(bounds):
    x = RNG.standard_normal((4, 3)).astype(np.float32)

    def joined(x):
        return lax.concatenate([x[a:b] * 2 for a, b in zip(bounds, bounds[1:], strict=False)], 0)

    expected = x[: bounds[-1]] * 2
    np.testing.assert_array_equal(arrax.jit(lambda x: joined(x).max(0))(x), expected.max(0))
    np.testing.assert_array_equal(arrax.jit(lambda x: joined(x).min(0))(x), expected.min(0))


def test_extremes_over_leading_axes_go_half_against_half():
    x = np.ones((9, 30), np.float32)
    assert "reduce" not in lowered_text(lambda x: x.max(0), x)
    assert "reduce" in lowered_text(lambda x: x.max(1), x) and "reduce" in lowered_text(
        lambda x: x.max(0), x.astype(np.int32)
    )


def reductions_in(text):
    return text.count("stablehlo.reduce(") + text.count('"stablehlo.reduce"')


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("length", [2, 16, 32, 33, 1400])
def test_extremes_of_rows_look_at_each_element_once_and_of_long_ones_as_integers(dtype, length):
    by_integers = length > 12 or np.dtype(dtype).itemsize < 4  # shorter rows go element by element
    with x64_for(dtype):
        text = lowered_text(lambda x: x.max(1), np.ones((9, length), dtype))
    assert reductions_in(text) == 1 and ("stablehlo.bitcast_convert" in text) == by_integers
    assert ("stablehlo.slice" in text) == (length > 32)


def test_extremes_over_long_axes_compare_windows():
    x = np.ones((50, 1400), np.float32)
    for shown, axis in ((x, 1), (x.T, 0), (x.ravel(), 0)):
        text = lowered_text(lambda x, axis=axis: x.max(axis), shown)
        assert text.count("stablehlo.slice") >= 8 and "extreme" not in text
        assert reductions_in(text) == (axis == shown.ndim - 1)  # over columns there is nothing left to reduce
    assert "@extreme" in lowered_text(lambda x: jnp.sin(x).max(1), x)  # apart from the sine, which is computed once
    assert "@extreme" not in lowered_text(lambda x: jnp.exp(x * 2).max(1), x)  # computed in the windows
    assert "slice" not in lowered_text(arrax.nn.softmax, x)  # which needs no second look


def test_extremes_of_columns_of_computed_elements_are_found_in_the_loop_that_computes_them():
    values = np.random.default_rng(1).normal(size=(2, 77, 64)).astype(np.float32)  # 9 groups of 8 rows, and 5 rows
    values[0, 3, 5], values[1, 75, 6], values[1, 40, 7] = np.nan, np.nan, np.inf
    values[0, :, 8], values[0, 50, 8] = -0.0, 0.0

    def extremes(x):
        return (x * 2).max(1), (-x).min(1), arrax.nn.relu(x).max(1)

    text = lowered_text(extremes, values)
    assert text.count("stablehlo.reduce(") == 3
    assert "stablehlo.reduce(" not in lowered_text(lambda x: arrax.nn.gelu(x).max(1), values)  # computed before
    assert "stablehlo.reduce(" not in lowered_text(lambda x: x.max(1), values)
    largest, least, positive = arrax.jit(extremes)(values)
    np.testing.assert_array_equal(largest, (values * 2).max(1))
    np.testing.assert_array_equal(least, (-values).min(1))
    np.testing.assert_array_equal(positive, np.maximum(values, 0).max(1))
    assert not np.signbit(largest[0, 8]) and np.signbit(least[0, 8])


def test_extremes_of_columns_that_are_repeated_are_computed_once():
    x, short = jnp.ones((200, 64)), jnp.ones((4, 64))
    assert "@extreme" in lowered_text(lambda x: x - x.max(0), x)
    assert "@extreme" in lowered_text(lambda x: x / jnp.abs(x.min(0))[None], x)
    assert "@extreme" in lowered_text(lambda x: x - arrax.jit(lambda m: m * 2)(x.max(0)), x)
    assert "@extreme" not in lowered_text(lambda x: jnp.exp(x.max(0)), x)
    assert "@extreme" not in lowered_text(lambda x: x - x.max(0), short)  # few comparisons for each element
    values = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    values[3, 2], values[:, 4] = np.nan, -0.0
    np.testing.assert_array_equal(arrax.jit(lambda x: x - x.max(0))(values), values - values.max(0))


@pytest.mark.parametrize("shape", [(20, 17), (20, 31), (17, 33), (12, 47), (5, 65), (3, 257), (2, 300, 3)], ids=str)
def test_extremes_of_axes_of_any_length_see_every_place(shape):
    length = shape[1]
    x = np.zeros((length, *shape), np.float32)
    x[np.arange(length), :, np.arange(length)] = 1  # in each batch at another place
    nan = np.where(x == 1, np.float32(-np.nan), np.float32(-3))
    found, lost = arrax.jit(lambda x, nan: (jnp.stack([x.max(2), -(-x).min(2)]), jnp.stack([nan.max(2), nan.min(2)])))(
        x, nan
    )
    assert (np.asarray(found) == 1).all() and np.isnan(lost).all()


@pytest.mark.parametrize("shape", [(6, 4), (4, 17), (4, 40), (40, 4), (300, 301), (30, 49, 50), (2, 30_001)], ids=str)
def test_zeros_of_both_signs_have_one_greatest_and_one_least(shape):
    x = np.where(np.indices(shape).sum(0) % 2, np.float32(0), np.float32(-0.0))  # like a chessboard
    for high, low in arrax.jit(lambda x: [(jnp.max(x, axis), jnp.min(x, axis)) for axis in (0, 1)])(x):
        assert not np.signbit(high).any() and np.signbit(low).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_of_extremes_have_no_sign(dtype):
    x = np.arange(100, dtype=np.float32).reshape(2, 50).astype(dtype)
    x[:, 3] = np.nan
    for f in (jnp.min, jnp.max):
        assert not np.signbit(np.asarray(f(x, axis=1), np.float64)).any()
