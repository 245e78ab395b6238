"""Special functions against SciPy's: values, derivatives, batching."""

import ml_dtypes
import mpmath
import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

import arrax
from arrax import lax
from arrax.core.tracebacks import bounded
from arrax.lax import special
from arrax.scipy.special import digamma, gammaln
from tests.support import FLOATING, assert_matches_numpy, check_batching, check_gradients, operations_of, samples

# fmt: off
OPERATIONS = {  # operation: (SciPy's, where its arguments may lie)
    special.erf:        (scipy.special.erf, [(-3, 3)]),
    special.erfc:       (scipy.special.erfc, [(-3, 3)]),
    special.erf_inv:    (scipy.special.erfinv, [(-0.95, 0.95)]),
    special.lgamma:     (scipy.special.gammaln, [(2.5, 9)]),
    special.xla_lgamma: (scipy.special.gammaln, [(2.5, 9)]),
    special.digamma:    (scipy.special.digamma, [(2, 9)]),
    special.trigamma:   (lambda x: scipy.special.polygamma(1, x), [(1, 9)]),
    special.polygamma:  (lambda m, x: scipy.special.polygamma(np.round(m), x), [(2, 2), (1, 9)]),
    special.zeta:       (scipy.special.zeta, [(1.5, 4), (1, 9)]),
    special.bessel_i0e: (scipy.special.i0e, [(-20, 20)]),
    special.bessel_i1e: (scipy.special.i1e, [(-20, 20)]),
}
# fmt: on
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)


def test_the_table_has_every_operation_of_the_family():
    assert set(map(bounded, OPERATIONS)) == operations_of(special)


@each_operation
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_values_are_those_of_scipy(operation, dtype):
    reference, domains = OPERATIONS[operation]
    assert_matches_numpy(operation, reference, samples(domains, dtype), ulps=24)


@each_operation
def test_derivatives_agree_with_differences(operation):
    first, *rest = samples(OPERATIONS[operation][1], np.float64, (6,))
    if rest:  # there is no derivative in the order
        check_gradients(lambda x: operation(first, x), rest, order=2)
    else:
        check_gradients(operation, [first], order=2, rtol=1e-4)


@each_operation
def test_batches_agree_with_loops(operation):
    check_batching(operation, samples(OPERATIONS[operation][1], np.float32, (4,)), rtol=1e-5)


# Beside the zeros of log Gamma and digamma, where SciPy's values lose their digits; below 0; far out. The operations of lax
# have all digits up to 32 bits.
HARD = {
    "log Gamma": (mpmath.loggamma, [1 + 1e-6, 1 - 1e-6, 2 + 1e-6, 2 - 1e-6, 0.3, 1e-30, 7.5, 1e20, -0.3, -5.25]),
    "digamma": (mpmath.digamma, [1.4616321, 1.4616322, 1e-3, 0.4, 5.5, 9.999, 1e20, -0.3, -5.25, -1e-3]),
}
FUNCTIONS = {
    ("log Gamma", "float32"): (special.lgamma, gammaln),
    ("log Gamma", "float64"): (gammaln,),
    ("digamma", "float32"): (special.digamma, digamma),
    ("digamma", "float64"): (digamma,),
}


@pytest.mark.parametrize("name, dtype", FUNCTIONS)
def test_digits_beside_zeros_and_below_0(name, dtype):
    exact, points = HARD[name]
    with arrax.enable_x64(dtype == "float64"), mpmath.workdps(40):
        points = np.asarray(points, dtype)
        expected = np.array([float(mpmath.re(exact(mpmath.mpf(float(x))))) for x in points])
        for function in FUNCTIONS[name, dtype]:
            found = np.asarray(function(points), np.float64)
            assert_allclose(found, expected, rtol=(0.51 if dtype == "float32" else 16) * np.finfo(dtype).eps)


def test_poles_and_infinite_operands():
    points = np.array([0.0, -0.0, -1, -4, np.inf, -np.inf, np.nan])
    assert_array_equal(special.lgamma(points), [np.inf] * 6 + [np.nan])
    assert_array_equal(special.digamma(points), [-np.inf, np.inf, np.nan, np.nan, np.inf, np.nan, np.nan])


def test_orders_have_no_derivative():
    with pytest.raises(ValueError, match="polygamma cannot be differentiated with respect to the order"):
        arrax.grad(special.polygamma)(2.0, 3.0)


def test_derivatives_of_the_zeta_function_in_both_operands_are_exact():
    with arrax.enable_x64(True), mpmath.workdps(30):
        for s, q in ((1.5, 0.3), (2.5, 1.5), (9.0, 4.0)):
            for orders in ((1, 0), (2, 0), (1, 1), (0, 2)):
                fun = lax.zeta
                for place, count in enumerate(orders):
                    for _ in range(count):
                        fun = arrax.grad(fun, place)
                exact = mpmath.diff(lambda s, q: mpmath.zeta(s, q), (s, q), orders)
                np.testing.assert_allclose(float(fun(s, q)), float(exact), rtol=1e-12)


def test_zeta_and_polygamma_functions_of_negative_numbers_are_those_of_scipy():
    x = np.array([-0.5, -0.7, -2.6, -10.04, -40.3, -3.0, 0.0, np.inf, 1e-30])
    with arrax.enable_x64(True), np.errstate(all="ignore"):
        for s in (2.0, 3.0, 8.0):
            np.testing.assert_allclose(lax.zeta(s, x), scipy.special.zeta(s, x), rtol=1e-11)
            np.testing.assert_allclose(lax.polygamma(s, x), scipy.special.polygamma(int(s), x), rtol=1e-11)
        assert np.isnan(np.asarray(lax.zeta(np.array([2.5, 0.5, -1.0]), -0.5))).all()


def test_derivatives_of_bessel_functions_at_zero():
    assert float(arrax.grad(lax.bessel_i1e)(0.0)) == 0.5
    assert float(arrax.grad(lax.bessel_i0e)(0.0)) == 0


def test_bessel_i0e_is_good_to_the_last_digits_in_both_types():
    x = np.linspace(-40, 40, 401)
    assert_matches_numpy(lax.bessel_i0e, scipy.special.i0e, [x], ulps=8)
    assert_matches_numpy(lax.bessel_i0e, scipy.special.i0e, [x.astype(np.float32)], ulps=8)
    np.testing.assert_allclose(
        lax.bessel_i0e(np.float32([0, 1e30, np.inf])), [1, scipy.special.i0e(1e30), 0], rtol=1e-5
    )


def test_special_functions_refuse_complex_numbers():
    with pytest.raises(TypeError, match="erf does not accept dtype complex64"):
        lax.erf(np.complex64([1]))


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu])
def test_floats_of_eight_bits_go_through_float32(dtype):
    x = np.arange(256, dtype=np.uint8).view(dtype)
    operations = [lax.erf, lax.erfc, lax.bessel_i0e, lax.bessel_i1e]
    results = arrax.jit(lambda x: [operation(x) for operation in operations])(x)
    for operation, result in zip(operations, results, strict=True):
        expected = np.asarray(operation(x.astype(np.float32))).astype(x.dtype)
        assert_array_equal(np.asarray(result).astype(np.float32), expected.astype(np.float32))
