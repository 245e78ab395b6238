"""The incomplete gamma functions and their derivatives."""

# mypy: disable-error-code="has-type"
# (entries name each other inside their rules)

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax.lax.arithmetic import div, eq, gt, mul, neg, scalar, sub
from arrax.lax.bitwise import bitwise_and
from arrax.lax.double_formulas import (
    TINY,
    Derivatives,
    Flags,
    Formula,
    Real,
    in_double,
    value_and_slope,
    where_any,
    without_subnormals,
)
from arrax.lax.expansions import iterate, upwards
from arrax.lax.exponential import log
from arrax.lax.families import binary
from arrax.lax.filled_arrays import full_like
from arrax.lax.gamma_pieces import LARGE, excess, reciprocal_factorial, scaled_complement, stirling
from arrax.lax.operand_checks import floating
from arrax.lax.selection import select
from arrax.lax.special import digamma

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

# With w = x^a e^-x / Gamma(a + 1): P = w L and Q = 1 - P = a w U, where L is
#   the series of x^n / ((a+1) … (a+n)), and U
#   the continued fraction 1/(x+1-a - (1-a)/(x+3-a - 2(2-a)/(x+5-a - …))) (DLMF 8.11.4, 8.9.2);
# for large a and moderate x/a, both come from Temme's uniform expansion; and Q of small a and x from a series of its own.


class Parts(NamedTuple):
    """L where ``below``, else U."""

    value: Real
    below: Flags
    inside: Flags


def _parts(a: Real, x: Real, precision: float, order: int) -> Parts:
    inside = (a > 0) & a.finite() & (x > 0) & x.finite()
    uniform = inside & (a >= _UNIFORM) & (x > 0.35 * a) & (x < 2.2 * a)
    below = (x <= 1) | (x <= a)
    expanded = inside & ~uniform
    lower = _series(a, x, expanded & below, precision, order)
    upper = _fraction(a, x, expanded & ~below, precision, order)
    value = where_any(
        uniform, lambda: _uniform(uniform.where(a, 100), uniform.where(x, 90), precision), below.where(lower, upper)
    )
    return Parts(value, below, inside)


def _series(a: Real, x: Real, active: Flags, precision: float, order: int) -> Real:
    def next_term(number: Array, term: Array, total: Array) -> list[Any]:
        following = Real(term) * (x / (a + Real(number)))
        return [following.value, (Real(total) + following).value]

    one = x.like(1).value
    return Real(iterate([one, one], next_term, active.value, precision, order)[-1])


def _fraction(a: Real, x: Real, active: Flags, precision: float, order: int) -> Real:
    """From the last level up; that 20 + 95 / x levels give all digits of float64 was found by counting."""
    start = x + 1 - a
    count = (20 + (95 if precision < 1e-13 else 22) * (1 + order) / active.where(x, 1)).floor()

    def level(number: Array, tail: Array) -> Array:
        n = Real(number)
        return (n * (a - n) / (start + 2 * n + Real(tail))).value

    tail = upwards(level, count.value, active.value)
    return 1 / active.where(start + Real(tail), 1)


# Temme, "On the computation of the incomplete gamma functions for large values of the parameters" (1987): with eta^2/2 =
# l - 1 - log l and l = x/a, Q = erfc(eta sqrt(a/2)) / 2 + e^(-a eta^2/2) S / sqrt(2 pi a), where S' / a = eta S + 1 - f g,
# f = eta / (l - 1), and g is the reciprocal of a^a e^-a sqrt(2 pi a) over Gamma(a + 1). These are the coefficients of f.
_UNIFORM = 20.0
# fmt: off
_TEMME = (
    1.0, -0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073, 0.0003527336860670194,
    -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07,
    -1.7665952736826078e-07, 6.707853543401498e-09, 1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10,
    -2.5514193994946248e-11, -5.830772132550426e-11, 2.4361948020667415e-11, -5.0276692801141755e-12,
    1.1004392031956135e-13, 3.371763262400985e-13, -1.392388722418162e-13, 2.8534893807047445e-14, -5.139111834242572e-16,
    -1.9752288294349442e-15, 8.099521156704561e-16, -1.6522531216398162e-16, 2.5305430097478883e-18,
)
# fmt: on


def _uniform(a: Real, x: Real, precision: float) -> Real:
    """L for x up to a, above it U."""
    terms = len(_TEMME) if precision < 1e-13 else 16  # |eta| is below 0.91: what is left out is below 2e-11
    distance = (x - a) / a
    eta = distance * (2 * excess(distance)).sqrt()
    inverse, shrunk = 1 / a, (-stirling(a)).exp()
    above, here, total = a.like(0), a.like(0), a.like(0)
    for n in range(terms - 1, 0, -1):
        above, here = here, shrunk * _TEMME[n] + ((n + 1) * inverse) * above
        total = total * eta + here
    below = x <= a
    size = below.where(-eta, eta)  # its slope at a is the one on that side, which that of the magnitude is not
    tail = scaled_complement(size * (0.5 * a).sqrt()) * (0.5 * a * math.pi).sqrt()
    return below.where((tail - total) / shrunk, (tail + total) / (a * shrunk))


_FAR = 1e100  # shares of a by which x differs: the weight is 0 long before, and squares stay finite


def _weight(a: Real, x: Real, precision: float) -> Real:
    """w; by powers where they are in range, as exp would enlarge the rounding of a large logarithm."""
    few, moderate = a < LARGE, a < 300
    many = few.where(LARGE, a)
    distance = (x - many) / many
    near = ~few & ((abs(distance) < 0.3) | ~moderate)
    sound = near.where(distance.minimum(_FAR), 0)
    squared = (sound < -0.5).where(sound - (x / many).log(), sound * sound * excess(sound))
    exponent = -many * near.where(squared, 0)
    bounded = moderate.where(x, 1).minimum(2000)
    base, rest = few.where(bounded, bounded / many), few.where(-bounded, many - bounded)
    half = near.where(0, 0.5 * rest).exp()
    power = half * (near.where(1, base).power(near.where(1, few.where(a, many)), precision) * half)
    scale = few.where(
        reciprocal_factorial(few.where(a, 1)), (-stirling(many)).exp() / (2 * math.pi * many).sqrt()
    )  # fmt: skip
    return near.where(exponent.exp(), power) * scale


# ---- P and Q -------------------------------------------------------------------------------------------------------


def _limits(a: Real, x: Real, inside: Flags, result: Real, start: float, end: float) -> Real:
    """The values on the border: ``start`` for x = 0 or infinite a, ``end`` for infinite x or a = 0, else NaN."""
    infinity = np.inf
    low = (x.equals(0) & (a > 0)) | (a.equals(infinity) & (x >= 0) & (x < infinity))
    high = (a.equals(0) & (x > 0)) | (x.equals(infinity) & (a > 0) & (a < infinity))
    return inside.where(result, low.where(start, high.where(end, x.like(np.nan))))


def _sound(a: Real, x: Real) -> tuple[Real, Real]:
    """Operands that do no harm where they are outside of the domain."""
    inside = (a > 0) & a.finite() & (x > 0) & x.finite()
    return inside.where(a, 1), inside.where(x, 1)


def _lower(a: Real, x: Real, precision: float, order: int) -> Real:
    parts, (p, y) = _parts(a, x, precision, order), _sound(a, x)
    weight = _weight(p, y, precision)
    result = parts.below.where(weight * parts.value, 1 - p * weight * parts.value)
    result = where_any(_lower_is_near_one(a, x), lambda: 1 - _small_upper(a, x, precision), result)
    return _limits(a, x, parts.inside, result, 0, 1)


def _upper(a: Real, x: Real, precision: float, order: int) -> Real:
    parts, (p, y) = _parts(a, x, precision, order), _sound(a, x)
    weight = _weight(p, y, precision)
    result = parts.below.where(1 - weight * parts.value, p * weight * parts.value)
    result = where_any(_lower_is_near_one(a, x), lambda: _small_upper(a, x, precision), result)
    return _limits(a, x, parts.inside, result, 1, 0)


def _lower_is_near_one(a: Real, x: Real) -> Flags:
    """Where P is so near 1 that Q = 1 - P would cancel, and x is small."""
    small = (x > 0) & (x <= 0.5)
    limit = (x <= 0.5).where(-0.4 / small.where(x, 0.5).log(), 0.75 * x)
    return (x <= 1) & (a <= limit)


def _small_upper(a: Real, x: Real, precision: float) -> Real:
    """Q for small x by 1 - x^a / Gamma(a + 1), less the sum of a x^a / Gamma(a + 1) times (-x)^n / (n! (a + n)).

    With few digits, the sum is one quotient: the compiler would compute several, and their slopes, each in a kernel of its own.
    """
    precise = precision < 1e-13
    inside = _lower_is_near_one(a, x) & (x > 0) & (a > 0)
    x, a = inside.where(x, 0.5), inside.where(a, 0.1)
    power = a * (x.log() - a.chebyshev(0, 0.75, _LOG_FACTORIAL))
    term, total, below = x.like(1), x.like(0), x.like(1)
    for n in range(1, 19 if precise else 13):  # 1/19! is below the precision of float64, 1/(2^13 13!) is 2e-14
        term, divisor = term * (x * (-1 / n)), a + n
        if precise:
            total = total + term / divisor
        else:
            total, below = total * divisor + term * below, below * divisor
    return -power.expm1() - a * power.exp() * (total if precise else total / below)


# log Gamma(1 + a) / a on 0 to 0.75, a Chebyshev series
# fmt: off
_LOG_FACTORIAL = (
    -0.32929326187626845, 0.23089169782278704, -0.015428574911647137, 0.0014313383107126831, -0.0001513588155690632,
    1.71338213747665e-05, -2.0201879709414986e-06, 2.4464321859530886e-07, -3.018731563302402e-08, 3.77705196452471e-09,
    -4.776905310165141e-10, 6.093530615772834e-11, -7.828036488896496e-12, 1.0115910998391931e-12, -1.3138606020339705e-13,
    1.7139217399603947e-14, -2.2443672900850336e-15, 2.9489355350779717e-16, -3.886378176377434e-17, 5.13568982939501e-18,
    -6.803182591415541e-19,
)
# fmt: on


# ---- derivatives -----------------------------------------------------------------------------------------------------


def _beside_border(a: Real, x: Real) -> tuple[Real, Real]:
    """Operands with a positive order instead of 0, so that derivatives in the order have their limits."""
    return (a.equals(0) & (x > 0)).where(TINY, a), x


def _in_order(a: Real, x: Real, precision: float, order: int) -> Real:
    """The derivative of P in ``a``."""
    value, slope = value_and_slope(_lower, 0)(*_beside_border(a, x), precision=precision, order=order + 1)
    return value.equals(value).where(slope, np.nan)  # there is none outside of the domain


def _sample_slope(a: Real, x: Real, precision: float, order: int) -> Real:
    """-(dP/da) / (dP/dx), where dP/dx = a w / x; without w, which may be out of range."""

    def part(a: Real, x: Real, **options: Any) -> Real:
        return _parts(a, x, **options).value

    value, slope = value_and_slope(part, 0)(a, x, precision=precision, order=order + 1)
    inside = (a > 0) & a.finite() & (x > 0) & x.finite()
    p, y = inside.where(a, 1), inside.where(x, 1)
    distance = y.log() - Real(digamma(p.value))  # the derivative of log(a w)
    below = (x <= 1) | (x <= a)
    result = below.where(-(slope + value * (distance - 1 / p)) / p, slope + value * distance)
    return _limits(a, x, inside, y * result, 0, 0)


def _density(a: Real, x: Real, precision: float, order: int) -> Real:
    """x^(a-1) e^-x / Gamma(a), the derivative of P in x."""
    inside = (a > 0) & a.finite() & (x > 0) & x.finite()
    p, y = inside.where(a, 1), inside.where(x, 1)
    at_zero = (a > 1).where(0, (a < 1).where(np.inf, x.like(1)))
    vanishes = (x.equals(np.inf) & (a > 0)) | (a.equals(np.inf) & (x >= 0)) | (a.equals(0) & (x > 0))
    outside = (x.equals(0) & (a > 0)).where(at_zero, vanishes.where(0, x.like(np.nan)))
    return inside.where(p * _weight(p, y, precision) / y, outside)


def _density_in_order(a: Array, x: Array, ans: Array) -> Array:
    """The derivative of the density in ``a``; 0 where the density is."""
    none = eq(ans, scalar(0, ans))
    return select(none, full_like(ans, 0), mul(ans, sub(log(x), digamma(a))))


def _density_in_place(a: Array, x: Array, ans: Array) -> Array:
    """The derivative of the density in ``x``; at 0 by the density of the order below, if there is one."""
    one = full_like(a, 1)
    at_zero = bitwise_and(eq(x, scalar(0, x)), gt(a, one))
    below = gamma_density(select(at_zero, sub(a, one), one), x)
    power = select(eq(a, one), full_like(a, 0), div(sub(a, one), select(at_zero, one, x)))
    none = eq(ans, scalar(0, ans))
    return select(at_zero, sub(below, ans), select(none, full_like(ans, 0), mul(ans, sub(power, one))))


_in_order_of_samples = Derivatives("random_gamma_grad", _sample_slope, 2)
_in_orders = Derivatives("igamma", _lower, 2, _beside_border)

# ---- the operations ------------------------------------------------------------------------------------------------


def _operation(name: str, formula: Formula, jvp: Sequence[Callable[..., Any]], doc: str) -> Any:
    lowering = in_double(without_subnormals(formula), name)
    return binary(name, floating, lowering, cost=1000, operands=("a", "x"), doc=doc, jvp=jvp)


# fmt: off
gamma_density = _operation("gamma_density", _density, doc="density of the gamma distribution Gamma(a, 1) at x",
    jvp=(lambda a, x, ans, t: mul(t, _density_in_order(a, x, ans)), lambda a, x, ans, t: mul(t, _density_in_place(a, x, ans))))
igamma  = _operation("igamma", _lower, doc="regularized lower incomplete gamma function P(a, x)",
    jvp=(lambda a, x, ans, t: mul(t, igamma_grad_a(a, x)), lambda a, x, ans, t: mul(t, gamma_density(a, x))))
igammac = _operation("igammac", _upper, doc="regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x)",
    jvp=(lambda a, x, ans, t: mul(t, neg(igamma_grad_a(a, x))), lambda a, x, ans, t: mul(t, neg(gamma_density(a, x)))))
igamma_grad_a = _operation("igamma_grad_a", _in_order, doc="derivative of igamma in a",
    jvp=(lambda a, x, ans, t: mul(t, _in_orders(a, x, argnums=(0, 0))),
         lambda a, x, ans, t: mul(t, _density_in_order(a, x, gamma_density(a, x)))))
random_gamma_grad = _operation("random_gamma_grad", _sample_slope,
    doc="derivative in a of a sample x of the gamma distribution Gamma(a, 1)",
    jvp=(lambda a, x, ans, t: mul(t, _in_order_of_samples(a, x, argnums=(0,))),
         lambda a, x, ans, t: mul(t, _in_order_of_samples(a, x, argnums=(1,)))))
# fmt: on
