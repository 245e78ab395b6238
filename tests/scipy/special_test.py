"""Special functions: values against SciPy's and against exact ones, borders, 16 bits, derivatives, batching."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special

import arrax
from arrax.scipy import special
from tests.support import bfloat16, check_gradients, precision, wide

# fmt: off
FUNCTIONS = {  # name: (the domains of its operands, the tolerance in units of the precision)
    "beta": ([(0.2, 30), (0.2, 8)], 40), "betainc": ([(0.5, 5), (0.5, 5), (0, 1)], 200), "betaln": ([(0.2, 30), (0.2, 8)], 60),
    "boxcox": ([(0.1, 5), (-2, 2)], 20), "boxcox1p": ([(0.1, 5), (-2, 2)], 20), "comb": ([(3, 30), (0, 3)], 80),
    "dawsn": ([(-8, 8)], 100), "digamma": ([(0.1, 30)], 20), "entr": ([(0.1, 5)], 20), "erf": ([(-3, 3)], 8),
    "erfc": ([(-3, 5)], 60), "erfcx": ([(-4, 50)], 20), "erfinv": ([(-0.99, 0.99)], 8), "exp1": ([(0.01, 30)], 30),
    "expi": ([(0.5, 30)], 30), "expit": ([(-9, 9)], 8), "factorial": ([(0, 30)], 40), "gamma": ([(-0.9, 30)], 40),
    "gammainc": ([(0.5, 5), (0.1, 9)], 100), "gammaincc": ([(0.5, 5), (0.1, 9)], 100), "gammaln": ([(2.2, 300)], 20),
    "gammasgn": ([(-5, 5)], 0), "hyp1f1": ([(0.5, 3), (1, 4), (-5, 5)], 200), "hyp2f1": ([(0.5, 2), (0.5, 2), (3.1, 3.4), (-3, 0.6)], 900),
    "i0": ([(-9, 9)], 20), "i0e": ([(-9, 9)], 20), "i1": ([(0.1, 9)], 40), "i1e": ([(0.1, 9)], 40),
    "kl_div": ([(0.1, 2), (3, 5)], 40), "log_ndtr": ([(-9, 3)], 60), "logit": ([(0.01, 0.4)], 20), "loggamma": ([(2.2, 300)], 20),
    "ndtr": ([(-9, 3)], 80), "ndtri": ([(0.001, 0.4)], 20), "owens_t": ([(-2, 2), (0.1, 3)], 60), "poch": ([(0.1, 9), (0.1, 5)], 80),
    "rel_entr": ([(0.1, 2), (3, 5)], 20), "spence": ([(0.1, 0.9)], 20), "xlog1py": ([(0.1, 5), (0.5, 5)], 20),
    "xlogy": ([(0.1, 5), (2, 5)], 20), "zeta": ([(1.5, 9), (0.5, 5)], 20),
}
OWN_TESTS = {  # those with other operands or several results
    "bernoulli", "bessel_jn", "expn", "fresnel", "log_softmax", "logsumexp", "lpmn", "lpmn_values", "multigammaln", "polygamma",
    "sici", "softmax", "sph_harm", "sph_harm_y", "wofz",
}
# fmt: on
COVERED = (
    "gammasgn",
    "comb",
    "factorial",
    "hyp1f1",
    "hyp2f1",
    "beta",
    "poch",
    "betainc",
    "zeta",
)  # by tests of their own, or none
ENTIRE = [name for name in FUNCTIONS if name not in COVERED]
each_function = pytest.mark.parametrize("name", FUNCTIONS)


def draw(name, dtype, seed=0, count=40):
    rng = np.random.default_rng(seed)
    return [rng.uniform(low, high, count).astype(dtype) for low, high in FUNCTIONS[name][0]]


def reference(name):
    return getattr(scipy.special, "psi" if name == "digamma" else name)


def test_the_tables_have_every_name():
    assert set(FUNCTIONS) | OWN_TESTS == set(special.__all__)


NARROW = ("beta", "erf", "expi", "gamma", "log_ndtr", "ndtri", "spence")  # the others come to 32 bits the same way
LARGE = ("betainc", "gammainc", "gammaincc", "hyp1f1", "hyp2f1")  # their 16-bit numbers become 32 bits as all others do
KINDS = [
    (name, dtype) for name in FUNCTIONS for dtype in (np.float32, bfloat16) if dtype == np.float32 or name not in LARGE
]
WIDE = ("factorial", "hyp1f1", "hyp2f1")  # of the others special_edges_test.py has float64
OF_TYPES = [*KINDS, *((name, np.float64) for name in WIDE), *((name, np.float16) for name in NARROW)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_narrow_numbers_stay_what_they_are(name):
    for dtype in (np.dtype(np.float16), bfloat16):
        assert arrax.eval_shape(getattr(special, name), *draw(name, dtype)).dtype == dtype


@pytest.mark.parametrize(("name", "dtype"), OF_TYPES, ids=str)
def test_values_are_those_of_scipy(name, dtype):
    operands = draw(name, dtype)
    with arrax.enable_x64(dtype == np.float64):
        out = getattr(special, name)(*operands)
        assert out.dtype == dtype
    with np.errstate(all="ignore"):
        expected = reference(name)(*map(wide, operands))
    ulps = FUNCTIONS[name][1] if np.dtype(dtype).itemsize > 2 else 2
    finite = np.abs(expected) < 6e4 if dtype == np.float16 else np.isfinite(expected)
    tolerance = ulps * precision(dtype)
    np.testing.assert_allclose(wide(out)[finite], expected[finite], rtol=tolerance, atol=tolerance * 1e-2)


@pytest.mark.parametrize("name", ENTIRE)
def test_derivatives_agree_with_finite_differences(name):
    operands = draw(name, np.float64, seed=1, count=4)
    check_gradients(getattr(special, name), operands, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name", [name for name in FUNCTIONS if name != "hyp2f1"]
)  # (which is large, and made of the others)
def test_mapping_and_compiling_change_nothing(name):
    fun, operands = getattr(special, name), draw(name, np.float32)
    eager, tolerance = np.asarray(fun(*operands)), (FUNCTIONS[name][1] + 1) * precision(np.float32)
    np.testing.assert_allclose(np.asarray(arrax.jit(arrax.vmap(fun))(*operands)), eager, rtol=tolerance)


EXACT = {  # places where cancellation or a large exponent would cost digits: (exact function, places)
    "gammaln": (lambda x: mpmath.log(mpmath.gamma(x)), [1 + 1e-9, 2 - 1e-9, 0.001, 1.5, 9.99, 25.0]),
    "gamma": (mpmath.gamma, [-170.5, -3.1, 1e-10, 1.5, 33.3, 150.2]),
    "digamma": (mpmath.digamma, [1.46163, 1.4617, 0.01, 3.3, 1e8]),
    "expi": (mpmath.ei, [0.3725, 0.3726, -30.0, 3.0, 15.0, 400.0]),
    "erfc": (mpmath.erfc, [3.0, 13.3, 26.1]),
    "ndtr": (lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, [-37.1, -20.3, -5.2, 1.0]),
    "log_ndtr": (lambda x: mpmath.log1p(-mpmath.erfc(x / mpmath.sqrt(2)) / 2), [36.1, 12.2, 3.0]),
    "ndtri": (lambda p: mpmath.findroot(lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2 - p, 1.2), [0.6, 0.9, 0.95]),
    "spence": (lambda x: mpmath.re(mpmath.polylog(2, 1 - x)), [1 + 1e-9, 0.41, 1e-6, 3e5]),
    "logit": (lambda p: mpmath.log(p / (1 - p)), [0.5 + 1e-10, 0.38, 1e-250]),
    "kl_div": (lambda p: p * mpmath.log(p / mpmath.mpf(1.5)) - p + mpmath.mpf(1.5), [1.5 + 1e-9, 1.4, 0.2]),
    "dawsn": (lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x), [0.01, 1.9, 4.4, 7.7]),
    "zeta": (mpmath.zeta, [-5.5, -0.3, 0.5, 1.001, 20.0]),
}


@pytest.mark.parametrize("name", EXACT)
def test_digits_are_kept_where_they_are_easily_lost(name):
    exact, places = EXACT[name]
    others = (1.5,) if name == "kl_div" else ()
    with arrax.enable_x64(True), mpmath.workdps(60):
        for place in places:
            expected = exact(mpmath.mpf(place))
            error = abs(mpmath.mpf(float(getattr(special, name)(place, *others))) - expected) / abs(expected)
            assert error < 8 * np.finfo(np.float64).eps, (place, error)


@pytest.mark.parametrize(
    ("a", "b", "c"), [(1.0, 1.0, 2.0), (1.0, 1.5, 3.5), (0.5, 0.75, 1.25), (2.0, 1.5, 1.5), (1.25, 0.5, 4.75)]
)
def test_the_hypergeometric_function_keeps_its_digits_near_one(a, b, c):
    with arrax.enable_x64(True), mpmath.workdps(40):
        points = np.resize([0.8, 0.99, 0.9999, 1 - 1e-8, -1e3], 40)
        found = special.hyp2f1(*np.full((3, 40), [[a], [b], [c]]), points)
        for x, value in zip(points[:5].tolist(), np.asarray(found)[:5].tolist(), strict=True):
            expected = mpmath.hyp2f1(a, b, c, mpmath.mpf(x))
            assert abs(mpmath.mpf(value) / expected - 1) < 1e-13, x


def test_the_slope_of_the_hypergeometric_function_is_another_one():
    a, b, c, x = (np.full(40, number, np.float32) for number in (1.0, 1.5, 2.5, 0.3))
    slope = arrax.grad(lambda x: special.hyp2f1(a, b, c, x).sum())(x)
    np.testing.assert_allclose(slope, 0.6 * scipy.special.hyp2f1(2.0, 2.5, 3.5, x), rtol=1e-5)


PARAMETERS = {  # places where a formula changes, or the parameters are whole: (exact function, points)
    "hyp1f1": (mpmath.hyp1f1, [(1.2, 2.3, 0.7), (1.2, 2.3, -70.0), (1.2, 2.3, 90.0), (-2.0, 1.5, 5.0)]),
    "beta": (mpmath.beta, [(2.3, 1.2), (2.0, 2.0), (-2.3, 1.2), (30.0, 0.2), (25.0, 40.0)]),
    "poch": (mpmath.rf, [(2.3, 1.2), (-2.3, 1.2), (1e3, 0.3), (2.0, 15.0)]),
    "zeta": (mpmath.zeta, [(2.5,), (0.5,), (-4.5,), (-9.0,), (-30.2,)]),
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_derivatives_in_parameters_are_exact(name):
    exact, points = PARAMETERS[name]
    first = arrax.grad(getattr(special, name))
    slopes = [first, arrax.grad(first)]
    columns = np.array(points).T
    with arrax.enable_x64(True), mpmath.workdps(40):
        found = arrax.jit(arrax.vmap(lambda *point: [slope(*point) for slope in slopes]))(*columns)
        for order in range(1, len(found) + 1):
            orders = (order, *[0] * (len(columns) - 1))
            expected = [float(mpmath.diff(exact, point, orders)) for point in points]
            np.testing.assert_allclose(found[order - 1], expected, rtol=1e-10)


def test_derivatives_of_the_hypergeometric_function_in_parameters_are_exact():
    # where formulas change, at whole parameters, and near 1 with b = c, of which differences are in the gamma function's operands;
    # a and b may be exchanged
    points = [(0.7, 1.2, 2.35, 0.95), (1.0, 1.0, 2.0, 0.8), (1.5, -2.0, 0.7, 0.3), (1.2, 0.7, 2.3, -4.0), (0.884, 0.275, 0.884, 0.95),
              (0.275, 0.884, 0.884, 0.95)]  # fmt: skip
    with arrax.enable_x64(True), mpmath.workdps(40):
        found = arrax.jit(arrax.vmap(arrax.grad(special.hyp2f1, (1, 2))))(*np.array(points).T)
        for slopes, order in zip(found, ((0, 1, 0, 0), (0, 0, 1, 0)), strict=True):
            expected = [float(mpmath.diff(mpmath.hyp2f1, point, order)) for point in points]
            np.testing.assert_allclose(slopes[:4], expected[:4], rtol=1e-10)
            np.testing.assert_allclose(slopes[4:], expected[4:], rtol=1e-12)


def test_derivatives_of_bessel_functions_are_differences_of_neighbours():
    z = np.array([0.0, 1.5, 24.9, 25.1, -3.0])
    with arrax.enable_x64(True):
        slopes = arrax.jacfwd(lambda z: special.bessel_jn(z, v=3))
        for order, fun in ((1, slopes), (2, arrax.jacrev(slopes))):
            expected = [scipy.special.jvp(n, z, order) for n in range(4)]
            np.testing.assert_allclose(np.asarray(arrax.vmap(fun)(z)).T, expected, atol=1e-14)


def test_derivatives_of_spherical_harmonics_are_those_of_scipy():
    n, m = np.array([0, 1, 3, 3, 5]), np.array([0, 1, -2, 0, 4])
    theta, phi = np.array([0.0, 0.4, np.pi, 1.2, 2.0]), np.array([0.1, 2.0, 3.0, 0.0, 5.0])
    with arrax.enable_x64(True):
        found, expected = (f(n, m, theta, phi, diff_n=2) for f in (special.sph_harm_y, scipy.special.sph_harm_y))
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-13)
    with pytest.raises(ValueError, match="diff_n must be 0, 1 or 2"):
        special.sph_harm_y(n, m, theta, phi, diff_n=3)


def test_complex_arguments_are_taken_where_the_reference_takes_them():
    z = np.array([0.3 + 0.2j, -1.5 + 2j, 2 - 3j])
    with arrax.enable_x64(True):
        np.testing.assert_allclose(special.erfcx(z), scipy.special.erfcx(z), rtol=1e-13)
        np.testing.assert_allclose(special.logit(z), np.log(z / (1 - z)), rtol=1e-13)
        np.testing.assert_allclose(special.boxcox(z, 0.5), (np.sqrt(z) - 1) / 0.5, rtol=1e-13)
        np.testing.assert_allclose(special.boxcox1p(z, 0.5), (np.sqrt(1 + z) - 1) / 0.5, rtol=1e-13)
    assert special.wofz(np.float16([1])).dtype == np.complex64


def test_pairs_of_integrals_are_those_of_scipy():
    x = np.concatenate([np.linspace(-20, 20, 101), [1e3, 1e5]])
    with arrax.enable_x64(True):
        for ours, theirs in ((special.fresnel, scipy.special.fresnel), (special.sici, scipy.special.sici)):
            for out, expected in zip(ours(x), theirs(x), strict=True):
                np.testing.assert_allclose(out, expected, rtol=2e-12, atol=1e-14)
    points = np.array([0.7, 2.3, 5.1, 9.2])
    check_gradients(special.fresnel, [points])
    check_gradients(special.sici, [points])


def test_slopes_of_dawsons_integral_keep_their_digits_far_out():
    def exact(x):
        x = mpmath.mpf(float(x))
        return 1 - mpmath.sqrt(mpmath.pi) * x * mpmath.exp(-x * x) * mpmath.erfi(x)

    with arrax.enable_x64(True), mpmath.workdps(60):
        for dtype, places, tolerance in ((np.float32, [6.1, 150, 1e4], 3e-7), (np.float64, [30.1, 150, 1e4], 1e-14)):
            x = np.array([*places, 1e38, np.inf, -150], dtype)
            slopes = np.asarray(arrax.vmap(arrax.grad(special.dawsn))(x))
            np.testing.assert_allclose(slopes[:3], [float(exact(place)) for place in x[:3]], rtol=tolerance)
            assert np.abs(slopes[3:5]).max() < 1e-37
            assert slopes[5] == slopes[1]


def test_orders_of_integers_are_those_of_scipy():
    x = np.linspace(0.1, 30, 40)
    with arrax.enable_x64(True):
        for n in range(6):
            np.testing.assert_allclose(special.expn(n, x), scipy.special.expn(n, x), rtol=2e-14)
            np.testing.assert_allclose(special.polygamma(n, x), scipy.special.polygamma(n, x), rtol=1e-13, atol=1e-15)
        bessel = scipy.special.jv(np.arange(9)[:, None], np.append(x, [-3.0, 0.0, 300.0]))
        np.testing.assert_allclose(
            special.bessel_jn(np.append(x, [-3.0, 0.0, 300.0]), v=8), bessel, rtol=1e-12, atol=2e-14
        )
    check_gradients(lambda x: special.expn(2, x), [x[:5]])


def test_the_faddeeva_function_is_that_of_scipy():
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.uniform(-9, 9, 200) + 1j * rng.uniform(-3, 9, 200), [0, 1e5, 1e200j, 6 + 1e-9j, -5, -3j]])
    with arrax.enable_x64(True):
        np.testing.assert_allclose(special.wofz(z), scipy.special.wofz(z), rtol=1e-13)
        w = rng.uniform(-20, 20, 100) + 1j * rng.uniform(-20, 20, 100)
        np.testing.assert_allclose(special.loggamma(w), scipy.special.loggamma(w), rtol=1e-13)
        np.testing.assert_allclose(special.gamma(w), scipy.special.gamma(w), rtol=1e-12)


def test_legendre_functions_and_harmonics_are_those_of_scipy():
    rng = np.random.default_rng(0)
    z = np.linspace(-1, 1, 9)
    expected = scipy.special.assoc_legendre_p_all(6, 4, z, diff_n=1)[:, :, :5].transpose(0, 2, 1, 3)
    with arrax.enable_x64(True):
        values, slopes = special.lpmn(4, 6, z)
        np.testing.assert_allclose(values, expected[0], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(slopes, expected[1], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(special.lpmn_values(4, 6, z, False), expected[0], rtol=1e-12, atol=1e-13)
        theta, phi, n = rng.uniform(0, np.pi, 50), rng.uniform(0, 6, 50), rng.integers(0, 12, 50)
        m = np.array([rng.integers(-k, k + 1) for k in n])
        harmonics = scipy.special.sph_harm_y(n, m, theta, phi)
        np.testing.assert_allclose(special.sph_harm_y(n, m, theta, phi), harmonics, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(special.sph_harm(m, n, phi, theta, n_max=11), harmonics, rtol=1e-12, atol=1e-14)
        normed = special.lpmn_values(2, 3, np.cos(theta), True)
        expected = scipy.special.sph_harm_y(3, 2, theta, 0 * theta).real
        np.testing.assert_allclose(np.asarray(normed)[2, 3], expected, rtol=1e-12, atol=1e-14)


def test_programs_of_harmonics_of_high_degree_are_not_longer():
    n, m, theta = np.array([60, 60, 60, 41]), np.array([0, 1, 33, -41]), np.array([0.1, 1.2, 2.0, 0.9])

    def harmonics(theta, n_max):
        return special.sph_harm_y(n, m, theta, theta, n_max=n_max)

    with arrax.enable_x64(True):
        np.testing.assert_allclose(harmonics(theta, 60), scipy.special.sph_harm_y(n, m, theta, theta), atol=1e-13)
        few, many = (str(arrax.make_jaxpr(lambda x, k=k: harmonics(x, k))(theta)).count(" = ") for k in (5, 200))
    assert few == many


def test_numbers_of_bernoulli_and_combinations_are_exact():
    with arrax.enable_x64(True):
        np.testing.assert_array_equal(special.bernoulli(8), [1, -1 / 2, 1 / 6, 0, -1 / 30, 0, 1 / 42, 0, -1 / 30])
        assert np.isfinite(special.bernoulli(259)).all()
        np.testing.assert_array_equal(special.bernoulli(10**5)[260:265], [-np.inf, 0, np.inf, 0, -np.inf])
        n = np.arange(0, 41)
        np.testing.assert_array_equal(special.comb(40, n), [math.comb(40, k) for k in range(41)])
        assert float(special.comb(5, 2, repetition=True)) == 15
        np.testing.assert_array_equal(special.factorial(np.arange(12)), scipy.special.factorial(np.arange(12)))
        np.testing.assert_allclose(special.multigammaln(4.5, 3), scipy.special.multigammaln(4.5, 3), rtol=1e-14)


def test_sums_of_exponentials_take_all_axes_by_default():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(special.softmax(x), scipy.special.softmax(x), rtol=1e-6)
    np.testing.assert_allclose(special.log_softmax(x, axis=1), scipy.special.log_softmax(x, axis=1), rtol=1e-6)
    np.testing.assert_allclose(special.logsumexp(x, b=x), scipy.special.logsumexp(x, b=x), rtol=1e-6)


@pytest.mark.parametrize(
    ("fun", "places"),
    [
        (lambda x: special.xlogy(x, x), [0.0]), (lambda x: special.xlogy(0.0, x), [0.0]), (special.log_ndtr, [-300.0, 300.0]),
        (special.expit, [-300.0, 300.0]), (special.spence, [1.0]), (lambda x: special.boxcox(2.0, x), [0.0]),
        (special.erfcx, [0.0, 300.0]), (special.dawsn, [0.0, 300.0]), (lambda x: special.owens_t(x, 1.0), [0.0, 300.0]),
        (special.gammaln, [1.0, 2.0]), (lambda x: special.betaln(x, 2.0), [1.0]), (lambda x: special.rel_entr(x, 1.0), [1e-30]),
    ],
)  # fmt: skip
def test_slopes_are_finite_where_the_mathematics_is(fun, places):
    for place in places:
        assert np.isfinite(arrax.grad(fun)(np.float32(place))) or fun(np.float32(place)) == 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: special.gammaln([1.0]), TypeError),
        (lambda: special.erf(1j), TypeError),
        (lambda: special.bernoulli(-1), ValueError),
        (lambda: special.bernoulli(10**30), ValueError),
        (lambda: special.bessel_jn(1.0, v=-1), ValueError),
        (lambda: special.log_ndtr(1.0, 0), ValueError),
        (lambda: special.factorial(3, exact=True), NotImplementedError),
        (lambda: special.lpmn(3, 2, np.ones(2)), ValueError),
        (lambda: special.lpmn(1, 2, np.ones((2, 2))), ValueError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize(
    "function",
    [special.ndtr, special.log_ndtr, special.spence, lambda x: special.expn([1, 2], x)],
)
def test_lists_of_numbers_are_arrays(function):
    assert arrax.eval_shape(lambda: special.hyp1f1([0.5, 1.5], [2.0, 3.0], [1, 2])).shape == (2,)
    np.testing.assert_array_equal(function([0.5, 1.5]), function(np.array([0.5, 1.5], np.float32)))


def test_relative_entropies_of_scalars_and_whole_numbers_are_weak():
    counts = np.ones(2, np.int32)
    for function in (special.rel_entr, special.kl_div):
        assert function(0.5, counts).weak_type and not function(counts, 0.5).weak_type
