"""Incomplete gamma and beta functions, by series and continued fractions that run until every element has settled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax.core.types import instantiate, typeof
from arrax.interpreters.ad.jvp import jvp
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax.arithmetic import abs_, add, div, eq, ge, gt, is_finite, le, lt, mul, neg, scalar, square, sub
from arrax.lax.bitwise import bitwise_and, bitwise_not, bitwise_or
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.conversion import convert_element_type
from arrax.lax.exponential import exp, log, log1p, sqrt
from arrax.lax.families import binary, elementwise, floating, lower_named, public
from arrax.lax.reductions import reduce_or
from arrax.lax.shapes import full_like
from arrax.lax.special import at_least_single, digamma, lgamma, no_derivative
from arrax.lax.structure import select

_MOST_STEPS = 10_000  # near x = a, about 6 sqrt(a) steps are needed

Start = Callable[[Any], Sequence[Any]]
Step = Callable[..., Sequence[Any]]


# ---- iteration ----------------------------------------------------------------------------------------------------------


class Expansion(NamedTuple):
    """What an iteration comes to, and its derivative in the parameter."""

    value: Any
    slope: Any = None


def _expand(start: Start, step: Step, a: Any, active: Any, with_slope: bool = False) -> Expansion:
    """Iterate a state, whose last entry is the value sought, until that changes no more.

    Args:
      start: ``a -> state``, arrays of one shape.
      step: ``(number, a, *state) -> state``; the numbers count from 1.
      active: bools: the elements that are wanted.
      with_slope: carry along the derivative in ``a``.
    """
    if not with_slope:
        return Expansion(_iterate(list(start(a)), lambda number, *state: step(number, a, *state), active, 0)[-1])
    one = full_like(a, 1)
    values, slopes = jvp(start, [a], [one])
    count = len(values)

    def doubled(number: Any, *both: Any) -> list[Any]:
        primals, tangents = [a, *both[:count]], [one, *both[count:]]
        outs, out_tangents = jvp(lambda order, *state: step(number, order, *state), primals, tangents)
        return [*outs, *map(instantiate, out_tangents)]

    state = _iterate([*values, *map(instantiate, slopes)], doubled, active, count)
    return Expansion(state[count - 1], state[-1])


def _iterate(state: list[Any], step: Step, active: Any, slopes: int) -> list[Any]:
    """Run ``step`` on the active elements until the last value, and the last of the ``slopes``, change no more."""
    axes = tuple(range(typeof(active).ndim))
    value = len(state) - slopes - 1

    def goes_on(carry: Any) -> Any:
        number, running, _ = carry
        return bitwise_and(lt(number, np.int32(_MOST_STEPS)), reduce_or(running, axes))

    def body(carry: Any) -> Any:
        number, running, before = carry
        after = step(convert_element_type(number, typeof(before[0]).dtype), *before)
        moving = _changed(before[value], after[value], abs_(after[value]))
        if slopes:
            size = add(abs_(after[-1]), abs_(after[value]))
            moving = bitwise_or(moving, _changed(before[-1], after[-1], size))
        after = [select(running, new, old) for new, old in zip(after, before, strict=True)]
        return add(number, np.int32(1)), bitwise_and(running, moving), after

    return while_loop(goes_on, body, (np.int32(1), active, state))[2]


def _changed(before: Any, after: Any, size: Any) -> Any:
    """Whether a value still changes by more than rounding; not so for NaN."""
    return gt(abs_(sub(after, before)), mul(scalar(2 * np.finfo(typeof(size).dtype).eps, size), size))


def _fraction_step(numerator: Any, denominator: Any, c: Any, d: Any, h: Any) -> list[Any]:
    """One more level of a continued fraction (the modified method of Lentz)."""
    c = _not_zero(add(denominator, div(numerator, c)))
    d = div(scalar(1, d), _not_zero(add(denominator, mul(numerator, d))))
    return [c, d, mul(h, mul(c, d))]


def _not_zero(x: Any) -> Any:
    tiny = full_like(x, _tiny(x))
    return select(lt(abs_(x), tiny), tiny, x)


def _tiny(x: Any) -> float:
    return 1e-30 if typeof(x).dtype == np.float32 else 1e-290


# ---- the weight in front of the gamma functions ---------------------------------------------------------------------------

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_LARGE = 10.0  # from here on Stirling's series has the digits of float64


def _stirling(a: Any) -> Any:
    """log Gamma(a + 1) minus its leading part, a log a - a + log(2 pi a) / 2, for large a."""
    inverse = div(scalar(1, a), a)
    squared, total = square(inverse), scalar(0, a)
    for coefficient in reversed(_STIRLING):
        total = add(mul(full_like(a, total) if typeof(total).shape != typeof(a).shape else total, squared), scalar(coefficient, a))
    return mul(total, inverse)


def _log1p_minus(x: Any) -> Any:
    """log(1 + x) - x without cancellation near 0: with s = x / (2 + x), it is 2 s^3 (1/3 + s^2/5 + …) - x s."""
    s = div(x, add(x, scalar(2, x)))
    squared, total = square(s), full_like(x, 1 / 23)
    for odd in range(21, 1, -2):
        total = add(mul(total, squared), scalar(1 / odd, x))
    near = sub(mul(mul(scalar(2, x), mul(s, squared)), total), mul(x, s))
    return select(lt(abs_(x), scalar(0.3, x)), near, sub(log1p(x), x))


def _times_log(x: Any, y: Any) -> Any:
    """x log y, which is 0 for x = 0."""
    return select(eq(x, scalar(0, x)), full_like(x, 0), mul(x, log(y)))


def _log_weight(a: Any, x: Any) -> Any:
    """log(x^a e^-x / Gamma(a + 1)); for large a from the distance between x and a, as the terms are large and cancel."""
    direct = sub(sub(_times_log(a, x), x), lgamma(add(a, scalar(1, a))))
    large = full_like(a, _LARGE)
    many = select(gt(a, large), a, large)
    exponent = mul(many, _log1p_minus(div(sub(x, many), many)))
    root = mul(scalar(0.5, a), log(mul(scalar(2 * math.pi, a), many)))
    return select(gt(a, large), sub(sub(exponent, root), _stirling(many)), direct)


# ---- the incomplete gamma functions -------------------------------------------------------------------------------------
# With w = x^a e^-x / Gamma(a + 1): P = w S with the series S, the sum of x^n / ((a+1) … (a+n)); and Q = 1 - P = a w F with
# the continued fraction F = 1/(x+1-a - (1-a)/(x+3-a - 2(2-a)/(x+5-a - …))).


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
        d = div(one, _not_zero(sub(add(x, one), order)))
        return [full_like(x, 1 / _tiny(x)), d, d]

    def next_level(number: Any, order: Any, c: Any, d: Any, h: Any) -> list[Any]:
        denominator = add(sub(add(x, one), order), add(number, number))
        return _fraction_step(mul(number, sub(order, number)), denominator, c, d, h)

    series = _expand(lambda order: [one, one], next_term, a, bitwise_and(inside, by_series), with_slope)
    fraction = _expand(first_level, next_level, a, bitwise_and(inside, bitwise_not(by_series)), with_slope)
    return Gamma(series, fraction, by_series, inside)


def _gamma_limits(a: Any, x: Any, inside: Any, result: Any, at_zero: float) -> Any:
    """The values on the border: ``at_zero`` for x = 0 or infinite a, the complement for infinite x or a = 0, else NaN."""
    zero, infinity = full_like(x, 0), full_like(x, np.inf)
    positive_a, positive_x = gt(a, zero), gt(x, zero)
    low = bitwise_or(bitwise_and(eq(x, zero), positive_a), bitwise_and(eq(a, infinity), bitwise_and(ge(x, zero), lt(x, infinity))))
    high = bitwise_or(bitwise_and(eq(a, zero), positive_x), bitwise_and(eq(x, infinity), bitwise_and(positive_a, lt(a, infinity))))
    outside = select(low, full_like(x, at_zero), select(high, full_like(x, 1 - at_zero), full_like(x, np.nan)))
    return select(inside, result, outside)


@at_least_single
def _igamma(a: Any, x: Any) -> Any:
    found, weight = _expand_gamma(a, x), exp(_log_weight(a, x))
    upper = mul(mul(a, weight), found.fraction.value)
    result = select(found.by_series, mul(weight, found.series.value), sub(scalar(1, x), upper))
    return _gamma_limits(a, x, found.valid, result, 0)


@at_least_single
def _igammac(a: Any, x: Any) -> Any:
    found, weight = _expand_gamma(a, x), exp(_log_weight(a, x))
    lower = mul(weight, found.series.value)
    result = select(found.by_series, sub(scalar(1, x), lower), mul(mul(a, weight), found.fraction.value))
    return _gamma_limits(a, x, found.valid, result, 1)


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
    return _gamma_limits(a, x, found.valid, result, 0)


@at_least_single
def _random_gamma_grad(a: Any, x: Any) -> Any:
    """-(dP/da) / (dP/dx), where dP/dx = a w / x."""
    found = _expand_gamma(a, x, True)
    lower, upper = _slopes(a, x, found)
    result = mul(x, select(found.by_series, neg(div(lower, a)), upper))
    return _gamma_limits(a, x, found.valid, result, 0)


def _density(a: Any, x: Any) -> Any:
    """x^(a-1) e^-x / Gamma(a), the derivative of P in x."""
    return exp(sub(sub(_times_log(sub(a, scalar(1, a)), x), x), lgamma(a)))


# ---- the incomplete beta function -----------------------------------------------------------------------------------------


def _log_beta_weight(a: Any, b: Any, x: Any) -> Any:
    """log(x^a (1-x)^b / B(a, b)); for large a and b from the distance between x and the mean a / (a + b)."""
    rest, total = sub(scalar(1, x), x), add(a, b)
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(total))
    direct = sub(add(_times_log(a, x), mul(b, log1p(neg(x)))), log_beta)
    large = full_like(a, _LARGE)
    p, q = (select(gt(v, large), v, large) for v in (a, b))
    sum_ = add(p, q)
    difference = sub(mul(x, q), mul(rest, p))  # (a + b) (x - mean)
    exponent = add(mul(p, _log1p_minus(div(difference, p))), mul(q, _log1p_minus(div(neg(difference), q))))
    root = mul(scalar(0.5, a), log(div(mul(p, div(q, sum_)), scalar(2 * math.pi, a))))
    correction = sub(_stirling(sum_), add(_stirling(p), _stirling(q)))
    return select(bitwise_and(gt(a, large), gt(b, large)), add(add(exponent, root), correction), direct)


def _beta_fraction(a: Any, b: Any, x: Any, active: Any) -> Any:
    """The continued fraction F with I_x(a, b) = x^a (1-x)^b F / (a B(a, b)), which converges fast below the mean."""
    one = full_like(x, 1)
    total = add(a, b)

    def first_level(order: Any) -> list[Any]:
        d = div(one, _not_zero(sub(one, div(mul(total, x), add(a, one)))))
        return [one, d, d]

    def next_levels(m: Any, order: Any, c: Any, d: Any, h: Any) -> list[Any]:
        end = add(a, add(m, m))
        even = div(mul(mul(m, sub(b, m)), x), mul(sub(end, one), end))
        odd = neg(div(mul(mul(add(a, m), add(total, m)), x), mul(end, add(end, one))))
        return _fraction_step(odd, one, *_fraction_step(even, one, c, d, h))

    return _expand(first_level, next_levels, a, active).value


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
    proper = [bitwise_and(gt(v, zero), lt(v, infinity)) for v in (a, b)]
    within = bitwise_and(ge(x, zero), le(x, one))
    low = bitwise_or(bitwise_and(proper[0], eq(b, zero)), bitwise_and(eq(a, infinity), proper[1]))
    high = bitwise_or(bitwise_and(proper[1], eq(a, zero)), bitwise_and(eq(b, infinity), proper[0]))
    proper_both = bitwise_and(*proper)
    low = bitwise_or(bitwise_and(low, bitwise_and(within, lt(x, one))), bitwise_and(proper_both, eq(x, zero)))
    high = bitwise_or(bitwise_and(high, bitwise_and(within, gt(x, zero))), bitwise_and(proper_both, eq(x, one)))
    return select(high, one, select(low, zero, full_like(x, np.nan)))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a-1) (1-x)^(b-1) / B(a, b), the derivative of the incomplete beta function in x."""
    one = scalar(1, x)
    return div(exp(_log_beta_weight(a, b, x)), mul(x, sub(one, x)))
