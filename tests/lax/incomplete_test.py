"""The incomplete gamma and beta functions against SciPy's."""

import mpmath
import numpy as np
import pytest
import scipy.special

import arrax
from arrax.core.tracebacks import bounded
from arrax.lax import incomplete_beta, incomplete_gamma
from arrax.lax.incomplete_beta import betainc
from arrax.lax.incomplete_gamma import igamma, igamma_grad_a, igammac, random_gamma_grad
from tests.support import bfloat16, operations_of, precision, quick_jit, wide, x64_for

TYPES = [np.float32, np.float64]
COUNT = 60
each_type = pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)


def gamma_arguments(dtype, count=COUNT):
    """Orders from 0.01 to 10,000, with arguments from far below to far above, and close by."""
    rng = np.random.default_rng(0)
    a = 10 ** rng.uniform(-2, 4, count)
    near = a * np.abs(1 + rng.standard_normal(count) / np.sqrt(a))
    x = np.where(np.arange(count) % 2, near, a * 10 ** rng.uniform(-1, 0.7, count))
    return a.astype(dtype), np.maximum(x, 1e-3).astype(dtype)


def beta_arguments(dtype, count=COUNT):
    rng = np.random.default_rng(1)
    a, b = 10 ** rng.uniform(-1, 3, (2, count))
    mean = a / (a + b)
    spread = np.sqrt(mean * (1 - mean) / (a + b + 1))
    x = np.where(np.arange(count) % 2, mean + spread * rng.standard_normal(count), rng.uniform(0, 1, count))
    return a.astype(dtype), b.astype(dtype), np.clip(x, 1e-3, 1 - 1e-3).astype(dtype)


def values(operation, *operands):
    """The operation's values for a few points, repeated to the length that all tests have."""
    (count,) = np.shape(operands[0])
    return arrax.tree.map(lambda x: np.asarray(x)[:count], operation(*(np.resize(x, COUNT) for x in operands)))


def slopes(function, places, *operands):
    """Its derivatives in some operands for a few points."""
    return values(arrax.vmap(arrax.grad(function, places)), *operands)


def test_all_operations_are_tested():
    everything = (igamma, igammac, igamma_grad_a, random_gamma_grad, incomplete_gamma.gamma_density)
    assert operations_of(incomplete_gamma) == {*map(bounded, everything)}
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
        rest = scipy.special.betaincc(wide(a), wide(b), wide(x))
        np.testing.assert_allclose(wide(incomplete_beta.betaincc(a, b, x)), rest, atol=200 * precision(dtype))


def test_small_parameters_of_the_beta_function_keep_their_digits():
    a, b = np.array([1e-10, 1e-10, 1e-5, 1e5]), np.array([1.5, 2.0, 1e5, 1e-5])
    x = np.array([0.25, 0.25, 1e-30, 0.999999])
    with arrax.enable_x64(True):
        np.testing.assert_allclose(values(betainc, a, b, x), scipy.special.betainc(a, b, x), rtol=1e-9)
        found = values(incomplete_beta.betaincc, a, b, x)
        np.testing.assert_allclose(found, scipy.special.betaincc(a, b, x), rtol=2e-6)


def test_limits_of_the_incomplete_gamma_functions():
    inf, nan = np.inf, np.nan
    table = [(0, 0, nan), (0, 1, 1), (1, 0, 0), (0, inf, 1), (inf, 1, 0), (inf, inf, nan), (1, inf, 1), (-1, 1, nan),
             (1, -1, nan), (nan, 1, nan), (1, nan, nan)]  # fmt: skip
    a, x, expected = np.float32(table).T
    np.testing.assert_array_equal(values(igamma, a, x), expected)
    np.testing.assert_array_equal(values(igammac, a, x), 1 - expected)
    np.testing.assert_array_equal(values(igamma_grad_a, np.float32([1, 1]), np.float32([0, inf])), [0, 0])


def test_limits_of_the_incomplete_beta_function():
    inf, nan = np.inf, np.nan
    table = [(0, 1, 0.5, 1), (1, 0, 0.5, 0), (0, 0, 0.5, nan), (1, 2, 0, 0), (1, 2, 1, 1), (1, 2, 1.5, nan),
             (inf, 1, 0.5, 0), (1, inf, 0.5, 1), (-1, 1, 0.5, nan), (inf, 1, 1, 1)]  # fmt: skip
    a, b, x, expected = np.float32(table).T
    np.testing.assert_array_equal(values(betainc, a, b, x), expected)


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
    a, x = np.array([0.5, 1.0, 2.0]), np.full(3, 2.0)
    expected = 2 ** (a - 1) * np.exp(-2) / scipy.special.gamma(a) * (np.log(2) - scipy.special.digamma(a))
    for first, second in ((0, 1), (1, 0)):
        np.testing.assert_allclose(slopes(arrax.grad(igamma, first), second, a, x), expected, rtol=1e-5)


def test_derivatives_of_the_beta_function_in_all_operands_are_exact():
    def exact(a, b, x):
        return mpmath.betainc(a, b, 0, x, regularized=True)

    def all_slopes(a, b, x):
        """In a, in b; in a and b, in b twice, in a and x."""
        of_a, of_b = arrax.grad(betainc, (0, 1))(a, b, x)
        of_slope = arrax.grad(arrax.grad(betainc), (1, 2))(a, b, x)
        return of_a, of_b, of_slope[0], arrax.grad(arrax.grad(betainc, 1), 1)(a, b, x), of_slope[1]

    points = np.array([(2.0, 3.0, 0.4), (0.3, 0.2, 0.1), (50.0, 30.0, 0.6), (0.1, 40.0, 0.01)])
    orders = (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 2, 0), (1, 0, 1)
    with arrax.enable_x64(True), mpmath.workdps(30):
        for point, *found in zip(points, *arrax.jit(arrax.vmap(all_slopes))(*points.T), strict=True):
            expected = [float(mpmath.diff(exact, tuple(point), order)) for order in orders]
            np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_second_derivatives_in_the_order_of_gamma_functions_are_exact():
    def exact(a, x):
        return mpmath.gammainc(a, 0, x, regularized=True)

    def sample_slope(a, x):
        return -mpmath.diff(exact, (a, x), (1, 0)) / mpmath.diff(exact, (a, x), (0, 1))

    with arrax.enable_x64(True), mpmath.workdps(40):
        points = np.array([(0.3, 0.2), (2.5, 1.5), (2.5, 7.0), (40.0, 38.0)])
        first, sampled = values(igamma_grad_a, *points.T), values(random_gamma_grad, *points.T)
        seconds = slopes(arrax.grad(igammac), 0, *points.T)
        sampled_slopes = np.transpose(slopes(random_gamma_grad, (0, 1), *points.T))
        for n, (a, x) in enumerate(points.tolist()):
            np.testing.assert_allclose(first[n], float(mpmath.diff(exact, (a, x), (1, 0))), rtol=1e-11)
            np.testing.assert_allclose(seconds[n], -float(mpmath.diff(exact, (a, x), (2, 0))), rtol=1e-10)
            np.testing.assert_allclose(sampled[n], float(sample_slope(a, x)), rtol=1e-11)
            expected = [float(mpmath.diff(sample_slope, (a, x), orders)) for orders in ((1, 0), (0, 1))]
            np.testing.assert_allclose(sampled_slopes[n], expected, rtol=1e-9)


def test_densities_have_their_limits_and_slopes_on_borders():
    a, x = np.array([1.0, 2.0, 3.0, 0.5, 1.0]), np.array([0.0, 0.0, 0.0, 0.0, np.inf])
    np.testing.assert_array_equal(slopes(igamma, 1, a, x), [1, 0, 0, np.inf, 0])
    np.testing.assert_array_equal(slopes(arrax.grad(igamma, 1), 1, a, x), [-1, 1, 0, -np.inf, 0])
    np.testing.assert_array_equal(slopes(igamma, 0, a, x), 0)
    a, b, x = np.array([[1.0, 3.0, 0.0], [2.0, 3.0, 0.0], [3.0, 1.0, 1.0], [3.0, 2.0, 1.0]]).T
    np.testing.assert_allclose(slopes(betainc, 2, a, b, x), [3, 0, 3, 0], atol=1e-6)
    np.testing.assert_allclose(slopes(arrax.grad(betainc, 2), 2, a, b, x), [-6, 12, 6, -12], rtol=1e-6)


def test_derivatives_at_order_0_are_the_limits():
    integral = 0.21938393439552  # of exp(-t)/t from 1 on
    zero, one = np.float32([0]), np.float32([1])
    for function, slope in ((igamma, -integral), (igammac, integral)):
        np.testing.assert_allclose(slopes(function, (0, 1), zero, one), [[slope], [0]], rtol=1e-6)
    found = slopes(betainc, (0, 1, 2), np.float32([0, 2]), np.float32([2, 0]), np.float32([0.5, 0.5]))
    slope = np.log(2) - 0.5
    np.testing.assert_allclose(found, [(-slope, 0), (0, slope), (0, 0)], rtol=1e-6)


PLACES = {  # where digits are easily lost: far tails, small orders, distances from the mean that cancel
    "gamma": [(0.21, 0.98), (0.3, 1.27), (1e-4, 1.0), (10.1, 1e-5), (40.0, 40.1), (300.0, 200.0), (1e4, 1.02e4), (3.0, 30.0)],
    "beta": [(0.9, 171.0, 0.0124), (50.0, 30.0, 0.3), (5.0, 300.0, 0.02), (0.38, 0.04, 0.77), (0.05, 586.0, 1e-6),
             (900.0, 800.0, 0.55), (2.5, 1.5, 0.999), (1e-3, 0.3, 0.5)],
}  # fmt: skip


@each_type
def test_digits_are_kept_up_to_what_the_rounding_of_operands_costs(dtype):
    exact = {
        igamma: lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
        igammac: lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True),
        betainc: lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
    }
    with x64_for(dtype), mpmath.workdps(60):
        for operation, fun in exact.items():
            points = np.array(PLACES["beta" if operation is betainc else "gamma"], dtype)
            for point, found in zip(points, values(operation, *points.T), strict=True):
                operands = [mpmath.mpf(float(v)) for v in point]
                expected = fun(*operands)
                near = [
                    fun(*(v * (1 + mpmath.mpf(10) ** -12 * (n == m)) for n, v in enumerate(operands)))
                    for m in range(len(point))
                ]
                condition = max(abs(v / expected - 1) * 10**12 for v in near)
                if expected < np.finfo(dtype).tiny:
                    continue
                error = abs(mpmath.mpf(float(found)) / expected - 1) / precision(dtype)
                assert error < (4 if dtype == np.float64 else 1) * (1 + condition), (operation, point)


def test_scalars_repeat_and_small_floats_stay_what_they_are():
    x = np.float32([0.5, 2])
    np.testing.assert_allclose(values(lambda x: igamma(2.0, x), x), scipy.special.gammainc(2, x), rtol=1e-5)
    found = values(lambda x: betainc(2.0, 3.0, x), x / 4)
    np.testing.assert_allclose(found, scipy.special.betainc(2, 3, x / 4), rtol=1e-5)
    result = values(igamma, x.astype(bfloat16), x.astype(bfloat16))
    assert result.dtype == bfloat16
    np.testing.assert_allclose(wide(result), scipy.special.gammainc(x, x), rtol=precision(bfloat16))


def test_operands_are_mapped_along_any_axis_and_each_alone():
    a, x = gamma_arguments(np.float32)
    p, q, y = beta_arguments(np.float32)
    table = np.stack([x, x / 2])
    for function, reference in ((igamma, scipy.special.gammainc), (igammac, scipy.special.gammaincc)):
        for axes, operands in (((0, 0), (a, x)), ((0, None), (a, x[3])), ((None, 0), (a[3], x))):
            found = arrax.vmap(function, axes)(*operands)
            np.testing.assert_allclose(found, reference(*map(wide, operands)), atol=60 * precision(np.float32))
    found = quick_jit(arrax.vmap(arrax.vmap(igamma), (None, 1)))(a, table.T)
    np.testing.assert_allclose(found, scipy.special.gammainc(wide(a), wide(table)), atol=60 * precision(np.float32))
    for axes, operands in (((0, 0, 0), (p, q, y)), ((0, None, None), (p, q[3], y[3])), ((None, 0, 0), (p[3], q, y))):
        found = arrax.vmap(betainc, axes)(*operands)
        expected = scipy.special.betainc(*map(wide, operands))
        np.testing.assert_allclose(found, expected, atol=200 * precision(np.float32))


def test_the_upper_function_of_small_orders_keeps_its_digits():
    # exact values: E1(x) a + O(a^2) for tiny a, with E1(1) = 0.21938393439552026 and E1(0.5) = 0.5597735947761607
    a, x = np.array([1e-10, 1e-7] * 2), np.repeat([1.0, 0.5], 2)
    expected = a * np.repeat([0.21938393439552026, 0.5597735947761607], 2)
    for dtype in TYPES:
        with x64_for(dtype):
            np.testing.assert_allclose(values(igammac, a.astype(dtype), x.astype(dtype)), expected, rtol=1e-6)

    a, x = (np.exp(np.random.default_rng(seed).uniform(low, 3, 4000)) for seed, low in ((0, -25), (1, -10)))
    with arrax.enable_x64(True):
        expected = scipy.special.gammaincc(a, x)
        kept = expected > 1e-300
        np.testing.assert_allclose(np.asarray(igammac(a, x))[kept], expected[kept], rtol=1e-12)


@pytest.mark.parametrize("a", [50.0, 500.0, 5000.0])
def test_slopes_in_the_order_are_smooth_where_the_operands_are_equal(a):
    with arrax.enable_x64(True):
        around = slopes(igamma, 0, np.full(3, a), a * np.array([1 - 1e-9, 1, 1 + 1e-9]))
    np.testing.assert_allclose(around, around[0], rtol=1e-6)
    assert around[0] < 0


def test_operands_far_beyond_the_order():
    with arrax.enable_x64(True):
        a, x = np.full(3, 1000.0), np.array([1e200, 1e300, np.inf])
        np.testing.assert_array_equal(values(igamma, a, x), 1)
        np.testing.assert_array_equal(values(igammac, a, x), 0)


@pytest.mark.parametrize("dtype", [*TYPES, bfloat16], ids=str)
def test_subnormal_numbers_count_as_zeros(dtype):
    with arrax.enable_x64(dtype == np.float64):
        smallest = 1e-310 if dtype == np.float64 else 1e-39
        half, zero, tiny = (np.array([number], dtype) for number in (0.5, 0, smallest))
        for operation in (igamma, igammac):
            np.testing.assert_array_equal(values(operation, half, tiny), values(operation, half, zero))
            np.testing.assert_array_equal(values(operation, tiny, half), values(operation, zero, half))
        np.testing.assert_array_equal(values(betainc, half, half, tiny), zero)
        assert np.isposinf(slopes(igamma, 1, half, tiny)).all()
