"""Reductions, averages, accumulations, and those that ignore NaN: values, dtypes, options, derivatives, mistakes."""

import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.numpy_api.comparison import assert_same
from tests.support import quick_jit

FLOATS = np.array([[1.5, -2.0, 3.0], [4.0, 0.0, -1.0]], dtype=np.float32)
NANS = np.array([[1.5, np.nan, 3.0], [np.nan, np.nan, -1.0]], dtype=np.float32)
INTEGERS = np.arange(24, dtype=np.int32).reshape(2, 3, 4) % 7
BYTES = np.array([[100, 100, 3], [5, 6, 7]], dtype=np.int8)
COMPLEX = np.array([[1 + 2j, 3 - 1j, -2j]], dtype=np.complex64)
MASK = np.array([[True, False, True], [False, True, True]])

ALL = [
    "sum", "prod", "max", "min", "amax", "amin", "mean", "var", "std", "any", "all", "ptp", "count_nonzero", "cumsum",
    "cumprod", "nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nancumsum", "nancumprod",
]  # fmt: skip
WITH_KEPT_AXES = [name for name in ALL if "cum" not in name]
# fmt: off
MASKED = {
    "sum": {}, "prod": {}, "mean": {}, "var": {}, "std": {"ddof": 1}, "any": {}, "all": {},
    "max": {"initial": -5}, "min": {"initial": 9},
    "nansum": {"initial": 2}, "nanmax": {"initial": -9}, "nanmean": {}, "nanvar": {}, "nanprod": {"initial": 2},
}
# fmt: on


def reference(name, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(np, name)(*args, **kwargs)


@pytest.mark.parametrize("name", ALL)
def test_values_are_those_of_numpy(name):
    arrays = [FLOATS, INTEGERS, NANS]
    results = arrax.jit(lambda xs: [[getattr(jnp, name)(x), getattr(jnp, name)(x, axis=1)] for x in xs])(arrays)
    for result, x in zip(results, arrays, strict=True):
        expected = [reference(name, x), reference(name, x, axis=1)]
        floats = "mean" in name or "var" in name or "std" in name
        assert_same(result, [np.float32(e) for e in expected] if floats else expected)


@pytest.mark.parametrize("name", WITH_KEPT_AXES)
def test_reduced_axes_may_be_kept(name):
    expected = reference(name, INTEGERS, axis=(0, -1) if name not in ("argmax",) else 0, keepdims=True)
    result = getattr(jnp, name)(INTEGERS, axis=(0, -1), keepdims=True)
    assert_same(result, expected, dtypes=False)
    assert_same(getattr(jnp, name)(INTEGERS, axis=[0, 2], keepdims=True), expected, dtypes=False)


@pytest.mark.parametrize("name", MASKED)
def test_masks_choose_the_elements(name):
    options = {"axis": 0, "where": MASK, **MASKED[name]}
    assert_same(getattr(jnp, name)(NANS if name.startswith("nan") else FLOATS, **options),
                reference(name, NANS if name.startswith("nan") else FLOATS, **options), dtypes=False)  # fmt: skip


# fmt: off
DTYPES = {  # of the result for int8, uint8, bool, float16, bfloat16, complex64
    "sum":    ["int32", "uint32", "int32", "float16", "bfloat16", "complex64"],
    "nanprod": ["int32", "uint32", "int32", "float16", "bfloat16", "complex64"],
    "max":    ["int8", "uint8", "bool", "float16", "bfloat16", "complex64"],
    "mean":   ["float32", "float32", "float32", "float16", "bfloat16", "complex64"],
    "var":    ["float32", "float32", "float32", "float16", "bfloat16", "float32"],
    "cumsum": ["int8", "uint8", "int32", "float16", "bfloat16", "complex64"],
    "cumulative_sum": ["int32", "uint32", "int32", "float16", "bfloat16", "complex64"],
    "any":    ["bool"] * 6,
    "count_nonzero": ["int32"] * 6,
}
# fmt: on


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_of_results(name):
    kinds = ["int8", "uint8", "bool", "float16", "bfloat16", "complex64"]
    results = arrax.jit(lambda xs: [getattr(jnp, name)(x) for x in xs])([jnp.ones(2, kind) for kind in kinds])
    assert [result.dtype.name for result in results] == DTYPES[name]


def test_small_integers_do_not_overflow_unless_asked_to():
    assert_same(jnp.sum(BYTES, axis=0), np.array([105, 106, 10], np.int32))
    assert_same(jnp.sum(BYTES[:1], dtype="int8"), np.int8(-53))
    assert_same(jnp.sum(BYTES[:1], promote_integers=False), np.int8(-53))


def test_half_precision_is_averaged_in_single_precision():
    assert_same(jnp.mean(jnp.full(100, 60000, "float16")), np.float16(60000))


def test_sums_begin_with_the_initial_value():
    assert_same(jnp.sum(INTEGERS, axis=(0, 1, 2), initial=5), INTEGERS.sum(initial=5))
    assert_same(jnp.prod(FLOATS, axis=0, initial=2), FLOATS.prod(axis=0, initial=2))
    assert_same(jnp.max(np.zeros((0, 2)), axis=0, initial=3), np.full(2, 3.0))


def test_places_of_extremes():
    for name in ("argmax", "argmin"):
        assert_same(getattr(jnp, name)(FLOATS), getattr(np, name)(FLOATS))
        assert_same(
            getattr(jnp, name)(INTEGERS, axis=1, keepdims=True), getattr(np, name)(INTEGERS, axis=1, keepdims=True)
        )
    assert_same(jnp.argmax(NANS), np.int32(1))
    assert_same(jnp.nanargmax(NANS, axis=0), np.array([0, -1, 0], np.int32))
    assert_same(jnp.nanargmin(NANS, axis=1, keepdims=True), np.array([[0], [2]], np.int32))
    numbers = np.array([[1 + 2j, 3 - 1j, 3 + 4j, 3 + 4j], [1j, complex(2, np.nan), 5, np.nan]], np.complex64)
    for name in ("argmax", "argmin", "nanargmax", "nanargmin"):
        expected = getattr(np, name)(numbers, axis=1).astype(np.int32)
        assert_same(getattr(jnp, name)(numbers, axis=1), expected)
    assert_same(jnp.argmax(numbers), np.int32(np.argmax(numbers)))


def test_variances_of_complex_numbers_are_real():
    assert_same(jnp.var(COMPLEX, axis=1, ddof=1), np.var(COMPLEX, axis=1, ddof=1))
    assert_same(jnp.mean(COMPLEX, where=np.array([[True, False, True]])), np.mean(COMPLEX[:, [0, 2]]))


@pytest.mark.parametrize("values, dtype", [
    ([100, 100], "int8"), ([200, 100], "uint8"), ([1.5, 2.5], "int32"), ([-1.5, -2.5, 9.0], "int16"), ([1.0] * 200, "int8"),
], ids=str)  # fmt: skip
def test_means_in_a_dtype_of_integers_are_sums_and_quotients_of_them(values, dtype):
    expected = np.mean(np.array(values), dtype=dtype)
    for mean in (jnp.mean, jnp.nanmean, lambda x, dtype: jnp.mean(x, dtype=dtype, where=jnp.full(len(values), True))):
        found = mean(jnp.array(values), dtype=dtype)
        assert found == expected and found.dtype == dtype


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_means_may_be_integers_of_four_bits(dtype):
    for mean in (jnp.mean, jnp.nanmean):
        assert_same(mean(np.arange(3, dtype=np.float32), dtype=dtype), np.asarray(1).astype(dtype))


def test_traces_as_bools_say_whether_anything_is_on_the_diagonal():
    for values in (np.eye(2), np.zeros((2, 2)), np.array([[0.0, 1.0], [1.0, 0.0]])):
        assert_same(jnp.trace(values, dtype=bool), values.trace(dtype=bool))


def test_variance_may_use_a_known_mean_and_a_correction():
    assert_same(jnp.var(FLOATS, axis=1, mean=np.zeros((2, 1), np.float32), correction=1), (FLOATS**2).sum(1) / 2)
    assert jnp.var(FLOATS, ddof=np.int64(0), correction=1) == jnp.var(FLOATS, correction=1)
    assert np.isnan(jnp.std(FLOATS, ddof=6))


def test_averages_with_weights():
    weights = np.array([1.0, 2.0, 3.0], np.float32)
    assert_same(jnp.average(FLOATS, axis=1, weights=weights), np.average(FLOATS, axis=1, weights=weights))
    ours = jnp.average(FLOATS, weights=FLOATS**2, returned=True)
    assert_same(ours, np.average(FLOATS, weights=FLOATS**2, returned=True))
    assert_same(jnp.average(FLOATS, axis=0, returned=True), np.average(FLOATS, axis=0, returned=True))


def test_cumulative_sums_may_include_the_empty_one():
    assert_same(
        jnp.cumulative_sum(FLOATS, axis=1, include_initial=True), np.pad(np.cumsum(FLOATS, 1), ((0, 0), (1, 0)))
    )
    assert_same(jnp.cumulative_prod(BYTES[1], include_initial=True), np.array([1, 5, 30, 210], np.int32))


SMOOTH = ["sum", "prod", "mean", "var", "std", "max", "cumsum", "cumprod", "nansum", "nanmean", "nanvar", "nanmax"]


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_agree_with_finite_differences(name):
    x, tangent, step = FLOATS.astype(np.float64), np.cos(FLOATS).astype(np.float64), 1e-4
    _, derivative = arrax.jvp(lambda x: getattr(jnp, name)(x, axis=1), (FLOATS,), (np.float32(tangent),))
    high, low = (getattr(np, name)(x + s * tangent, axis=1) for s in (step, -step))
    np.testing.assert_allclose(derivative, (high - low) / (2 * step), rtol=1e-3, atol=1e-3)


def test_groups_too_small_for_a_variance_do_not_disturb_gradients():
    def loss(x):
        spread = jnp.nanvar(x, axis=1, ddof=1)
        return jnp.sum(jnp.where(jnp.isnan(spread), 0, spread))

    slope = arrax.grad(loss)(np.array([[1, np.nan, 4], [2, np.nan, np.nan]], np.float32))
    np.testing.assert_allclose(slope, [[-3, 0, 3], [0, 0, 0]])


# fmt: off
ERRORS = {
    "list":          (lambda: jnp.sum([1, 2]), TypeError, "sum requires ndarray or scalar arguments, got .*list"),
    "no such axis":  (lambda: jnp.sum(FLOATS, axis=2), ValueError, "axis 2 is out of bounds for array of dimension 2"),
    "repeated axis": (lambda: jnp.sum(FLOATS, axis=(0, -2)), ValueError, "duplicate value in 'axis'"),
    "out":           (lambda: jnp.sum(FLOATS, out=FLOATS), NotImplementedError, "The 'out' argument to sum"),
    "mask":          (lambda: jnp.sum(FLOATS, where=1), ValueError, "boolean"),
    "max masked":    (lambda: jnp.max(FLOATS, where=MASK), ValueError, "identity"),
    "max empty":     (lambda: jnp.max(np.zeros(0)), ValueError, "zero-size array to reduction operation max"),
    "argmax empty":  (lambda: jnp.argmax(np.zeros(0)), ValueError, "empty sequence"),
    "traced axis":   (lambda: arrax.jit(jnp.sum)(FLOATS, 0), TypeError, "axis argument"),
    "two ddofs":     (lambda: jnp.var(FLOATS, ddof=1, correction=1), ValueError, "simultaneously"),
    "real of complex": (lambda: jnp.var(COMPLEX, dtype="float32"), ValueError, "complex"),
    "weights":       (lambda: jnp.average(FLOATS, weights=FLOATS[0]), ValueError, "axis must be specified"),
    "weights shape": (lambda: jnp.average(FLOATS, axis=0, weights=FLOATS[0]), ValueError, "consistent"),
    "cumulative":    (lambda: jnp.cumulative_sum(FLOATS), ValueError, "axis must be given"),
    "ptp of bools":  (lambda: jnp.ptp(MASK), TypeError, "bool"),
}
# fmt: on


@pytest.mark.parametrize("case", ERRORS)
def test_mistakes_are_explained(case):
    call, kind, words = ERRORS[case]
    with pytest.raises(kind, match=words):
        call()


def test_programs_are_short():
    def operations(function):
        return [eqn.primitive.name for eqn in arrax.make_jaxpr(function)(FLOATS).jaxpr.eqns]

    assert operations(jnp.sum) == ["reduce_sum"]
    assert operations(jnp.mean) == ["reduce_sum", "div"]
    assert operations(jnp.max) == ["reduce_max"]
    assert operations(jnp.argmax) == ["reshape", "argmax"]


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("bfloat16", 0.02), ("float16", 0.003), ("float8_e4m3fn", 0.3), ("float8_e5m2", 0.6)]
)
def test_reductions_of_small_floats_are_those_of_large_ones(dtype, tolerance):
    names = (
        "sum prod mean var std max min argmax argmin any all median cumsum cumprod nansum nanmean nanmax nanmin nanvar "
        "nanmedian ptp count_nonzero average sort argsort"
    ).split()
    x = jnp.asarray(np.random.default_rng(0).normal(size=(4, 5)), dtype)

    def everything(x):
        return {f"{name} {axis}": getattr(jnp, name)(x, axis=axis) for name in names for axis in (None, 0, 1)}

    found, wanted = quick_jit(everything)(x), quick_jit(everything)(x.astype("float32"))
    for case, value in found.items():
        assert value.shape == wanted[case].shape
        size = 1 + float(jnp.abs(wanted[case]).max())
        difference = np.asarray(value, np.float32) - np.asarray(wanted[case], np.float32)
        assert np.abs(difference).max() <= tolerance * size, (case, value, wanted[case])


@pytest.mark.parametrize(
    "axis", [range(1, 3), [1, 2], np.array([1, 2]), jnp.array([1, 2])], ids=["range", "list", "ndarray", "array"]
)
def test_axes_may_come_in_any_sequence(axis):
    x = np.arange(24.0).reshape(2, 3, 4)
    for function in (jnp.sum, jnp.mean, jnp.max, jnp.any, jnp.var, jnp.nansum):
        np.testing.assert_array_equal(function(x, axis=axis), function(x, axis=(1, 2)))


def test_ranges_name_axes_of_other_functions_too():
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(jnp.flip(x, range(2)), np.flip(x, (0, 1)))
    np.testing.assert_allclose(arrax.nn.softmax(x, range(2)).sum((0, 1)), np.ones(4), rtol=1e-6)


NAMED = {
    "sum": {"initial": 2}, "mean": {}, "var": {"ddof": 1}, "std": {"correction": 1}, "max": {"initial": 3},
    "min": {"initial": -3}, "ptp": {}, "count_nonzero": {}, "nansum": {"initial": 2},
}  # fmt: skip
NAMED_MASKED = ("sum", "mean", "var", "std", "max", "min", "nansum")


@pytest.mark.parametrize("keepdims", [False, True])
def test_named_axes_are_reduced_as_the_batch_that_they_stand_for(keepdims):
    x = np.random.default_rng(0).integers(-8, 8, (4, 2, 3)).astype(np.float32)
    mask = x > -4

    def named(x, mask):
        plain = {name: getattr(jnp, name)(x, ("i", -1), keepdims=keepdims, **more) for name, more in NAMED.items()}
        masked = {
            name: getattr(jnp, name)(x, ("i", -1), keepdims=keepdims, where=mask, **NAMED[name])
            for name in NAMED_MASKED
        }
        return plain, masked

    plain, masked = arrax.vmap(named, axis_name="i", out_axes=None)(x, mask)
    rows, kept = np.moveaxis(x, 0, 1).reshape(2, 12), np.moveaxis(mask, 0, 1).reshape(2, 12)
    for name, more in NAMED.items():
        expected = getattr(jnp, name)(rows, 1, keepdims=keepdims, **more)
        np.testing.assert_allclose(plain[name], expected, rtol=1e-6, err_msg=name)
    for name, out in masked.items():
        expected = getattr(jnp, name)(rows, 1, keepdims=keepdims, where=kept, **NAMED[name])
        np.testing.assert_allclose(out, expected, rtol=1e-6, err_msg=name)
    small = arrax.vmap(lambda x: (jnp.mean(x, "i"), jnp.var(x, "i")), axis_name="i", out_axes=None)(jnp.bfloat16(x))
    assert [out.dtype for out in small] == [jnp.bfloat16] * 2
