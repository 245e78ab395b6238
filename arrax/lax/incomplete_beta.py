"""The regularized incomplete beta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax.core.interpreter import context
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax.arithmetic import add, div, eq, ge, gt, is_finite, le, lt, max_, min_, mul, neg, scalar, sub
from arrax.lax.bitwise import bitwise_and, bitwise_or
from arrax.lax.expansions import LARGE, expand, fraction_step, log1p_minus, log_one_plus, not_zero, stirling, times_log
from arrax.lax.exponential import exp, log, log1p
from arrax.lax.families import elementwise, floating, match_scalars
from arrax.lax.shapes import full_like
from arrax.lax.special import at_least_single, lgamma, no_derivative
from arrax.lax.structure import select
from arrax.xla.arrays import Array, ArrayLike


def _log_beta(a: Any, b: Any) -> Any:
    """log B(a, b); where one of the two is large, from Stirling's series, as logarithms of factorials would cancel."""
    small, big = min_(a, b), max_(a, b)
    large = full_like(a, LARGE)
    many = max_(big, large)
    total = add(small, many)
    exponent = neg(mul(sub(many, scalar(0.5, a)), log1p(div(small, many))))
    rest = add(sub(small, mul(small, log(total))), sub(stirling(many), stirling(total)))
    direct = sub(lgamma(big), lgamma(add(a, b)))
    return add(lgamma(small), select(gt(big, large), add(exponent, rest), direct))


def _log_beta_weight(a: Any, b: Any, x: Any) -> Any:
    """log(x^a (1-x)^b / B(a, b)); for large a and b from the distance between x and the mean a / (a + b)."""
    rest = sub(scalar(1, x), x)
    direct = sub(add(times_log(a, x), mul(b, log_one_plus(neg(x)))), _log_beta(a, b))
    large = full_like(a, LARGE)
    p, q = max_(a, large), max_(b, large)
    sum_ = add(p, q)
    difference = sub(mul(x, q), mul(rest, p))  # (a + b) (x - mean)
    exponent = add(mul(p, log1p_minus(div(difference, p))), mul(q, log1p_minus(div(neg(difference), q))))
    root = mul(scalar(0.5, a), log(div(mul(p, div(q, sum_)), scalar(2 * math.pi, a))))
    correction = sub(stirling(sum_), add(stirling(p), stirling(q)))
    return select(bitwise_and(gt(a, large), gt(b, large)), add(add(exponent, root), correction), direct)


def _beta_fraction(a: Any, b: Any, x: Any, active: Any) -> Any:
    """The continued fraction F with I_x(a, b) = x^a (1-x)^b F / (a B(a, b)), which converges fast below the mean."""
    one = full_like(x, 1)
    total = add(a, b)

    def first_level(order: Any) -> list[Any]:
        d = div(one, not_zero(sub(one, div(mul(total, x), add(a, one)))))
        return [one, d, d]

    def next_levels(m: Any, order: Any, c: Any, d: Any, h: Any) -> list[Any]:
        end = add(a, add(m, m))
        even = div(mul(mul(m, sub(b, m)), x), mul(sub(end, one), end))
        odd = neg(div(mul(mul(add(a, m), add(total, m)), x), mul(end, add(end, one))))
        return fraction_step(odd, one, *fraction_step(even, one, c, d, h))

    return expand(first_level, next_levels, a, active).value


@at_least_single
def _betainc(a: Any, b: Any, x: Any) -> Any:
    zero, one = full_like(x, 0), full_like(x, 1)
    finite = bitwise_and(bitwise_and(gt(a, zero), is_finite(a)), bitwise_and(gt(b, zero), is_finite(b)))
    inside = bitwise_and(finite, bitwise_and(gt(x, zero), lt(x, one)))
    above = gt(x, div(add(a, one), add(add(a, b), scalar(2, x))))
    first, second = select(above, b, a), select(above, a, b)
    weight = exp(_log_beta_weight(a, b, x))
    part = div(mul(weight, _beta_fraction(first, second, select(above, sub(one, x), x), inside)), first)
    return select(inside, select(above, sub(one, part), part), _beta_limits(a, b, x))


def _beta_limits(a: Any, b: Any, x: Any) -> Any:
    """The values on the border of the domain, and NaN outside of it."""
    zero, one, infinity = full_like(x, 0), full_like(x, 1), full_like(x, np.inf)
    positive = [gt(v, zero) for v in (a, b)]
    proper = [bitwise_and(p, lt(v, infinity)) for p, v in zip(positive, (a, b), strict=True)]
    below, above = bitwise_and(ge(x, zero), lt(x, one)), bitwise_and(gt(x, zero), le(x, one))
    low = bitwise_or(bitwise_and(proper[0], eq(b, zero)), bitwise_and(eq(a, infinity), proper[1]))
    high = bitwise_or(bitwise_and(proper[1], eq(a, zero)), bitwise_and(eq(b, infinity), proper[0]))
    low = bitwise_or(bitwise_and(low, below), bitwise_and(bitwise_and(*positive), eq(x, zero)))
    high = bitwise_or(bitwise_and(high, above), bitwise_and(bitwise_and(*positive), eq(x, one)))
    return select(high, one, select(low, zero, full_like(x, np.nan)))


@at_least_single
def _beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a-1) (1-x)^(b-1) / B(a, b), the derivative of the incomplete beta function in x."""
    one = scalar(1, x)
    return div(exp(_log_beta_weight(a, b, x)), mul(x, sub(one, x)))


regularized_incomplete_beta_p = elementwise(
    "regularized_incomplete_beta", [floating] * 3, cached_lower_fun(_betainc, "betainc"), cost=1000,
    jvp=[no_derivative("betainc", "a"), no_derivative("betainc", "b"),
         lambda a, b, x, ans, t: mul(t, _beta_density(a, b, x))],
)  # fmt: skip


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function, I_x(a, b), elementwise.

    Args:
      a, b: positive parameters: floating arrays, or numbers.
      x: upper ends of the integral, from 0 to 1.
    Returns: array of their shape; NaN outside of the domain. It can be differentiated in ``x``.
    Raises:
      TypeError: dtypes or shapes that differ.
    Example: ``lax.betainc(2., 2., jnp.float32(0.5))`` is 0.5.
    """
    a, x = match_scalars("betainc", a, x)
    b, x = match_scalars("betainc", b, x)
    a, b = match_scalars("betainc", a, b)
    return context.interpreter.process(regularized_incomplete_beta_p, (a, b, x), {})


betainc.primitive = regularized_incomplete_beta_p  # type: ignore[attr-defined]
