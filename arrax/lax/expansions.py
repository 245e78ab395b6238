"""Series and continued fractions that run until every element has settled, and logarithms of their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax.core.types import instantiate, typeof
from arrax.interpreters.ad.jvp import jvp
from arrax.lax.arithmetic import abs_, add, div, eq, gt, lt, mul, scalar, square, sub
from arrax.lax.bitwise import bitwise_and, bitwise_or
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.conversion import convert_element_type
from arrax.lax.exponential import log
from arrax.lax.reductions import reduce_or
from arrax.lax.shapes import full_like
from arrax.lax.structure import select

_MOST_STEPS = 10_000  # near x = a, about 6 sqrt(a) steps are needed

Start = Callable[[Any], Sequence[Any]]
Step = Callable[..., Sequence[Any]]


# ---- iteration -----------------------------------------------------------------------------------------------------


class Expansion(NamedTuple):
    """What an iteration comes to, and its derivative in the parameter."""

    value: Any
    slope: Any = None


def expand(start: Start, step: Step, a: Any, active: Any, with_slope: bool = False) -> Expansion:
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


def fraction_step(numerator: Any, denominator: Any, c: Any, d: Any, h: Any) -> list[Any]:
    """One more level of a continued fraction (the modified method of Lentz)."""
    c = not_zero(add(denominator, div(numerator, c)))
    d = div(scalar(1, d), not_zero(add(denominator, mul(numerator, d))))
    return [c, d, mul(h, mul(c, d))]


def not_zero(x: Any) -> Any:
    """The value, or a tiny one in place of zeros."""
    smallest = full_like(x, tiny(x))
    return select(lt(abs_(x), smallest), smallest, x)


def tiny(x: Any) -> float:
    """A number that can be inverted and adds nothing to others."""
    return 1e-30 if typeof(x).dtype == np.float32 else 1e-290


# ---- pieces of weights ---------------------------------------------------------------------------------------------

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
LARGE = 10.0  # from here on Stirling's series has the digits of float64


def stirling(a: Any) -> Any:
    """log Gamma(a + 1) minus its leading part, a log a - a + log(2 pi a) / 2, for large a."""
    inverse = div(scalar(1, a), a)
    squared, total = square(inverse), full_like(a, _STIRLING[-1])
    for coefficient in reversed(_STIRLING[:-1]):
        total = add(mul(total, squared), scalar(coefficient, a))
    return mul(total, inverse)


def log1p_minus(x: Any) -> Any:
    """log(1 + x) - x without cancellation near 0: with s = x / (2 + x), it is 2 s^3 (1/3 + s^2/5 + …) - x s."""
    s = div(x, add(x, scalar(2, x)))
    squared, total = square(s), full_like(x, 1 / 23)
    for odd in range(21, 1, -2):
        total = add(mul(total, squared), scalar(1 / odd, x))
    near = sub(mul(mul(scalar(2, x), mul(s, squared)), total), mul(x, s))
    # not by log1p, of which the compiler's loses two digits for x around -0.4
    return select(lt(abs_(x), scalar(0.3, x)), near, sub(log(add(scalar(1, x), x)), x))


def log_one_plus(x: Any) -> Any:
    """log(1 + x), with all digits below 0, too."""
    return add(x, log1p_minus(x))


def times_log(x: Any, y: Any) -> Any:
    """x log y, which is 0 where both are 0; elsewhere its derivative in x is log y, also at x = 0."""
    both = bitwise_and(eq(x, scalar(0, x)), eq(y, scalar(0, y)))
    return mul(x, log(select(both, full_like(y, 1), y)))
