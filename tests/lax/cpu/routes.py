"""What tests of the CPU's own lowerings share: a function run with them and without, and data that show differences."""

import ml_dtypes
import numpy as np

import arrax
import arrax.numpy as jnp
from arrax.core import config
from tests.support import x64_for

FLOAT8 = [np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)]
FLOATS = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32), np.dtype(np.float64)]
INTEGERS = [np.dtype(f"{kind}{size}") for size in (1, 2, 4, 8) for kind in "iu"]
COMPLEX = [np.dtype(np.complex64), np.dtype(np.complex128)]
EVERY = [np.dtype(bool), *INTEGERS, *FLOATS, *FLOAT8, *COMPLEX]

_WITHOUT_PAYLOADS = (np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e5m2))  # in the compiler's own sort


def by_turns(cases, always, *others):
    """Pairs of a dtype and a case: every case with one dtype, and with one of the others by turns."""
    turns = [(others[n % len(others)], case) for n, case in enumerate(cases)]
    return [(always, case) for case in cases] + turns


def on_both_routes(function, *arguments):
    """(results with the CPU's own lowerings, results with the compiler's operations), as lists of host arrays."""
    results = []
    with x64_for(*(np.asarray(leaf).dtype for leaf in arrax.tree_util.tree_leaves(arguments))):
        for wanted in (True, False):
            with config.cpu_kernels(wanted):
                outs = arrax.jit(lambda *values: function(*values))(*arguments)
                results.append([np.asarray(leaf) for leaf in arrax.tree_util.tree_leaves(outs)])
    return results


def assert_routes_agree(function, *arguments):
    """Both routes give the same bits, but for those of NaNs that the compiler's sort changes; returns the results."""
    own, general = on_both_routes(function, *arguments)
    for one, other in zip(own, general, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        if one.dtype in _WITHOUT_PAYLOADS:
            one, other = (np.where(np.isnan(x.astype(np.float32)), x.dtype.type(np.nan), x) for x in (one, other))
        np.testing.assert_array_equal(one.reshape(-1).view(np.uint8), other.reshape(-1).view(np.uint8))
    return own


def assert_as_numpy(function, *arguments, bits=False):
    """`function(xp, *arguments)`, compiled, has the values (or the bits) that it has with NumPy for `xp`, in its own dtypes."""
    with x64_for(*(argument.dtype for argument in arguments)):
        found = arrax.jit(lambda *values: function(jnp, *values))(*arguments)
    with np.errstate(all="ignore"):
        wanted = function(np, *arguments)
    for one, other in zip(map(np.asarray, found), wanted, strict=True):
        other = np.asarray(other).astype(one.dtype)
        assert one.shape == other.shape
        if bits:
            one, other = (np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (one, other))
        elif one.dtype.kind not in "biuc":
            one, other = one.astype(np.float64), other.astype(np.float64)
        np.testing.assert_array_equal(one, other)


def lowered_text(function, *arguments):
    """The text of a program."""
    return arrax.jit(lambda *values: function(*values)).lower(*arguments).as_text()


def formed_text(function, *arguments):
    """The text of a program as it will run here."""
    return arrax.jit(function).lower(*arguments).as_text("jaxpr")


def awkward(dtype, shape, seed=0):
    """Numbers that repeat, of both signs, with zeros of both signs, infinities, subnormals and NaNs of all kinds."""
    rng, dtype, size = np.random.default_rng(seed), np.dtype(dtype), int(np.prod(shape))
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        pair = [awkward(part, shape, seed + i) for i in (1, 2)]
        return np.stack(pair, -1).reshape(-1).view(dtype).reshape(shape)
    bits = rng.integers(0, 256, size * dtype.itemsize, dtype=np.uint8).view(dtype).copy()
    bits[: size // 2] = rng.integers(-9 if dtype.kind != "u" else 0, 9, size // 2).astype(dtype)
    if dtype.kind not in "iu":
        tiny = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-42, -1e-42]).astype(dtype)
        bits[-(size // 8) :] = rng.choice(tiny, size // 8)
    if dtype in _WITHOUT_PAYLOADS:
        bits[np.isnan(bits.astype(np.float64))] = np.nan
    return rng.permutation(bits).reshape(shape)


def without_subnormals(x):
    """With zeros for subnormal floats: compiled code counts them as zeros."""
    if x.dtype.kind in "iub":
        return x
    tiny = float(ml_dtypes.finfo(x.dtype).smallest_normal)
    return np.where(np.abs(x.astype(np.float64)) < tiny, np.zeros((), x.dtype), x)
