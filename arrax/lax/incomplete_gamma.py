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
from arrax.lax.exponential import exp, log
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
    return _gamma_limits(a, x, found.valid, result, 1, 0)


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
igamma  = binary("igamma",  floating, cached_lower_fun(_igamma, "igamma"), operands=("a", "x"),
                 doc="regularized lower incomplete gamma function P(a, x)",
                 jvp=(lambda a, x, ans, t: mul(t, igamma_grad_a(a, x)), lambda a, x, ans, t: mul(t, _density(a, x))))
igammac = binary("igammac", floating, cached_lower_fun(_igammac, "igammac"), operands=("a", "x"),
                 doc="regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x)",
                 jvp=(lambda a, x, ans, t: mul(t, neg(igamma_grad_a(a, x))),
                      lambda a, x, ans, t: mul(t, neg(_density(a, x)))))
igamma_grad_a = binary("igamma_grad_a", floating, cached_lower_fun(_igamma_grad_a, "igamma_grad_a"),
                       operands=("a", "x"), doc="derivative of igamma in a", jvp=(no_derivative("igamma_grad_a", "a"), _grad_a_jvp))
random_gamma_grad = binary("random_gamma_grad", floating, cached_lower_fun(_random_gamma_grad, "random_gamma_grad"),
                           operands=("a", "x"), doc="derivative in a of a sample x of the gamma distribution Gamma(a, 1)",
                           jvp=(no_derivative("random_gamma_grad", "a"), no_derivative("random_gamma_grad", "x")))
# fmt: on
