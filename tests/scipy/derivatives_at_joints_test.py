"""Derivatives where a function's formulas meet, or where two operands are equal: those of the function, not of one formula."""

import math

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax, nn
from arrax.scipy import special, stats

LOG_2 = math.log(2)
# fmt: off
CASES = {  # (function, place, order): the derivative
    "log_ndtr":          (special.log_ndtr, 0.0, 2, -2 / math.pi),
    "log_ndtr, third":   (special.log_ndtr, 0.0, 3, (4 / math.pi - 1) * math.sqrt(2 / math.pi)),
    "xlogy, both":       (lambda x: arrax.grad(special.xlogy, 1)(x, 2.0), 0.0, 1, 1 / 2),
    "xlog1py, both":     (lambda x: arrax.grad(special.xlog1py, 1)(x, 2.0), 0.0, 1, 1 / 3),
    "boxcox":            (lambda power: special.boxcox(2.0, power), 0.0, 1, LOG_2**2 / 2),
    "boxcox, second":    (lambda power: special.boxcox(2.0, power), 0.0, 2, LOG_2**3 / 3),
    "boxcox at a tiny power": (lambda power: special.boxcox(2.0, power), 1e-20, 1, LOG_2**2 / 2),
    "boxcox1p":          (lambda power: special.boxcox1p(1.0, power), 0.0, 1, LOG_2**2 / 2),
    "poch at 0":         (lambda z: special.poch(z, 1.0), 0.0, 1, 1.0),
    "poch at -1":        (lambda z: special.poch(z, 2.0), -1.0, 1, -1.0),
    "poch at -1, second": (lambda z: special.poch(z, 2.0), -1.0, 2, 2.0),
    "poch of no steps":  (lambda m: special.poch(1.0, m), 0.0, 1, -np.euler_gamma),
    "poch, second":      (lambda m: special.poch(1.0, m), 0.0, 2, np.euler_gamma**2 + math.pi**2 / 6),
    "sine integral":     (lambda x: special.sici(x)[0], 0.0, 3, -1 / 3),
    "hypot":             (lambda x: jnp.hypot(x, 1.0), 1.0, 2, 2**-1.5),
    "hypot, third":      (lambda x: jnp.hypot(x, -1.0), -1.0, 3, 3 * 2**-2.5),
    "hypot at infinity": (lambda x: jnp.hypot(x, np.inf), 2.0, 1, 0.0),
    "bernoulli, surely not": (lambda p: stats.bernoulli.logpmf(0, p), 0.0, 1, -1.0),
    "bernoulli, surely": (lambda p: stats.bernoulli.logpmf(1, p), 1.0, 1, 1.0),
    "modf":              (lambda x: jnp.modf(x)[0], -3.0, 1, 1.0),
    "modf at 0":         (lambda x: jnp.modf(x)[0], -0.0, 1, 1.0),
    "sinc":              (jnp.sinc, 0.0, 2, -math.pi**2 / 3),
    "logaddexp":         (lambda x: jnp.logaddexp(x, 1.0), 1.0, 2, 0.25),
    "log_sigmoid":       (nn.log_sigmoid, 0.0, 2, -0.25),
    "softplus":          (nn.softplus, 0.0, 2, 0.25),
    "entr without end":  (special.entr, np.inf, 1, -np.inf),
    "entr below 0":      (special.entr, -1.0, 1, 0.0),
    "zeta below 1":      (lambda s: special.zeta(s, 2.0), 0.5, 1, np.nan),  # as its value
    "zeta beside poles": (lambda s: special.zeta(s, -0.5), 2.0, 1, np.nan),  # defined for whole s only
    "exp1 below 0":      (special.exp1, -1.0, 1, np.nan),  # as its value
    "boxcox without end": (lambda x: special.boxcox(x, -1.0), np.inf, 1, 0.0),
    "boxcox1p without end": (lambda x: special.boxcox1p(x, -1.0), np.inf, 1, 0.0),
    "spence at 0":       (special.spence, 0.0, 2, np.inf),
    "spence at 1":       (special.spence, 1.0, 2, 0.5),
    "t without end":     (lambda x: stats.t.logpdf(x, 1.0), np.inf, 1, 0.0),
    "t that is normal":  (lambda x: stats.t.logpdf(x, np.inf), 2.0, 1, -2.0),
    "mod without end":   (lambda y: jnp.mod(1.0, y), -np.inf, 1, 1.0),
    "i0e far out":       (lax.bessel_i0e, 1e10, 2, 0.75e-25 / math.sqrt(2 * math.pi)),
    "i1e far out":       (lax.bessel_i1e, -1e10, 2, -0.75e-25 / math.sqrt(2 * math.pi)),
    "squareplus far out": (nn.squareplus, 1e5, 2, 2 / (1e10 + 4) ** 1.5),
    "squareplus below":  (nn.squareplus, -1e5, 2, 2 / (1e10 + 4) ** 1.5),
    "squareplus without b": (lambda x: nn.squareplus(x, 0.0), 0.5, 1, 1.0),
    "soft_sign far out": (nn.soft_sign, -1e5, 2, 2 / (1 + 1e5) ** 3),
    "expm1 far below":   (jnp.expm1, -25.0, 1, math.exp(-25)),
    "elu far below":     (nn.elu, -25.0, 2, math.exp(-25)),
    "gelu":              (nn.gelu, 0.0, 2, math.sqrt(2 / math.pi)),
}
# fmt: on


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_derivatives_at_joints(case):
    function, place, order, expected = case
    with arrax.enable_x64(True):
        for _ in range(order):
            function = arrax.grad(function)
        np.testing.assert_allclose(function(place), expected, rtol=1e-9)


def test_the_zeros_of_modf_have_the_sign_of_their_number():
    numbers = np.array([-2.0, -0.0, 0.0, 5.0, np.inf, -np.inf])
    fractions, whole = jnp.modf(numbers)
    np.testing.assert_array_equal(np.signbit(fractions), np.signbit(numbers))
    np.testing.assert_array_equal(fractions, 0)
    np.testing.assert_array_equal(whole, numbers)
