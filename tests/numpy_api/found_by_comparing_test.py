"""Faults that comparing call after call with NumPy has found: one row each."""

import array as stdarray
import collections
import collections.abc
import enum
import inspect
import pickle
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
    "step of the same size":        (lambda: arrax.jit(lambda: jnp.arange(-1.5, 3, 0.7, dtype=int))(), range(-1, 6)),
}
DERIVATIVES = {
    "remainders of zero":   (lambda x: jnp.remainder(x, 0.5), 1.5, 1),
    "divisors":             (lambda x: jnp.remainder(1.5, x), 0.5, -3),
    "rounded quotients":    (lambda x: jnp.floor_divide(x, 0.0) * 0 + jnp.floor_divide(2.0, x), 0.0, 0),
    "mantissas":            (lambda x: jnp.frexp(x)[0], 6.0, 0.125),
    "mantissa of zero":     (lambda x: jnp.frexp(x)[0], 0.0, 1),
    "Bessel function at 0": (jnp.i0, 0.0, 0),
    "spacings":             (jnp.spacing, 2.0, 0),
}
MISTAKES = {
    "floor":     (lambda: jnp.floor(COMPLEX), TypeError),
    "ceil":      (lambda: jnp.ceil(COMPLEX), TypeError),
    "trunc":     (lambda: jnp.trunc(COMPLEX), TypeError),
    "fabs":      (lambda: jnp.fabs(COMPLEX), TypeError),
    "hypot":     (lambda: jnp.hypot(COMPLEX, 1), TypeError),
    "i0":        (lambda: jnp.i0(COMPLEX), TypeError),
    "signbit":   (lambda: jnp.signbit(COMPLEX), TypeError),
    "std":       (lambda: jnp.std(FLOATS, dtype=int), ValueError),
    "nanvar":    (lambda: jnp.nanvar(FLOATS, where=WHOLE), ValueError),
    "cov":       (lambda: jnp.cov(FLOATS, dtype=int), ValueError),
    "quantile":  (lambda: jnp.quantile(FLOATS, 0.5j), TypeError),
    "nonzero":   (lambda: jnp.nonzero(FLOATS, size=2, fill_value=WHOLE), ValueError),
    "split":     (lambda: jnp.split(FLOATS, [1.5]), TypeError),
    "take":      (lambda: jnp.take(NONE, WHOLE, axis=0), IndexError),
    "delete":    (lambda: jnp.delete(np.float32(1), 0, axis=0), ValueError),
    "insert":    (lambda: jnp.insert(FLOATS, 1.5, 0), IndexError),
    "lexsort":   (lambda: jnp.lexsort(2), TypeError),
    "ediff1d":   (lambda: jnp.ediff1d(BOOLS), TypeError),
    "ravel":     (lambda: jnp.ravel(FLOATS, order="x"), ValueError),
    "linspace":  (lambda: jnp.linspace(1, 5, axis=1), ValueError),
    "geomspace": (lambda: jnp.geomspace(1j, 5, dtype=int), TypeError),
    "dot":       (lambda: jnp.dot(COMPLEX, COMPLEX, preferred_element_type=jnp.float32), TypeError),
    "fftfreq":   (lambda: jnp.fft.fftfreq(4, d=1j), TypeError),
    "bincount":  (lambda: jnp.bincount(WHOLE, length=-1), ValueError),
    "choose":    (lambda: jnp.choose(0, 2), TypeError),
    "unwrap":    (lambda: jnp.unwrap(COMPLEX), TypeError),
    "interp":    (lambda: jnp.interp(1j, FLOATS, FLOATS), TypeError),
    "interp of nothing": (lambda: jnp.interp(1.0, FLOATS[:0], FLOATS[:0]), ValueError),
    "kaiser":    (lambda: jnp.kaiser(3, FLOATS), TypeError),
    "histogram": (lambda: jnp.histogram(FLOATS, bins=2.5), TypeError),
    "histogram_bin_edges": (lambda: jnp.histogram_bin_edges(FLOATS, "auto"), NotImplementedError),
    "histogram of no bins": (lambda: jnp.histogram(FLOATS, bins=None), TypeError),
    "histogram over no range": (lambda: jnp.histogram(FLOATS, range=np.ones(3)), ValueError),
    "histogram over a descending range": (lambda: jnp.histogram(FLOATS, range=(1, 0)), ValueError),
    "frombuffer": (lambda: jnp.frombuffer(b"abcd", dtype=2.5), TypeError),
    "fromstring": (lambda: jnp.fromstring("1 2", dtype=-1, sep=" "), TypeError),
    "nan_to_num": (lambda: jnp.nan_to_num(FLOATS, posinf=[0]), TypeError),
    "reduceat":  (lambda: jnp.add.reduceat(FLOATS, FLOATS), ValueError),
    "take_along_axis": (lambda: jnp.take_along_axis(NONE, WHOLE[:, None], 0), IndexError),
    "rfftfreq":  (lambda: jnp.fft.rfftfreq(4, d=FLOATS), ValueError),
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


@pytest.mark.parametrize("case", DERIVATIVES)
def test_derivatives_at_edges(case):
    function, place, slope = DERIVATIVES[case]
    assert arrax.grad(function)(place) == slope


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name):
    call, error = MISTAKES[name]
    with pytest.raises(
        error, match="axis" if error is ValueError and name in ("delete", "linspace") else name.split()[0]
    ):
        call()


def test_divisors_and_angles_of_numbers_are_weak():
    assert jnp.angle(1j).weak_type and not jnp.angle(-1.0).weak_type
    assert (jnp.gcd(4, 6) * np.int8(3)).dtype == (jnp.lcm(4, 6) * np.int8(3)).dtype == np.int8


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


def test_sinc_has_all_its_derivatives_at_zero_and_beside_it():
    function, found = jnp.sinc, []
    points = jnp.array([0.0, 1e-3, 0.15, 0.17, 0.5])
    for _ in range(6):
        found.append(arrax.vmap(function)(points))
        function = arrax.grad(function)
    x = np.asarray(points, np.float64)
    for order, values in enumerate(found):  # the derivatives of the integral of cos(pi x t) over t from 0 to 1
        t = np.linspace(0, 1, 20001)
        integrand = (np.pi * t) ** order * np.cos(np.pi * x[:, None] * t + order * np.pi / 2)
        np.testing.assert_allclose(values, np.trapezoid(integrand, t), rtol=2e-5, atol=1e-4 * 3.2**order)


def test_small_floats_are_read_back_from_files(tmp_path):
    x = jnp.arange(3, dtype="bfloat16")
    jnp.save(tmp_path / "x.npy", x)
    assert jnp.load(tmp_path / "x.npy").dtype == x.dtype
    np.testing.assert_array_equal(jnp.load(tmp_path / "x.npy"), x)
    np.save(tmp_path / "texts.npy", np.array(["a", "b"]))
    assert isinstance(jnp.load(tmp_path / "texts.npy"), np.ndarray)


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


@pytest.mark.parametrize(
    "call",
    [
        lambda x: jnp.sum(x, dtype="float32"), lambda x: jnp.cumsum(x, dtype="int32"), lambda x: jnp.mean(x, dtype="float32"),
        lambda x: jnp.nanmean(x, dtype="float32"), lambda x: jnp.trace(x[None], dtype="int32"), lambda x: x.astype("int8"),
        lambda x: lax.convert_element_type(x, "float32"), lambda x: jnp.asarray(x, "float32"),
    ],
)  # fmt: skip
def test_dropped_imaginary_parts_are_warned_of(call):
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert not jnp.iscomplexobj(call(jnp.asarray(COMPLEX)))


@pytest.mark.parametrize("mode", ["edge", "linear_ramp", "maximum", "mean", "reflect", "wrap"])
def test_what_lies_beside_no_elements_is_not_known(mode):
    assert jnp.pad(NONE, ((0, 0), (1, 1)), mode).shape == (0, 5)
    with pytest.raises(ValueError, match="can't extend empty axis 0"):
        jnp.pad(NONE, 1, mode)


def test_values_that_are_no_elements_are_refused_or_warned_of():
    for values in (None, [0.0, None]):
        with pytest.warns(FutureWarning, match="None encountered"):
            assert np.isnan(jnp.array(values)).any()
    with pytest.raises(ValueError, match="complex"):
        jnp.arange(1 + 2j, 5)


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


def test_the_derivative_of_a_pseudo_inverse_needs_no_more_memory_than_the_matrix():
    for shape in ((100000, 2), (2, 100000)):
        a = np.random.default_rng(0).normal(size=shape).astype("f")
        p, t = arrax.jvp(jnp.linalg.pinv, (a,), (a,))
        np.testing.assert_allclose(t, -p, rtol=1e-2, atol=1e-6)  # of c a it is a's over c


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


def test_integers_are_not_raised_to_negative_powers():
    known = jnp.int32(-1)
    for raised in (
        lambda: jnp.power(7, -2), lambda: jnp.array([7]) ** -2, lambda: jnp.int8(7) ** known, lambda: 2**known,
        lambda: jnp.power(True, known), lambda: arrax.vmap(lambda x: x**known)(jnp.arange(3)),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="negative powers"):
            raised()
    assert len(arrax.make_jaxpr(lambda x: jnp.power(x, jnp.int32(2)))(1).eqns) <= 2
    assert float(jnp.power(2.0, known)) == 0.5 and jnp.power(jnp.arange(1, 3), -jnp.ones(2, int)).tolist() == [1, 0]


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


def test_lists_of_traced_values_may_be_complex():
    assert arrax.jit(jnp.iscomplexobj)([1 + 1j])


def test_arrays_are_not_hashable():
    assert not isinstance(jnp.ones(1), collections.abc.Hashable)
    with pytest.raises(TypeError, match="unhashable"):
        hash(jnp.ones(1))


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: jnp.zeros(3) + jnp.zeros(4), TypeError, "shapes"),
        (lambda: jnp.zeros((2, 3)) + jnp.zeros(4), ValueError, "shapes"),
        (lambda: jnp.ones((-1, 1)), TypeError, "non-negative"),
        (lambda: arrax.random.key(0) + 1, TypeError, "key<fry>"),
        (lambda: lax.reduce_window(jnp.ones(4), jnp.ones(2), lax.add, (2,), (1,), "VALID"), TypeError, "scalar"),
        (lambda: arrax.jit(lambda x: pickle.dumps(x))(1.0), arrax.errors.ConcretizationTypeError, "pickl"),
        (lambda: arrax.jit(lambda x: x.sharding)(1.0), AttributeError, "typeof"),
        (lambda: arrax.jit(lambda y: lax.composite(lambda x: x + y, "my")(y))(1.0), arrax.errors.UnexpectedTracerError, "close over"),
        (lambda: lax.broadcast_shapes((-1,)), TypeError, "non-negative"),
        (lambda: lax.broadcast_shapes("hello"), TypeError, "hello"),
        (lambda: arrax.random.permutation(arrax.random.key(0), 10, axis=3), ValueError, "axis 3"),
        (lambda: jnp.zeros(2, 3), TypeError, r"zeros\(\(2, 3\)\)"),
        (lambda: jnp.empty(2, 3), TypeError, r"empty\(\(2, 3\)\)"),
        (lambda: arrax.jit(lambda n: jnp.arange(n))(3), TypeError, "argument 'stop'"),
        (lambda: jnp.corrcoef(CUBE[0], dtype=int), ValueError, "corrcoef"),
        (lambda: jnp.nansum(FLOATS, where=WHOLE), ValueError, "nansum"),
        (lambda: jnp.expand_dims(FLOATS, (1, 1)), ValueError, "expand_dims"),
        (lambda: jnp.size(CUBE, (0, 0)), ValueError, "size"),
        (lambda: arrax.grad(lambda x: x)("a"), TypeError, "is not a valid JAX type"),
        (lambda: arrax.vmap(lambda x: x)({}), ValueError, "no argument holds an array"),
        (lambda: arrax.vmap(lambda x: x, in_axes=False), TypeError, "in_axes"),
        (lambda: arrax.vmap(lambda x: x, in_axes={"a": 0}), TypeError, "in_axes"),
        (lambda: arrax.jit(staticmethod(abs)), TypeError, "staticmethod"),
        (lambda: arrax.jit(lambda a, /, **kw: a, static_argnames="a"), ValueError, "by its position"),
        (lambda: arrax.jit(lambda *a, **kw: a, donate_argnames="a"), ValueError, "by its position"),
        (lambda: arrax.jit(lambda x: x, static_argnames="x", donate_argnames="x"), ValueError, "argnames.*'x'"),
        (lambda: arrax.eval_shape(lambda x: lax.top_k(x, 4), arrax.ShapeDtypeStruct((2**31 + 1,), "int8")), ValueError, "int32"),
    ],
)  # fmt: skip
def test_mistakes_have_the_class_that_they_have_elsewhere(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_other_ranks_of_vectorized_functions_can_be_refused():
    add = jnp.vectorize(lambda a, b: a + b)
    with arrax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="vectorize"):
        add(jnp.ones((2, 3)), jnp.ones(3))


def test_second_derivatives_of_arc_functions():
    for function, sign in ((jnp.arcsin, 1), (jnp.arccos, -1)):
        second = arrax.grad(arrax.grad(function))
        for x in (1e-10, 1e-4, 0.5):
            np.testing.assert_allclose(second(x), sign * x / (1 - x * x) ** 1.5, rtol=1e-6)
        assert float(second(1.0)) == sign * np.inf and float(second(-1.0)) == -sign * np.inf


def test_the_derivative_of_a_bessel_function_that_overflows():
    slope = arrax.grad(jnp.i0)
    assert float(slope(1e10)) == np.inf and float(slope(-1e10)) == -np.inf and float(slope(0.0)) == 0
    np.testing.assert_allclose(slope(50.0), 2.9030785901035566e20, rtol=1e-6)


def test_a_bessel_function_is_finite_as_far_as_its_dtype_reaches():
    np.testing.assert_allclose(jnp.i0(90.0), 5.139238345508664e37, rtol=1e-5)
    assert jnp.i0(np.float16(11.5)) == np.float16(11746.14)


def test_vectors_are_unraveled_by_equal_functions():
    ravel = arrax.flatten_util.ravel_pytree
    first, second, other = (ravel(tree)[1] for tree in ((jnp.ones(2),), (jnp.zeros(2),), (jnp.ones(3),)))
    assert first == second and hash(first) == hash(second) and first != other
    np.testing.assert_array_equal(first(jnp.arange(2.0))[0], [0, 1])


def test_zeros_are_made_like_anything_with_a_shape_and_a_dtype():
    class Described:
        shape, dtype, ndim = (2, 3), np.dtype(np.float16), 2

    made = jnp.zeros_like(Described())
    assert made.shape == (2, 3) and made.dtype == np.float16
    assert arrax.jit(lambda: jnp.full_like(Described(), 2))().shape == (2, 3)


class Colour(enum.IntEnum):
    RED = 2


@pytest.mark.parametrize(
    "call",
    [
        lambda two: jnp.arange(3) + two,
        lambda two: two * jnp.arange(3),
        lambda two: jnp.arange(3.0) ** two,
        lambda two: jnp.arange(3) == two,
        lambda two: jnp.int8(1) + two,
        lambda two: jnp.where(True, two, 0),
        lambda two: jnp.arange(3).at[two].set(two),
        lambda two: lax.add(jnp.int32(1), two),
        lambda two: arrax.grad(lambda x: x * two)(2.0),
        lambda two: arrax.vmap(lambda x: x + two)(jnp.arange(2)),
        lambda two: arrax.jit(lambda x: x * two)(two),
        lambda two: jnp.ones((two, two)).sum(two - 1),
    ],
)
def test_members_of_an_enumeration_are_the_integers_that_they_are(call):
    found, expected = call(Colour.RED), call(2)
    assert found.dtype == expected.dtype and found.weak_type == expected.weak_type
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("other", ["a", object(), [1, [2]]], ids=["text", "object", "ragged"])
def test_what_is_no_array_is_compared_with_none(other):
    for compare in (jnp.array_equal, jnp.array_equiv):
        with pytest.raises((TypeError, ValueError), match="array"):
            compare(jnp.ones(2), other)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: x[i], lambda x, i: x.at[i].set(1), jnp.take, lambda x, i: jnp.take_along_axis(x, i, 0),
        lambda x, i: jnp.argsort(x), lambda x, i: jnp.argmax(x), lambda x, i: jnp.nonzero(x, size=3),
        lambda x, i: jnp.unique(x, size=3), jnp.searchsorted,
    ],
)  # fmt: skip
def test_places_that_no_index_counts_are_refused(function):
    long, places = arrax.ShapeDtypeStruct((2**31 + 1,), np.int8), jnp.array([-1])
    with pytest.raises(OverflowError, match="int32 cannot count the 2147483649 places"):
        arrax.eval_shape(function, long, places)
    with arrax.enable_x64(True):
        arrax.eval_shape(function, long, places)


X = jnp.array([[1.0, 2.0], [3.0, 4.0]])
GIVEN = [(X,), (X, X), (X, 1), (X, X, X), (X, 1, X), ([X, X],)]
WITH_OUT = {
    f"{module.__name__}.{name}": function
    for module in (jnp, jnp.linalg, jnp.fft)
    for name in dir(module)
    if callable(function := getattr(module, name)) and not isinstance(function, type)
    if "out" in getattr(inspect.signature(function), "parameters", ())
}


@pytest.mark.parametrize("name", WITH_OUT)
def test_no_function_ignores_the_array_to_write_to(name):
    for args in GIVEN:
        try:
            WITH_OUT[name](*args, out=np.ones((2, 2)))
        except (NotImplementedError, TypeError, ValueError) as error:
            if "out" in str(error):
                return  # whatever else these arguments are good for
        else:
            pytest.fail(f"{name} takes out, and gives another array")
    pytest.fail(f"{name} does not refuse out")


@pytest.mark.parametrize("array", [np.ones(2), jnp.ones(2)], ids=["numpy", "arrax"])
def test_arrays_are_no_dtypes(array):
    calls = [
        lambda: jnp.hstack([1, 2], array),
        lambda: jnp.array([1], array),
        lambda: jnp.zeros(2, array),
        lambda: jnp.ones(1).astype(array),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="argument dtype: an array is no dtype; that of x is x.dtype"):
            call()


def test_fractions_are_no_counts():
    for call in (lambda: jnp.round(1.25, 0.5), lambda: arrax.nn.one_hot(1, 2.5), lambda: jnp.eye(2.5)):
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            call()


def test_the_dtype_of_a_python_number_is_that_of_its_array():
    assert [lax.dtype(x) for x in (1.0, 1, 1j, True)] == [np.float32, np.int32, np.complex64, np.bool_]
    with pytest.raises(ValueError, match="None has no dtype"):
        lax.dtype(None)


def test_rounding_has_no_slope_where_it_overflows_either():
    x = jnp.array([1.2, jnp.inf, jnp.nan, 3e38])
    for decimals in (0, 1, -2):
        np.testing.assert_array_equal(arrax.grad(lambda x, d=decimals: jnp.round(x, d).sum())(x), np.zeros(4))


def test_memory_of_donated_numbers_is_taken_for_the_result():
    add = arrax.jit(lambda x: x + 1, donate_argnums=0)
    for number in range(20):
        given = jnp.array(float(number))
        place = given.unsafe_buffer_pointer()
        result = add(given)
        assert given.is_deleted() and result.unsafe_buffer_pointer() == place and result == number + 1


def test_numbers_that_are_broadcast_become_arrays_where_programs_are_recorded():
    def rows(x):
        (both, _), alone = jnp.broadcast_arrays(2.5, 1), jnp.broadcast_to(1.5, ())
        return jnp.stack([x[None], both[None], alone[None]])

    np.testing.assert_array_equal(arrax.jit(rows)(1.0), [[1.0], [2.5], [1.5]])


def test_what_numpy_takes_for_an_array_becomes_one():
    class Picture:
        __array_interface__ = np.arange(3.0).__array_interface__

    class Shared:
        __array_struct__ = np.arange(3.0).__array_struct__

    wanted = [0.0, 1.0, 2.0]
    for value in (
        Picture(),
        Shared(),
        collections.deque(wanted),
        memoryview(np.arange(3.0)),
        stdarray.array("d", wanted),
    ):
        assert jnp.asarray(value).tolist() == wanted, type(value)
        assert jnp.array([value, value]).tolist() == [wanted] * 2, type(value)
    for value in ({1, 2}, {1: 2}, object(), "text", ["text"], [object()]):
        with pytest.raises(TypeError, match="Unexpected input type for array"):
            jnp.asarray(value)


def test_raveled_pytrees_of_weakly_typed_numbers_are_weak():
    for tree, weak in (
        (2.0, True),
        ([3, 4], True),
        ([jnp.asarray(2.0), 1.0], True),
        ([3, 4.0], False),
        ([np.float32(1), 2.0], False),
    ):
        vector, back = arrax.flatten_util.ravel_pytree(tree)
        assert vector.weak_type == weak and arrax.tree.structure(back(vector)) == arrax.tree.structure(tree)


def test_shapes_that_do_not_fit_are_listed_as_documented():
    with pytest.raises(ValueError) as caught:
        jnp.ones(100) * jnp.ones((100, 10))
    first, second = str(caught.value).split("\n")
    assert first == "Incompatible shapes for broadcasting: shapes=[(100,), (100, 10)]" and "multiply" in second


def test_a_step_of_zero_is_a_division_by_zero_as_in_numpy():
    for start, stop in ((0, 10), (0.0, 1.0)):
        with pytest.raises(ZeroDivisionError, match="arange: step"):
            jnp.arange(start, stop, 0)
