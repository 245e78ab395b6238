"""Quantiles, covariances, histograms, convolutions, polynomials: values, options, derivatives, mistakes."""

import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.numpy_api.comparison import assert_same

RANDOM = np.random.default_rng(1)
FLOATS = np.array([3.0, -1.0, 2.5, 2.5, 0.0, 8.0], dtype=np.float32)
NANS = np.array([[1.5, np.nan, 3.0], [np.nan, np.nan, -1.0]], dtype=np.float32)
MATRIX = RANDOM.normal(size=(3, 5)).astype(np.float32)
INTEGERS = np.array([3, 1, 2, 1, 0, 6], dtype=np.int32)
COMPLEX = (FLOATS + 1j * FLOATS[::-1]).astype(np.complex64)
ARRAYS = (FLOATS, NANS, MATRIX, INTEGERS, COMPLEX)

# fmt: off
CASES = {
    "median":        lambda np, x, n, m, i, c: [np.median(x), np.median(m, axis=1), np.median(m, axis=(0, 1), keepdims=True), np.median(n, axis=1)],
    "nanmedian":     lambda np, x, n, m, i, c: [np.nanmedian(n), np.nanmedian(n, axis=0), np.nanmedian(m, axis=1)],
    "quantile":      lambda np, x, n, m, i, c: [np.quantile(x, 0.3), np.quantile(m, np.array([0.1, 0.9]), axis=1, keepdims=True)],
    "quantiles of integers": lambda np, x, n, m, i, c: [np.quantile(i, 0.3), np.quantile(i, 0.9, method="lower")],
    "nanquantile":   lambda np, x, n, m, i, c: np.nanquantile(n, np.array([0.25, 0.5]), axis=0),
    "percentile":    lambda np, x, n, m, i, c: [np.percentile(x, np.array([10, 55, 100])), np.nanpercentile(n, 30)],
    "quantile methods": lambda np, x, n, m, i, c: [
        np.quantile(x, q, method=method) for q in (0.0, 0.3, 0.5, 1.0)
        for method in ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "hazen", "weibull", "median_unbiased")],
    "weighted quantile": lambda np, x, n, m, i, c: np.quantile(x, 0.4, weights=np.abs(x), method="inverted_cdf"),
    "cov":           lambda np, x, n, m, i, c: [np.cov(m), np.cov(m, rowvar=False), np.cov(x, i), np.cov(i), np.cov(c, x, bias=True)],
    "cov with weights": lambda np, x, n, m, i, c: [np.cov(x, fweights=i), np.cov(x, x, aweights=np.abs(x), ddof=0),
                                                    np.cov(x, fweights=i, aweights=np.abs(x))],
    "corrcoef":      lambda np, x, n, m, i, c: [np.corrcoef(m), np.corrcoef(x), np.corrcoef(x, i)],
    "histogram":     lambda np, x, n, m, i, c: [*np.histogram(x, bins=4), *np.histogram(x, bins=3, range=(0, 4)),
                                                *np.histogram(x, bins=np.array([-1.0, 0, 2, 8]), weights=x, density=True)],
    "bin edges":     lambda np, x, n, m, i, c: np.histogram_bin_edges(np.ones(3, dtype="float32"), bins=2),
    "histogram2d":   lambda np, x, n, m, i, c: [*np.histogram2d(x, i, bins=[2, 3]), *np.histogram2d(x, x, bins=2, density=True)],
    "histogramdd":   lambda np, x, n, m, i, c: np.histogramdd(np.transpose(m), bins=2, range=[None, (-1, 1), None])[0],
    "convolve":      lambda np, x, n, m, i, c: [np.convolve(x, x[:a], mode) for mode in ("full", "same", "valid") for a in (1, 2, 3)],
    "convolve shorter": lambda np, x, n, m, i, c: [np.convolve(x[:2], x, mode) for mode in ("full", "same", "valid")],
    "convolve complex": lambda np, x, n, m, i, c: np.convolve(c, c[:3]),
    "correlate":     lambda np, x, n, m, i, c: [np.correlate(c, c[1:4], mode) for mode in ("full", "same", "valid")],
    "correlate shorter": lambda np, x, n, m, i, c: [np.correlate(c[1:4], c, mode) for mode in ("full", "same", "valid")],
    "polyval":       lambda np, x, n, m, i, c: [np.polyval(x[:3], m), np.polyval(i, i)],
    "polynomial sums": lambda np, x, n, m, i, c: [np.polyadd(x, x[:2]), np.polysub(i[:2], x)],
    "polymul":       lambda np, x, n, m, i, c: np.polymul(x, x[:3]),
    "polydiv":       lambda np, x, n, m, i, c: np.polydiv(x, x[:3])[0],
    "polyder":       lambda np, x, n, m, i, c: [np.polyder(x), np.polyder(x, 3), np.polyder(i, 2)],
    "polyint":       lambda np, x, n, m, i, c: [np.polyint(x), np.polyint(x, 2, k=np.array([1.0, 2.0])), np.polyint(i, k=3)],
    "poly":          lambda np, x, n, m, i, c: np.poly(x[:3]),
}
# fmt: on


def quietly(call, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args)


def check(ours, theirs):
    def narrow(r):
        r = np.asarray(r)
        return r.astype(np.complex64 if r.dtype.kind == "c" else np.float32)

    mine, expected = (r if isinstance(r, list | tuple) else [r] for r in (ours, theirs))
    assert_same([narrow(r) for r in mine], [narrow(r) for r in expected], rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("case", CASES)
def test_eager_results_are_those_of_numpy(case):
    check(CASES[case](jnp, *map(jnp.asarray, ARRAYS)), quietly(CASES[case], np, *ARRAYS))


def test_compiled_results_are_those_of_numpy():
    results = arrax.jit(lambda *xs: {name: case(jnp, *xs) for name, case in CASES.items()})(*ARRAYS)
    for name, case in CASES.items():
        check(results[name], quietly(case, np, *ARRAYS))


def test_dtypes_of_quantiles_and_counts():
    assert jnp.median(jnp.ones(3, "float16")).dtype == "float16"
    assert jnp.quantile(INTEGERS, 0.5).dtype == "float32"
    assert jnp.histogram(INTEGERS)[0].dtype == "float32"
    assert jnp.histogram2d(FLOATS, FLOATS)[0].dtype == "int32"


def test_roots_of_polynomials():
    for p in ([1.0, -3.0, 2.0], [0.0, 2.0, 1.0, 4.0, 0.0], [5.0], [1, 0, 1]):
        ours, theirs = np.sort_complex(np.asarray(jnp.roots(np.array(p)))), np.sort_complex(np.roots(p))
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    compiled = arrax.jit(lambda p: jnp.roots(p, strip_zeros=False))(np.float32([1, -3, 2]))
    np.testing.assert_allclose(np.sort_complex(np.asarray(compiled)), [1, 2], rtol=1e-5)
    check(jnp.poly(np.float32([[1, 2], [0, 3]])), np.poly([[1, 2], [0, 3]]).astype(complex))


def test_polynomials_are_fitted_to_points():
    x = np.float32([0, 1, 2, 3, 4.5])
    y = np.float32([1, 3, 2, 5, 4])
    w = np.float32([1, 2, 1, 0.5, 1])
    check(jnp.polyfit(x, y, 2), np.polyfit(x, y, 2))
    check(jnp.polyfit(x, np.stack([y, x], 1), 1, w=w), np.polyfit(x, np.stack([y, x], 1), 1, w=w))
    check(jnp.polyfit(x, y, 1, cov=True), np.polyfit(x, y, 1, cov=True))
    check(jnp.polyfit(x, y, 1, full=True)[:4], np.polyfit(x, y, 1, full=True)[:4])


def test_infinities_do_not_spoil_the_median():
    assert jnp.median(np.array([1.0, np.inf, np.inf])) == np.inf


def test_counts_of_integers():
    assert_same(jnp.bincount(INTEGERS), np.bincount(INTEGERS))
    assert_same(jnp.bincount(INTEGERS, FLOATS, minlength=9), np.float32(np.bincount(INTEGERS, FLOATS, 9)))
    count = arrax.jit(lambda i: jnp.bincount(i, length=3))
    assert_same(count(INTEGERS), np.int32([1, 2, 1]))


def test_derivatives_agree_with_finite_differences():
    def functions(np, x):
        return [
            np.quantile(x, 0.3),
            np.cov(x, x * x),
            np.corrcoef(x, x * x)[0, 1],
            np.polyval(x, 0.5),
            np.convolve(x, x)[2:7],
        ]

    x, tangent, step = np.float64([3.0, -1.0, 2.5, 2.2, 0.3, 8.0]), np.cos(FLOATS).astype(np.float64), 1e-5
    _, derivatives = arrax.jvp(lambda x: functions(jnp, x), (np.float32(x),), (np.float32(tangent),))
    for derivative, high, low in zip(
        derivatives, functions(np, x + step * tangent), functions(np, x - step * tangent), strict=True
    ):
        np.testing.assert_allclose(derivative, (high - low) / (2 * step), rtol=2e-3, atol=2e-3)


# fmt: off
ERRORS = {
    "method":        (lambda: jnp.quantile(FLOATS, 0.5, method="foo"), ValueError, "'linear', 'lower'"),
    "weights":       (lambda: jnp.quantile(FLOATS, 0.5, weights=FLOATS), NotImplementedError, "inverted_cdf"),
    "complex":       (lambda: jnp.median(COMPLEX), ValueError, "complex"),
    "empty":         (lambda: jnp.median(np.zeros(0)), ValueError, "no elements"),
    "overwrite":     (lambda: jnp.median(FLOATS, overwrite_input=True), ValueError, "overwrite_input"),
    "list":          (lambda: jnp.quantile(FLOATS, [0.5]), TypeError, "position 1"),
    "cov rank":      (lambda: jnp.cov(np.ones((1, 1, 1))), ValueError, "more than 2"),
    "cov weights":   (lambda: jnp.cov(FLOATS, fweights=FLOATS), TypeError, "integers"),
    "bins":          (lambda: jnp.histogram(FLOATS, bins="auto"), NotImplementedError, "string"),
    "bincount":      (lambda: jnp.bincount(FLOATS), TypeError, "integer"),
    "bincount traced": (lambda: arrax.jit(jnp.bincount)(INTEGERS), TypeError, "`length`"),
    "convolve rank": (lambda: jnp.convolve(MATRIX, FLOATS), ValueError, "1-dimensional"),
    "convolve mode": (lambda: jnp.convolve(FLOATS, FLOATS, mode="a"), ValueError, "mode must be one of"),
    "convolve empty": (lambda: jnp.convolve(FLOATS[:0], FLOATS), ValueError, "cannot be empty"),
    "polyder":       (lambda: jnp.polyder(FLOATS, -1), ValueError, "positive"),
    "polyint":       (lambda: jnp.polyint(FLOATS, 2, k=FLOATS), ValueError, "length 1 or m"),
}
# fmt: on


@pytest.mark.parametrize("case", ERRORS)
def test_mistakes_are_explained(case):
    call, kind, words = ERRORS[case]
    with pytest.raises(kind, match=words):
        call()


def test_convolutions_of_weak_vectors_are_weak():
    weak = jnp.full(3, 2)
    for found in (jnp.convolve(weak, weak), jnp.correlate(weak, np.ones(2, bool)), jnp.polymul(weak, weak)):
        assert found.weak_type
    assert not jnp.convolve(weak, np.ones(2, np.float32)).weak_type
