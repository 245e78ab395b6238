"""Elementary functions by formulas: accuracy, special values, the same bits everywhere, derivatives."""

import math

import ml_dtypes
import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core import config
from tests.lax.cpu.routes import assert_routes_agree, lowered_text
from tests.support import check_gradients

RNG = np.random.default_rng(0)
INF, NAN = math.inf, math.nan
# fmt: off
UNARY = {  # operation: (NumPy's, where numbers are drawn from, special values)
    lax.sin:   (np.sin,     (-40, 40),   [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    lax.cos:   (np.cos,     (-40, 40),   [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    lax.tan:   (np.tan,     (-40, 40),   [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    lax.asin:  (np.arcsin,  (-1, 1),     [(0.0, 0.0), (-0.0, -0.0), (2.0, NAN), (-2.0, NAN), (INF, NAN), (NAN, NAN)]),
    lax.acos:  (np.arccos,  (-1, 1),     [(1.0, 0.0), (-1.0, math.pi), (2.0, NAN), (-2.0, NAN), (-INF, NAN), (NAN, NAN)]),
    lax.atan:  (np.arctan,  (-9, 9),     [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (NAN, NAN)]),
    lax.sinh:  (np.sinh,    (-88, 88),   [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (99.0, INF), (NAN, NAN)]),
    lax.cosh:  (np.cosh,    (-88, 88),   [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (-99.0, INF), (NAN, NAN)]),
    lax.asinh: (np.arcsinh, (-99, 99),   [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
    lax.acosh: (np.arccosh, (1, 99),     [(1.0, 0.0), (0.5, NAN), (-2.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)]),
    lax.atanh: (np.arctanh, (-1, 1),     [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (2.0, NAN), (INF, NAN), (NAN, NAN)]),
    lax.cbrt:  (np.cbrt,    (-99, 99),   [(0.0, 0.0), (-0.0, -0.0), (8.0, 2.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
}
# fmt: on
each_unary = pytest.mark.parametrize("operation", UNARY, ids=lambda operation: operation.__name__)


def errors(result, exact):
    """In units in the last place of the float32 that is nearest."""
    with np.errstate(all="ignore"):
        return np.abs(np.asarray(result, np.float64) - exact) / np.spacing(np.abs(exact.astype(np.float32)))


@each_unary
def test_values_are_almost_correctly_rounded(operation):
    reference, (low, high), _ = UNARY[operation]
    x = RNG.uniform(low, high, 1 << 16).astype(np.float32)
    small = (RNG.uniform(0, 1, 1 << 15) * 10.0 ** -RNG.integers(0, 30, 1 << 15)).astype(np.float32)
    for numbers in (x, small + np.float32(low > 0)):
        assert errors(operation(numbers), reference(numbers.astype(np.float64))).max() < 0.62


@pytest.mark.parametrize("operation", [lax.sin, lax.cos, lax.tan], ids=lambda operation: operation.__name__)
def test_large_arguments_are_reduced_exactly(operation):
    bits = RNG.integers(0x4B000000, 0x7F800000, 1 << 16).astype(np.int32)
    x = np.concatenate([bits.view(np.float32), -bits.view(np.float32)])
    assert errors(operation(x), UNARY[operation][0](x.astype(np.float64))).max() < 0.62


@each_unary
def test_special_values(operation):
    special = UNARY[operation][2]
    for shape in ((), (5,), (40_000,)):
        for value, expected in special:
            result = np.asarray(operation(np.full(shape, value, np.float32)))
            np.testing.assert_array_equal(result, np.full(shape, expected, np.float32))
            assert math.isnan(expected) or (np.signbit(result) == np.signbit(np.float32(expected))).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
def test_small_floats_go_through_float32(dtype):
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)

    def everything(x):
        return [operation(x) for operation in UNARY]

    for operation, result in zip(UNARY, arrax.jit(everything)(x), strict=True):
        expected = np.asarray(operation(x.astype(np.float32))).astype(dtype)
        same = np.asarray(result).view(np.uint16) == expected.view(np.uint16)
        assert (same | np.isnan(expected.astype(np.float32))).all()


# fmt: off
POINTS = [  # y, x, angle
    (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -0.0, math.pi), (-0.0, -0.0, -math.pi), (0.0, 1.0, 0.0), (-0.0, -1.0, -math.pi),
    (1.0, 0.0, math.pi / 2), (-1.0, -0.0, -math.pi / 2), (INF, INF, math.pi / 4), (-INF, INF, -math.pi / 4),
    (INF, -INF, 3 * math.pi / 4), (-INF, -INF, -3 * math.pi / 4), (INF, 5.0, math.pi / 2), (5.0, INF, 0.0), (-5.0, INF, -0.0),
    (5.0, -INF, math.pi), (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, 0.0, NAN),
]
POWERS = [  # base, exponent, power
    (NAN, 0.0, 1.0), (INF, -0.0, 1.0), (0.0, 0.0, 1.0), (1.0, NAN, 1.0), (1.0, INF, 1.0), (-1.0, INF, 1.0), (-1.0, -INF, 1.0),
    (NAN, 2.0, NAN), (2.0, NAN, NAN), (2.0, INF, INF), (2.0, -INF, 0.0), (0.5, INF, 0.0), (-0.5, -INF, INF), (INF, 2.0, INF),
    (INF, -2.0, 0.0), (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, 2.5, INF), (-INF, -3.0, -0.0), (-INF, -2.0, 0.0),
    (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (0.0, -1.0, INF), (-0.0, -1.0, -INF), (-0.0, -2.0, INF),
    (-8.0, 3.0, -512.0), (-2.0, -1.0, -0.5), (-2.0, 0.5, NAN), (3.0, 4.0, 81.0), (-1.0, 16777216.0, 1.0), (10.0, 39.0, INF),
    (10.0, -50.0, 0.0), (-10.0, 39.0, -INF), (-2.0, 1e30, INF),
]
# fmt: on


@pytest.mark.parametrize(("operation", "table"), [(lax.atan2, POINTS), (lax.pow, POWERS)], ids=["atan2", "pow"])
@pytest.mark.parametrize("repeats", [1, 2000])
def test_special_values_of_two_numbers(operation, table, repeats):
    x, y, expected = (np.tile(np.array(column, np.float32), repeats) for column in zip(*table, strict=True))
    result = np.asarray(operation(x, y))
    np.testing.assert_allclose(result, expected, rtol=1e-7)
    ordinary = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result)[ordinary], np.signbit(expected)[ordinary])


def test_values_of_two_numbers_are_almost_correctly_rounded():
    x, y = RNG.standard_normal((2, 1 << 16)).astype(np.float32)
    assert errors(lax.atan2(x, y), np.arctan2(x.astype(np.float64), y)).max() < 0.52
    base, exponent = RNG.uniform(0, 9, 1 << 16).astype(np.float32), RNG.uniform(-30, 30, 1 << 16).astype(np.float32)
    exact = base.astype(np.float64) ** exponent
    ordinary = (exact < 1e38) & (exact > 1e-37)
    assert errors(lax.pow(base, exponent), exact)[ordinary].max() < 0.55


def test_the_same_bits_whatever_the_program():
    x = np.concatenate([RNG.uniform(-1, 1, (1 << 15) - 24), [0.0, -0.0, 1.0, -1.0, NAN, INF] * 4]).astype(np.float32)
    operations = [*UNARY, lax.tanh, lax.rsqrt, lax.log1p, lax.erf_inv, lax.exp, lax.expm1]
    long = np.tile(x, 2)

    def everything(values):
        return [operation(values) for operation in operations] + [
            lax.atan2(values, 0.5 + values),
            lax.pow(values, values),
        ]

    def agree(first, second):
        return [bool(jnp.array_equal(a, b, equal_nan=True)) for a, b in zip(first, second, strict=True)]

    compiled = arrax.jit(everything)(x)
    ways = {
        "eagerly": everything(x),
        "a long array": [out[: x.size] for out in arrax.jit(everything)(long)],
        "mapped": arrax.jit(arrax.vmap(everything))(x),
        "in a loop": [out[1] for out in arrax.jit(lambda v: lax.map(everything, v))(long.reshape(2, -1))],
        "by short rows": [out.ravel() for out in arrax.jit(lambda v: lax.map(everything, v))(x.reshape(1024, -1))],
        "number by number": arrax.jit(lambda v: lax.map(everything, v))(x),
    }
    for way, outs in ways.items():
        assert all(agree(compiled, outs)), (way, agree(compiled, outs))


@each_unary
def test_derivatives_go_the_same_way(operation):
    low, high = UNARY[operation][1]
    x = RNG.uniform(low * 0.9 + 0.2 * (low == 1), high * 0.9, 2000).astype(np.float32)
    with config.cpu_kernels(False):
        expected = arrax.jit(arrax.vmap(arrax.grad(operation)))(x)
    np.testing.assert_allclose(arrax.jit(arrax.vmap(arrax.grad(operation)))(x), expected, rtol=1e-5, atol=1e-6)
    check_gradients(operation, [x[:4]])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("operation", [lax.exp, lax.logistic], ids=lambda operation: operation.__name__)
def test_exponentials_are_nan_also_where_the_compiler_sees_that_operands_are(operation, dtype):
    @arrax.jit
    def results(x, flag):
        operands = jnp.where(flag, x, NAN), x.at[1].set(NAN), jnp.pad(x, 1, constant_values=NAN)
        return [operation(operand) for operand in operands]

    chosen, written, padded = map(jnp.isnan, results(jnp.ones(3, dtype), False))
    assert chosen.all() and written.tolist() == [False, True, False]
    assert padded.tolist() == [True, False, False, False, True]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_quotients_and_remainders_of_integers(dtype):
    info = np.iinfo(dtype)
    x, y = RNG.integers(info.min, info.max, (2, 1 << 15), dtype=dtype, endpoint=True)
    y[::3] = RNG.integers(max(info.min, -3), 3, y[::3].size)
    x[:500], x[500:900], x[900:1000] = info.min, info.max, 0

    def everything(x, y):
        return [lax.div(x, y), lax.rem(x, y), x // y, x % y]

    assert_routes_agree(everything, x, y)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_quotients_and_remainders_by_numbers_in_the_program(dtype):
    info = np.iinfo(dtype)
    x = np.unique(RNG.integers(info.min, info.max, 999, dtype=dtype, endpoint=True))
    x = np.append(x, np.array([info.min, info.max, 0, 1], dtype))
    for divisor in (1, 3, 10, int(info.max), *((-1, -7, int(info.min)) if info.min else ())):
        by = np.dtype(dtype).type(divisor)

        def everything(x, y=by):
            return [lax.div(x, y), lax.rem(x, y), x // y, x % y]

        outs = arrax.jit(everything)(x)
        with np.errstate(over="ignore"):
            floor, rest = x.astype(object) // divisor, x.astype(object) % divisor
            truncated = np.array(
                [abs(int(a)) // abs(divisor) * (1 if (a < 0) == (divisor < 0) else -1) for a in x], object
            )
        left = x.astype(object) - truncated * divisor
        for out, right in zip(outs, (truncated, left, floor, rest), strict=True):
            np.testing.assert_array_equal(out, np.asarray(right & int(2**info.bits - 1), np.uint64).astype(dtype))
        assert "xf32" not in (text := lowered_text(everything, x)) and "xf64" not in text


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_quotients_and_remainders_of_multiples_of_one_divisor(dtype):
    """By the inverse of 49, which is not exact, 49 would be 0 times 49."""
    greatest = np.iinfo(dtype).max

    def everything(x, y):
        return [lax.div(x, lax.full_like(x, y)), lax.rem(x, lax.full_like(x, y)), x // y, x % y]

    run = arrax.jit(everything)
    for divisor in [*range(2, min(greatest, 512) + 1), greatest]:
        around = np.arange(2, dtype=dtype)[:, None] + np.arange(1, 60) * divisor - 1
        x = around[around <= greatest].astype(dtype)
        if divisor in (41, 49):
            for found, wanted in zip(everything(x, divisor), 2 * [x // divisor, x % divisor], strict=True):
                np.testing.assert_array_equal(found, wanted)  # which stands in the program
        x = np.resize(x, 118)  # one length, one program
        for found, wanted in zip(run(x, x.dtype.type(divisor)), 2 * [x // divisor, x % divisor], strict=True):
            np.testing.assert_array_equal(found, wanted)
