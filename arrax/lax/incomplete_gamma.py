"""The incomplete gamma functions and their derivatives."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax.arithmetic import add, div, eq, ge, gt, is_finite, le, lt, mul, neg, scalar, sub
from arrax.lax.bitwise import bitwise_and, bitwise_not, bitwise_or
from arrax.lax.expansions import (
    LARGE,
    Expansion,
    expand,
    fraction_step,
    log1p_minus,
    not_zero,
    stirling,
    times_log,
    tiny,
)  # fmt: skip
from arrax.lax.exponential import exp, expm1, log
from arrax.lax.families import binary, floating
from arrax.lax.shapes import full_like
from arrax.lax.special import at_least_single, digamma, lgamma, no_derivative
from arrax.lax.structure import select


def _log_weight(a: Any, x: Any) -> Any:
    """log(x^a e^-x / Gamma(a + 1)); for large a from the distance between x and a, as the terms cancel."""
    direct = sub(sub(times_log(a, x), x), lgamma(add(a, scalar(1, a))))
    large = full_like(a, LARGE)
    many = select(gt(a, large), a, large)
    exponent = mul(many, log1p_minus(div(sub(x, many), many)))
    root = mul(scalar(0.5, a), log(mul(scalar(2 * math.pi, a), many)))
    return select(gt(a, large), sub(sub(exponent, root), stirling(many)), direct)


# ---- the incomplete gamma functions --------------------------------------------------------------------------------
# With w = x^a e^-x / Gamma(a + 1): P = w S with the series S, the sum of x^n / ((a+1) … (a+n)); and Q = 1 - P = a w F
# with the continued fraction F = 1/(x+1-a - (1-a)/(x+3-a - 2(2-a)/(x+5-a - …))).


class Gamma(NamedTuple):
    """The two expansions, each valid where the other is not, and where they are."""

    series: Expansion
    fraction: Expansion
    by_series: Any
    valid: Any


def _expand_gamma(a: Any, x: Any, with_slope: bool = False) -> Gamma:
    zero, one = scalar(0, x), full_like(x, 1)
    inside = bitwise_and(bitwise_and(gt(a, zero), is_finite(a)), bitwise_and(gt(x, zero), is_finite(x)))
    by_series = bitwise_or(le(x, one), le(x, a))

    def next_term(number: Any, order: Any, term: Any, total: Any) -> list[Any]:
        term = mul(term, div(x, add(order, number)))
        return [term, add(total, term)]

    def first_level(order: Any) -> list[Any]:
        d = div(one, not_zero(sub(add(x, one), order)))
        return [full_like(x, 1 / tiny(x)), d, d]

    def next_level(number: Any, order: Any, c: Any, d: Any, h: Any) -> list[Any]:
        denominator = add(sub(add(x, one), order), add(number, number))
        return fraction_step(mul(number, sub(order, number)), denominator, c, d, h)

    series = expand(lambda order: [one, one], next_term, a, bitwise_and(inside, by_series), with_slope)
    fraction = expand(first_level, next_level, a, bitwise_and(inside, bitwise_not(by_series)), with_slope)
    return Gamma(series, fraction, by_series, inside)


def _gamma_limits(a: Any, x: Any, inside: Any, result: Any, start: float, end: float) -> Any:
    """The values on the border: ``start`` for x = 0 or infinite a, ``end`` for infinite x or a = 0, else NaN."""
    zero, infinity = full_like(x, 0), full_like(x, np.inf)
    positive_a, positive_x = gt(a, zero), gt(x, zero)
    low = bitwise_or(
        bitwise_and(eq(x, zero), positive_a), bitwise_and(eq(a, infinity), bitwise_and(ge(x, zero), lt(x, infinity)))
    )
    high = bitwise_or(
        bitwise_and(eq(a, zero), positive_x), bitwise_and(eq(x, infinity), bitwise_and(positive_a, lt(a, infinity)))
    )
    outside = select(low, full_like(x, start), select(high, full_like(x, end), full_like(x, np.nan)))
    return select(inside, result, outside)


@at_least_single
def _igamma(a: Any, x: Any) -> Any:
    found, weight = _expand_gamma(a, x), exp(_log_weight(a, x))
    upper = mul(mul(a, weight), found.fraction.value)
    result = select(found.by_series, mul(weight, found.series.value), sub(scalar(1, x), upper))
    return _gamma_limits(a, x, found.valid, result, 0, 1)


@at_least_single
def _igammac(a: Any, x: Any) -> Any:
    found, weight = _expand_gamma(a, x), exp(_log_weight(a, x))
    lower = mul(weight, found.series.value)
    result = select(found.by_series, sub(scalar(1, x), lower), mul(mul(a, weight), found.fraction.value))
    result = select(_lower_is_near_one(a, x), _small_upper(a, x), result)
    return _gamma_limits(a, x, found.valid, result, 1, 0)


def _lower_is_near_one(a: Any, x: Any) -> Any:
    """Where P is so near 1 that Q = 1 - P would cancel, and x is small."""
    positive = select(gt(x, full_like(x, 0)), x, full_like(x, 1))
    half, one = full_like(x, 0.5), full_like(x, 1)
    limit = select(
        le(x, half), div(scalar(-0.4, x), log(select(le(positive, half), positive, half))), mul(scalar(0.75, x), x)
    )
    return bitwise_and(le(x, one), le(a, limit))


def _small_upper(a: Any, x: Any) -> Any:
    """Q for small x by 1 - x^a / Gamma(a + 1), less the sum of a x^a / Gamma(a + 1) times (-x)^n / (n! (a + n))."""
    inside = _lower_is_near_one(a, x)
    x = select(bitwise_and(inside, gt(x, full_like(x, 0))), x, full_like(x, 0.5))
    a = select(bitwise_and(inside, gt(a, full_like(a, 0))), a, full_like(a, 0.5))
    power = sub(mul(a, log(x)), _lgamma_of_one_more(a))
    term, total = full_like(x, 1), full_like(x, 0)
    for n in range(1, _TERMS):
        term = mul(term, mul(x, scalar(-1 / n, x)))
        total = add(total, div(term, add(a, scalar(n, a))))
    return sub(neg(expm1(power)), mul(mul(a, exp(power)), total))


_TERMS = 19  # 1 / 19! is below the precision of float64
# Coefficients of log Gamma(1 + a) around 0: -gamma, then (-1)^k zeta(k) / k.
_ZETA = (
    1.6449340668482264, 1.2020569031595942, 1.0823232337111382, 1.0369277551433699, 1.0173430619844491, 1.0083492773819228,
    1.0040773561979443, 1.0020083928260822, 1.0009945751278181, 1.0004941886041195, 1.000246086553308, 1.0001227133475785,
    1.0000612481350587, 1.000030588236307, 1.0000152822594087, 1.0000076371976379, 1.000003817293265, 1.0000019082127166,
    1.0000009539620339, 1.0000004769329868, 1.0000002384505027,
)  # fmt: skip


def _lgamma_of_one_more(a: Any) -> Any:
    """log Gamma(1 + a) for a > 0, with all its digits where it is small."""
    near = lt(a, full_like(a, 0.2))
    small = select(near, a, full_like(a, 0))
    series = full_like(a, 0)
    for k in range(len(_ZETA) + 1, 1, -1):
        series = mul(small, add(series, scalar((-1) ** k * _ZETA[k - 2] / k, a)))
    series = mul(small, sub(series, scalar(np.euler_gamma, a)))
    return select(near, series, lgamma(add(a, scalar(1, a))))


def _slopes(a: Any, x: Any, found: Gamma) -> tuple[Any, Any]:
    """The derivatives in ``a`` of P / w and of Q / (a w), those of the logarithm of the weights included."""
    distance = sub(log(x), digamma(a))
    lower = add(found.series.slope, mul(found.series.value, sub(distance, div(scalar(1, a), a))))
    return lower, add(found.fraction.slope, mul(found.fraction.value, distance))


@at_least_single
def _igamma_grad_a(a: Any, x: Any) -> Any:
    found, weight = _expand_gamma(a, x, True), exp(_log_weight(a, x))
    lower, upper = _slopes(a, x, found)
    result = mul(weight, select(found.by_series, lower, neg(mul(a, upper))))
    return _gamma_limits(a, x, found.valid, result, 0, 0)


@at_least_single
def _random_gamma_grad(a: Any, x: Any) -> Any:
    """-(dP/da) / (dP/dx), where dP/dx = a w / x."""
    found = _expand_gamma(a, x, True)
    lower, upper = _slopes(a, x, found)
    result = mul(x, select(found.by_series, neg(div(lower, a)), upper))
    return _gamma_limits(a, x, found.valid, result, 0, 0)


@at_least_single
def _density(a: Any, x: Any) -> Any:
    """x^(a-1) e^-x / Gamma(a), the derivative of P in x."""
    direct = exp(sub(sub(times_log(sub(a, scalar(1, a)), x), x), lgamma(a)))
    nonzero = select(eq(x, full_like(x, 0)), full_like(x, 1), x)
    density = select(gt(a, full_like(a, LARGE)), div(mul(a, exp(_log_weight(a, x))), nonzero), direct)
    return select(eq(x, full_like(x, np.inf)), full_like(x, 0), density)


# ---- the operations ------------------------------------------------------------------------------------------------


def _grad_a_jvp(a: Any, x: Any, ans: Any, t: Any) -> Any:
    """d/da of the density."""
    return mul(t, mul(_density(a, x), sub(log(x), digamma(a))))


# fmt: off
igamma  = binary("igamma",  floating, cached_lower_fun(_igamma, "igamma"), cost=100, operands=("a", "x"),
                 doc="regularized lower incomplete gamma function P(a, x)",
                 jvp=(lambda a, x, ans, t: mul(t, igamma_grad_a(a, x)), lambda a, x, ans, t: mul(t, _density(a, x))))
igammac = binary("igammac", floating, cached_lower_fun(_igammac, "igammac"), cost=100, operands=("a", "x"),
                 doc="regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x)",
                 jvp=(lambda a, x, ans, t: mul(t, neg(igamma_grad_a(a, x))),
                      lambda a, x, ans, t: mul(t, neg(_density(a, x)))))
igamma_grad_a = binary("igamma_grad_a", floating, cached_lower_fun(_igamma_grad_a, "igamma_grad_a"), cost=1000,
                       operands=("a", "x"), doc="derivative of igamma in a", jvp=(no_derivative("igamma_grad_a", "a"), _grad_a_jvp))
random_gamma_grad = binary("random_gamma_grad", floating, cached_lower_fun(_random_gamma_grad, "random_gamma_grad"), cost=1000,
                           operands=("a", "x"), doc="derivative in a of a sample x of the gamma distribution Gamma(a, 1)",
                           jvp=(no_derivative("random_gamma_grad", "a"), no_derivative("random_gamma_grad", "x")))
# fmt: on
