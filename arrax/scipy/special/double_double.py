"""Numbers of twice the precision, as unevaluated sums of two: what remains when large terms of a sum cancel.

Source: T. J. Dekker, A floating-point technique for extending the available precision, Numer. Math. 18 (1971); D. E. Knuth,
The Art of Computer Programming, volume 2, section 4.2.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from arrax import numpy as jnp
from arrax.scipy.special.definition import leading_half
from arrax.xla.arrays import Array, ArrayLike


class Pair(NamedTuple):
    """The number ``high + low``, where ``low`` is at most half a unit in the last place of ``high``."""

    high: Any
    low: Any


def exactly(x: ArrayLike) -> Pair:
    """An array as pairs."""
    return Pair(x, jnp.zeros_like(x))


def exact_sum(x: Array, y: ArrayLike) -> Pair:
    """The sum of two arrays without rounding."""
    high = x + y
    part = high - x
    return Pair(high, (x - (high - part)) + (y - part))


def _normal(high: Array, low: Array) -> Pair:
    total = high + low
    return Pair(total, low - (total - high))


def product(x: Array, y: Array) -> Pair:
    """The product of two arrays.

    From products of halves, which are exact: one that is rounded may be fused with the sums around it, and then has not the
    value whose error is sought.
    """
    x_high, y_high = leading_half(x), leading_half(y)
    x_low, y_low = x - x_high, y - y_high
    middle = exact_sum(x_high * y_low, x_low * y_high)
    total = exact_sum(x_high * y_high, middle.high)
    return _normal(total.high, total.low + (middle.low + x_low * y_low))


def add(x: Pair, y: Pair) -> Pair:
    """``x + y``, its error relative to the larger of them."""
    total = exact_sum(x.high, y.high)
    return _normal(total.high, total.low + (x.low + y.low))


def multiply(x: Pair, y: Pair) -> Pair:
    """``x y``."""
    leading = product(x.high, y.high)
    return _normal(leading.high, leading.low + (x.high * y.low + x.low * y.high))


def divide(x: Pair, y: Pair) -> Pair:
    """``x / y``."""
    quotient = x.high / y.high
    back = multiply(exactly(quotient), y)
    return _normal(quotient, (((x.high - back.high) - back.low) + x.low) / y.high)


def choose(condition: Array, x: Pair, y: Pair) -> Pair:
    """``jnp.where`` of pairs."""
    return Pair(jnp.where(condition, x.high, y.high), jnp.where(condition, x.low, y.low))
