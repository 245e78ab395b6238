"""Exponentials, logarithms, powers, roots, trigonometric and hyperbolic operations."""

import numpy as np
import pytest

import arrax
from arrax import lax
from arrax.lax import exponential, trigonometric
from tests.support import (
    COMPLEX,
    FLOATING,
    assert_matches_numpy,
    bfloat16,
    check_batching,
    check_gradients,
    operations_of,
    samples,
)


def logistic(x):
    return 1 / (1 + np.exp(-x))


# fmt: off
OPERATIONS = {  # operation: (NumPy's, where its arguments may lie)
    lax.exp:      (np.exp, [(-5, 5)]),
    lax.exp2:     (lambda x: np.exp(x * np.log(2)), [(-5, 5)]),
    lax.expm1:    (np.expm1, [(-3, 3)]),
    lax.log:      (np.log, [(0.1, 9)]),
    lax.log1p:    (np.log1p, [(-0.9, 9)]),
    lax.logistic: (logistic, [(-5, 5)]),
    lax.pow:      (np.power, [(0.5, 3), (-2, 2)]),
    lax.sqrt:     (np.sqrt, [(0.1, 9)]),
    lax.rsqrt:    (lambda x: 1 / np.sqrt(x), [(0.1, 9)]),
    lax.cbrt:     (np.cbrt, [(0.1, 9)]),
    lax.sin:      (np.sin, [(-9, 9)]),
    lax.cos:      (np.cos, [(-9, 9)]),
    lax.tan:      (np.tan, [(-1.2, 1.2)]),
    lax.asin:     (np.arcsin, [(-0.9, 0.9)]),
    lax.acos:     (np.arccos, [(-0.9, 0.9)]),
    lax.atan:     (np.arctan, [(-9, 9)]),
    lax.atan2:    (np.arctan2, [(-9, 9), (0.5, 9)]),
    lax.sinh:     (np.sinh, [(-3, 3)]),
    lax.cosh:     (np.cosh, [(-3, 3)]),
    lax.tanh:     (np.tanh, [(-3, 3)]),
    lax.asinh:    (np.arcsinh, [(-9, 9)]),
    lax.acosh:    (np.arccosh, [(1.2, 9)]),
    lax.atanh:    (np.arctanh, [(-0.9, 0.9)]),
}
# fmt: on
REAL_ONLY = {lax.cbrt, lax.atan2}
ROUGHER = {lax.atanh: 64}  # XLA's atanh of float64 is some ulps off
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)


def test_the_table_has_every_operation_of_the_families():
    assert set(OPERATIONS) == operations_of(exponential) | operations_of(trigonometric)


@each_operation
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_values_are_those_of_numpy(operation, dtype):
    reference, domains = OPERATIONS[operation]
    assert_matches_numpy(operation, reference, samples(domains, dtype), ulps=ROUGHER.get(operation, 4))


@pytest.mark.parametrize(
    "operation", [f for f in OPERATIONS if f not in REAL_ONLY], ids=lambda operation: operation.__name__
)
@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_values_are_those_of_numpy(operation, dtype):
    reference, domains = OPERATIONS[operation]
    assert_matches_numpy(operation, reference, samples(domains, dtype), ulps=16)


@each_operation
def test_derivatives_agree_with_differences(operation):
    check_gradients(operation, samples(OPERATIONS[operation][1], np.float64), order=2)


@each_operation
def test_batches_agree_with_loops(operation):
    check_batching(operation, samples(OPERATIONS[operation][1], np.float32, (4,)), rtol=1e-5)


def test_tangents_far_out_approach_one_from_the_side_that_twice_the_angle_has():
    """C99, G.6.2.6: ctanh(inf + iy) is 1 + i0 sin(2y)."""
    y = np.float32([1, 2, 3, 4, -1, -2, -3, -4])
    z, turned = np.empty((2, 2, 8), np.complex64)
    z.real, z.imag = np.float32([[np.inf], [-np.inf]]), y
    turned.real, turned.imag = z.imag, z.real
    along, across = np.asarray(lax.tanh(z)), np.asarray(lax.tan(turned))
    for whole, zero in ((along.real, along.imag), (across.imag, across.real)):
        np.testing.assert_array_equal(whole, np.sign(z.real))
        np.testing.assert_array_equal(zero, 0)
        np.testing.assert_array_equal(np.copysign(1, zero), np.broadcast_to(np.sign(np.sin(2 * y)), (2, 8)))


def test_powers_of_two_are_exact_and_reach_the_limits_of_the_type():
    whole = np.arange(-126, 128, dtype=np.float32)
    np.testing.assert_array_equal(lax.exp2(whole), np.ldexp(np.float32(1), whole.astype(np.int32)))
    np.testing.assert_array_equal(lax.exp2(np.float32([128, np.inf, -200, -np.inf])), [np.inf, np.inf, 0, 0])
    assert np.isnan(lax.exp2(np.float32(np.nan)))


def test_pow_takes_integer_exponents_of_any_type():
    base = np.float32([2, -3, 0.5])
    for dtype in (np.int32, np.uint8):
        result = lax.pow(base, np.array([3, 2, 1], dtype))
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, [8, 9, 0.5], rtol=1e-6)
    np.testing.assert_allclose(lax.pow(base, -2), base**-2, rtol=1e-6)
    assert lax.pow(base.astype(bfloat16), 257).dtype == bfloat16


def test_pow_refuses_other_mixtures_of_types():
    with pytest.raises(TypeError, match="pow takes a floating or complex base.*float32 and float16"):
        lax.pow(np.float32([1]), np.float16([1]))
    with pytest.raises(TypeError, match="pow does not accept dtype int32"):
        lax.pow(np.int32([1]), 2)


@pytest.mark.parametrize("exponent", [0, 0.0])
def test_the_derivative_of_a_zeroth_power_is_zero_everywhere(exponent):
    for base in (0.0, 2.0, np.inf):
        assert float(arrax.grad(lambda x: lax.pow(x, exponent))(base)) == 0


@pytest.mark.parametrize("base", [2.0, np.array([0.5, -4, 0]), np.array([2j, 0])], ids=["number", "real", "complex"])
def test_the_derivative_of_a_zeroth_power_has_a_slope_in_the_exponent(base):
    base = np.asarray(base, np.result_type(base, np.float32) if np.iscomplexobj(base) else np.float32)
    holomorphic = bool(np.iscomplexobj(base))
    slope = arrax.grad(lax.pow, holomorphic=holomorphic)
    mixed = arrax.vmap(arrax.grad(slope, 1, holomorphic=holomorphic))(base.ravel(), np.zeros_like(base.ravel()))
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where(base == 0, 0, np.where(base.real < 0, np.nan, 1 / base))
    np.testing.assert_allclose(mixed, expected.ravel(), rtol=1e-6, atol=1e-6)


def test_second_derivatives_of_powers_at_zero_are_finite():
    assert float(arrax.grad(arrax.grad(lambda x: lax.pow(x, 2.0)))(0.0)) == 2
    assert float(arrax.grad(lambda y: lax.pow(0.0, y))(2.0)) == 0


def test_second_derivative_of_the_cube_root_has_its_limits():
    second = arrax.vmap(arrax.grad(arrax.grad(lax.cbrt)))(np.array([0.0, -0.0, 8.0, np.inf], np.float32))
    np.testing.assert_allclose(second, [-np.inf, np.inf, -1 / 144, 0])


@pytest.mark.parametrize("accuracy", [lax.Tolerance(rtol=1e-3), lax.AccuracyMode.HIGHEST, lax.AccuracyMode.DEFAULT])
def test_accuracy_reaches_the_compiler(accuracy):
    np.testing.assert_allclose(lax.exp(np.float32(1), accuracy=accuracy), np.e, rtol=1e-3)
    text = arrax.jit(lambda x: lax.tanh(x, accuracy=accuracy)).lower(1.0).as_text()
    expected = accuracy.name if isinstance(accuracy, lax.AccuracyMode) else "TOLERANCE"
    assert accuracy is lax.AccuracyMode.DEFAULT or f"result_accuracy_mode<{expected}>" in text


def test_accuracy_must_be_a_mode_or_a_tolerance():
    with pytest.raises(TypeError, match="sin: accuracy must be"):
        lax.sin(1.0, accuracy=1e-3)
    with pytest.raises(ValueError, match="negative"):
        lax.Tolerance(atol=-1.0)


def test_operations_refuse_integers():
    with pytest.raises(TypeError, match="sin does not accept dtype int32"):
        lax.sin(np.int32([1]))


def test_every_primitive_can_be_evaluated_by_its_impl():
    assert float(lax.sin_p.impl(1.0)) == float(lax.sin(1.0))
    assert arrax.jit(lambda x: x * lax.add_p.impl(1.0, 2.0))(2.0) == 6
