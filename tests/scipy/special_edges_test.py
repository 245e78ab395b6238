"""Special functions at ordinary places, zeros of both signs, poles, infinities, NaN, huge and tiny arguments: SciPy's values."""

import numpy as np
import pytest
import scipy.special

import arrax
from arrax.scipy import special
from tests.scipy.special_test import FUNCTIONS as ORDINARY
from tests.scipy.special_test import draw

PLACES = {
    1: [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e30, -1e30, 100, -100.5, 1e-300, -1e-20, 170.5, -745],
    2: [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3.7, -2.3, np.inf, -np.inf, np.nan, 1e-20, 1e20, 100, -100.5],
    3: [0.0, 1, -1, 2, 0.5, -2, np.inf, -np.inf, np.nan, 30],
}  # fmt: skip
FUNCTIONS = {
    1: "dawsn digamma entr erf erfc erfcx erfinv exp1 expi expit gamma gammaln gammasgn i0 i0e i1 i1e log_ndtr logit loggamma ndtr "
       "ndtri spence zeta fresnel sici",
    2: "beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div owens_t poch rel_entr xlog1py xlogy zeta expn polygamma",
    3: "betainc",
}  # fmt: skip


def of_endless(x, y):
    return (x == -np.inf) | (y == -np.inf) | ((x == np.inf) & (y == np.inf))


def at_two_poles(x, y):
    return (x <= 0) & (y <= 0) & (x == np.floor(x)) & (y == np.floor(y))


# Where SciPy has no value, or another one, and why ours is what it is.
EXCEPT = {
    "gammaln": lambda x: x == -np.inf,  # -inf there, but inf at -1e30
    "spence": lambda x: x == np.inf,  # NaN there; the limit is -inf
    "beta": lambda x, y: of_endless(x, y) | at_two_poles(x, y),  # NaN or inf; the sign depends on the order of two poles
    "betaln": lambda x, y: of_endless(x, y) | at_two_poles(x, y),
    "boxcox": lambda x, p: (x == 0) & ((p == -np.inf) | (p == 1e-20)),  # NaN and -inf there; it is -1 / p for p > 0
    "boxcox1p": lambda x, p: (x == -1) & ((p == -np.inf) | (p == 1e-20)),
    "comb": lambda n, k: np.isinf(n) | (n == 1e20),  # 1 and inf there; n - k keeps no digit
    # The sum of the arguments is rounded to a pole or away from it; limits at infinity exist for some only there.
    "poch": lambda z, m: np.isinf(z) | (np.abs(z) == 1e-20) | (m == 1e-20) | (m == -np.inf),
    "polygamma": lambda n, x: (n == 2) & (x == -100.5),  # SciPy's has 10 digits there
    "zeta": lambda s, *q: ((s == np.inf) | (s == 1e20)) & bool(q),  # NaN there for q > 1; the limit is 0
}  # fmt: skip


def reference(name):
    def orders(fun):
        return lambda n, x: np.array([fun(int(k), v) for k, v in zip(n, x, strict=True)])

    if name in ("expn", "polygamma"):
        return orders(getattr(scipy.special, name))
    return getattr(scipy.special, "psi" if name == "digamma" else name)


@pytest.mark.parametrize(("count", "name"), [(count, name) for count in FUNCTIONS for name in FUNCTIONS[count].split()])
def test_values_at_edges_are_those_of_scipy(count, name):
    operands = [axis.ravel() for axis in np.meshgrid(*[np.array(PLACES[count])] * count, indexing="ij")]
    if name in ("expn", "polygamma"):
        wanted = (operands[0] >= 0) & (operands[0] < 9) & (operands[0] == np.floor(operands[0]))
        operands = [x[wanted] for x in operands]
    ordinary = draw(name, np.float64) if len(ORDINARY.get(name, [()])[0]) == count else [np.empty(0)] * count
    edges, operands = operands, [np.concatenate(pair) for pair in zip(operands, ordinary, strict=True)]
    with arrax.enable_x64(True), np.errstate(all="ignore"):
        found, expected = getattr(special, name)(*operands), reference(name)(*operands)
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    size, undefined = len(edges[0]), np.isnan(edges).any(0)
    agreed = ~undefined
    if name in EXCEPT:
        agreed &= ~EXCEPT[name](*edges)
    for ours, theirs in pairs:
        ours = np.asarray(ours)
        assert (np.isnan(ours[:size]) | (ours == theirs)[:size])[
            undefined
        ].all()  # of NaN comes NaN, SciPy has some infinities
        rtol = 1e-12 if count == 1 else 1e-11
        np.testing.assert_allclose(ours[:size][agreed], theirs[:size][agreed], rtol=rtol, atol=1e-307)
        tolerance = ORDINARY.get(name, (None, 0))[1] * np.finfo(np.float64).eps
        np.testing.assert_allclose(ours[size:], theirs[size:], rtol=tolerance, atol=tolerance * 1e-2)


def test_the_signs_of_zeros_are_kept_by_odd_functions():
    zeros = np.array([0.0, -0.0])
    with arrax.enable_x64(True):
        for name in ("erf", "erfinv", "dawsn", "i1", "i1e"):
            np.testing.assert_array_equal(np.signbit(getattr(special, name)(zeros)), [False, True])
        np.testing.assert_array_equal(np.asarray(special.gamma(zeros)), [np.inf, -np.inf])


def test_owens_t_of_products_beyond_the_largest_number():
    h, a = np.float32([1e38, 1e-20, 0.0]), np.float32([20.0, 3e38, 1e30])
    np.testing.assert_allclose(special.owens_t(h, a), [0.0, 0.25, 0.25], rtol=1e-6)
    assert arrax.vmap(arrax.grad(special.owens_t, 1))(h, a).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("fun", "places", "first", "second"),
    [
        (special.i0, [0.0, 1e-10, 1e10], [0, 5e-11, np.inf], [0.5, 0.5, np.inf]),
        (special.i1, [0.0, 1e-10], [0.5, 0.5], [0, 3.75e-11]),
        (special.logit, [0.0, 0.5, 1.0], [np.inf, 4, np.inf], [-np.inf, 0, np.inf]),
        (special.ndtri, [0.0, 0.5, 1.0], [np.inf, np.sqrt(2 * np.pi), np.inf], [-np.inf, 0, np.inf]),
        (special.expit, [-1e10, 0.0, 1e10], [0, 0.25, 0], [0, 0, 0]),
        (special.log_ndtr, [-1e10, 1e10], [1e10, 0], [-1, 0]),
        (lambda x: special.expn(3, x), [0.0, 1e5], [-1, 0], [np.inf, 0]),
        (lambda x: special.polygamma(1, x), [1e10, 1e-5], [-1e-20, -2e15], [2e-30, 6e20]),
        (lambda x: special.xlogy(0.0, x), [0.0, 1.0], [0, 0], [0, 0]),
        (lambda x: special.gammainc(2.0, x), [0.0, np.inf], [0, 0], [1, 0]),
        (lambda x: special.betainc(2.0, 1.0, x), [0.0, 1.0], [0, 2], [2, 2]),
    ],
)
def test_first_and_second_derivatives_at_borders_are_the_limits(fun, places, first, second):
    places = np.array(places)
    with arrax.enable_x64(True):
        slopes = arrax.jit(arrax.vmap(lambda x: (arrax.grad(fun)(x), arrax.grad(arrax.grad(fun))(x))))
        found = slopes(places)
    np.testing.assert_allclose(found[0], first, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[1], second, rtol=1e-9, atol=1e-12)
