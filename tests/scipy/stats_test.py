"""Distributions and statistics: values against SciPy's, tails, slopes, refusals."""

import numpy as np
import pytest
import scipy.stats

import arrax
from arrax import numpy as jnp
from arrax.scipy import stats
from tests.support import bfloat16, check_gradients, wide

RNG = np.random.default_rng(0)
GRID = np.concatenate([np.linspace(-3, 9, 25), [1e-3, 30.0, -30.0]])
COUNTS = np.concatenate([np.arange(-2.0, 12), [2.5, 40.0]])
UNIT = np.array([0.0, 1e-10, 0.01, 0.3, 0.5, 0.77, 0.99, 1.0, -0.1, 1.2])
LOCS = [(0.0, 1.0), (0.71, 1.9)]  # both are given, so that a program is compiled once

# fmt: off
CONTINUOUS = {  # distribution: (parameters, whether it has loc and scale)
    "beta": ([(2.0, 3.5), (0.5, 0.7), (1.0, 1.0)], True), "cauchy": ([()], True), "chi2": ([(3.0,), (0.8,)], True),
    "expon": ([()], True), "gamma": ([(2.5,), (0.4,), (1.0,)], True), "gennorm": ([(2.0,), (0.8,)], False),
    "gumbel_l": ([()], True), "gumbel_r": ([()], True), "laplace": ([()], True), "logistic": ([()], True), "norm": ([()], True),
    "pareto": ([(2.5,), (0.3,)], True), "t": ([(3.0,), (0.7,), (1e6,)], True),
    "truncnorm": ([(-1.0, 2.0), (1.0, 8.0), (-9.0, -2.0), (-np.inf, 1.0)], True), "uniform": ([()], True),
    "vonmises": ([(0.7,), (30.0,)], False), "wrapcauchy": ([(0.4,)], False),
}
DISCRETE = {
    "bernoulli": [(0.3,), (1.0,)], "betabinom": [(9, 2.0, 3.0)], "binom": [(9, 0.3), (10, 1.0)], "geom": [(0.3,), (1.0,)],
    "nbinom": [(4, 0.3), (2.5, 0.9)], "poisson": [(3.0,), (0.1,), (0.0,)],
}
# fmt: on
METHODS = ("logpdf", "pdf", "logpmf", "pmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


def methods(name):
    module = getattr(stats, name)
    return [m for m in METHODS if hasattr(module, m)]


def places(name, method):
    if method in ("ppf", "isf"):
        return UNIT
    if name in DISCRETE:
        return COUNTS
    if name in ("vonmises", "wrapcauchy"):  # SciPy wraps others around
        return np.linspace(-3.1, 3.1, 15) if name == "vonmises" else np.linspace(0.1, 6.2, 15)
    return GRID


CASES = [(name, m) for name in [*CONTINUOUS, *DISCRETE] for m in methods(name)]


def test_the_tables_have_every_distribution():
    modules = set(stats.__all__) - {"gaussian_kde", "mode", "rankdata", "sem"}
    assert modules == {*CONTINUOUS, *DISCRETE, "dirichlet", "multinomial", "multivariate_normal"}


@pytest.mark.parametrize("values", [[np.nan, np.nan], [1, 2, 2, np.nan, np.nan, np.nan], [1, 1, np.nan]])
def test_nan_are_one_value_among_others_to_the_mode(values):
    ours, theirs = stats.mode(jnp.array(values)), scipy.stats.mode(np.array(values))
    np.testing.assert_array_equal(ours.mode, theirs.mode)
    assert ours.count == theirs.count


def test_probabilities_of_whole_numbers_are_weak_where_the_parameters_are():
    counts = jnp.arange(4)
    for found in (stats.binom.pmf(counts, 3, 0.4), stats.poisson.logpmf(counts, 2.5), stats.poisson.pmf(counts, 2.5)):
        assert found.weak_type
    assert not stats.binom.pmf(counts, 3, jnp.float32(0.4)).weak_type
    assert stats.norm.pdf(1).weak_type and not stats.norm.pdf(np.float32(1)).weak_type
    assert stats.multivariate_normal.logpdf(1.0, 0.0, 2).weak_type
    assert not stats.multivariate_normal.logpdf(counts, 0.0, 2).weak_type


def test_results_at_whole_numbers_are_weak_as_sums_of_the_operands_are():
    counts = jnp.arange(2)
    for found in (stats.gumbel_l.cdf(counts, 0.5), stats.logistic.cdf(counts, 0.5), stats.expon.logsf(counts, 0.5)):
        assert found.weak_type
    assert stats.laplace.cdf(0.5, counts).weak_type and not stats.laplace.cdf(counts, 0.5).weak_type
    assert not stats.expon.logsf(counts, jnp.float32(0.5)).weak_type
    assert stats.gamma.logsf(counts, 0.5).weak_type and stats.pareto.logcdf(counts, 0.5).weak_type
    assert not stats.gumbel_r.sf(counts, 0.5).weak_type and not stats.logistic.pdf(0.5, counts).weak_type


def test_quantiles_of_bernoulli_have_the_dtype_of_their_operands():
    with arrax.enable_x64(True):
        assert stats.bernoulli.ppf(jnp.float32(0.3), jnp.float32(0.5)).dtype == np.float32


def test_the_mode_of_a_number_is_the_number():
    assert stats.mode(7) == (7, 1)


@pytest.mark.parametrize(("name", "method"), CASES)
def test_values_are_those_of_scipy(name, method):
    parameters = DISCRETE[name] if name in DISCRETE else CONTINUOUS[name][0]
    shifts = LOCS if name in CONTINUOUS and CONTINUOUS[name][1] else [()]
    fun, reference = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
    x = places(name, method)
    with arrax.enable_x64(True), np.errstate(all="ignore"):
        for values in parameters:
            for shift in shifts:
                out = fun(x, *map(float, values), *shift)
                np.testing.assert_allclose(
                    out, reference(x, *values, *shift), rtol=3e-12, atol=1e-300, err_msg=f"{values}{shift}"
                )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, bfloat16], ids=str)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_narrow_numbers_keep_their_dtype(name, dtype):
    values = CONTINUOUS[name][0][0]
    x = places(name, "pdf")[5:12].astype(dtype)
    out = getattr(stats, name).logpdf(x, *np.array(values, dtype))
    assert out.dtype == dtype
    expected = getattr(scipy.stats, name).logpdf(wide(x), *map(float, np.array(values, dtype)))
    np.testing.assert_allclose(wide(out), expected, rtol=5e-5 if dtype == np.float32 else 4e-2, atol=1e-2)


TAILS = {  # function: (places far out, SciPy's function)
    "norm.logcdf": [-5.0, -40.0, -1e3], "norm.logsf": [5.0, 40.0, 1e3], "norm.sf": [37.0], "norm.cdf": [-37.0],
    "gumbel_r.logsf": [700.0], "gumbel_l.logcdf": [-700.0], "expon.logcdf": [1e-200], "cauchy.cdf": [-1e200],
    "cauchy.logsf": [1e10], "logistic.sf": [700.0], "laplace.cdf": [-690.0], "logistic.logpdf": [800.0],
}  # fmt: skip
TO_THE_END = np.array([-np.inf, -1e300, -1e10, -800.0, 0.0, 1e-300, 800.0, 1e10, 1e300, np.inf, np.nan])
INVALID = {
    "beta": [(0.0, 1.0), (-1.0, 2.0)], "chi2": [(0.0,), (-1.0,)], "gamma": [(0.0,), (-2.0,)], "gennorm": [(0.0,)],
    "pareto": [(0.0,)], "t": [(0.0,)], "truncnorm": [(2.0, 2.0), (3.0, 1.0)], "bernoulli": [(-0.1,), (1.1,)],
    "binom": [(3.0, 1.1), (2.5, 0.5)], "poisson": [(-1.0,)], "geom": [(1.1,)], "nbinom": [(-1.0, 0.5)], "vonmises": [(-1.0,)],
}  # fmt: skip


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_values_are_those_of_scipy_to_the_ends_and_for_parameters_out_of_range(name):
    valid = DISCRETE[name][0] if name in DISCRETE else CONTINUOUS[name][0][0]
    infinite = dict.fromkeys(("gamma", "chi2", "pareto", "poisson", "t"), [(np.inf,)])
    wider = infinite | {"truncnorm": [(-np.inf, np.inf), (-1e300, 1e300), (30.0, np.inf)], "vonmises": [(0.0,)]}
    own_limit = {
        ("gumbel_r", "pdf"),
        ("gumbel_l", "pdf"),
        ("vonmises", "pdf"),
        ("vonmises", "logpdf"),
    }  # SciPy's is NaN there
    shift = LOCS[0] if name in CONTINUOUS and CONTINUOUS[name][1] else ()
    with arrax.enable_x64(True), np.errstate(all="ignore"):
        for method in methods(name):
            if method in ("ppf", "isf"):
                continue
            ends = TO_THE_END[1:-2] if (name, method) in own_limit else TO_THE_END
            x = np.resize(ends, places(name, method).shape)
            for values in [valid, *wider.get(name, []), *INVALID.get(name, [])]:
                out = getattr(getattr(stats, name), method)(x, *map(float, values), *shift)
                expected = getattr(getattr(scipy.stats, name), method)(x, *values)
                expected = np.where(
                    np.isneginf(expected) & (out < -700), out, expected
                )  # SciPy takes the logarithm of 0
                np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-300, err_msg=f"{method}{values}")


def test_narrow_intervals_of_the_normal_distribution_keep_their_digits():
    with arrax.enable_x64(True):
        for low in (0.0, -3.0, 20.0):
            width = 1e-9
            expected = -np.log(width) + np.log1p(low * width / 2)  # nearly even
            np.testing.assert_allclose(stats.truncnorm.logpdf(low, low, low + width), expected, rtol=1e-7)


def test_tails_of_narrow_numbers_have_logarithms():
    for fun, x, expected in (
        (stats.gumbel_r.logsf, 500.0, -500.0), (stats.gumbel_l.logcdf, -500.0, -500.0), (stats.norm.logcdf, -50.0, -1254.8313),
    ):  # fmt: skip
        np.testing.assert_allclose(fun(np.float32(x)), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "method", "points"),
    [
        ("gamma", "logsf", [(500.0, 2.5), (1e-9, 3.0)]), ("gamma", "logcdf", [(1e-20, 3.0)]), ("chi2", "logsf", [(900.0, 3.0)]),
        ("beta", "logcdf", [(1e-30, 2.0, 3.0), (1e-30, 1e-5, 1e5)]), ("beta", "logsf", [(1e-20, 0.5, 3.0)]),
        ("beta", "sf", [(1e-30, 1e-5, 1e5)]), ("t", "logpdf", [(1e30, 3.0)]), ("gennorm", "cdf", [(0.25, 100.0)]),
    ],
)  # fmt: skip
def test_values_are_right_with_their_slopes_where_narrow_numbers_leave_their_range(name, method, points):
    ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
    both = arrax.jit(arrax.value_and_grad(ours, range(len(points[0]))))
    for point in points:
        narrow = [np.float32(v) for v in point]
        wide = [float(v) for v in narrow]
        value, slopes = both(*narrow)
        np.testing.assert_allclose(value, theirs(*wide), rtol=1e-6)
        for place, middle in enumerate(wide):
            steps = [theirs(*wide[:place], middle * (1 + h), *wide[place + 1 :]) for h in (-1e-6, 1e-6)]
            slope = (steps[1] - steps[0]) / (2e-6 * middle)
            np.testing.assert_allclose(slopes[place], slope, rtol=1e-3)


@pytest.mark.parametrize("case", TAILS)
def test_tails_keep_their_digits(case):
    name, method = case.split(".")
    with arrax.enable_x64(True):
        out = getattr(getattr(stats, name), method)(np.array(TAILS[case]))
        np.testing.assert_allclose(out, getattr(getattr(scipy.stats, name), method)(TAILS[case]), rtol=1e-12)


# ---- slopes ---------------------------------------------------------------------------------------------------------

# fmt: off
SLOPES = {  # distribution: (its place first, if it has slopes there, and its parameters)
    "beta": (0.8, 2.0, 3.5), "cauchy": (1.2,), "chi2": (1.2, 3.0), "expon": (1.2,), "gamma": (1.2, 2.5), "gennorm": (1.2, 0.8),
    "gumbel_l": (0.4,), "gumbel_r": (0.4,), "laplace": (1.2,), "logistic": (1.2,), "norm": (1.2,), "pareto": (2.3, 2.5),
    "t": (1.2, 3.0), "truncnorm": (0.6, -1.0, 2.0), "uniform": (0.6,), "vonmises": (1.2, 0.7), "wrapcauchy": (1.2, 0.4),
}
BORDERS = {  # where slopes may be infinite but are no NaN: centres, where formulas meet; the ends of the support; beyond
    "beta": [0.0, 1.0, -5.0, 5.0], "cauchy": [0.0, 1e20], "chi2": [0.0, -5.0, 1e3], "expon": [0.0, -5.0, 1e3],
    "gamma": [0.0, -5.0, 1e3], "gennorm": [0.0, 40.0], "gumbel_l": [0.0, -900.0, 900.0], "gumbel_r": [0.0, -900.0, 900.0],
    "laplace": [0.0, 900.0, -900.0], "logistic": [0.0, 900.0, -900.0], "norm": [0.0, 60.0, -60.0], "pareto": [1.0, -5.0],
    "t": [0.0, 1e20], "truncnorm": [-1.0, 2.0, -5.0, 5.0], "uniform": [0.0, 1.0, -5.0, 5.0], "vonmises": [0.0, 7.0],
    "wrapcauchy": [0.0, -1.0, 7.0],
}
# fmt: on


def of_all_methods(name):
    """A compiled function of place and parameters: the values of all methods, and their slopes in each argument."""
    functions = {m: getattr(getattr(stats, name), m) for m in methods(name) if m not in ("ppf", "isf")}

    @arrax.jit
    def everything(*arguments):
        found = {m: arrax.value_and_grad(f, range(len(arguments)))(*arguments) for m, f in functions.items()}
        return {m: value for m, (value, _) in found.items()}, {m: slopes for m, (_, slopes) in found.items()}

    return everything


@pytest.mark.parametrize("name", CONTINUOUS)
def test_slopes_agree_with_differences_and_are_no_nan_at_borders_and_beyond(name):
    place, *parameters = SLOPES[name]
    shift = (0.1, 1.3) if CONTINUOUS[name][1] else ()
    with arrax.enable_x64(True):
        arguments = [np.float64(x) for x in (place * (shift or (0, 1))[1] + (shift or (0,))[0], *parameters, *shift)]
        everything = of_all_methods(name)
        _, slopes = everything(*arguments)
        for n, x in enumerate(arguments):
            step = np.zeros(len(arguments))
            step[n] = 1e-5 * abs(x)
            above, below = everything(*(arguments + step))[0], everything(*(arguments - step))[0]
            for method, found in slopes.items():
                expected = (above[method] - below[method]) / (2 * step[n])
                np.testing.assert_allclose(found[n], expected, rtol=1e-6, atol=1e-8, err_msg=f"{method}, {n}")
        for place in BORDERS[name]:
            even = map(np.float64, (place, *parameters, *((0, 1) if shift else ())))
            for method, found in everything(*even)[1].items():
                for n, slope in enumerate(found):
                    assert not np.isnan(slope), (method, place, n)


def test_slopes_where_the_exponents_are_zero():
    with arrax.enable_x64(True):
        slope = arrax.grad(stats.gamma.logpdf, 1)(0.7, 1.0)
        np.testing.assert_allclose(slope, np.log(0.7) + np.euler_gamma)
        slopes = arrax.grad(stats.beta.logpdf, (1, 2))(0.3, 1.0, 1.0)
        np.testing.assert_allclose(slopes, [np.log(0.3) + 1, np.log(0.7) + 1])
        np.testing.assert_allclose(arrax.grad(stats.cauchy.ppf)(0.5), np.pi)
        assert (
            arrax.grad(stats.gamma.logpdf, 3)(0.0, 1.0, 0.0, 2.0) == -0.5
        )  # at the end of the exponential one's support


@pytest.mark.parametrize(
    "name", ["chi2.cdf", "chi2.sf", "expon.pdf", "expon.logcdf", "pareto.logpdf", "wrapcauchy.pdf"]
)
def test_slopes_at_nan_are_nan(name):
    distribution, method = name.split(".")
    function, parameters = getattr(getattr(stats, distribution), method), SLOPES[distribution][1:]
    values, slopes = arrax.vmap(arrax.value_and_grad(lambda x: function(x, *parameters)))(np.float32([np.nan, 1.5]))
    np.testing.assert_array_equal(np.isnan(np.array([values, slopes])), [[True, False], [True, False]])


@pytest.mark.parametrize("name", ["expon", "gamma", "beta", "pareto", "uniform", "truncnorm"])
def test_slopes_are_finite_outside_of_the_support(name):
    values = CONTINUOUS[name][0][0]
    slopes = arrax.grad(lambda p: getattr(stats, name).pdf(-5.0, *p) if p else 0.0)(list(map(float, values)))
    assert np.all(np.isfinite(slopes))


def test_a_scale_that_is_not_positive_gives_nan():
    for name in ("norm", "expon", "cauchy", "uniform"):
        assert np.isnan(getattr(stats, name).pdf(0.5, 0.0, -1.0)), name


def test_the_entropy_of_poisson_is_that_of_scipy():
    means = np.array([0.01, 1.0, 20.0, 49.0, 51.0])
    with arrax.enable_x64(True):
        np.testing.assert_allclose(stats.poisson.entropy(means), scipy.stats.poisson.entropy(means), rtol=1e-9)


def test_multivariate_distributions_are_those_of_scipy():
    root = RNG.normal(size=(3, 3))
    covariance, mean, x = root @ root.T + np.eye(3), RNG.normal(size=3), RNG.normal(size=(5, 3))
    shares = RNG.dirichlet([2.0, 3.0, 0.5], 4).T
    counts = RNG.multinomial(9, [0.2, 0.3, 0.5], 6)
    with arrax.enable_x64(True):
        normal = stats.multivariate_normal
        expected = scipy.stats.multivariate_normal(mean, covariance)
        np.testing.assert_allclose(normal.logpdf(x, mean, covariance), expected.logpdf(x), rtol=1e-12)
        np.testing.assert_allclose(normal.pdf(x, mean, covariance), expected.pdf(x), rtol=1e-12)
        np.testing.assert_allclose(normal.logpdf(x, 0.0, 2.0), scipy.stats.norm.logpdf(x, 0, np.sqrt(2)), rtol=1e-12)
        many = normal.logpdf(x[:, None], mean, np.stack([covariance, 2 * covariance]))
        assert many.shape == (5, 2)
        np.testing.assert_allclose(many[:, 0], expected.logpdf(x), rtol=1e-12)
        alpha = np.array([2.0, 3.0, 0.5])
        np.testing.assert_allclose(
            stats.dirichlet.logpdf(shares, alpha), scipy.stats.dirichlet.logpdf(shares, alpha), rtol=1e-12
        )
        np.testing.assert_allclose(
            stats.dirichlet.pdf(shares[:2], alpha), scipy.stats.dirichlet.pdf(shares, alpha), rtol=1e-10
        )
        assert stats.dirichlet.logpdf(np.array([0.5, 0.2, 0.1]), alpha) == -np.inf
        p = np.array([0.2, 0.3, 0.5])
        np.testing.assert_allclose(
            stats.multinomial.logpmf(counts, 9, p), scipy.stats.multinomial.logpmf(counts, 9, p), rtol=1e-12
        )
        assert stats.multinomial.pmf(counts[0], 8, p) == 0
    check_gradients(lambda m, c: stats.multivariate_normal.logpdf(x[0], m, c @ c.T), [mean, root + 3 * np.eye(3)])


def test_singular_covariances_have_a_density_on_their_span():
    root = RNG.normal(size=(3, 2))
    covariance, mean = root @ root.T, RNG.normal(size=3)
    x = mean + np.array([root @ [0.3, -0.5], [1.0, 2.0, 3.0]])
    with arrax.enable_x64(True):
        ours = stats.multivariate_normal.logpdf(x, mean, covariance, allow_singular=True)
        np.testing.assert_allclose(
            ours, scipy.stats.multivariate_normal.logpdf(x, mean, covariance, allow_singular=True), rtol=1e-9
        )
        full = covariance + np.eye(3)
        np.testing.assert_allclose(
            stats.multivariate_normal.logpdf(x, mean, full, True),
            stats.multivariate_normal.logpdf(x, mean, full, False),
        )
    check_gradients(lambda m: stats.multivariate_normal.logpdf(x[0], m, full, True), [mean])


# ---- statistics -----------------------------------------------------------------------------------------------------

TIES = np.array([[3, 1, 3, 2, 1, 1], [5, 5, 4, 4, 0, 7]])


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_ranks_are_those_of_scipy(method, axis):
    expected = scipy.stats.rankdata(TIES, method, axis=axis)
    np.testing.assert_array_equal(stats.rankdata(TIES, method, axis=axis), expected)


def test_ranks_with_nan_are_nan():
    x = np.array([[1.0, np.nan, 2.0], [3.0, 1.0, 2.0]], np.float32)
    np.testing.assert_array_equal(stats.rankdata(x, axis=1), [[np.nan] * 3, [3, 1, 2]])


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_modes_are_those_of_scipy(axis, keepdims):
    ours, theirs = stats.mode(TIES, axis, keepdims=keepdims), scipy.stats.mode(TIES, axis, keepdims=keepdims)
    np.testing.assert_array_equal(ours.mode, theirs.mode)
    np.testing.assert_array_equal(ours.count, theirs.count)


HOLES = np.array([[1, np.nan, 1, 2], [2, 3, 3, 1], [np.nan] * 4], np.float32)


@pytest.mark.filterwarnings("ignore:After omitting NaNs")
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_nan_that_are_omitted_change_nothing(axis):
    ours, theirs = (of.mode(HOLES, axis, nan_policy="omit") for of in (stats, scipy.stats))
    np.testing.assert_array_equal(ours.mode, theirs.mode)
    np.testing.assert_array_equal(ours.count, theirs.count)
    for method in ("average", "dense"):
        ours, theirs = (of.rankdata(HOLES, method, axis=axis, nan_policy="omit") for of in (stats, scipy.stats))
        np.testing.assert_array_equal(ours, theirs)


def test_without_nan_they_may_be_refused():
    assert stats.mode(TIES, None, nan_policy="raise").mode == 1
    np.testing.assert_array_equal(stats.rankdata(TIES[0], nan_policy="raise"), stats.rankdata(TIES[0]))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.complex64])
def test_ranks_are_wide_enough_for_many(dtype):
    assert stats.rankdata(TIES.astype(dtype)).dtype == np.float32


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_standard_errors_are_those_of_scipy(axis):
    x = RNG.normal(size=(4, 5))
    holes = np.where(RNG.uniform(size=x.shape) < 0.2, np.nan, x)
    with arrax.enable_x64(True):
        np.testing.assert_allclose(stats.sem(x, axis, ddof=0), scipy.stats.sem(x, axis, ddof=0), rtol=1e-12)
        ours = stats.sem(holes, axis, nan_policy="omit")
        np.testing.assert_allclose(ours, scipy.stats.sem(holes, axis, nan_policy="omit"), rtol=1e-12)


# ---- gaussian_kde ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [None, "silverman", 0.4, lambda estimate: 0.7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("variables", [1, 2])
def test_estimates_of_densities_are_those_of_scipy(variables, weighted, width):
    data, points = RNG.normal(size=(variables, 30)), RNG.normal(size=(variables, 7))
    weights = RNG.uniform(0.1, 1, 30) if weighted else None
    with arrax.enable_x64(True):
        ours = stats.gaussian_kde(data, width, weights)
        theirs = scipy.stats.gaussian_kde(data, width, weights)
        np.testing.assert_allclose(ours(points), theirs(points), rtol=1e-10)
        np.testing.assert_allclose(ours.logpdf(points), theirs.logpdf(points), rtol=1e-10)
        np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-10)
        np.testing.assert_allclose(ours.integrate_kde(ours), theirs.integrate_kde(theirs), rtol=1e-10)
        mean, covariance = np.zeros(variables), 2 * np.eye(variables)
        np.testing.assert_allclose(
            ours.integrate_gaussian(mean, covariance), theirs.integrate_gaussian(mean, covariance), rtol=1e-10
        )
        if variables == 1:
            np.testing.assert_allclose(ours.integrate_box_1d(-1, 0.5), theirs.integrate_box_1d(-1, 0.5), rtol=1e-10)


def test_the_width_of_an_estimate_may_change():
    data = RNG.normal(size=20)
    with arrax.enable_x64(True):
        ours, theirs = stats.gaussian_kde(data), scipy.stats.gaussian_kde(data)
        for width in ("silverman", 0.3, None):
            ours.set_bandwidth(width)
            theirs.set_bandwidth(width)
            np.testing.assert_allclose(
                ours.integrate_box([-1.0], [0.5]), theirs.integrate_box([-1.0], [0.5]), rtol=1e-7
            )


def test_draws_have_the_moments_of_the_estimate():
    data = RNG.normal(size=(2, 20)).astype(np.float32)
    estimate = stats.gaussian_kde(data)
    draws = np.asarray(estimate.resample(arrax.random.key(0), (20_000,)))
    assert draws.shape == (2, 20_000)
    np.testing.assert_allclose(draws.mean(1), data.mean(1), atol=0.05)
    expected = np.cov(data, bias=True) + np.asarray(estimate.covariance)
    np.testing.assert_allclose(np.cov(draws), expected, atol=0.08)


def test_estimates_pass_through_transformations():
    data = RNG.normal(size=(1, 20)).astype(np.float32)
    inside = arrax.jit(lambda estimate, x: estimate.pdf(x))(stats.gaussian_kde(data), np.ones(2, np.float32))
    np.testing.assert_allclose(inside, stats.gaussian_kde(data).pdf(np.ones(2, np.float32)), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: stats.norm.pdf([1.0]), TypeError),
        (lambda: stats.norm.pdf(1j), TypeError),
        (lambda: stats.rankdata(TIES, "first"), ValueError),
        (lambda: stats.mode(HOLES, nan_policy="raise"), ValueError),
        (lambda: stats.mode(7, 1), ValueError),
        (lambda: stats.rankdata(HOLES, nan_policy="raise"), ValueError),
        (lambda: stats.sem(HOLES, nan_policy="raise"), ValueError),
        (lambda: arrax.jit(lambda x: stats.mode(x, nan_policy="raise"))(TIES), NotImplementedError),
        (lambda: stats.gaussian_kde(TIES).integrate_box(np.zeros(2), np.ones(2)), NotImplementedError),
        (lambda: stats.sem(TIES, nan_policy="skip"), ValueError),
        (lambda: stats.gaussian_kde(np.ones(1)), ValueError),
        (lambda: stats.gaussian_kde(TIES, "wide"), ValueError),
        (lambda: stats.gaussian_kde(TIES, weights=np.ones(3)), ValueError),
        (lambda: stats.multivariate_normal.logpdf(np.ones(2), np.ones(2), np.eye(3)), ValueError),
        (lambda: stats.dirichlet.pdf(np.ones(4), np.ones(2)), ValueError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


def test_standard_variables_of_the_default_place_and_scale_are_the_arguments_themselves():
    program = str(arrax.make_jaxpr(stats.norm.pdf)(np.ones(3, np.float32)))
    assert (
        "sub a 0.0" not in program
        and program.count("exp ") == 1
        and not any(name in program for name in ("expm1", "reduce_precision"))
    )
    assert "sub a 0.0" in str(arrax.make_jaxpr(lambda x: stats.norm.pdf(x, 0.0, 2.0))(np.ones(3, np.float32)))


@pytest.mark.parametrize(("distribution", "end"), [(stats.gumbel_l, np.inf), (stats.gumbel_r, -np.inf)])
def test_densities_of_extremes_are_not_infinite_at_the_end(distribution, end):
    found = distribution.logpdf(np.array([end, 0, -end], np.float32))
    np.testing.assert_array_equal(found, np.array([np.nan, -1, -np.inf], np.float32))
