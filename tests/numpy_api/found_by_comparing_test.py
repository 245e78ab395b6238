"""Faults that comparing call after call with NumPy has found: one row each."""

import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
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
    "kaiser":    (lambda: jnp.kaiser(3, FLOATS), TypeError),
    "histogram": (lambda: jnp.histogram(FLOATS, bins=2.5), TypeError),
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
    with pytest.raises(error, match="axis" if error is ValueError and name in ("delete", "linspace") else name):
        call()


def test_divisors_of_numbers_are_weak():
    assert (jnp.gcd(4, 6) * np.int8(3)).dtype == (jnp.lcm(4, 6) * np.int8(3)).dtype == np.int8
