"""Sums, products, comparisons, extremes and complex parts: values, derivatives, batches, types."""

import numpy as np
import pytest

import arrax
from arrax import lax
from tests.support import (
    COMPLEX,
    FLOATING,
    INTEGERS,
    assert_matches_numpy,
    check_batching,
    check_gradients,
    precision,
    samples,
    wide,
    x64_for,
)

SMALL = [np.dtype(name) for name in ("float8_e4m3fn", "float8_e5m2", "int4", "uint4")]
NUMERIC = FLOATING + COMPLEX + INTEGERS
REAL = FLOATING + INTEGERS


def truncated(x, y):
    return np.trunc(np.divide(x, y)).astype(x.dtype) if x.dtype.kind in "iu" else np.divide(x, y)


# fmt: off
ARITHMETIC = {  # name: (operation, NumPy's, number of operands, dtypes)
    "abs":    (lax.abs,    np.abs,      1, FLOATING + [np.dtype(np.int32), np.dtype(np.int8)]),
    "add":    (lax.add,    np.add,      2, NUMERIC),
    "ceil":   (lax.ceil,   np.ceil,     1, FLOATING),
    "div":    (lax.div,    truncated,   2, NUMERIC),
    "floor":  (lax.floor,  np.floor,    1, FLOATING),
    "max":    (lax.max,    np.maximum,  2, REAL),
    "min":    (lax.min,    np.minimum,  2, REAL),
    "mul":    (lax.mul,    np.multiply, 2, NUMERIC),
    "neg":    (lax.neg,    np.negative, 1, FLOATING + COMPLEX + [np.dtype(np.int32)]),
    "rem":    (lax.rem,    np.fmod,     2, REAL),
    "sign":   (lax.sign,   np.sign,     1, FLOATING + INTEGERS),
    "square": (lax.square, np.square,   1, NUMERIC),
    "sub":    (lax.sub,    np.subtract, 2, NUMERIC),
    "cube":   (lambda x: lax.integer_pow(x, 3), lambda x: x**3, 1, NUMERIC),
    "inverse": (lambda x: lax.integer_pow(x, -2), lambda x: 1 / x**2, 1, FLOATING + COMPLEX),
}
COMPARISONS = {"eq": np.equal, "ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "lt": np.less, "ne": np.not_equal}
# fmt: on
CASES = [(name, dtype) for name, entry in ARITHMETIC.items() for dtype in entry[3]]


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda value: str(value))
def test_values_are_those_of_numpy(name, dtype):
    operation, reference, count, _ = ARITHMETIC[name]
    low = 1 if dtype.kind == "u" else -6
    arguments = samples([(low, 6), (1, 3)][:count], dtype)
    if name in ("sub", "cube") and dtype.kind in "u":
        arguments[0] = arguments[0] + dtype.type(4) if name == "sub" else arguments[0]
    assert_matches_numpy(operation, reference, arguments)
    assert_matches_numpy(arrax.jit(operation), reference, arguments)


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_narrow_types_have_arithmetic(dtype):
    x, y = (np.arange(4) % 3).astype(dtype), np.ones(4, dtype)
    for operation, reference in (
        (lax.add, np.add),
        (lax.mul, np.multiply),
        (lax.max, np.maximum),
        (lax.sub, np.subtract),
    ):
        if dtype.name == "uint4" and operation is lax.sub:
            continue
        out = operation(x, y)
        assert out.dtype == dtype
        np.testing.assert_array_equal(np.asarray(out).astype(np.float32), reference(x.astype(np.float32), 1))
    np.testing.assert_array_equal(lax.lt(x, y), x.astype(np.float32) < 1)


@pytest.mark.parametrize("dtype", [*REAL, np.dtype(bool)], ids=str)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_give_bools(name, dtype):
    with x64_for(dtype):
        x, y = (np.array(values).astype(dtype) for values in ([0, 1, 2, 1], [1, 1, 1, 0]))
        out = getattr(lax, name)(x, y)
        assert out.dtype == np.bool_
        np.testing.assert_array_equal(out, COMPARISONS[name](wide(x), wide(y)))
        assert getattr(lax, name)(x, x[0]).shape == (4,)


def test_comparisons_of_nan_and_complex_numbers():
    nan = np.float32(np.nan)
    assert not lax.eq(nan, nan) and lax.ne(nan, nan) and not lax.lt(nan, np.float32(1))
    z = np.array([1 + 1j, 1j], np.complex64)
    np.testing.assert_array_equal(lax.eq(z, z[::-1].copy()), [False, False])
    with pytest.raises(TypeError, match="lt does not accept dtype complex64"):
        lax.lt(z, z)


def test_extremes_keep_nan_and_order_complex_numbers_by_parts():
    x, y = np.array([np.nan, 1, -0.0], np.float32), np.array([1, np.nan, 0.0], np.float32)
    assert np.isnan(lax.max(x, y))[:2].all() and np.isnan(lax.min(x, y))[:2].all()
    slopes = arrax.jit(arrax.grad(lambda x, y: lax.max(x, y).sum(), (0, 1)))(x, y)
    np.testing.assert_array_equal(slopes, [[0, 0, 0.5]] * 2)
    a, b = np.array([1 + 2j, 2j], np.complex64), np.array([1 + 1j, 3 + 0j], np.complex64)
    np.testing.assert_array_equal(lax.max(a, b), [1 + 2j, 3])
    np.testing.assert_array_equal(lax.min(a, b), [1 + 1j, 2j])


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_parts(dtype):
    with x64_for(dtype):
        (z,) = samples([(-3, 3)], dtype)
        close = dict(rtol=4 * precision(dtype))
        np.testing.assert_allclose(lax.abs(z), np.abs(z), **close)
        np.testing.assert_allclose(lax.sign(z), z / np.abs(z), **close)
        np.testing.assert_array_equal(lax.complex(lax.real(z), lax.imag(z)), z)
        np.testing.assert_array_equal(lax.conj(z), np.conj(z))
        assert lax.conj(z.real.copy()).dtype == dtype and lax.real(z).dtype == z.real.dtype


def test_the_magnitude_of_a_complex_zero_has_two_derivatives():
    def size(x, y):
        return lax.abs(lax.complex(x, y))

    slope = arrax.grad(size)
    assert float(slope(0.0, 0.0)) == 0.0 and float(arrax.grad(slope)(0.0, 0.0)) == 1.0
    assert float(arrax.grad(slope, 1)(0.0, 0.0)) == 0.0


DERIVED = [name for name in ARITHMETIC if name not in ("sign", "floor", "ceil")]


@pytest.mark.parametrize("name", DERIVED)
def test_derivatives_agree_with_differences(name):
    operation, _, count, _ = ARITHMETIC[name]
    check_gradients(operation, samples([(2.1, 2.9), (1.1, 1.9)][:count], np.float64), order=2)
    if count == 2:
        check_gradients(operation, [np.float64(2.3), samples([(1.1, 1.9)], np.float64)[0]])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "neg", "square", "cube", "inverse"])
def test_complex_derivatives_agree_with_differences(name):
    operation, _, count, _ = ARITHMETIC[name]

    def by_parts(*parts):
        out = operation(*(lax.complex(re, im) for re, im in zip(parts[::2], parts[1::2], strict=True)))
        return lax.real(out), lax.imag(out)

    check_gradients(by_parts, samples([(1, 2)] * 2 * count, np.float64))
    parts = lambda re, im: (lax.abs(lax.complex(re, im)), lax.imag(lax.conj(lax.complex(re, im))))  # noqa: E731
    check_gradients(parts, samples([(1, 2)] * 2, np.float64))


@pytest.mark.parametrize("name", ARITHMETIC)
def test_batches_agree_with_loops(name):
    operation, _, count, _ = ARITHMETIC[name]
    check_batching(operation, samples([(1, 6), (1, 3)][:count], np.float32, (2, 3)))
    if count == 2:
        scalar, array = samples([(1, 6)], np.float32, ()), samples([(1, 3)], np.float32, (2, 3))
        check_batching(operation, [*scalar, *array])
        check_batching(operation, [*array, *scalar])


def test_slopes_at_kinks_are_those_documented():
    assert float(arrax.grad(lax.abs)(0.0)) == 1
    assert [float(g) for g in arrax.grad(lax.max, (0, 1))(1.0, 1.0)] == [0.5, 0.5]
    assert float(arrax.grad(lax.sign)(0.5)) == 0 and float(arrax.grad(lax.floor)(0.5)) == 0
    assert complex(arrax.jvp(lax.abs, (0j,), (1 + 0j,))[1]) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lax.add(np.int32(1), np.float32(1)), "int32, float32"),
        (lambda: lax.mul(np.float32(1), np.int8(1)), "float32, int8"),
        (lambda: lax.add(1, 1.0), "int32, float32"),
        (lambda: lax.add(np.ones(2, np.float32), np.ones(3, np.float32)), r"\(2,\), \(3,\)"),
        (lambda: lax.add(np.ones((1, 2), np.float32), np.ones(2, np.float32)), r"\(1, 2\), \(2,\)"),
        (lambda: lax.add(np.bool_(True), np.bool_(True)), "add does not accept dtype bool"),
        (lambda: lax.mul(np.bool_(True), np.bool_(True)), "mul does not accept dtype bool"),
        (lambda: lax.neg(np.bool_(True)), "neg does not accept dtype bool"),
        (lambda: lax.abs(np.uint8(1)), "abs does not accept dtype uint8"),
        (lambda: lax.rem(np.complex64(1), np.complex64(1)), "rem does not accept dtype complex64"),
        (lambda: lax.floor(np.int32(1)), "floor does not accept dtype int32"),
        (lambda: lax.complex(np.float16(1), np.float16(1)), "parts of float32 or float64, not of float16"),
        (lambda: lax.conj(np.float16(1)), "parts of float32 or float64, not of float16"),
        (lambda: lax.integer_pow(np.int32(2), -1), "negative powers"),
        (lambda: lax.sin("a"), "requires array or scalar arguments, got <class 'str'>"),
        (lambda: lax.sin([1.0]), "requires array or scalar arguments, got <class 'list'>"),
    ],
)
def test_mistakes_name_the_types(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_numbers_take_the_type_of_the_array_beside_them():
    for dtype, number in ((np.int32, 1), (np.float32, 1.0), (np.complex64, 1j)):
        out = arrax.eval_shape(lambda x, number=number: lax.add(x, number), np.ones(2, dtype))
        assert out.dtype == dtype and not out.weak_type
    out = arrax.eval_shape(lambda: lax.add(1.0, 2.0))
    assert out.weak_type and out.dtype == np.float32


def test_axes_of_length_one_are_repeated():
    a, b = np.arange(12, dtype=np.float32).reshape(3, 4) + 1, np.arange(4, dtype=np.float32).reshape(1, 4) + 1
    column = np.arange(3, dtype=np.float32).reshape(3, 1) + 1
    for operation, expected in ((lax.add, a + b), (lax.mul, a * b), (lax.div, a / b), (lax.max, np.maximum(a, b)),
                                (lax.eq, a == b), (lax.atan2, np.arctan2(a, b)), (lax.rem, np.fmod(a, b)),
                                (lax.pow, a**b)):  # fmt: skip
        np.testing.assert_allclose(operation(a, b), expected, rtol=1e-6)
    np.testing.assert_allclose(lax.sub(b, column), b - column)
    np.testing.assert_array_equal(arrax.grad(lambda b: lax.mul(a, b).sum())(b), a.sum(0, keepdims=True))
    np.testing.assert_array_equal(arrax.vmap(lambda a, b: lax.add(a, b))(a[None], b[None]), (a + b)[None])
    with pytest.raises(TypeError, match="incompatible shapes"):
        lax.add(a, b[:, :2])
    with pytest.raises(TypeError, match="incompatible shapes"):
        lax.add(a, b[0])


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: arrax.vmap(lax.add, (None, 0))(x, x), r"add got incompatible shapes for broadcasting: \(2, 2, 2\), \(2, 2\)"),
        (lambda x: arrax.vmap(lax.clamp, (0, None, None))(x, x, x), r"clamp requires min.shape == operand.shape"),
        (lambda x: arrax.vmap(lax.select_n, (0, None, None))(x > 0, x, x), "select"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_named_under_a_batch_axis_too(call, words):
    with pytest.raises(TypeError, match=words):
        call(np.ones((2, 2, 2), np.float32))


def test_zeros_that_stand_in_a_program_are_added_with_their_signs():
    def sums(x, c):
        return x + 0.0, 0.0 + x, x + lax.full((2,), 0.0), x - -0.0, x + -0.0, x - 0.0, -0.0 - x, c + 0.0, c - 0.0

    x = np.array([-0.0, 0.0], np.float32)
    c = x - 0j * x  # both parts
    for results in (sums(arrax.numpy.asarray(x), arrax.numpy.asarray(c)), arrax.jit(sums)(x, c)):
        for result, expected in zip(results, sums(x, c), strict=True):
            signs = [
                np.signbit(part(np.asarray(numbers))) for numbers in (result, expected) for part in (np.real, np.imag)
            ]
            np.testing.assert_array_equal(signs[:2], signs[2:])
