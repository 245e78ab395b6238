"""The incomplete gamma and beta functions against SciPy's."""

import numpy as np
import pytest
import scipy.special

import arrax
from arrax.core.tracebacks import bounded
from arrax.lax import incomplete_beta, incomplete_gamma
from arrax.lax.incomplete_beta import betainc
from arrax.lax.incomplete_gamma import igamma, igamma_grad_a, igammac, random_gamma_grad
from tests.support import bfloat16, check_batching, operations_of, precision, wide, x64_for

TYPES = [np.float32, np.float64]
each_type = pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)


def gamma_arguments(dtype, count=60):
    """Orders from 0.01 to 10,000, with arguments from far below to far above, and close by."""
    rng = np.random.default_rng(0)
    a = 10 ** rng.uniform(-2, 4, count)
    near = a * np.abs(1 + rng.standard_normal(count) / np.sqrt(a))
    x = np.where(np.arange(count) % 2, near, a * 10 ** rng.uniform(-1, 0.7, count))
    return a.astype(dtype), np.maximum(x, 1e-3).astype(dtype)


def beta_arguments(dtype, count=60):
    rng = np.random.default_rng(1)
    a, b = 10 ** rng.uniform(-1, 3, (2, count))
    mean = a / (a + b)
    spread = np.sqrt(mean * (1 - mean) / (a + b + 1))
    x = np.where(np.arange(count) % 2, mean + spread * rng.standard_normal(count), rng.uniform(0, 1, count))
    return a.astype(dtype), b.astype(dtype), np.clip(x, 1e-3, 1 - 1e-3).astype(dtype)


def test_all_operations_are_tested():
    assert operations_of(incomplete_gamma) == {*map(bounded, (igamma, igammac, igamma_grad_a, random_gamma_grad))}
    assert operations_of(incomplete_beta) == {bounded(betainc)}


@each_type
def test_incomplete_gamma_functions_are_those_of_scipy(dtype):
    a, x = gamma_arguments(dtype)
    with x64_for(dtype):
        for operation, reference in ((igamma, scipy.special.gammainc), (igammac, scipy.special.gammaincc)):
            result = operation(a, x)
            assert result.dtype == dtype
            np.testing.assert_allclose(wide(result), reference(wide(a), wide(x)), atol=60 * precision(dtype))


@each_type
def test_incomplete_beta_function_is_that_of_scipy(dtype):
    a, b, x = beta_arguments(dtype)
    with x64_for(dtype):
        result = betainc(a, b, x)
        assert result.dtype == dtype
        expected = scipy.special.betainc(wide(a), wide(b), wide(x))
        np.testing.assert_allclose(wide(result), expected, atol=200 * precision(dtype))


def test_limits_of_the_incomplete_gamma_functions():
    inf, nan = np.inf, np.nan
    table = [(0, 0, nan), (0, 1, 1), (1, 0, 0), (0, inf, 1), (inf, 1, 0), (inf, inf, nan), (1, inf, 1), (-1, 1, nan),
             (1, -1, nan), (nan, 1, nan), (1, nan, nan)]  # fmt: skip
    a, x, expected = np.float32(table).T
    np.testing.assert_array_equal(igamma(a, x), expected)
    np.testing.assert_array_equal(igammac(a, x), 1 - expected)
    np.testing.assert_array_equal(igamma_grad_a(np.float32([1, 1]), np.float32([0, inf])), [0, 0])


def test_limits_of_the_incomplete_beta_function():
    inf, nan = np.inf, np.nan
    table = [(0, 1, 0.5, 1), (1, 0, 0.5, 0), (0, 0, 0.5, nan), (1, 2, 0, 0), (1, 2, 1, 1), (1, 2, 1.5, nan),
             (inf, 1, 0.5, 0), (1, inf, 0.5, 1), (-1, 1, 0.5, nan), (inf, 1, 1, 1)]  # fmt: skip
    a, b, x, expected = np.float32(table).T
    np.testing.assert_array_equal(betainc(a, b, x), expected)


def test_derivatives_in_the_order_agree_with_differences_of_scipys_values():
    a, x = gamma_arguments(np.float64)
    step = 1e-4 * a

    def p(factor):
        return scipy.special.gammainc(a + factor * step, x)

    slope = (8 * (p(1) - p(-1)) - (p(2) - p(-2))) / (12 * step)
    density = np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a))
    likely = density > 1e-4
    with arrax.enable_x64(True):
        np.testing.assert_allclose(wide(igamma_grad_a(a, x)), slope, rtol=1e-5, atol=1e-8)
        tangents = arrax.jvp(igammac, (a, x), (np.ones_like(a), np.ones_like(a)))[1]
        np.testing.assert_allclose(wide(tangents), -slope - density, rtol=1e-5, atol=1e-8)
        grads = wide(random_gamma_grad(a, x))
        np.testing.assert_allclose(grads[likely], -slope[likely] / density[likely], rtol=1e-3)


def test_derivative_of_the_beta_function_is_its_density():
    a, b, x = beta_arguments(np.float64)
    log_density = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - scipy.special.betaln(a, b)
    with arrax.enable_x64(True):
        tangents = arrax.jvp(lambda t: betainc(a, b, t), (x,), (np.ones_like(x),))[1]
        np.testing.assert_allclose(wide(tangents), np.exp(log_density), rtol=1e-9, atol=1e-12)


def test_mixed_second_derivatives_of_the_gamma_function_agree_also_at_one():
    for a in (0.5, 1.0, 2.0):
        expected = 2 ** (a - 1) * np.exp(-2) / scipy.special.gamma(a) * (np.log(2) - scipy.special.digamma(a))
        for order in ((0, 1), (1, 0)):
            found = arrax.grad(arrax.grad(igamma, order[0]), order[1])(a, 2.0)
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_parameters_without_derivatives_are_refused():
    for position, name in enumerate("ab"):
        with pytest.raises(ValueError, match=f"betainc cannot be differentiated with respect to {name}"):
            arrax.grad(betainc, position)(2.0, 3.0, 0.5)
    with pytest.raises(ValueError, match="igamma_grad_a cannot be differentiated with respect to a"):
        arrax.grad(igamma_grad_a)(2.0, 3.0)


def test_scalars_repeat_and_small_floats_stay_what_they_are():
    x = np.float32([0.5, 2])
    np.testing.assert_allclose(igamma(2.0, x), scipy.special.gammainc(2, x), rtol=1e-5)
    np.testing.assert_allclose(betainc(2.0, 3.0, x / 4), scipy.special.betainc(2, 3, x / 4), rtol=1e-5)
    result = igamma(x.astype(bfloat16), x.astype(bfloat16))
    assert result.dtype == bfloat16


def test_batches_agree_with_loops():
    a, x = np.float32([1, 2, 30]), np.float32([0.5, 3, 29])
    check_batching(igamma, [a, x], rtol=1e-5)
    check_batching(lambda p, q: arrax.grad(igamma, (0, 1))(p, q), [a[1], x[1]], rtol=1e-5)
    check_batching(betainc, [a, a + 1, np.float32([0.3, 0.5, 0.6])], rtol=1e-5)


def test_the_upper_function_of_small_orders_keeps_its_digits():
    # exact values: E1(x) a + O(a^2) for tiny a, with E1(1) = 0.21938393439552026 and E1(0.5) = 0.5597735947761607
    for x, exponential_integral in ((1.0, 0.21938393439552026), (0.5, 0.5597735947761607)):
        for a in (1e-10, 1e-7):
            assert abs(float(igammac(np.float32(a), np.float32(x))) / (a * exponential_integral) - 1) < 1e-6
            with arrax.enable_x64(True):
                assert abs(float(igammac(a, x)) / (a * exponential_integral) - 1) < 1e-6

    a, x = (np.exp(np.random.default_rng(seed).uniform(low, 3, 4000)) for seed, low in ((0, -25), (1, -10)))
    with arrax.enable_x64(True):
        expected = scipy.special.gammaincc(a, x)
        kept = expected > 1e-300
        np.testing.assert_allclose(np.asarray(igammac(a, x))[kept], expected[kept], rtol=1e-12)
