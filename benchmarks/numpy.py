"""Compiled functions of a million numbers, against NumPy's on the same machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.case import Repeated

HOST_LIBRARY = "numpy"  # the third side: the same functions as they are, on the host's arrays
SIZE = 1_000_000
Program = tuple[Any, ...]  # a function of the array library and some host arrays, and these


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated]:
    """Each program: compiled by a library that compiles, and awaited; otherwise as it is."""
    for name, (function, *arrays) in programs():
        yield Repeated(name, bound(lib, jnp, function, arrays))


def programs() -> Iterator[tuple[str, Program]]:
    """All programs by name."""
    for chapter in (elementwise, reductions, ordering, counting, moving, products, decompositions):
        yield from chapter().items()


def bound(
    lib: ModuleType, jnp: ModuleType, function: Callable[..., Any], arrays: list[np.ndarray]
) -> Callable[[], Any]:
    """A call that returns when its result is there."""
    if lib is np:

        def run() -> Any:
            with np.errstate(all="ignore"):
                return function(np, *arrays)

        return run
    compiled = lib.jit(lambda *values: function(jnp, *values))
    placed = [jnp.asarray(array) for array in arrays]
    return lambda: lib.block_until_ready(compiled(*placed))


def numbers(seed: int = 0, shape: tuple[int, ...] = (SIZE,), low: float | None = None, high: float = 1.0) -> np.ndarray:
    """Normally distributed float32, or uniform ones from ``low`` to ``high``."""
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape)
    return drawn.astype(np.float32)


def integers(seed: int = 0, high: int = 1 << 30, dtype: Any = np.int32) -> np.ndarray:
    """Integers from 0, uniformly distributed."""
    return np.random.default_rng(seed).integers(0, high, SIZE).astype(dtype)


def elementwise() -> dict[str, Program]:
    """Functions of each number."""
    x, y, unit = numbers(), numbers(1), numbers(2, low=-1.0)
    positive, above_one, angles = numbers(3, low=0.01, high=5), numbers(4, low=1, high=9), numbers(5, low=-30, high=30)
    whole, small = integers(6, 1000), integers(7, 100) + np.int32(1)
    half = x.astype(np.float16)
    named: dict[str, tuple[np.ndarray, ...]] = {
        "exp": (x,), "exp2": (x,), "expm1": (x,), "log": (positive,), "log2": (positive,), "log10": (positive,),
        "log1p": (positive,), "sqrt": (positive,), "cbrt": (x,), "sin": (angles,), "cos": (angles,), "tan": (angles,),
        "arcsin": (unit,), "arccos": (unit,), "arctan": (x,), "arctan2": (x, y), "sinh": (x,), "cosh": (x,),
        "tanh": (x,), "arcsinh": (x,), "arccosh": (above_one,), "arctanh": (unit,), "power": (positive, y),
        "hypot": (x, y), "logaddexp": (x, y), "mod": (x, positive), "floor_divide": (x, positive), "sinc": (x,),
        "add": (x, y), "maximum": (x, y), "rint": (x,), "isfinite": (x,), "nextafter": (x, y),
    }  # fmt: skip
    programs: dict[str, Program] = {name: (call(name), *arrays) for name, arrays in named.items()}
    return programs | {
        "sin of float16": (call("sin"), half),
        "exp of float16": (call("exp"), half),
        "integers // integers": (lambda xp, a, b: a // b, whole, small),
        "integers % 7": (lambda xp, a: a % 7, whole),
        "3 x^2 + 2 x + 1": (lambda xp, a: 3 * a * a + 2 * a + 1, x),
        "sigmoid": (lambda xp, a: 1 / (1 + xp.exp(-a)), x),
        "where and clip": (lambda xp, a, b: xp.where(a > 0, xp.clip(b, -1, 1), a), x, y),
        "distance on a sphere": (haversine, *(numbers(seed, low=-1.5, high=1.5) for seed in (8, 9, 10, 11))),
    }


def call(name: str) -> Callable[..., Any]:
    """The function of that name of the array library."""
    return lambda xp, *arrays: getattr(xp, name)(*arrays)


def haversine(xp: Any, lat1: Any, lon1: Any, lat2: Any, lon2: Any) -> Any:
    """Angles between points on a sphere."""
    across = xp.sin((lat2 - lat1) / 2) ** 2 + xp.cos(lat1) * xp.cos(lat2) * xp.sin((lon2 - lon1) / 2) ** 2
    return 2 * xp.arcsin(xp.sqrt(xp.clip(across, 0, 1)))


def reductions() -> dict[str, Program]:
    """Numbers into few, and running totals."""
    x, table, holed = numbers(), numbers(1, (1000, 1000)), numbers(2)
    holed[::17] = np.nan
    return {
        "sum": (call("sum"), x),
        "sum of rows": (lambda xp, a: xp.sum(a, axis=1), table),
        "sum of columns": (lambda xp, a: xp.sum(a, axis=0), table),
        "mean": (call("mean"), x),
        "variance of columns": (lambda xp, a: xp.var(a, axis=0), table),
        "standard deviation": (call("std"), x),
        "max": (call("max"), x),
        "product": (lambda xp, a: xp.prod(1 + a * 1e-6), x),
        "all positive": (lambda xp, a: xp.all(a > -9), x),
        "count_nonzero": (lambda xp, a: xp.count_nonzero(a > 0), x),
        "argmax": (call("argmax"), x),
        "argmin of rows": (lambda xp, a: xp.argmin(a, axis=1), table),
        "argmax of columns": (lambda xp, a: xp.argmax(a, axis=0), table),
        "nanmean": (call("nanmean"), holed),
        "nanmax": (call("nanmax"), holed),
        "cumsum": (call("cumsum"), x),
        "cumsum of columns": (lambda xp, a: xp.cumsum(a, axis=0), table),
        "cumprod": (lambda xp, a: xp.cumprod(1 + a * 1e-6), x),
        "running maximum": (lambda xp, a: xp.maximum.accumulate(a), x),
        "softmax of rows": (softmax, table),
    }


def softmax(xp: Any, x: Any) -> Any:
    """Exponentials of rows, by their sums."""
    exponentials = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return exponentials / xp.sum(exponentials, axis=1, keepdims=True)


def ordering() -> dict[str, Program]:
    """Sorting and selecting."""
    x, table, holed = numbers(), numbers(1, (1000, 1000)), numbers(2)
    holed[::17] = np.nan
    whole, short, few = integers(), integers(3, 1 << 15, np.int16), integers(4, 1000)
    complex_ = (numbers(5) + 1j * numbers(6)).astype(np.complex64)
    knots = np.sort(numbers(7, (10_000,)))
    return {
        "sort": (call("sort"), x),
        "sort of rows": (lambda xp, a: xp.sort(a, axis=1), table),
        "sort of columns": (lambda xp, a: xp.sort(a, axis=0), table),
        "sort of integers": (call("sort"), whole),
        "sort of int16": (call("sort"), short),
        "sort of complex": (call("sort"), complex_),
        "sort with NaN": (call("sort"), holed),
        "argsort": (call("argsort"), x),
        "argsort, stable": (lambda xp, a: xp.argsort(a, stable=True), x),
        "argsort of rows": (lambda xp, a: xp.argsort(a, axis=1), table),
        "argsort of integers": (call("argsort"), whole),
        "lexsort by two": (lambda xp, a, b: xp.lexsort((a, b)), x, few),
        "partition": (lambda xp, a: xp.partition(a, 5000), x),
        "argpartition": (lambda xp, a: xp.argpartition(a, 5000), x),
        "the 100 least": (lambda xp, a: xp.sort(xp.partition(a, 100)[:100]), x),
        "median": (call("median"), x),
        "median of rows": (lambda xp, a: xp.median(a, axis=1), table),
        "median of columns": (lambda xp, a: xp.median(a, axis=0), table),
        "nanmedian": (call("nanmedian"), holed),
        "percentiles 5, 50, 95": (lambda xp, a: xp.percentile(a, np.array([5, 50, 95], np.float32)), x),
        "quantiles of columns": (lambda xp, a: xp.quantile(a, np.array([0.1, 0.9], np.float32), axis=0), table),
        "unique integers": (lambda xp, a: xp.unique(a) if xp is np else xp.unique(a, size=1000), few),
        "searchsorted in 10000": (lambda xp, a, b: xp.searchsorted(b, a), x, knots),
    }


def counting() -> dict[str, Program]:
    """Histograms, interpolation, filters, differences."""
    x, few = numbers(), integers(1, 1000)
    knots, heights = np.linspace(-3, 3, 1000, dtype=np.float32), numbers(2, (1000,))
    taps = numbers(3, (64,))
    return {
        "bincount": (lambda xp, a: xp.bincount(a, minlength=1000) if xp is np else xp.bincount(a, length=1000), few),
        "histogram, 100 bins": (lambda xp, a: xp.histogram(a, 100)[0], x),
        "digitize": (lambda xp, a, b: xp.digitize(a, b), x, knots),
        "interp": (call("interp"), x, knots, heights),
        "convolve, 64 taps": (lambda xp, a, b: xp.convolve(a, b, mode="same"), x, taps),
        "correlate, 64 taps": (lambda xp, a, b: xp.correlate(a, b, mode="valid"), x, taps),
        "diff": (call("diff"), x),
        "gradient": (call("gradient"), x),
        "trapezoid": (call("trapezoid"), x),
    }


def moving() -> dict[str, Program]:
    """Numbers to other places."""
    x, y, table = numbers(), numbers(1), numbers(2, (1000, 1000))
    places = integers(3, SIZE)
    columns = np.argsort(table, axis=1).astype(np.int32)
    return {
        "roll": (lambda xp, a: xp.roll(a, 12345), x),
        "roll of columns": (lambda xp, a: xp.roll(a, 7, axis=1), table),
        "flip": (lambda xp, a: xp.flip(a) + 0, x),
        "transpose": (lambda xp, a: xp.ravel(a.T), table),
        "concatenate": (lambda xp, a, b: xp.concatenate([a, b]), x, y),
        "stack": (lambda xp, a, b: xp.stack([a, b], axis=1), x, y),
        "repeat": (lambda xp, a: xp.repeat(a, 2), x),
        "tile": (lambda xp, a: xp.tile(a, 2), x),
        "pad": (lambda xp, a: xp.pad(a, 10), table),
        "take": (lambda xp, a, i: xp.take(a, i), x, places),
        "take_along_axis": (lambda xp, a, i: xp.take_along_axis(a, i, axis=1), table, columns),
        "lower triangle": (call("tril"), table),
    }


def products() -> dict[str, Program]:
    """Contractions."""
    x, y, table, other = numbers(), numbers(1), numbers(2, (1000, 1000)), numbers(3, (1000, 1000))
    vector, batch = numbers(4, (1000,)), numbers(5, (1000, 32, 32))
    return {
        "dot": (call("dot"), x, y),
        "matrix by vector": (lambda xp, a, v: a @ v, table, vector),
        "vector by matrix": (lambda xp, a, v: v @ a, table, vector),
        "matrix by matrix": (lambda xp, a, b: a @ b, table, other),
        "batch of matrices": (lambda xp, a: a @ a, batch),
        "einsum ij,ij->i": (lambda xp, a, b: xp.einsum("ij,ij->i", a, b), table, other),
        "einsum ij,kj->ik": (lambda xp, a, b: xp.einsum("ij,kj->ik", a, b, optimize=True), table, other),
        "einsum bij,bj->bi": (lambda xp, a: xp.einsum("bij,bj->bi", a, a[:, 0]), batch),
        "outer": (call("outer"), vector, vector),
        "covariances": (call("cov"), table),
        "norm of rows": (lambda xp, a: xp.linalg.norm(a, axis=1), table),
    }


def decompositions() -> dict[str, Program]:
    """Linear algebra and Fourier transforms."""
    x, table, small = numbers(), numbers(1, (1000, 1000)), numbers(2, (64, 64))
    square = numbers(3, (300, 300))
    positive = square @ square.T + 300 * np.eye(300, dtype=np.float32)
    return {
        "QR of 64x64": (lambda xp, a: xp.linalg.qr(a)[1], small),
        "QR of 300x300": (lambda xp, a: xp.linalg.qr(a)[1], square),
        "Cholesky of 300x300": (lambda xp, a: xp.linalg.cholesky(a), positive),
        "300 linear equations": (lambda xp, a: xp.linalg.solve(a, a[:, :3]), positive),
        "inverse of 300x300": (lambda xp, a: xp.linalg.inv(a), positive),
        "eigenvalues of 300x300": (lambda xp, a: xp.linalg.eigvalsh(a), positive),
        "singular values of 64x64": (lambda xp, a: xp.linalg.svd(a)[1], small),
        "determinant of 300x300": (lambda xp, a: xp.linalg.slogdet(a)[1], positive),
        "FFT": (lambda xp, a: xp.fft.fft(a), x),
        "real FFT of rows": (lambda xp, a: xp.fft.rfft(a, axis=1), table),
    }
