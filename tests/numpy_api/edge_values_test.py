"""Values of numpy's functions at the edges of what they take: zeros, nothing, infinities, few bits."""

import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.numpy_api.comparison import assert_same

WHOLE = np.array([3, -1, 0, 7, 2], np.int32)
BYTES = np.array([3, -1, 0, 120, 2], np.int8)
FLOATS = np.array([1.5, -2.25, 0.5, 3.0, -0.75], np.float32)
COMPLEX = np.array([1 + 2j, -1.5j, np.nan, -2 - 1j], np.complex64)
BOOLS = np.array([True, False, True])
NANS = np.array([1.0, np.nan, -np.inf, np.inf, 0.0], np.float32)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
NONE = np.zeros((0, 3), np.float32)

# fmt: off
AS_NUMPY = {
    "remainder by zero":            lambda np: np.remainder(WHOLE, 0 * WHOLE),
    "fmod by zero":                 lambda np: np.fmod(WHOLE, 0 * WHOLE),
    "divmod by zero":               lambda np: np.divmod(WHOLE, WHOLE - 3)[1],
    "bits of bools":                lambda np: np.bitwise_count(BOOLS),
    "fmax of complex numbers":      lambda np: np.fmax(COMPLEX, np.asarray(COMPLEX)[::-1]),
    "fmin of complex numbers":      lambda np: np.fmin(COMPLEX, 0.5),
    "square of bools":              lambda np: np.square(BOOLS).astype("int32"),
    "sum in bools":                 lambda np: np.sum(FLOATS, dtype=bool),
    "product in bools":             lambda np: np.prod(FLOATS, axis=0, dtype=bool, keepdims=True),
    "sum in bools under a mask":    lambda np: np.sum(BOOLS, dtype=bool, where=~BOOLS),
    "cumulative sum in bools":      lambda np: np.cumsum(NANS, dtype=bool),
    "cumulative product in bools":  lambda np: np.cumprod(FLOATS / 9, dtype=bool),
    "complex variance":             lambda np: np.var(FLOATS, dtype="complex64"),
    "covariance of nothing":        lambda np: np.cov(NONE, rowvar=False).astype("float32"),
    "covariance without freedom":   lambda np: np.cov(FLOATS, ddof=7).astype("float32"),
    "tolerances of another shape":  lambda np: np.isclose(2, 2.1, rtol=FLOATS / 10),
    "no differences of a scalar":   lambda np: np.diff(np.float32(2), n=0),
    "counts of tiles in an array":  lambda np: np.tile(WHOLE, np.asarray([2, 1])),
    "norms of no matrix":           lambda np: [np.linalg.norm(NONE, order) for order in (1, 2, np.inf, "nuc")],
    "condition of zeros":           lambda np: [np.linalg.cond(np.zeros((2, 2), "float32"), p) for p in (None, -2)],
    "geometric integers":           lambda np: np.geomspace(1, 5, 4, dtype="int32"),
    "geometric powers":             lambda np: np.geomspace(-1, -1000, 4, dtype="int32"),
    "integers in broken steps":     lambda np: np.arange(0.5, 5, 1.5, dtype="int32"),
    "sums along the first of three": lambda np: np.apply_along_axis(np.sum, 0, CUBE),
    "products along the middle":    lambda np: np.apply_along_axis(lambda x: np.outer(x, x), 1, CUBE),
    "one piece of a scalar":        lambda np: np.piecewise(2.0, [True], [1.0, 2.0]),
    "counts of bools":              lambda np: np.bincount(BOOLS),
    "integral of nothing":          lambda np: np.trapezoid(NONE[:, 0]),
    "integral over a table":        lambda np: np.trapezoid(CUBE, x=CUBE[0] ** 2),
    "no window":                    lambda np: np.kaiser(-1, 2.0),
    "truth of all":                 lambda np: np.logical_and.reduce(FLOATS),
    "truth of either up to each":   lambda np: np.logical_or.accumulate(WHOLE),
    "truth of one in pieces":       lambda np: np.logical_xor.reduceat(FLOATS, np.asarray([0, 2])),
    "rounded to more decimals than there are": lambda np: np.round(FLOATS, 30),
    "rounded to hundreds":          lambda np: np.round(np.asarray([149, 150, 250, -150, -250, 7, 151], dtype="int32"), -2),
    "rounded integers of many digits": lambda np: np.round(np.asarray([123456785, 123456795], dtype="int32"), -1),
    "rounded to nothing":           lambda np: np.round(WHOLE, -12),
    "jumps of integers":            lambda np: np.unwrap(np.asarray([4, 2, 0, -3]), discont=3.14, period=4),
    "no jumps of no integers":      lambda np: np.unwrap(np.asarray([], dtype="int32")),
    "columns by a directive":       lambda np: np.asarray(np.c_["c", [1, 2, 3], [4, 5, 6]]),
    "a remainder of no division":   lambda np: np.polydiv(np.ones(5, "f"), np.zeros(1, "f"))[1],
    "equal under negative tolerances": lambda np: np.isclose(FLOATS, FLOATS, rtol=-1, atol=-1),
    "logarithm of a sum of integers": lambda np: np.logaddexp.reduce(WHOLE).astype("float32"),
}
RESULTS = {
    "counts of cut values":         (lambda: jnp.unique(WHOLE, return_counts=True, size=2)[1], [1, 1]),
    "no unique values":             (lambda: jnp.unique(WHOLE, size=0), np.zeros(0)),
    "intersections end in the least": (lambda: jnp.intersect1d(WHOLE, np.array([2, 7]), size=3), [2, 7, 2]),
    "no intersection gives zeros":  (lambda: jnp.intersect1d(WHOLE, np.array([8, 9]), size=2), [0, 0]),
    "nothing in either":            (lambda: jnp.setxor1d(NONE, NONE, size=2), [0, 0]),
    "nothing in both":              (lambda: jnp.intersect1d(NONE, NONE, size=2, fill_value=4), [4, 4]),
    "wide sums of bytes":           (lambda: jnp.convolve(BYTES, BYTES[3:], preferred_element_type=jnp.int32),
                                     [360, -114, -2, 14400, 480, 4]),
    "narrow floats of bytes":       (lambda: jnp.correlate(BYTES, BYTES[:2], preferred_element_type=jnp.float16),
                                     [10, -3, -120, 358]),
    "half a turn of a scalar":      (lambda: jnp.fft.fftshift(2.0), 2),
    "orthogonal transform of nothing": (lambda: jnp.fft.fft(NONE[:, 0], norm="ortho"), np.zeros(0)),
    "places beyond the end":        (lambda: jnp.put(WHOLE, np.array([0, 9, -2]), 1, inplace=False), [1, -1, 0, 1, 1]),
    "places that are bools":         (lambda: jnp.put(WHOLE, np.array([True, False, True]), 1, inplace=False), [1, 1, 0, 7, 2]),
    "step of the same size":        (lambda: arrax.jit(lambda: jnp.arange(-1.5, 3, 0.7, dtype=int))(), range(-1, 6)),
}
# fmt: on


@pytest.mark.parametrize("case", AS_NUMPY)
def test_results_are_those_of_numpy(case):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = AS_NUMPY[case](np)
    assert_same(AS_NUMPY[case](jnp), expected)


@pytest.mark.parametrize("case", RESULTS)
def test_results_that_numpy_has_not(case):
    compute, expected = RESULTS[case]
    np.testing.assert_array_equal(compute(), expected)


def test_divisors_of_the_least_integer_are_those_of_numpy():
    x, y = np.meshgrid(*[np.int8([-128, -127, -6, 0, 3, 96, 127])] * 2)
    np.testing.assert_array_equal(jnp.gcd(x, y), np.gcd(x, y))
    np.testing.assert_array_equal(jnp.lcm(x, y), np.lcm(x, y))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"])
def test_sets_of_small_floats_are_sorted_and_have_one_nan(dtype):
    x = jnp.array([3.0, np.nan, 1.0, -np.nan, 2.0]).astype(dtype)

    def first(found):
        return np.asarray(found).astype(np.float32)

    np.testing.assert_array_equal(first(jnp.unique(x)), [1, 2, 3, np.nan])
    values, indices, inverse, counts = jnp.unique(x, True, True, True)
    np.testing.assert_array_equal(counts, [1, 1, 1, 2])
    np.testing.assert_array_equal(first(values[inverse]), first(x))
    assert values.dtype == x.dtype
    np.testing.assert_array_equal(first(jnp.union1d(x, x[:1])), [1, 2, 3, np.nan])
    np.testing.assert_array_equal(first(jnp.intersect1d(x[2:3], x)), [1])
    np.testing.assert_array_equal(first(jnp.setxor1d(x[::2], x[:1])), [1, 2])
    np.testing.assert_array_equal(first(jnp.setdiff1d(x[::2], x[:1])), [1, 2])
    np.testing.assert_array_equal(first(jnp.unique(jnp.stack([x[::2], x[::2]]), axis=0)), [[3, 1, 2]])


def test_sums_of_logarithms_have_the_principal_angle():
    rng = np.random.default_rng(0)
    x, y = ((rng.normal(size=200) + 1j * rng.normal(size=200)) * 4 for _ in range(2))
    expected = np.log(np.exp(x) + np.exp(y))
    np.testing.assert_allclose(jnp.logaddexp(x.astype("c8"), y.astype("c8")), expected, atol=2e-6)


def test_unraveled_indices_of_traced_shapes():
    places = arrax.jit(jnp.unravel_index)(3, (2, 3))
    assert [int(place) for place in places] == [1, 0] and all(place.weak_type for place in places)
    assert jnp.unravel_index(3, (2, 3))[0].weak_type
    shape = jnp.array([2, 3])  # known or traced
    assert jnp.unravel_index(3, shape) == arrax.jit(jnp.unravel_index)(3, shape) == (1, 0)
    with pytest.raises(ValueError, match=r"unravel_index: shape must be a number or a vector, got i32\[1,2\]"):
        jnp.unravel_index(3, shape[None])


def test_covariances_of_one_row_of_variables_in_columns():
    x = np.arange(3.0, dtype="f").reshape(1, 3)
    assert jnp.cov(x, rowvar=False, ddof=0).shape == (3, 3)


@pytest.mark.parametrize("mode", ["edge", "linear_ramp", "maximum", "mean", "reflect", "wrap"])
def test_what_lies_beside_no_elements_is_not_known(mode):
    assert jnp.pad(NONE, ((0, 0), (1, 1)), mode).shape == (0, 5)
    with pytest.raises(ValueError, match="can't extend empty axis 0"):
        jnp.pad(NONE, 1, mode)


def test_steps_of_floats_have_the_same_bits_compiled_and_not():
    for dtype in ("float32", "float16", "bfloat16"):

        def make(dtype=dtype):
            return jnp.arange(0.3, 10.0, 0.1, dtype=dtype)

        np.testing.assert_array_equal(make(), arrax.jit(make)())
    with arrax.transfer_guard("disallow"):
        jnp.arange(0.0, 5.0)
    assert str(arrax.make_jaxpr(lambda: jnp.arange(2, 10))()).count("mul") == 0


def test_axes_and_shapes_may_be_arrays_without_axes():
    x, last, first = jnp.ones((2, 3, 1)), np.array(-1), jnp.array(0)
    assert jnp.expand_dims(x, last).shape == lax.expand_dims(x, last).shape == (2, 3, 1, 1)
    assert jnp.moveaxis(x, first, last).shape == (3, 1, 2)
    assert jnp.squeeze(x, last).shape == (2, 3)
    assert jnp.swapaxes(x, first, last).shape == (1, 3, 2)
    assert jnp.gradient(x, axis=np.array(1)).shape == x.shape
    assert jnp.ones(3).transpose(first).shape == (3,)
    assert jnp.zeros(np.array(4)).shape == jnp.ones(jnp.array(4)).shape == lax.full(np.array(4), 1).shape == (4,)
    assert jnp.ones(6).reshape(np.array(6)).shape == (6,)
    assert jnp.sum(x, last).shape == jnp.sort(x, first)[..., 0].shape == jnp.flip(x, first)[..., 0].shape == (2, 3)
    assert jnp.asarray(np.arange(4, dtype="int32"), copy=False).shape == (4,)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_distances_to_the_next_number_are_those_of_numpy(dtype):
    limits = np.finfo(dtype)
    values = [
        0,
        1,
        -1,
        1.5,
        -1.5,
        limits.tiny,
        -limits.tiny,
        limits.smallest_subnormal,
        2,
        0.75,
        limits.max,
        np.nan,
        np.inf,
    ]
    with np.errstate(all="ignore"):
        x = np.array(values, dtype)
        np.testing.assert_array_equal(jnp.spacing(x), np.spacing(x))
    assert float(jnp.spacing(jnp.bfloat16(0))) > 0 and float(jnp.spacing(jnp.bfloat16(-2))) == -(2.0**-6)


@pytest.mark.parametrize(
    "base", [jnp.int8(3), jnp.uint8(3), jnp.int32(3), jnp.bool_(True)], ids=lambda base: str(base.dtype)
)
def test_known_integer_exponents_leave_the_dtype_of_the_base(base):
    with arrax.enable_x64(True):
        for exponent in (3, np.int64(600), np.array(3), jnp.int16(3)):
            found = base**exponent
            assert found.dtype == (np.int32 if base.dtype == bool else base.dtype)
            bits = 8 * found.dtype.itemsize
            assert (int(found) - int(base) ** int(exponent)) % 2**bits == 0
        assert jnp.power(2, np.int8(3)).weak_type


def test_floats_are_raised_to_large_integers():
    assert float(jnp.power(2.0, 2**31)) == np.inf and float(jnp.float32(0.5) ** (2**40)) == 0.0


def test_promised_indices_are_taken_as_they_are():
    text = str(
        arrax.make_jaxpr(lambda x, i: jnp.take_along_axis(x, i, 0, mode="promise_in_bounds"))(
            jnp.ones(3), jnp.array([1])
        )
    )
    assert "select_n" not in text and "lt" not in text.split()
    found = jnp.take_along_axis(
        jnp.array([10, 20]), jnp.array([-1]), 0, "promise_in_bounds", wrap_negative_indices=True
    )
    assert found[0] == 20


def test_a_bessel_function_is_finite_as_far_as_its_dtype_reaches():
    np.testing.assert_allclose(jnp.i0(90.0), 5.139238345508664e37, rtol=1e-5)
    assert jnp.i0(np.float16(11.5)) == np.float16(11746.14)
