"""Compiled scientific functions of a million numbers, of signals, images and matrices, against SciPy's on the same machine."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.case import Repeated

HOST_LIBRARY = "numpy"  # the third side: SciPy's functions as they are, on the host's arrays
SIZE = 1_000_000
Program = tuple[Any, ...]  # a function of a module and some host arrays, and these


def _errors(ours: float, reference: float) -> str:
    return f"the greatest error of these numbers is {ours} units in the last place, the reference's {reference}"


_SLOPES = "places outside of the support are led by a place inside, so that slopes there are finite"
_COSINES = "SciPy has a kernel of its own for cosine transforms; here other passes over memory stand beside a Fourier transform"
_SILENT = "no NaN is made on the way where x is 0, so that checks for NaN stay silent"
REASONS = {
    "special.erf": _errors(0.5, 4.9), "special.erfc": _errors(7.4, 32), "special.erfcx": _errors(4.0, 31),
    "special.erfinv": _errors(3.2, 11), "special.ndtr": _errors(4.3, 56), "special.log_ndtr": _errors(6.5, 1e6),
    "special.ndtri": _errors(2.6, 3.5), "special.gamma": _errors(4.7, 172), "special.gammaln": _errors(0.5, 1e6),
    "special.digamma": _errors(0.5, 19000), "special.factorial": _errors(47, 205), "special.logit": _errors(2.9, 8500),
    "special.beta": _errors(0.5, 140), "special.betaln": "large arguments keep the digits that differences of gammaln lose",
    "special.rel_entr": _errors(4.3, 65000), "special.kl_div": _errors(36, 9e9), "special.poch": _errors(0.5, 288),
    "special.betainc": _errors(0.5, 110), "stats.norm.cdf": _errors(4.3, 56), "stats.norm.logcdf": _errors(6.5, 1e6), "stats.logistic.ppf": _errors(2.9, 8500),
    "stats.poisson.logpmf": _errors(1.2, 7.5), "stats.t.logpdf": _errors(2.0, 5.1),
    "stats.binom.logpmf": "many trials keep the digits that differences of gammaln lose: of 1e8 trials 1e-12 instead of 1e-8",
    "stats.gamma.logpdf": _SLOPES, "stats.pareto.logpdf": _SLOPES, "stats.truncnorm.logpdf": _SLOPES,
    "special.gammainc": "a series is summed for all elements until the last one of them has settled",
    "special.xlogy": _SILENT, "special.xlog1py": _SILENT,
    "linalg.expm 200": "one approximant, of degree 13, for all dtypes: float32 could do with fewer products",
    "linalg.toeplitz 1000": "SciPy copies a strided view, which XLA does not have",
    "fft.dct": _COSINES, "fft.idct": _COSINES, "fft.dctn": _COSINES,
}  # fmt: skip


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Repeated]:
    """Each program of each module."""
    chapters = {"special": special, "stats": stats, "linalg": linalg, "signal": signal, "fft": fft, "ndimage": ndimage}
    for name, chapter in chapters.items():
        room = importlib.import_module(f"scipy.{name}" if lib is np else f"{lib.__name__}.scipy.{name}")
        for label, (function, *arrays) in chapter().items():
            yield Repeated(f"{name}.{label}", bound(lib, jnp, room, function, arrays))


def bound(
    lib: ModuleType, jnp: ModuleType, room: ModuleType, function: Callable[..., Any], arrays: list[np.ndarray]
) -> Callable[[], Any]:
    """A call that returns when its result is there."""
    if lib is np:

        def run() -> Any:
            with np.errstate(all="ignore"):
                return function(room, *arrays)

        return run
    compiled = lib.jit(lambda *values: function(room, *values))
    placed = [jnp.asarray(array) for array in arrays]
    return lambda: lib.block_until_ready(compiled(*placed))


def numbers(low: float, high: float, seed: int = 0, shape: tuple[int, ...] = (SIZE,)) -> np.ndarray:
    """Uniform float32 numbers."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def named(name: str, *arrays: np.ndarray) -> Program:
    """The function of a name, of some arrays."""
    return (lambda room, *values: getattr(room, name)(*values), *arrays)


def special() -> dict[str, Program]:
    """Special functions."""
    real, positive, share = numbers(-6, 6), numbers(0.1, 20), numbers(0.001, 0.999)
    other = numbers(0.1, 9, seed=1)
    one = {
        "erf": real, "erfc": real, "erfcx": real, "erfinv": share, "dawsn": real, "ndtr": real, "log_ndtr": real, "ndtri": share,
        "gamma": positive, "gammaln": positive, "digamma": positive, "factorial": positive, "gammasgn": real, "i0": real,
        "i0e": real, "i1": real, "i1e": real, "exp1": positive, "expi": positive, "expit": real, "logit": share, "entr": positive,
        "spence": positive, "fresnel": real, "sici": positive, "softmax": real, "logsumexp": real,
    }  # fmt: skip
    two = (
        "beta",
        "betaln",
        "gammainc",
        "gammaincc",
        "xlogy",
        "xlog1py",
        "rel_entr",
        "kl_div",
        "boxcox",
        "poch",
        "owens_t",
    )
    return {
        **{name: named(name, x) for name, x in one.items()},
        **{name: named(name, positive, other) for name in two},
        "betainc": named("betainc", positive, other, share),
        "zeta(x, q)": named("zeta", numbers(1.5, 9), positive),
        "expn(3, x)": (lambda room, x: room.expn(np.float32(3), x), positive),
        "polygamma(2, x)": (lambda room, x: room.polygamma(2, x), positive),
    }


def stats() -> dict[str, Program]:
    """Distributions and statistics."""
    real, positive, share = numbers(-6, 6), numbers(0.1, 20), numbers(0.001, 0.999)

    def of(path: str, *parameters: float) -> Callable[..., Any]:
        name, method = path.split(".")
        return lambda room, x: getattr(getattr(room, name), method)(x, *map(np.float32, parameters))

    listed = {
        ("norm.logpdf", ()): real, ("norm.cdf", ()): real, ("norm.ppf", ()): share, ("norm.logcdf", ()): real,
        ("expon.logpdf", ()): positive, ("gamma.logpdf", (2.5,)): positive, ("gamma.cdf", (2.5,)): positive,
        ("beta.logpdf", (2.0, 3.0)): share, ("t.logpdf", (3.0,)): real, ("cauchy.cdf", ()): real, ("laplace.cdf", ()): real,
        ("logistic.ppf", ()): share, ("pareto.logpdf", (2.5,)): positive, ("truncnorm.logpdf", (-1.0, 2.0)): real,
        ("poisson.logpmf", (3.0,)): np.floor(positive), ("binom.logpmf", (30.0, 0.3)): np.floor(positive),
    }  # fmt: skip
    programs: dict[str, Program] = {path: (of(path, *parameters), x) for (path, parameters), x in listed.items()}
    programs["rankdata"] = (lambda room, x: room.rankdata(x), real[:100_000])
    programs["sem"] = (lambda room, x: room.sem(x), real.reshape(1000, 1000))
    return programs


def linalg() -> dict[str, Program]:
    """Matrices of some hundred rows."""
    square = numbers(-1, 1, shape=(200, 200))
    definite = square @ square.T + 200 * np.eye(200, dtype=np.float32)
    right = numbers(-1, 1, shape=(200, 20))
    return {
        "solve 200": named("solve", definite, right), "inv 200": named("inv", definite), "expm 200": named("expm", square),
        "cholesky 200": named("cholesky", definite), "svd 200": (lambda room, a: room.svd(a, compute_uv=False), square),
        "toeplitz 1000": named("toeplitz", numbers(-1, 1, shape=(1000,))),
    }  # fmt: skip


def signal() -> dict[str, Program]:
    """Signals and images."""
    x, image = numbers(-1, 1), numbers(-1, 1, shape=(512, 512))
    return {
        "fftconvolve": named("fftconvolve", x, x[:1000]),
        "convolve, 31 taps": (lambda room, a, b: room.convolve(a, b, method="direct"), x, x[:31]),
        "convolve2d 512, 5 x 5": named("convolve2d", image, image[:5, :5]),
        "welch": (lambda room, x: room.welch(x, nperseg=1024)[1], x),
        "stft": (lambda room, x: room.stft(x, nperseg=1024)[2], x),
        "detrend": named("detrend", x),
    }


def fft() -> dict[str, Program]:
    """Cosine transforms."""
    x = numbers(-1, 1, shape=(1024, 1024))
    return {"dct": named("dct", x), "idct": named("idct", x), "dctn": named("dctn", x)}


def ndimage() -> dict[str, Program]:
    """Values between pixels."""
    image = numbers(-1, 1, shape=(512, 512))
    places = numbers(0, 500, shape=(2, 512 * 512))
    return {"map_coordinates": (lambda room, a, c: room.map_coordinates(a, [c[0], c[1]], order=1), image, places)}
