"""The regularized incomplete beta function and its derivatives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from arrax.core.interpreter import context
from arrax.lax.arithmetic import add, div, eq, gt, mul, neg, scalar, sub
from arrax.lax.bitwise import bitwise_and
from arrax.lax.double_formulas import TINY, TWO_PI, Derivatives, Flags, Real, in_double, without_subnormals
from arrax.lax.expansions import upwards
from arrax.lax.exponential import log, log1p
from arrax.lax.families import elementwise
from arrax.lax.filled_arrays import full_like
from arrax.lax.gamma_pieces import LARGE, excess, log_one_plus, reciprocal_factorial, rounding_of_sum, stirling
from arrax.lax.operand_checks import floating, match_scalars
from arrax.lax.selection import select
from arrax.lax.special import digamma
from arrax.xla.arrays import Array, ArrayLike

# ---- the weight ----------------------------------------------------------------------------------------------------


class _Product(NamedTuple):
    """first^a second^b e^exponent factor"""

    first: Real
    second: Real
    exponent: Real
    factor: Real


def _complement(x: Real) -> tuple[Real, Real]:
    """1 - x in two parts, the second what the first lacks."""
    one = (x < 2).where(1, x)  # a constant would let the compiler simplify what follows
    rest = one - x
    return rest, rounding_of_sum(one, -x, rest)


def _weight(a: Real, b: Real, x: Real, precision: float) -> Real:
    """x^a (1-x)^b / B(a, b): by powers where they are in range, as exp would enlarge the rounding of a large logarithm."""
    rest, lost = _complement(x)
    large = (a >= LARGE) & (b >= LARGE)
    few = _weight_of_few(large.where(1, a), large.where(1, b), x, rest, lost)
    many = _weight_of_many(large.where(a, LARGE), large.where(b, LARGE), x, rest, lost)
    chosen = _Product(*(large.where(m, f) for m, f in zip(many, few, strict=True)))
    first, second = chosen.first.power(a, precision), chosen.second.power(b, precision)
    return first * chosen.exponent.exp() * second * chosen.factor


def _weight_of_few(a: Real, b: Real, x: Real, rest: Real, lost: Real) -> _Product:
    """Where one parameter is below 10. If both are, by gamma functions; else by Stirling's series for the large ones."""
    few = (a < LARGE) & (b < LARGE)
    p, q = few.where(a, 1), few.where(b, 1)
    total = p + q
    # ``total`` is p + q rounded: this factor corrects the gamma function there to that at p + q itself.
    close = 1 + rounding_of_sum(p, q, total) * (total + 0.5).log()
    factor = (
        p * reciprocal_factorial(p) * (q / total) * reciprocal_factorial(q) * close / reciprocal_factorial(total, 20)
    )
    small, big = few.where(1, a.minimum(b)), few.where(LARGE, a.maximum(b))
    # Gamma(small + big) / (Gamma(big) big^small)
    ratio = small / big
    quotient = (small - 0.5) * log_one_plus(ratio) - small * ratio * excess(ratio)
    quotient = quotient + (stirling(big + small) - stirling(big))
    factor = few.where(factor, small * reciprocal_factorial(small))
    first, second = few.where(1, (a <= b).where(b, 1)), few.where(1, (a <= b).where(1, a))
    return _Product(x * first, rest * second, few.where(0, quotient) + b * lost / rest, factor)


def _weight_of_many(a: Real, b: Real, x: Real, rest: Real, lost: Real) -> _Product:
    """Where both are at least 10: from the distance between x and the mean a / (a + b), as the terms cancel."""
    total = a + b
    distance = x * b - rest * a - lost * a  # (a + b) (x - mean)
    first, first_exponent = _power_less_linear(a, distance, x * (total / a))
    second, second_exponent = _power_less_linear(b, -distance, rest * (total / b))
    correction = stirling(total) - (stirling(a) + stirling(b))
    factor = (a * (b / total) / TWO_PI).sqrt() * correction.exp()
    return _Product(first, second, first_exponent + second_exponent, factor)


def _power_less_linear(a: Real, distance: Real, base: Real) -> tuple[Real, Real]:
    """(1 + d/a)^a e^-d as a power's base and the exponent of e; ``base`` is 1 + d/a, computed otherwise."""
    r = distance / a
    by_power = (r < -0.3) & (a < 300)
    near = by_power.where(0, r)
    return by_power.where(base, 1), by_power.where(-distance, -a * near * near * excess(near))


# ---- the continued fraction ------------------------------------------------------------------------------------------


_MAX_LEVELS = 10_000  # enough for parameters of up to a billion


def _fraction(a: Real, b: Real, x: Real, distance: Real, active: Flags, precision: float, order: int) -> Real:
    """F with I_x(a, b) = x^a (1-x)^b F / B(a, b), for x up to about the mean; ``distance`` is a - (a + b) x.

    Didonato and Morris, "Algorithm 708: significant digit computation of the incomplete beta function ratios" (1992). How many
    levels give all digits was found by counting.
    """
    total = a + b
    width = (a * (b / total)).maximum(1e-3).power(a.like(0.34), 1)
    one_sided = (0.1 * a.sqrt()).minimum(1) / (1 + b)
    beyond = (x > (a + 1) / (total + 2)).where(9 / (1 - x).sqrt(), 0)
    count = (14 + 100 * one_sided + 8 * width) if precision < 1e-13 else (8 + 34 * one_sided + 5.4 * width)
    count = ((1 + order) * (count + beyond)).floor().minimum(_MAX_LEVELS)

    def level(number: Array, tail: Array) -> Array:
        n = Real(number)
        middle = a + 2 * n
        step = n * (b - n) * x / (middle - 1)
        before = n - 1  # which is 0 at first, where small parameters would be lost in a + n
        numerator = step * x * (a + before) * (total + before) / (middle - 1)
        denominator = n + step + (a + n) / (middle + 1) * (distance + 1 + n * (2 - x))
        return (numerator / (denominator + Real(tail))).value

    tail = Real(upwards(level, count.value, active.value))
    return 1 / (a / (a + 1) * (distance + 1) + tail)


def _limits(a: Real, b: Real, x: Real) -> Real:
    """The values on the border of the domain, and NaN outside of it."""
    proper = (a >= 0) & (b >= 0) & (a + b > 0) & (a.minimum(b) < np.inf) & (x >= 0) & (x <= 1)
    high = x.equals(1) | ((a.equals(0) | b.equals(np.inf)) & (x > 0))
    low = x.equals(0) | b.equals(0) | a.equals(np.inf)
    return proper.where(high.where(1, low.where(0, x.like(np.nan))), np.nan)


def _inside(a: Real, b: Real, x: Real) -> Flags:
    return (a > 0) & a.finite() & (b > 0) & b.finite() & (x > 0) & (x < 1)


class _Share(NamedTuple):
    """What of the integral lies ``above`` x, or else below it; only ``inside`` of the domain."""

    part: Real
    above: Flags
    inside: Flags


def _share(a: Real, b: Real, x: Real, precision: float, order: int) -> _Share:
    inside = _inside(a, b, x)
    p, q, y = inside.where(a, 1), inside.where(b, 1), inside.where(x, 0.5)
    # The fraction of x converges below about the mean; and up to 0.99 where b is small, so that 1 - I would lose digits.
    above = (y > (p + 1) / (p + q + 2)) & ((q > 1) | (y > (p / (p + q)).minimum(0.99)))
    first, second = above.where(q, p), above.where(p, q)
    rest, lost = _complement(y)
    distance = p * rest - q * y + p * lost
    distance = above.where(-distance, distance)
    part = _weight(p, q, y, precision) * _fraction(
        first, second, above.where(rest, y), distance, inside, precision, order
    )
    return _Share(part, above, inside)


def _betainc(a: Real, b: Real, x: Real, precision: float, order: int) -> Real:
    part, above, inside = _share(a, b, x, precision, order)
    return inside.where(above.where(1 - part, part), _limits(a, b, x))


def _betaincc(a: Real, b: Real, x: Real, precision: float, order: int) -> Real:
    part, above, inside = _share(a, b, x, precision, order)
    return inside.where(above.where(part, 1 - part), 1 - _limits(a, b, x))


# ---- derivatives -----------------------------------------------------------------------------------------------------


def _density(a: Real, b: Real, x: Real, precision: float, order: int) -> Real:
    """x^(a-1) (1-x)^(b-1) / B(a, b), the derivative of the incomplete beta function in x; on its borders the limits."""
    inside = _inside(a, b, x)
    p, q, y = inside.where(a, 1), inside.where(b, 1), inside.where(x, 0.5)
    proper = (a > 0) & (b > 0)
    at_zero, at_one = ((v > 1).where(0, (v < 1).where(np.inf, w)) for v, w in ((a, b), (b, a)))
    vanishes = (a.equals(0) & (b > 0) & (x > 0) & (x <= 1)) | (b.equals(0) & (a > 0) & (x >= 0) & (x < 1))
    ends = (x.equals(0) & proper).where(
        at_zero, (x.equals(1) & proper).where(at_one, vanishes.where(0, x.like(np.nan)))
    )
    return inside.where(_weight(p, q, y, precision) / (y * (1 - y)), ends)


def _times_density(ans: Array, factor: Array) -> Array:
    """The product, 0 where the density is."""
    return select(eq(ans, scalar(0, ans)), full_like(ans, 0), mul(ans, factor))


def _density_in_order(order: Any, total: Any, power: Any, ans: Array) -> Any:
    return _times_density(ans, add(power, sub(digamma(total), digamma(order))))


def _density_in_place(a: Array, b: Array, x: Array, ans: Array) -> Array:
    """The derivative in x; at the ends by the densities of the orders below, where there are such."""
    zero, one = full_like(x, 0), full_like(x, 1)
    at_zero = bitwise_and(eq(x, zero), gt(a, one))
    at_one = bitwise_and(eq(x, one), gt(b, one))
    power = select(eq(a, one), zero, div(sub(a, one), select(at_zero, one, x)))
    other = select(eq(b, one), zero, div(sub(b, one), select(at_one, one, sub(one, x))))
    lower = sub(
        select(at_zero, beta_density(select(at_zero, sub(a, one), a), b, x), zero),
        select(at_one, beta_density(a, select(at_one, sub(b, one), b), x), zero),
    )
    lower = mul(sub(add(a, b), one), lower)
    return select(at_zero, lower, select(at_one, lower, _times_density(ans, sub(power, other))))


def _beside_border(a: Real, b: Real, x: Real) -> tuple[Real, Real, Real]:
    """Operands with a positive order instead of one that is 0, so that derivatives in the orders have their limits."""
    proper = (a + b > 0) & (x > 0) & (x < 1)
    a, b = ((proper & order.equals(0)).where(TINY, order) for order in (a, b))
    return a, b, x


_in_orders = Derivatives("betainc", _betainc, 3, _beside_border)
_rest_in_orders = Derivatives("betaincc", _betaincc, 3, _beside_border)

beta_density_p = elementwise(
    "beta_density", [floating] * 3, in_double(without_subnormals(_density), "beta_density"), cost=300,
    jvp=[lambda a, b, x, ans, t: mul(t, _density_in_order(a, add(a, b), log(x), ans)),
         lambda a, b, x, ans, t: mul(t, _density_in_order(b, add(a, b), log1p(neg(x)), ans)),
         lambda a, b, x, ans, t: mul(t, _density_in_place(a, b, x, ans))],
)  # fmt: skip


def beta_density(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The density of the beta distribution of the parameters a and b at x."""
    return context.interpreter.process(beta_density_p, (a, b, x), {})


regularized_incomplete_beta_p = elementwise(
    "regularized_incomplete_beta", [floating] * 3, in_double(without_subnormals(_betainc), "betainc"), cost=1000,
    jvp=[lambda a, b, x, ans, t: mul(t, _in_orders(a, b, x, argnums=(0,))),
         lambda a, b, x, ans, t: mul(t, _in_orders(a, b, x, argnums=(1,))),
         lambda a, b, x, ans, t: mul(t, beta_density(a, b, x))],
)  # fmt: skip

complement_p = elementwise(
    "betaincc", [floating] * 3, in_double(without_subnormals(_betaincc), "betaincc"), cost=1000,
    jvp=[lambda a, b, x, ans, t: mul(t, _rest_in_orders(a, b, x, argnums=(0,))),
         lambda a, b, x, ans, t: mul(t, _rest_in_orders(a, b, x, argnums=(1,))),
         lambda a, b, x, ans, t: mul(t, neg(beta_density(a, b, x)))],
)  # fmt: skip


def betaincc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """1 - I_x(a, b), which keeps its digits where I is nearly 1, and x where it is lost in 1 - x."""
    return context.interpreter.process(complement_p, (a, b, x), {})


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function, I_x(a, b), elementwise.

    Args:
      a, b: positive parameters: floating arrays, or numbers.
      x: upper ends of the integral, from 0 to 1.
    Returns: array of their shape; NaN outside of the domain. It can be differentiated in all three.
    Raises:
      TypeError: dtypes or shapes that differ.
    Example: ``lax.betainc(2., 2., jnp.float32(0.5))`` is 0.5. Source: DLMF 8.17.
    """
    a, x = match_scalars("betainc", a, x)
    b, x = match_scalars("betainc", b, x)
    a, b = match_scalars("betainc", a, b)
    return context.interpreter.process(regularized_incomplete_beta_p, (a, b, x), {})


betainc.primitive = regularized_incomplete_beta_p  # type: ignore[attr-defined]
