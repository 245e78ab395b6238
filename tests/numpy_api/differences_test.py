"""Differences, slopes, integrals, phases; windows; comparisons of arrays; parts of numbers: against NumPy."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.numpy_api.comparison import assert_same

FLOATS = np.array([3.0, -1.0, 0.0, 2.5, 9.5], dtype=np.float32)
INTEGERS = np.array([12, -18, 0, 7, 30], dtype=np.int32)
MATRIX = np.array([[0, 1, 0.5], [2, 0, 3]], dtype=np.float32)
BITS = np.array([[1, 0, 1, 1, 0, 0, 0, 1, 1], [0, 1, 1, 1, 0, 1, 0, 0, 0]], dtype=np.int32)
PLACES = np.array([0.0, 1.0, 1.5, 4.0, 5.0], dtype=np.float32)
ARRAYS = (FLOATS, INTEGERS, MATRIX, BITS, PLACES)

# fmt: off
CASES = {
    "diff":            lambda np, x, i, m, b, p: [np.diff(x), np.diff(m, n=2, axis=1), np.diff(m, axis=0), np.diff(np.greater(x, 0))],
    "diff with edges": lambda np, x, i, m, b, p: np.diff(m, axis=0, prepend=0, append=m),
    "ediff1d":         lambda np, x, i, m, b, p: np.ediff1d(m, to_end=np.float32(9), to_begin=x),
    "gradient":        lambda np, x, i, m, b, p: [np.gradient(x), np.gradient(m, axis=1), *np.gradient(m)],
    "gradient spacing": lambda np, x, i, m, b, p: [np.gradient(x, 2.0), np.gradient(x, p), *np.gradient(m, 1.0, p[:3])],
    "trapezoid":       lambda np, x, i, m, b, p: [np.trapezoid(x), np.trapezoid(x, p), np.trapezoid(m, dx=2.0, axis=0)],
    "unwrap":          lambda np, x, i, m, b, p: np.unwrap(np.multiply(x, np.float32(2))),
    "unwrap integers": lambda np, x, i, m, b, p: np.unwrap(i, period=4),
    "gcd":             lambda np, x, i, m, b, p: np.gcd(i, 12),
    "lcm":             lambda np, x, i, m, b, p: np.lcm(i, 12),
    "frexp":           lambda np, x, i, m, b, p: np.frexp(x),
    "ldexp":           lambda np, x, i, m, b, p: np.ldexp(x, i),
    "packbits":        lambda np, x, i, m, b, p: [np.packbits(b), np.packbits(b, axis=1, bitorder="little")],
    "windows":         lambda np, x, i, m, b, p: [f(n) for f in (np.bartlett, np.blackman, np.hamming, np.hanning) for n in (0, 1, 5)],
    "kaiser":          lambda np, x, i, m, b, p: [np.kaiser(6, 3.5), np.kaiser(1, 2.0)],
    "i0":              lambda np, x, i, m, b, p: np.i0(x),
    "allclose":        lambda np, x, i, m, b, p: np.asarray(np.allclose(x, np.add(x, np.float32(1e-9)))),
    "array_equal":     lambda np, x, i, m, b, p: [np.asarray(np.array_equal(x, x)), np.asarray(np.array_equal(x, m))],
    "array_equiv":     lambda np, x, i, m, b, p: [np.asarray(np.array_equiv(x, np.stack([x, x]))), np.asarray(np.array_equiv(x, m))],
    "spacing":         lambda np, x, i, m, b, p: np.spacing(x),
}
# fmt: on


def narrowed(result):
    return [np.asarray(r).astype({"f": np.float32}.get(np.asarray(r).dtype.kind, np.asarray(r).dtype)) for r in result]


def check(name, ours, theirs):
    mine, expected = (list(r) if isinstance(r, list | tuple) else [r] for r in (ours, theirs))
    assert_same(mine, narrowed(expected), rtol=1e-5 if name != "i0" else 1e-4, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_eager_results_are_those_of_numpy(case):
    check(case, CASES[case](jnp, *map(jnp.asarray, ARRAYS)), CASES[case](np, *ARRAYS))


def test_compiled_results_are_those_of_numpy():
    results = arrax.jit(lambda *xs: {name: case(jnp, *xs) for name, case in CASES.items()})(*ARRAYS)
    for name, case in CASES.items():
        check(name, results[name], case(np, *ARRAYS))


def test_bits_are_unpacked_as_they_were_packed():
    packed = np.packbits(BITS.astype(np.uint8), axis=1)
    for count in (None, 9, -3, 20):
        assert_same(jnp.unpackbits(packed, axis=1, count=count), np.unpackbits(packed, axis=1, count=count))
    assert_same(jnp.unpackbits(packed, bitorder="little"), np.unpackbits(packed, bitorder="little"))


def test_many_bits_are_packed_and_unpacked_along_any_axis():
    flags = np.random.default_rng(0).integers(0, 2, (41, 43, 44)).astype(bool)
    for axis in (None, 0, 1, 2):
        packed = np.packbits(flags, axis=axis, bitorder="little")
        assert_same(jnp.packbits(flags, axis=axis, bitorder="little"), packed)
        assert_same(jnp.unpackbits(packed, axis=axis), np.unpackbits(packed, axis=axis))
    assert_same(arrax.vmap(jnp.packbits, 1)(flags), np.packbits(flags.swapaxes(0, 1).reshape(43, -1), axis=1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"])
def test_mantissas_and_exponents_make_all_small_floats(dtype):
    dtype = np.dtype(getattr(jnp, dtype).dtype)
    numbers = np.arange(1 << 8 * dtype.itemsize, dtype=f"uint{8 * dtype.itemsize}").view(dtype)
    with np.errstate(invalid="ignore"):
        finite = numbers[np.isfinite(numbers.astype(np.float64))]
    mantissa, exponent = jnp.frexp(finite)
    assert mantissa.dtype == dtype
    mantissa = np.asarray(mantissa).astype(np.float64)
    np.testing.assert_array_equal(np.ldexp(mantissa, exponent), finite.astype(np.float64))
    assert np.all((mantissa == 0) | (0.5 <= abs(mantissa)) & (abs(mantissa) < 1))


def test_mantissas_of_special_numbers():
    special = np.array([0.0, -0.0, np.inf, -np.inf, 1e-42, 3.4e38, -0.75], dtype=np.float32)
    mantissa, exponent = jnp.frexp(special)
    np.testing.assert_array_equal(mantissa, np.frexp(special)[0])
    np.testing.assert_array_equal(np.asarray(exponent)[4:], np.frexp(special)[1][4:])
    assert_same(
        jnp.ldexp(np.float32(0.5), np.array([200, -200, 128, -126])), np.ldexp(np.float32(0.5), [200, -200, 128, -126])
    )


def test_equality_may_count_nan():
    x = np.array([1.0, np.nan])
    assert bool(jnp.array_equal(x, x, equal_nan=True)) and not bool(jnp.array_equal(x, x))
    with pytest.raises(TypeError, match="not a valid JAX array type"):
        jnp.array_equal([1], "a")


# fmt: off
ERRORS = {
    "diff order":     (lambda: jnp.diff(FLOATS, n=-1), ValueError, "non-negative"),
    "diff of scalar": (lambda: jnp.diff(1.0), ValueError, "at least one dim"),
    "gradient short": (lambda: jnp.gradient(FLOATS[:1]), ValueError, "at least 2"),
    "gradient count": (lambda: jnp.gradient(MATRIX, 1.0, 2.0, 3.0), TypeError, "invalid number of spacing"),
    "gradient edges": (lambda: jnp.gradient(FLOATS, edge_order=2), NotImplementedError, "edge_order"),
    "gcd":            (lambda: jnp.gcd(FLOATS, 2), ValueError, "must be integers"),
    "packbits":       (lambda: jnp.packbits(BITS, bitorder="x"), ValueError, "bitorder"),
    "unpackbits":     (lambda: jnp.unpackbits(BITS), TypeError, "unsigned byte"),
    "frexp":          (lambda: jnp.frexp(1j), TypeError, "complex"),
}
# fmt: on


@pytest.mark.parametrize("case", ERRORS)
def test_mistakes_are_explained(case):
    call, kind, words = ERRORS[case]
    with pytest.raises(kind, match=words):
        call()
