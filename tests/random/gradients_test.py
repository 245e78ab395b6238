"""Samples move with their parameters: derivatives are those of the quantile that a sample is."""

import numpy as np
import pytest
import scipy.stats as stats

import arrax
import arrax.numpy as jnp
from arrax import random

KEY = random.key(11)
COUNT = 40


def quantile_slopes(distribution, parameter, samples, step=1e-5):
    """The change of each sample's quantile with the parameter, by differences."""
    levels = distribution(parameter).cdf(samples)
    width = step * max(1.0, parameter)
    return (distribution(parameter + width).ppf(levels) - distribution(parameter - width).ppf(levels)) / (2 * width)


def test_gamma_numbers_move_along_their_quantiles():
    parameters = np.array([0.3, 1.0, 2.5, 30.0])
    with arrax.enable_x64(True):
        draw = arrax.jit(lambda a: random.gamma(KEY, a, (COUNT, 4)))
        samples, slopes = (np.asarray(x) for x in arrax.jvp(draw, (parameters,), (np.ones(4),)))
    for a, numbers, found in zip(parameters, samples.T, slopes.T, strict=True):
        levels = stats.gamma(a).cdf(numbers)
        keep = (levels > 1e-3) & (levels < 1 - 1e-3)
        expected = quantile_slopes(stats.gamma, a, numbers)
        np.testing.assert_allclose(found[keep], expected[keep], rtol=2e-3)


def test_logarithms_of_gamma_numbers_move_with_them():
    with arrax.enable_x64(True):
        a = jnp.array([0.01, 0.5, 4.0])
        numbers, slopes = arrax.jvp(lambda a: random.gamma(KEY, a), (a,), (jnp.ones(3),))
        logarithms, log_slopes = arrax.jvp(lambda a: random.loggamma(KEY, a), (a,), (jnp.ones(3),))
        np.testing.assert_allclose(jnp.exp(logarithms), numbers, rtol=1e-9)
        np.testing.assert_allclose(log_slopes[1:], (slopes / numbers)[1:], rtol=1e-6)


# fmt: off
MEANS = {  # sampler: (mean of samples as a function of a parameter, its derivative there, parameter)
    "gamma":     (lambda a: jnp.mean(random.gamma(KEY, a, (8_000,))),               1.0,                     3.0),
    "loggamma":  (lambda a: jnp.mean(random.loggamma(KEY, a, (8_000,))),            0.6449,                  2.0),
    "chisquare": (lambda a: jnp.mean(random.chisquare(KEY, a, (8_000,))),           1.0,                     5.0),
    "beta":      (lambda p: jnp.mean(random.beta(KEY, p[0], p[1], (8_000,))),       (3 / 25, -2 / 25),       (2.0, 3.0)),
    "dirichlet": (lambda a: jnp.mean(random.dirichlet(KEY, jnp.stack([a, 1.0, 2.0]), (8_000,))[:, 0]), 3 / 25, 2.0),
    "t":         (lambda a: jnp.mean(random.t(KEY, a, (8_000,)) ** 2),              -2 / 64,                 10.0),
    "pareto":    (lambda a: jnp.mean(jnp.log(random.pareto(KEY, a, (8_000,)))),     -1 / 4,                  2.0),
    "weibull":   (lambda a: jnp.mean(random.weibull_min(KEY, a, 2.0, (8_000,))),    0.8862,                  2.0),
    "lognormal": (lambda a: jnp.mean(jnp.log(random.lognormal(KEY, a, (8_000,))) ** 2), 1.0,                 0.5),
    "uniform":   (lambda a: jnp.mean(random.uniform(KEY, (8_000,), maxval=a)),      0.5,                     2.0),
    "maxwell":   (lambda a: jnp.mean(random.double_sided_maxwell(KEY, a, 1.0, (8_000,))), 1.0,               2.0),
    "rayleigh":  (lambda a: jnp.mean(random.rayleigh(KEY, a, (8_000,))),            1.2533,                  2.0),
    "triangular": (lambda a: jnp.mean(random.triangular(KEY, 0.0, 1.0, a, (8_000,))), 1 / 3,                 3.0),
    "normal":    (lambda a: jnp.mean(random.multivariate_normal(KEY, jnp.stack([a, 0.0]), jnp.eye(2), (8_000,))[:, 0]), 1.0, 2.0),
}
# fmt: on


@pytest.mark.parametrize("name", MEANS)
def test_derivatives_of_means_are_those_of_expectations(name):
    mean, slope, parameter = MEANS[name]
    np.testing.assert_allclose(arrax.jit(arrax.grad(mean))(parameter), slope, rtol=0.08)


def test_truncated_numbers_move_with_their_bounds():
    draw = lambda low: random.truncated_normal(KEY, low, 1.0, (COUNT,))  # noqa: E731
    with arrax.enable_x64(True):
        _, slopes = arrax.jvp(draw, (-0.5,), (1.0,))
        differences = (draw(-0.5 + 1e-6) - draw(-0.5 - 1e-6)) / 2e-6
        np.testing.assert_allclose(slopes, differences, rtol=1e-4, atol=1e-6)


def test_reverse_and_batched_derivatives_agree_with_forward_ones():
    a = jnp.array([0.5, 2.0, 7.0])
    forward = arrax.jacfwd(lambda a: random.gamma(KEY, a))(a)
    np.testing.assert_allclose(arrax.jacrev(lambda a: random.gamma(KEY, a))(a), forward, rtol=1e-5)
    keys = random.split(KEY, 3)
    batched = arrax.vmap(arrax.grad(lambda a, k: random.gamma(k, a)))(a, keys)
    np.testing.assert_allclose(batched, [arrax.grad(lambda a, k=k: random.gamma(k, a))(x) for k, x in zip(keys, a, strict=True)], rtol=1e-5)  # fmt: skip


def test_discrete_samples_have_no_derivatives():
    assert arrax.grad(lambda p: jnp.sum(random.bernoulli(KEY, p, (5,)) * 1.0))(0.5) == 0
