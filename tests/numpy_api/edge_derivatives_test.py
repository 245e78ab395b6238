"""Derivatives of numpy's functions where they have edges."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp

# fmt: off
DERIVATIVES = {
    "remainders of zero":   (lambda x: jnp.remainder(x, 0.5), 1.5, 1),
    "divisors":             (lambda x: jnp.remainder(1.5, x), 0.5, -3),
    "rounded quotients":    (lambda x: jnp.floor_divide(x, 0.0) * 0 + jnp.floor_divide(2.0, x), 0.0, 0),
    "mantissas":            (lambda x: jnp.frexp(x)[0], 6.0, 0.125),
    "mantissa of zero":     (lambda x: jnp.frexp(x)[0], 0.0, 1),
    "Bessel function at 0": (jnp.i0, 0.0, 0),
    "spacings":             (jnp.spacing, 2.0, 0),
}
# fmt: on


@pytest.mark.parametrize("case", DERIVATIVES)
def test_derivatives_at_edges(case):
    function, place, slope = DERIVATIVES[case]
    assert arrax.grad(function)(place) == slope


def test_sinc_has_all_its_derivatives_at_zero_and_beside_it():
    function, found = jnp.sinc, []
    points = jnp.array([0.0, 1e-3, 0.15, 0.17, 0.5])
    for _ in range(6):
        found.append(arrax.vmap(function)(points))
        function = arrax.grad(function)
    x = np.asarray(points, np.float64)
    for order, values in enumerate(found):  # the derivatives of the integral of cos(pi x t) over t from 0 to 1
        t = np.linspace(0, 1, 20001)
        integrand = (np.pi * t) ** order * np.cos(np.pi * x[:, None] * t + order * np.pi / 2)
        np.testing.assert_allclose(values, np.trapezoid(integrand, t), rtol=2e-5, atol=1e-4 * 3.2**order)


def test_the_derivative_of_a_pseudo_inverse_needs_no_more_memory_than_the_matrix():
    for shape in ((100000, 2), (2, 100000)):
        a = np.random.default_rng(0).normal(size=shape).astype("f")
        p, t = arrax.jvp(jnp.linalg.pinv, (a,), (a,))
        np.testing.assert_allclose(t, -p, rtol=1e-2, atol=1e-6)  # of c a it is a's over c


def test_second_derivatives_of_arc_functions():
    for function, sign in ((jnp.arcsin, 1), (jnp.arccos, -1)):
        second = arrax.grad(arrax.grad(function))
        for x in (1e-10, 1e-4, 0.5):
            np.testing.assert_allclose(second(x), sign * x / (1 - x * x) ** 1.5, rtol=1e-6)
        assert float(second(1.0)) == sign * np.inf and float(second(-1.0)) == -sign * np.inf


def test_the_derivative_of_a_bessel_function_that_overflows():
    slope = arrax.grad(jnp.i0)
    assert float(slope(1e10)) == np.inf and float(slope(-1e10)) == -np.inf and float(slope(0.0)) == 0
    np.testing.assert_allclose(slope(50.0), 2.9030785901035566e20, rtol=1e-6)


def test_rounding_has_no_slope_where_it_overflows_either():
    x = jnp.array([1.2, jnp.inf, jnp.nan, 3e38])
    for decimals in (0, 1, -2):
        np.testing.assert_array_equal(arrax.grad(lambda x, d=decimals: jnp.round(x, d).sum())(x), np.zeros(4))
