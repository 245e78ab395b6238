"""Pairs of numbers are as exact as twice the digits, also when a compiler fuses what computes them."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import arrax
from arrax.scipy import special
from arrax.scipy.special import double_double as dd

_RNG = np.random.default_rng(7)


def _values(size: int) -> list[dd.Pair]:
    high = _RNG.normal(size=(2, size)) * 10.0 ** _RNG.integers(-6, 6, (2, size))
    return [dd.Pair(h, h * 2.0**-54 * f) for h, f in zip(high, _RNG.uniform(-1, 1, (2, size)), strict=True)]


def _exact(pair: dd.Pair) -> list[Fraction]:
    return [Fraction(float(h)) + Fraction(float(low)) for h, low in zip(pair.high, pair.low, strict=True)]


# Only what a compiler sees together can be fused: several operations in one program.
@pytest.mark.parametrize(
    "formula",
    [
        (dd.add, lambda x, y: x + y, lambda x, y: max(abs(x), abs(y))),
        (dd.multiply, lambda x, y: x * y, None),
        (dd.divide, lambda x, y: x / y, None),
        (lambda x, y: dd.divide(x, dd.multiply(y, y)), lambda x, y: x / y**2, None),
        (lambda x, y: dd.add(dd.multiply(x, x), dd.multiply(y, y)), lambda x, y: x**2 + y**2, None),
        (lambda x, y: dd.multiply(dd.add(x, dd.exactly(np.float64(7))), x), lambda x, y: (x + 7) * x, lambda x, y: max(abs(x), 7) * abs(x)),
    ],
    ids=["add", "multiply", "divide", "quotient of a square", "sum of squares", "with a scalar"],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 33])
def test_operations_of_pairs_keep_a_hundred_bits(formula, size):
    operation, exact, scale = formula
    x, y = _values(size)
    with arrax.enable_x64(True):
        found = _exact(arrax.jit(operation)(x, y))
    for a, b, value in zip(_exact(x), _exact(y), found, strict=True):
        expected = exact(a, b)
        assert abs(value - expected) <= (abs(expected) if scale is None else scale(a, b)) / 2**100


@pytest.mark.parametrize(
    ("name", "count", "lowest"), [("hyp1f1", 2, -100.0), ("hyp2f1", 3, -10.0)]
)  # fmt: skip
def test_series_with_large_terms_of_both_signs_keep_their_digits(name, count, lowest):
    rng = np.random.default_rng(3)
    operands = [*rng.uniform(-25, 25, (count, 60)), rng.uniform(lowest, 0.95 if count == 3 else 100, 60)]
    with arrax.enable_x64(True):
        found = np.asarray(getattr(special, name)(*operands))
    with mpmath.workdps(60):
        errors = [
            abs(mpmath.mpf(value) / getattr(mpmath, name)(*map(mpmath.mpf, point)) - 1)
            for value, *point in np.array([found, *operands]).T.tolist()
        ]
    assert np.median([float(error) for error in errors]) < 1e-15
    assert max(errors) < 1e-10
