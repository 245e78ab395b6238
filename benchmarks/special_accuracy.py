"""The largest errors of the special functions, in units of the last place, beside SciPy's: the table of docs/special_functions.md.

Run it with ``python -m benchmarks.special_accuracy``. References are computed by mpmath with 50 digits at random places of
each domain; results that are out of a dtype's range, and subnormal ones, are left out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
import scipy.special as theirs

import arrax
from arrax.scipy import special as ours

DIGITS = 50
RNG = np.random.default_rng(0)


def uniform(low: float, high: float, count: int = 60) -> np.ndarray:
    return RNG.uniform(low, high, count)


def decades(low: float, high: float, count: int = 60) -> np.ndarray:
    return 10 ** RNG.uniform(low, high, count)


class Case(NamedTuple):
    """A function of one variable, or of several: ours, SciPy's, the exact one, and where it is looked at."""

    ours: Callable[[Any], Any]
    theirs: Callable[[Any], Any]
    exact: Callable[[Any], Any]
    places: np.ndarray | tuple[np.ndarray, ...]


def same(name: str, exact: Callable[[Any], Any], places: np.ndarray, scipy_name: str | None = None) -> Case:
    return Case(getattr(ours, name), getattr(theirs, scipy_name or name), exact, places)


def log_gamma(x: Any) -> Any:
    return mp.log(abs(mp.gamma(x))) if x < 1e3 else mp.loggamma(x)


def phi(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def log_phi(x: Any) -> Any:
    return mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2) if x > 0 else mp.log(phi(x))


def quantile(p: Any) -> Any:
    x = mp.mpf(float(theirs.ndtri(float(p))))
    for _ in range(8):
        x -= (mp.log(phi(x)) - mp.log(p)) * phi(x) / (mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi))
    return x


POSITIVE = np.concatenate(
    [uniform(0, 3), uniform(0, 30), decades(-8, 6), 1 + decades(-8, -1, 20), 2 + decades(-8, -1, 20)]
)
NEGATIVE = -uniform(0, 40, 80)
REAL = np.concatenate([uniform(-6, 6), decades(-12, 1.4), -decades(-12, 1, 40)])
SHARES = np.concatenate([uniform(0, 1), decades(-300, -1, 40), 1 - decades(-15, -1, 40)])


def lower_gamma(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def upper_gamma(a: Any, x: Any) -> Any:
    with mp.workdps(100):
        return 1 - lower_gamma(a, x)


def beta_share(a: Any, b: Any, x: Any) -> Any:
    with mp.workdps(80):
        return (
            mp.betainc(a, b, 0, x, regularized=True)
            if x < a / (a + b)
            else 1 - mp.betainc(b, a, 0, 1 - x, regularized=True)
        )


def log_beta(a: Any, b: Any) -> Any:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


ORDERS = decades(-3, 3, 150)
AROUND = ORDERS * np.abs(1 + 2 * RNG.standard_normal(150) / np.sqrt(ORDERS)) + 1e-4
SHAPES = decades(-2, 3, 150), decades(-2, 3, 150)
MEAN = SHAPES[0] / (SHAPES[0] + SHAPES[1])
SPREAD = np.sqrt(MEAN * (1 - MEAN) / (SHAPES[0] + SHAPES[1] + 1))
BESIDE = np.clip(MEAN + 2 * SPREAD * RNG.standard_normal(150), 1e-6, 1 - 1e-6)

# fmt: off
CASES = {
    "gammaln(x), x > 0": same("gammaln", log_gamma, POSITIVE),
    "gammaln(x), x < 0": same("gammaln", log_gamma, NEGATIVE),
    "gamma(x), x > 0": same("gamma", mp.gamma, np.concatenate([uniform(0, 3), uniform(3, 171), decades(-30, -1)])),
    "gamma(x), x < 0": same("gamma", mp.gamma, -uniform(0, 30)),
    "digamma(x), x > 0": same("digamma", mp.digamma, np.concatenate([POSITIVE, 1.4616321449683622 + decades(-8, -1, 20)]), "psi"),
    "digamma(x), x < 0": same("digamma", mp.digamma, NEGATIVE, "psi"),
    "polygamma(1, x)": Case(lambda x: ours.polygamma(1, x), lambda x: theirs.polygamma(1, x), lambda x: mp.polygamma(1, x), POSITIVE),
    "beta(x, 1.75)": Case(lambda x: ours.beta(x, 0 * x + 1.75), lambda x: theirs.beta(x, 1.75), lambda x: mp.beta(x, 1.75), np.concatenate([uniform(0, 30), decades(0, 6)])),
    "betaln(x, 2.5)": Case(lambda x: ours.betaln(x, 0 * x + 2.5), lambda x: theirs.betaln(x, 2.5), lambda x: mp.log(mp.beta(x, 2.5)), np.concatenate([uniform(0, 3), decades(0, 8)])),
    "poch(x, 2.5)": Case(lambda x: ours.poch(x, 0 * x + 2.5), lambda x: theirs.poch(x, 2.5), lambda x: mp.rf(x, mp.mpf(2.5)), np.concatenate([uniform(0, 30), decades(0, 6)])),
    "factorial(n)": same("factorial", mp.factorial, np.arange(0.0, 33)),
    "erf": same("erf", mp.erf, REAL),
    "erfc": same("erfc", mp.erfc, REAL),
    "erfcx": same("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), np.concatenate([REAL, uniform(0, 100, 20)])),
    "erfinv": same("erfinv", mp.erfinv, np.concatenate([uniform(-1, 1), 1 - decades(-15, -1, 40), decades(-15, -1, 40)])),
    "dawsn": same("dawsn", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), REAL),
    "ndtr": same("ndtr", phi, np.concatenate([REAL, -uniform(0, 38)])),
    "log_ndtr": same("log_ndtr", log_phi, np.concatenate([REAL, -decades(0, 4, 40), uniform(5, 37, 30)])),
    "ndtri": same("ndtri", quantile, SHARES),
    "fresnel, S": Case(lambda x: ours.fresnel(x)[0], lambda x: theirs.fresnel(x)[0], mp.fresnels, np.concatenate([REAL, uniform(0, 200)])),
    "fresnel, C": Case(lambda x: ours.fresnel(x)[1], lambda x: theirs.fresnel(x)[1], mp.fresnelc, np.concatenate([REAL, uniform(0, 200)])),
    "exp1": same("exp1", mp.e1, np.concatenate([uniform(0, 5), decades(-10, 2.8)])),
    "expi": same("expi", mp.ei, np.concatenate([uniform(-5, 5), decades(-10, 2.8), 0.3725074 + decades(-6, -1, 20)])),
    "expn(2, x)": Case(lambda x: ours.expn(2, x), lambda x: theirs.expn(2, x), lambda x: mp.expint(2, x), np.concatenate([uniform(0, 5), decades(-10, 2.5)])),
    "expn(7, x)": Case(lambda x: ours.expn(7, x), lambda x: theirs.expn(7, x), lambda x: mp.expint(7, x), np.concatenate([uniform(0, 5), decades(-10, 2.5)])),
    "sici, Si": Case(lambda x: ours.sici(x)[0], lambda x: theirs.sici(x)[0], mp.si, np.concatenate([REAL, uniform(0, 60)])),
    "sici, Ci": Case(lambda x: ours.sici(x)[1], lambda x: theirs.sici(x)[1], mp.ci, np.concatenate([abs(REAL), 0.6165055 + decades(-6, -1, 20)])),
    "spence": same("spence", lambda x: mp.re(mp.polylog(2, 1 - x)), np.concatenate([uniform(0, 3), decades(-8, 6), 1 + decades(-8, -1, 20)])),
    "logit": same("logit", lambda p: mp.log(p / (1 - p)), np.concatenate([SHARES, 0.5 + decades(-8, -1, 20)])),
    "entr": same("entr", lambda x: -x * mp.log(x), POSITIVE),
    "kl_div(x, 1.5)": Case(lambda x: ours.kl_div(x, 0 * x + 1.5), lambda x: theirs.kl_div(x, 1.5), lambda x: x * mp.log(x / 1.5) - x + 1.5, uniform(0.01, 5)),
    "boxcox(x, 0.25)": Case(lambda x: ours.boxcox(x, 0 * x + 0.25), lambda x: theirs.boxcox(x, 0.25), lambda x: (x ** mp.mpf(0.25) - 1) / mp.mpf(0.25), POSITIVE),
    "i0": same("i0", lambda x: mp.besseli(0, x), np.concatenate([REAL, uniform(0, 600)])),
    "i1": same("i1", lambda x: mp.besseli(1, x), np.concatenate([REAL, uniform(0, 600)])),
    "bessel_jn(x, v=4), n = 4": Case(lambda x: ours.bessel_jn(x, v=4)[4], lambda x: theirs.jv(4, x), lambda x: mp.besselj(4, x), np.concatenate([uniform(-6, 6), uniform(0, 200)])),
    "zeta(x), x > 1": same("zeta", mp.zeta, 1 + decades(-3, 1.5)),
    "zeta(x), x < 1": same("zeta", mp.zeta, np.concatenate([uniform(0, 1), -uniform(0, 20)])),
    "zeta(2.5, x)": Case(lambda x: ours.zeta(0 * x + 2.5, x), lambda x: theirs.zeta(2.5, x), lambda x: mp.zeta(2.5, x), POSITIVE),
    "gammainc(2.5, x)": Case(lambda x: ours.gammainc(0 * x + 2.5, x), lambda x: theirs.gammainc(2.5, x), lambda x: mp.gammainc(2.5, 0, x, regularized=True), np.concatenate([uniform(0, 30), decades(-4, 1)])),
    "gammaincc(2.5, x)": Case(lambda x: ours.gammaincc(0 * x + 2.5, x), lambda x: theirs.gammaincc(2.5, x), lambda x: mp.gammainc(2.5, x, mp.inf, regularized=True), np.concatenate([uniform(0, 30), decades(-4, 2)])),
    "betainc(2.5, 1.5, x)": Case(lambda x: ours.betainc(0 * x + 2.5, 0 * x + 1.5, x), lambda x: theirs.betainc(2.5, 1.5, x), lambda x: mp.betainc(2.5, 1.5, 0, x, regularized=True), uniform(0, 1)),
    "betainc(50, 30, x)": Case(lambda x: ours.betainc(0 * x + 50, 0 * x + 30, x), lambda x: theirs.betainc(50, 30, x), lambda x: mp.betainc(50, 30, 0, x, regularized=True), uniform(0.1, 1)),
    "hyp1f1(0.75, 2.25, x)": Case(lambda x: ours.hyp1f1(0.75, 2.25, x), lambda x: theirs.hyp1f1(0.75, 2.25, x), lambda x: mp.hyp1f1(0.75, 2.25, x), np.concatenate([uniform(-60, 60), uniform(-5, 5)])),
    "hyp2f1(0.75, 1.25, 2.125, x)": Case(lambda x: ours.hyp2f1(0.75, 1.25, 2.125, x), lambda x: theirs.hyp2f1(0.75, 1.25, 2.125, x), lambda x: mp.hyp2f1(0.75, 1.25, 2.125, x), np.concatenate([uniform(-1, 1), -decades(0, 4), 1 - decades(-6, 0)])),
    "owens_t(x, 0.75)": Case(lambda x: ours.owens_t(x, 0 * x + 0.75), lambda x: theirs.owens_t(x, 0.75), lambda h: mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t) / 2 / mp.pi, [k / 8 for k in range(7)]), uniform(0, 9, 20)),
    "gammainc(a, x)": same("gammainc", lower_gamma, (ORDERS, AROUND)),
    "gammaincc(a, x)": same("gammaincc", upper_gamma, (ORDERS, AROUND)),
    "betainc(a, b, x)": same("betainc", beta_share, (*SHAPES, BESIDE)),
    "beta(x, y)": same("beta", mp.beta, SHAPES),
    "betaln(x, y)": same("betaln", log_beta, SHAPES),
    "poch(z, m)": same("poch", mp.rf, (decades(-3, 6, 150), decades(-6, 1, 150))),
    "hyp1f1(a, b, x)": same("hyp1f1", mp.hyp1f1, (uniform(-20, 20, 150), uniform(-20, 20, 150), uniform(-40, 40, 150))),
    "hyp2f1(a, b, c, x)": same("hyp2f1", mp.hyp2f1, (uniform(-20, 20, 150), uniform(-20, 20, 150), uniform(-20, 20, 150), 1 - decades(-5, 1, 150))),
}
# fmt: on


def condition(case: Case, point: list[Any], exact: Any) -> float:
    """By how many units the result changes, at most, when an operand changes by one."""
    step = mp.mpf(10) ** -15
    changed = [case.exact(*(v * (1 + step * (n == m)) for n, v in enumerate(point))) for m in range(len(point))]
    return float(max(abs((mp.re(v) - exact) / (exact * step)) for v in changed))


def error(value: float, exact: Any, dtype: Any) -> float:
    """The error in units of the last place; 0 for what is out of the range of the dtype."""
    limits = np.finfo(dtype)
    if mp.isnan(exact) or abs(exact) > limits.max or abs(exact) < limits.tiny:
        return 0.0
    return float(abs(mp.mpf(value) - exact) / abs(exact) / float(limits.eps)) if np.isfinite(value) else np.inf


def largest_errors(case: Case) -> list[float]:
    """Of ours in double precision, less what one unit in the operands changes; the whole; SciPy's; the same of ours in single."""
    found = []
    for dtype in (np.float64, np.float32):
        operands = [x.astype(dtype) for x in (case.places if isinstance(case.places, tuple) else (case.places,))]
        sound = np.logical_and.reduce([np.isfinite(x) & (np.abs(x) >= np.finfo(dtype).tiny) for x in operands])
        if len(operands) == 1:
            sound &= operands[0] != 1  # a pole of some
        operands = [x[sound] for x in operands]
        points = [[mp.mpf(float(v)) for v in point] for point in zip(*operands, strict=True)]
        exact = [mp.mpf(mp.re(case.exact(*point))) for point in points]
        conditions = np.array([condition(case, p, e) if e else 0.0 for p, e in zip(points, exact, strict=True)])
        functions = (case.ours, case.theirs) if dtype == np.float64 else (case.ours,)
        for number, function in enumerate(functions):
            values = np.asarray(function(*operands), np.float64)
            errors = np.array([error(float(v), e, dtype) for v, e in zip(values, exact, strict=True)])
            if number == 0:
                found.append(float(np.max(errors / (1 + conditions))))
            found.append(float(np.max(errors)))
    return found


def main() -> None:
    mp.mp.dps = DIGITS
    print(
        "| function | float64, of condition | float64 | SciPy | float32, of condition | float32 |\n|---|---:|---:|---:|---:|---:|"
    )
    with arrax.enable_x64(True), np.errstate(all="ignore"):
        for name, case in CASES.items():
            figures = " | ".join(f"{e:.2g}" if e < 1e3 else f"{e:.1e}" for e in largest_errors(case))
            print(f"| `{name}` | {figures} |", flush=True)


if __name__ == "__main__":
    main()
