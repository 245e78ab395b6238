"""Infinities, NaN and signed zeros, as the array API standard has them: eagerly and compiled, in both precisions."""

import itertools

import array_api_strict as strict
import numpy as np
import pytest

import arrax
import arrax.numpy as jnp

inf, nan = np.inf, np.nan
VALUES = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -2.5, inf, -inf, nan, -nan]
PLANE = [complex(x, y) for x, y in itertools.product([0.0, -0.0, 0.5, 1.0, -1.0, -2.5, inf, -inf, nan], repeat=2)]
UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor", "isfinite",
    "isinf", "isnan", "log", "log10", "log1p", "log2", "negative", "round", "sign", "signbit", "sin", "sinh", "sqrt", "tan",
    "tanh", "trunc",
]  # fmt: skip
BINARY = [
    "add", "atan2", "copysign", "divide", "hypot", "logaddexp", "maximum", "minimum", "multiply", "nextafter", "pow",
    "remainder", "subtract",
]  # fmt: skip
COMPLEX = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10", "log1p", "log2", "sin",
    "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip
PRECISIONS = [("float64", "complex128"), ("float32", "complex64")]
each_precision = pytest.mark.parametrize(("real", "whole"), PRECISIONS, ids=["double", "single"])


@pytest.fixture(autouse=True)
def wide_types():
    with arrax.enable_x64(True):
        yield


def compiled(names, *arrays):
    """The results of several functions, from one program."""
    return arrax.jit(lambda *xs: {name: getattr(jnp, name)(*xs) for name in names})(*arrays)


def expected_of(name, *arrays):
    with np.errstate(all="ignore"):
        return np.asarray(getattr(strict, name)(*map(strict.asarray, arrays)))


def agree(ours, theirs, zeros=True):
    """Whether each number is the other one, up to rounding; with ``zeros``, zeros have the same sign too."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype.kind == "c":
        return agree(ours.real, theirs.real, zeros) & agree(ours.imag, theirs.imag, zeros)
    close = np.isclose(ours, theirs, rtol=1e-5, atol=1e-6, equal_nan=True)
    return close & ((ours != 0) | (theirs != 0) | (np.signbit(ours) == np.signbit(theirs)) | (not zeros))


def check(name, ours, theirs, arrays, zeros=True):
    wrong = ~agree(ours, theirs, zeros)
    listed = [np.broadcast_to(a, wrong.shape)[wrong] for a in (*arrays, np.asarray(ours), theirs)]
    assert not wrong.any(), f"{name}: " + "; ".join(map(str, zip(*listed, strict=True)))


@each_precision
def test_functions_of_one_real_number(real, whole):
    x = np.array(VALUES, real)
    results = compiled(UNARY, x)
    for name in UNARY:
        theirs = np.where(x == 0, 0, np.sign(x)) if name == "sign" else expected_of(name, x)
        check(name, results[name], theirs, [x])
        check(name, getattr(jnp, name)(x), theirs, [x])


@each_precision
def test_functions_of_two_real_numbers(real, whole):
    x, y = (np.array(v, real) for v in zip(*itertools.product(VALUES, VALUES), strict=True))
    results = compiled(BINARY, x, y)
    for name in BINARY:
        zeros = name not in ("maximum", "minimum")  # which of two zeros is the greater is nobody's business
        check(name, results[name], expected_of(name, x, y), [x, y], zeros)


@each_precision
def test_functions_of_one_complex_number(real, whole):
    z = np.array(PLANE, whole)
    results = compiled(COMPLEX, z)
    for name in COMPLEX:
        signs = UNSPECIFIED.get(name, lambda x, y: False & np.isnan(x))(z.real, z.imag)
        theirs = expected_of(name, z)
        check(name, np.asarray(results[name])[~signs], theirs[~signs], [z[~signs]])
        size = np.abs if name != "abs" else lambda a: a
        parts = (lambda a: np.abs(a.real) + 1j * np.abs(a.imag)) if name != "abs" else size
        with np.errstate(all="ignore"):
            check(name, parts(np.asarray(results[name])[signs]), parts(theirs[signs]), [z[signs]])


@each_precision
def test_a_complex_zero_has_no_sign(real, whole):
    z = np.array([complex(x, y) for x in (0.0, -0.0) for y in (0.0, -0.0)], whole)
    for sign in (jnp.sign, arrax.jit(jnp.sign)):
        parts = np.asarray(sign(z)).view(real)
        assert (parts == 0).all() and not np.signbit(parts).any()


def _nowhere(x, y):
    """Where the standard leaves signs open: an infinite or unknown direction."""
    return ~np.isfinite(y) & ((x == 0) | ~np.isfinite(x))


UNSPECIFIED = {  # function: where the signs of the parts are open, or the standard's are not C's
    "exp": _nowhere, "sinh": _nowhere, "cosh": lambda x, y: _nowhere(x, y) | (np.isnan(x) & (y == 0)),
    "tanh": lambda x, y: np.isinf(x), "tan": lambda x, y: np.isinf(y),
    "sin": lambda x, y: _nowhere(y, x), "cos": lambda x, y: _nowhere(y, x) | (np.isnan(y) & (x == 0)),
}  # fmt: skip


EXPM1 = {  # where NumPy's answers are not the standard's
    complex(0.0, 0.0): 0j, complex(-0.0, 0.0): 0j, complex(inf, 0.0): complex(inf, 0), complex(inf, inf): complex(inf, nan),
    complex(inf, nan): complex(inf, nan), complex(-inf, inf): -1 + 0j, complex(-inf, nan): -1 + 0j,
    complex(nan, 0.0): complex(nan, 0), complex(1, inf): complex(nan, nan), complex(nan, nan): complex(nan, nan),
    complex(-inf, 1): complex(-1, 0), complex(0, nan): complex(nan, nan),
}  # fmt: skip


@each_precision
def test_expm1_of_complex_numbers(real, whole):
    z, theirs = np.array(list(EXPM1), whole), np.array(list(EXPM1.values()), whole)
    check("expm1", jnp.expm1(z), theirs, [z])


FLOOR_DIVIDE = [  # x, y, x // y
    (inf, 2.0, inf), (inf, -2.0, -inf), (-inf, 2.0, -inf), (-inf, -2.0, inf), (inf, inf, nan), (-inf, inf, nan),
    (1.0, inf, 0.0), (1.0, -inf, -0.0), (-1.0, inf, -0.0), (-1.0, -inf, 0.0), (0.0, 0.0, nan), (0.0, inf, 0.0),
    (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0), (-0.0, -2.0, 0.0), (2.0, 0.0, inf), (2.0, -0.0, -inf),
    (-2.0, 0.0, -inf), (-2.0, -0.0, inf), (nan, 1.0, nan), (1.0, nan, nan), (7.0, 2.0, 3.0), (-7.0, 2.0, -4.0),
    (7.0, -2.0, -4.0), (-7.0, -2.0, 3.0), (1.0, 0.1, 9.0), (0.5, 2.0, 0.0), (-0.5, 2.0, -1.0), (-0.5, -2.0, 0.0),
]  # fmt: skip


@each_precision
def test_floor_division(real, whole):
    x, y, expected = (np.array(column, real) for column in zip(*FLOOR_DIVIDE, strict=True))
    check("floor_divide", jnp.floor_divide(x, y), expected, [x, y])
    check("floor_divide", arrax.jit(jnp.floor_divide)(x, y), expected, [x, y])
    quotient, remainder = jnp.divmod(x, y)
    check("divmod", quotient, expected, [x, y])
    check("remainder", remainder, np.asarray(jnp.remainder(x, y)), [x, y])


def test_signs_of_narrow_numbers():
    for dtype in ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"):
        assert jnp.signbit(jnp.array([-1.0, 1.0, -0.0, 0.0], dtype)).tolist() == [True, False, True, False]


@each_precision
def test_complex_functions_are_accurate_in_both_parts(real, whole):
    """The formulas hold near zero, where differences of exponentials cancel, and far out, where they overflow."""
    rng = np.random.default_rng(0)
    names = ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp"]
    parts = 10.0 ** rng.uniform(-6, 1.8, (2, 500)) * rng.choice([-1, 1], (2, 500))
    z = (parts[0] + 1j * parts[1]).astype(whole)
    results = compiled(names, z)
    for name in names:
        expected = getattr(np, name)(z.astype(complex))
        for part in (np.real, np.imag):
            ours, theirs = part(np.asarray(results[name])), part(expected)
            normal = (np.abs(theirs) > 1e-30) & (np.abs(theirs) < 1e30)
            np.testing.assert_allclose(ours[normal], theirs[normal], rtol=16 * np.finfo(real).eps, err_msg=name)


@each_precision
@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "asinh", "atan", "atanh"])
def test_large_parts_beside_nan_tell_nothing(name, real, whole):
    large = np.finfo(real).max.item() ** 0.75  # its square is no number any more
    given = [complex(large, nan), complex(-large, nan), complex(nan, large), complex(nan, -large)]
    ours = np.asarray(getattr(jnp, name)(jnp.array(given, whole)))
    theirs = expected_of(name, np.array(given, whole))
    assert np.array_equal(np.isnan(ours.real), np.isnan(theirs.real)), ours
    assert np.array_equal(np.isnan(ours.imag), np.isnan(theirs.imag)), ours
