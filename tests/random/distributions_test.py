"""Samples follow their distributions: Kolmogorov-Smirnov and chi-squared tests at a fixed seed, support, extremes."""

import numpy as np
import pytest
import scipy.stats as stats

import arrax
import arrax.numpy as jnp
from arrax import random

COUNT = 20_000
LEAST_P = 1e-4  # of some two hundred tests, about one in fifty runs would fail by chance; the seed is fixed
SHAPE = (COUNT,)


def key_for(name):
    return random.fold_in(random.key(2024), sum(map(ord, name)))


def double_maxwell_cdf(x, loc, scale):
    z = (x - loc) / scale
    return 0.5 + np.sign(z) * stats.maxwell.cdf(np.abs(z)) / 2


# fmt: off
CONTINUOUS = {  # name: (draw, distribution function)
    "uniform":            (lambda k: random.uniform(k, SHAPE, minval=-2, maxval=3),  stats.uniform(-2, 5).cdf),
    "uniform rows":       (lambda k: random.uniform(k, (COUNT // 4, 4)).ravel(),     stats.uniform.cdf),
    "normal":             (lambda k: random.normal(k, SHAPE),                        stats.norm.cdf),
    "normal rows":        (lambda k: random.normal(k, (COUNT // 4, 4)).ravel(),      stats.norm.cdf),
    "normal of keys":     (lambda k: arrax.vmap(random.normal)(random.split(k, COUNT)), stats.norm.cdf),
    "complex normal":     (lambda k: abs(random.normal(k, SHAPE, "complex64")),      stats.rayleigh(scale=np.sqrt(0.5)).cdf),
    "truncated normal":   (lambda k: random.truncated_normal(k, -0.5, 2, SHAPE),     stats.truncnorm(-0.5, 2).cdf),
    "tail normal":        (lambda k: random.truncated_normal(k, 2, 4, SHAPE),        stats.truncnorm(2, 4).cdf),
    "cauchy":             (lambda k: random.cauchy(k, SHAPE),                        stats.cauchy.cdf),
    "exponential":        (lambda k: random.exponential(k, SHAPE),                   stats.expon.cdf),
    "laplace":            (lambda k: random.laplace(k, SHAPE),                       stats.laplace.cdf),
    "logistic":           (lambda k: random.logistic(k, SHAPE),                      stats.logistic.cdf),
    "gumbel":             (lambda k: random.gumbel(k, SHAPE),                        stats.gumbel_r.cdf),
    "gumbel high":        (lambda k: random.gumbel(k, SHAPE, mode="high"),           stats.gumbel_r.cdf),
    "maxwell":            (lambda k: random.maxwell(k, SHAPE),                       stats.maxwell.cdf),
    "double maxwell":     (lambda k: random.double_sided_maxwell(k, 1.0, 2.0, SHAPE), lambda x: double_maxwell_cdf(x, 1, 2)),
    "lognormal":          (lambda k: random.lognormal(k, 0.7, SHAPE),                stats.lognorm(0.7).cdf),
    "triangular":         (lambda k: random.triangular(k, 0.0, 1.0, 3.0, SHAPE),     stats.triang(1 / 3, 0, 3).cdf),
    "wald":               (lambda k: random.wald(k, 2.0, SHAPE),                     stats.invgauss(2.0).cdf),
    "generalized normal": (lambda k: random.generalized_normal(k, 1.5, SHAPE),       stats.gennorm(1.5).cdf),
    "ball":               (lambda k: jnp.sum(random.ball(k, 3, shape=SHAPE) ** 2, -1) ** 1.5, stats.uniform.cdf),
    "normal of norms":    (lambda k: random.generalized_normal(k, jnp.full(SHAPE, 2.0), SHAPE), stats.norm(0, np.sqrt(0.5)).cdf),
    "ball of 1-norm":     (lambda k: jnp.sum(abs(random.ball(k, 2, 1, SHAPE)), -1) ** 2, stats.uniform.cdf),
    "dirichlet":          (lambda k: random.dirichlet(k, jnp.array([0.5, 1.0, 2.0]), SHAPE)[:, 0], stats.beta(0.5, 3).cdf),
    "orthogonal":         (lambda k: random.orthogonal(k, 3, (COUNT // 10,))[:, 0, 0], stats.uniform(-1, 2).cdf),
    "multivariate":       (lambda k: random.multivariate_normal(k, jnp.zeros(2), jnp.array([[2.0, 0.6], [0.6, 1.0]]), SHAPE)[:, 0] / np.sqrt(2), stats.norm.cdf),
}
PARAMETRIC = {  # sampler: (draw for a parameter, distribution for it, parameters)
    "gamma":     (lambda k, a: random.gamma(k, a, SHAPE),             lambda a: stats.gamma(a),        (0.05, 0.5, 1.0, 3.0, 100.0, 1e4)),
    "loggamma":  (lambda k, a: jnp.exp(random.loggamma(k, a, SHAPE)), lambda a: stats.gamma(a),        (0.1, 1.0, 20.0)),
    "chisquare": (lambda k, a: random.chisquare(k, a, SHAPE),         lambda a: stats.chi2(a),         (0.5, 1.0, 7.0)),
    "beta":      (lambda k, a: random.beta(k, a, 1.5, SHAPE),         lambda a: stats.beta(a, 1.5),    (0.1, 1.0, 30.0)),
    "t":         (lambda k, a: random.t(k, a, SHAPE),                 lambda a: stats.t(a),            (0.7, 3.0, 50.0)),
    "f":         (lambda k, a: random.f(k, a, 5.0, SHAPE),            lambda a: stats.f(a, 5.0),       (1.0, 8.0)),
    "pareto":    (lambda k, a: random.pareto(k, a, SHAPE),            lambda a: stats.pareto(a),       (0.5, 3.0)),
    "rayleigh":  (lambda k, a: random.rayleigh(k, a, SHAPE),          lambda a: stats.rayleigh(scale=a), (0.1, 5.0)),
    "weibull":   (lambda k, a: random.weibull_min(k, 2.0, a, SHAPE),  lambda a: stats.weibull_min(a, scale=2.0), (0.5, 1.0, 4.0)),
}
DISCRETE = {  # sampler: (draw for a parameter, distribution for it, parameters)
    "bernoulli":      (lambda k, p: random.bernoulli(k, p, SHAPE),                lambda p: stats.bernoulli(p),     (0.02, 0.5, 0.9)),
    "bernoulli high": (lambda k, p: random.bernoulli(k, p, SHAPE, mode="high"),   lambda p: stats.bernoulli(p),     (0.02, 0.5, 0.9)),
    "rademacher":     (lambda k, p: (random.rademacher(k, SHAPE) + 1) // 2,       lambda p: stats.bernoulli(p),     (0.5,)),
    "geometric":      (lambda k, p: random.geometric(k, p, SHAPE),                lambda p: stats.geom(p),          (0.05, 0.5, 0.9)),
    "poisson":        (lambda k, m: random.poisson(k, m, SHAPE),                  lambda m: stats.poisson(m),       (0.1, 3.0, 9.5, 10.5, 150.0)),
    "binomial":       (lambda k, c: random.binomial(k, *c, SHAPE),                lambda c: stats.binom(*c),        ((40.0, 0.05), (40.0, 0.3), (40.0, 0.5), (40.0, 0.95), (3.0, 0.3), (400.0, 0.3))),
    "multinomial":    (lambda k, p: random.multinomial(k, jnp.full(SHAPE, 12.0), jnp.array([p, 0.1, 0.9 - p]))[:, 2], lambda p: stats.binom(12, 0.9 - p), (0.3,)),
    "randint":        (lambda k, n: random.randint(k, SHAPE, 3, n),               lambda n: stats.randint(3, n),    (5, 17)),
    "randint int8":   (lambda k, n: random.randint(k, SHAPE, -7, n, "int8"),      lambda n: stats.randint(-7, n),   (9,)),
    "bits":           (lambda k, n: random.bits(k, SHAPE, "uint8") // n,          lambda n: stats.randint(0, 256 // n), (8,)),
    "categorical":    (lambda k, p: random.categorical(k, jnp.log(jnp.array([1 - p, p])), shape=SHAPE), lambda p: stats.bernoulli(p), (0.2, 0.7)),
    "choice":         (lambda k, n: random.choice(k, n, SHAPE),                   lambda n: stats.randint(0, n),    (7,)),
    "choice by p":    (lambda k, p: random.choice(k, 2, SHAPE, p=jnp.array([1 - p, p])), lambda p: stats.bernoulli(p), (0.35,)),
    "permutation":    (lambda k, n: arrax.vmap(lambda k: random.permutation(k, n)[2])(random.split(k, COUNT)), lambda n: stats.randint(0, n), (5,)),
    "without replacement": (lambda k, n: arrax.vmap(lambda k: random.choice(k, n, (2,), False)[1])(random.split(k, COUNT)), lambda n: stats.randint(0, n), (5,)),
}
# fmt: on


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples_have_their_distribution(name):
    draw, cdf = CONTINUOUS[name]
    values = np.asarray(arrax.jit(draw)(key_for(name)), np.float64)
    assert np.isfinite(values).all()
    assert stats.kstest(values, cdf).pvalue > LEAST_P


@pytest.mark.parametrize("name", PARAMETRIC)
def test_samples_have_their_distribution_over_parameters(name):
    draw, distribution, parameters = PARAMETRIC[name]
    compiled = arrax.jit(draw)
    for i, parameter in enumerate(parameters):
        values = np.asarray(compiled(random.fold_in(key_for(name), i), parameter), np.float64)
        assert np.isfinite(values).all()
        assert stats.kstest(values, distribution(parameter).cdf).pvalue > LEAST_P, parameter


def chi_squared_p(values, distribution):
    """The p value of counts, where rare outcomes at both ends are one cell each."""
    low, high = distribution.ppf(20 / COUNT), distribution.ppf(1 - 20 / COUNT)
    edges = np.arange(low, high + 1)
    observed = np.array([np.sum(values <= edges[0]), *(np.sum(values == e) for e in edges[1:-1]), np.sum(values > edges[-2] if len(edges) > 1 else values > edges[0])])  # fmt: skip
    if len(edges) == 1:
        return 1.0
    cdf = distribution.cdf(edges)
    expected = COUNT * np.diff([0.0, *cdf[:-1], 1.0])
    return stats.chisquare(observed, expected).pvalue


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_have_their_distribution(name):
    draw, distribution, parameters = DISCRETE[name]
    static = {"static_argnums": 1} if isinstance(parameters[0], int) else {}
    compiled = arrax.jit(draw, **static)
    for i, parameter in enumerate(parameters):
        values = np.asarray(compiled(random.fold_in(key_for(name), i), parameter)).astype(np.int64)
        assert chi_squared_p(values, distribution(parameter)) > LEAST_P, parameter


def test_correlations_are_those_of_the_covariance():
    covariance = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
    for method in ("cholesky", "eigh", "svd"):
        draws = random.multivariate_normal(random.key(1), jnp.arange(3.0), covariance, (COUNT,), method=method)
        np.testing.assert_allclose(np.mean(draws, 0), np.arange(3), atol=0.05)
        np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.06)


def test_orthogonal_matrices_are_orthogonal():
    for dtype, shape in (("float32", (3, 3)), ("complex64", (3, 3)), ("float32", (3, 5)), ("float32", (5, 3))):
        q = np.asarray(random.orthogonal(random.key(0), shape[0], (2,), dtype, m=shape[1]))
        assert q.shape == (2, *shape)
        product = np.conj(np.swapaxes(q, 1, 2)) @ q if shape[0] >= shape[1] else q @ np.conj(np.swapaxes(q, 1, 2))
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(min(shape)), product.shape), atol=1e-5)


def test_permutations_keep_every_entry():
    for count in (1, 2, 1000, 3000):
        np.testing.assert_array_equal(np.sort(random.permutation(random.key(count), count)), np.arange(count))
    table = jnp.arange(20).reshape(4, 5)
    shuffled = np.asarray(random.permutation(random.key(0), table, axis=1))
    assert {tuple(column) for column in shuffled.T} == {tuple(column) for column in np.asarray(table).T}
    independent = np.asarray(random.permutation(random.key(0), table, axis=1, independent=True))
    np.testing.assert_array_equal(np.sort(independent, 1), table)
    for nothing in (jnp.zeros((0, 3)), jnp.zeros((3, 0))):
        assert random.permutation(random.key(0), nothing).shape == nothing.shape
    assert random.choice(random.key(0), jnp.zeros((0, 3)), (0,)).shape == (0, 3)


def test_choices_without_replacement_differ():
    for p in (None, jnp.arange(1.0, 11) / 55):
        picked = np.asarray(random.choice(random.key(3), 10, (10,), False, p))
        np.testing.assert_array_equal(np.sort(picked), np.arange(10))
    assert (
        len(set(np.asarray(random.categorical(random.key(0), jnp.zeros(6), shape=(6,), replace=False)).tolist())) == 6
    )


def test_halves_of_one_sequence_are_uncorrelated():
    """Neighbours, halves and children of a key have nothing to do with each other."""
    key = random.key(5)
    x = np.asarray(random.normal(key, (2, COUNT)))
    first, second = (np.asarray(random.normal(k, (COUNT,))) for k in random.split(key))
    for a, b in ((x[0], x[1]), (x[0][:-1], x[0][1:]), (first, second), (x[0], first)):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(COUNT)


# ---- extremes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize(
    "sampler, low, high",
    [
        ("uniform", 0, 1), ("normal", -np.inf, np.inf), ("exponential", 0, np.inf), ("cauchy", -np.inf, np.inf),
        ("gumbel", -np.inf, np.inf), ("laplace", -np.inf, np.inf), ("logistic", -np.inf, np.inf), ("maxwell", 0, np.inf),
    ],
)  # fmt: skip
def test_narrow_floats_stay_finite_and_within_the_support(sampler, low, high, dtype):
    values = getattr(random, sampler)(random.key(1), (COUNT,), dtype)
    assert values.dtype == jnp.dtype(dtype)
    wide = np.asarray(values.astype("float32"))
    assert np.isfinite(wide).all() and (wide >= low).all() and (wide <= high).all()
    if sampler == "uniform":
        assert (wide < 1).all()


def test_no_draw_is_infinite_where_the_uniform_number_is_0():
    """In 16 bits zeros come often enough to be met."""
    key = random.key(7)
    for dtype in ("bfloat16", "float16"):
        assert (np.asarray(random.uniform(key, (COUNT,), dtype)) == 0).any()
        draws = np.asarray(random.rayleigh(key, 1.0, (COUNT,), dtype)).astype("float32")
        assert np.isfinite(draws).all() and not np.signbit(draws).any()
        trials = random.geometric(key, jnp.asarray(0.3, dtype), (COUNT,))
        assert 1 <= trials.min() and trials.max() < 60


def test_extreme_parameters_give_no_nan():
    key = random.key(0)
    draws = {
        "gamma": random.gamma(key, jnp.array([1e-6, 1e30]), (1000, 2)),
        "tiny loggamma": random.loggamma(key, 1e-6, (1000,)),
        "beta": random.beta(key, *np.float32([(1e-5, 1e8)] * 2), (1000, 2)),
        "tiny dirichlet": random.dirichlet(key, jnp.full(4, 1e-5), (300,)),
        "truncated": random.truncated_normal(key, 5.0, 6.0, (1000,)),
    }
    for name, values in draws.items():
        assert np.isfinite(np.asarray(values)).all(), name
    np.testing.assert_allclose(np.sum(draws["tiny dirichlet"], -1), 1, rtol=1e-5)
    np.testing.assert_allclose(np.mean(draws["gamma"][:, 1]), 1e30, rtol=1e-3)
    assert ((draws["truncated"] >= 5) & (draws["truncated"] <= 6)).all()


def test_counts_of_extreme_and_certain_rates_are_finite_and_those_of_senseless_ones_are_marked():
    key = random.key(0)
    counts = np.asarray(random.poisson(key, jnp.array([0.0, 1e-8, 1e6, 2e9, -1.0, np.nan]), (200, 6)))
    assert (counts[:, :4] >= 0).all()
    np.testing.assert_array_equal(counts[:, 0], 0)
    np.testing.assert_array_equal(counts[:, 4:], -1)
    trials = jnp.array([0.0, 1.0, 1e6, 1e9, 7.0, 7.0, -1.0, 5.0, np.nan])
    chances = jnp.array([0.5, 0.5, 0.5, 0.5, 0.0, 1.0, 0.5, 1.5, 0.5])
    counts = np.asarray(random.binomial(key, trials, chances, (200, 9)))
    assert np.isfinite(counts[:, :6]).all()
    np.testing.assert_array_equal(counts[:, 4:6], np.tile([0, 7], (200, 1)))
    assert np.isnan(counts[:, 6:]).all()


def test_certain_events():
    key = random.key(0)
    assert not random.bernoulli(key, 0.0, (1000,)).any()
    assert random.bernoulli(key, 1.0, (1000,)).all()
    np.testing.assert_array_equal(random.choice(key, 3, (50,), p=jnp.array([0.0, 1.0, 0.0])), 1)
    np.testing.assert_array_equal(random.categorical(key, jnp.array([-np.inf, 0.0]), shape=(50,)), 1)
    np.testing.assert_array_equal(random.randint(key, (50,), 4, 5), 4)
    np.testing.assert_array_equal(random.geometric(key, 1.0, (50,)), 1)


@pytest.mark.parametrize("length", [41, 49, 98, 103, 107, 161])
def test_integers_below_a_length_whose_inverse_is_not_exact(length):
    drawn = np.asarray(random.randint(random.key(0), (5_000,), 0, length))
    assert drawn.min() == 0 and drawn.max() == length - 1


def test_many_choices_among_many_weights_are_searched_by_halves():
    weights = jnp.where(jnp.arange(1000) % 4 == 1, 1.0, 0.0)
    draw = arrax.jit(lambda key: random.choice(key, 1000, (2000,), p=weights))
    assert "1000,2000" not in (text := draw.lower(random.key(3)).as_text("jaxpr")) and "2000,1000" not in text
    drawn = np.asarray(draw(random.key(3)))
    assert (drawn % 4 == 1).all() and len(np.unique(drawn)) > 240


def test_infinite_bounds_of_truncation_are_none():
    values = np.asarray(random.truncated_normal(random.key(1), -np.inf, np.inf, (COUNT,)), np.float64)
    assert stats.kstest(values, stats.norm.cdf).pvalue > LEAST_P


def test_the_finest_modes_draw_from_the_same_distribution():
    key = arrax.random.key(3)
    for mode in ("low", "high", "highest"):
        sample = np.asarray(arrax.random.gumbel(key, (20000,), mode=mode))
        assert abs(sample.mean() - np.euler_gamma) < 0.03 and abs(sample.var() - np.pi**2 / 6) < 0.06
        chosen = arrax.random.categorical(key, jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=(20000,), mode=mode)
        np.testing.assert_allclose(np.bincount(chosen, minlength=3) / 20000, [0.1, 0.2, 0.7], atol=0.02)
    with pytest.raises(ValueError, match="highest"):
        arrax.random.gumbel(key, mode="higher")


# fmt: off
SMALL = {  # name: (draw in a dtype, distribution)
    "normal":           (lambda k, d: random.normal(k, (60,), d),                        stats.norm),
    "uniform":          (lambda k, d: random.uniform(k, (60,), d),                       stats.uniform),
    "truncated_normal": (lambda k, d: random.truncated_normal(k, -1, 1, (60,), d),       stats.truncnorm(-1, 1)),
    "gumbel":           (lambda k, d: random.gumbel(k, (60,), d),                        stats.gumbel_r),
    "exponential":      (lambda k, d: random.exponential(k, (60,), d),                   stats.expon),
    "laplace":          (lambda k, d: random.laplace(k, (60,), d),                       stats.laplace),
    "logistic":         (lambda k, d: random.logistic(k, (60,), d),                      stats.logistic),
    "gamma":            (lambda k, d: random.gamma(k, 0.5, (1000,), d),                  stats.gamma(0.5)),
    "beta":             (lambda k, d: random.beta(k, 2.0, 3.0, (60,), d),                stats.beta(2, 3)),
    "t":                (lambda k, d: random.t(k, 3.0, (60,), d),                        stats.t(3)),
    "rayleigh":         (lambda k, d: random.rayleigh(k, 1.0, (60,), d),                 stats.rayleigh),
    "weibull_min":      (lambda k, d: random.weibull_min(k, 1.0, 2.0, (60,), d),         stats.weibull_min(2)),
    "wald":             (lambda k, d: random.wald(k, 1.0, (60,), d),                     stats.invgauss(1)),
    "maxwell":          (lambda k, d: random.maxwell(k, (60,), d),                       stats.maxwell),
    "lognormal":        (lambda k, d: random.lognormal(k, 1.0, (60,), d),                stats.lognorm(1)),
    "triangular":       (lambda k, d: random.triangular(k, 0.0, 0.5, 1.0, (60,), d),     stats.triang(0.5)),
    "dirichlet":        (lambda k, d: random.dirichlet(k, jnp.ones(3, d), (300,), d),    stats.beta(1, 2)),
    "binomial":         (lambda k, d: random.binomial(k, 5.0, 0.4, (60,), d),            stats.binom(5, 0.4)),
}
# fmt: on


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_samples_of_small_floats_have_their_median(dtype):
    small = arrax.jit(lambda key: {name: draw(key, dtype) for name, (draw, _) in SMALL.items()})(random.key(0))
    for name, (_, distribution) in SMALL.items():
        found = np.asarray(small[name], np.float32)
        assert small[name].dtype == dtype and np.isfinite(found).all(), name
        spread = distribution.ppf(0.84) - distribution.ppf(0.16)  # two standard deviations of a normal number
        assert abs(np.median(found) - distribution.median()) < 2.5 * spread / np.sqrt(len(found)) + 0.03, name


def test_bounded_samples_of_eight_bits_lie_within_their_bounds():
    found = np.asarray(random.truncated_normal(random.key(0), -1, 1, (50,), "float8_e4m3fn"), np.float32)
    assert (np.abs(found) < 1).all()


def test_bounds_of_one_element_give_a_single_uniform_number_their_shape():
    key, low = arrax.random.key(0), jnp.zeros((1,))
    number = arrax.random.uniform(key, minval=low, maxval=2.0)
    assert number.shape == (1,) and number[0] == arrax.random.uniform(key, minval=0.0, maxval=2.0)
    assert arrax.vmap(lambda bound: arrax.random.uniform(key, minval=bound))(jnp.zeros((3, 1))).shape == (3, 1)
    with pytest.raises(ValueError, match="do not broadcast"):
        arrax.random.uniform(key, minval=jnp.zeros(2))


def test_bounds_of_uniform_numbers_may_have_other_shapes_than_each_other():
    low, high = jnp.array([-1.0, 5.0, 2.0]), jnp.array([[2.0, 6.0, 10.0], [10.0, 10.0, 10.0]])
    numbers = random.uniform(random.key(0), (2, 3), minval=low, maxval=high)
    assert numbers.shape == (2, 3) and bool(jnp.all((numbers >= low) & (numbers < high)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_vectors_and_matrices_of_narrow_floats_are_factored_in_wider_ones(dtype):
    covariance = jnp.array([[2.0, 1.0], [1.0, 2.0]], dtype)
    for method in ("cholesky", "eigh", "svd"):
        draws = random.multivariate_normal(random.key(1), jnp.zeros(2, dtype), covariance, (COUNT,), method=method)
        assert draws.dtype == dtype
        np.testing.assert_allclose(np.cov(np.asarray(draws, np.float64).T), covariance.astype("float32"), atol=0.2)
    q = random.orthogonal(random.key(0), 3, (), dtype)
    assert q.dtype == dtype
    np.testing.assert_allclose(jnp.float32(q @ q.T), np.eye(3), atol=0.03)
