"""Derivatives of the beta function and of the gamma function: differences of digamma functions keep their digits."""

import mpmath
import numpy as np
import pytest

import arrax
from arrax.scipy import special

PAIRS = [
    (2.0, 3.0),
    (0.25, 7.5),
    (1e-3, 1e-3),
    (40.0, 0.5),
    (1e8, 2.0),
    (3.0, 1e8),
    (1e-8, 1e8),
    (-2.5, 1.25),
    (-1.5, -0.75),
    (-3.5, 9.0),
]


def exact(function, *operands):
    """The derivative in the first operand, rounded once."""
    with mpmath.workdps(60):
        return float(mpmath.diff(function, tuple(map(mpmath.mpf, operands)), (1,) + (0,) * (len(operands) - 1)))


def difference(a, b):
    return mpmath.digamma(a) - mpmath.digamma(a + b)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1.2e-7), (np.float64, 1e-13)])
def test_slopes_of_betaln(dtype, tolerance):
    a, b = np.array(PAIRS, dtype).T
    with arrax.enable_x64(True), mpmath.workdps(60):
        expected = [difference(mpmath.mpf(float(x)), mpmath.mpf(float(y))) for x, y in zip(a, b, strict=True)]
        mirrored = [difference(mpmath.mpf(float(y)), mpmath.mpf(float(x))) for x, y in zip(a, b, strict=True)]
        slopes = arrax.jit(arrax.vmap(arrax.grad(special.betaln, (0, 1))))(a, b)
        np.testing.assert_allclose(slopes[0], np.array(expected, float), rtol=tolerance)
        np.testing.assert_allclose(slopes[1], np.array(mirrored, float), rtol=tolerance)
        assert slopes[0].dtype == dtype


def test_second_slopes_of_betaln():
    a, b = np.array(PAIRS).T
    with arrax.enable_x64(True):
        curvature = arrax.jit(arrax.vmap(arrax.grad(arrax.grad(special.betaln))))(a, b)
    np.testing.assert_allclose(curvature, [exact(difference, *pair) for pair in PAIRS], rtol=1e-12)


def test_slopes_of_beta():
    a, b = np.array(PAIRS).T
    with arrax.enable_x64(True):
        slopes = arrax.jit(arrax.vmap(arrax.grad(special.beta)))(a, b)
    np.testing.assert_allclose(slopes, [exact(mpmath.beta, *pair) for pair in PAIRS], rtol=1e-12)


def test_slopes_of_betaln_where_an_operand_has_no_end_or_the_function_is_finite_at_poles():
    slope = arrax.grad(special.betaln)
    assert slope(np.inf, 2.0) == 0
    assert slope(2.0, np.inf) == -np.inf
    assert slope(0.0, 2.0) == -np.inf
    assert np.isnan(slope(-3.0, 0.5))
    np.testing.assert_allclose(slope(-3.0, 2.0), 5 / 6, rtol=1e-6)  # B(a, 2) is 1 / (a (a + 1))


@pytest.mark.parametrize("x", [1e-3, 0.5, 1.0, 3.75, 9.5, 200.0, 1e9, -0.5, -7.25])
def test_second_derivative_of_gammaln(x):
    with arrax.enable_x64(True):
        np.testing.assert_allclose(
            arrax.grad(arrax.grad(special.gammaln))(x), float(mpmath.psi(1, mpmath.mpf(x))), rtol=1e-14
        )
