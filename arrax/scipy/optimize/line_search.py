"""A step along a line that satisfies the strong conditions of Wolfe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.xla.arrays import Array

_DECREASE, _CURVATURE = 1e-4, 0.9  # the two constants of the conditions


class Point(NamedTuple):
    """A place on the line: its distance, the function's value there, the slope along the line, and the gradient."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class Found(NamedTuple):
    """The place found, whether the conditions hold there, and how many values were asked for."""

    point: Point
    success: Any
    evaluations: Any


def _pick(condition: Array, first: Point, second: Point) -> Point:
    return Point(*(jnp.where(condition, a, b) for a, b in zip(first, second, strict=True)))


def _cubic_minimum(a: Point, b: Point) -> Array:
    """The minimum of the cubic through two places and their slopes. Nocedal and Wright (2006), equation 3.59."""
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    root = d1 * d1 - a.slope * b.slope
    d2 = jnp.sign(b.step - a.step) * jnp.sqrt(jnp.maximum(root, 0))
    step = b.step - (b.step - a.step) * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2)
    return jnp.where(root >= 0, step, np.nan)


def _within(low: Point, high: Point) -> Array:
    """The next step to try between two: the cubic's minimum, or the middle where that is too near to an end."""
    a, b = jnp.minimum(low.step, high.step), jnp.maximum(low.step, high.step)
    step, margin = _cubic_minimum(low, high), 0.1 * (b - a)
    return jnp.where((step > a + margin) & (step < b - margin), step, 0.5 * (a + b))


def line_search(at: Callable[[Any], Point], start: Point, first: Array, maxiter: int) -> Found:
    """A place where the function has fallen enough and its slope is small enough.

    Nocedal and Wright, "Numerical optimization" (2006), algorithms 3.5 and 3.6.

    Args:
      at: the place of a step.
      start: the place of step 0, with a negative slope.
      first: the first step to try.
      maxiter: how many places are looked at, for either of the two phases.
    """

    def too_high(p: Point) -> Array:
        return (p.value > start.value + _DECREASE * p.step * start.slope) | jnp.isnan(p.value)

    def is_flat(p: Point) -> Array:
        return jnp.abs(p.slope) <= -_CURVATURE * start.slope

    def bracket(state: tuple[Any, ...]) -> tuple[Any, ...]:
        k, step, before, low, high, best, bracketed, done = state
        here = at(step)
        rises = too_high(here) | (here.value >= before.value) & (k > 0)
        good = ~rises & is_flat(here)
        turned = ~rises & ~good & (here.slope >= 0)
        low = _pick(rises, before, _pick(turned, here, low))
        high = _pick(rises, here, _pick(turned, before, high))
        best = _pick(good, here, best)
        return k + 1, 2 * step, here, low, high, best, rises | turned, good

    state = (jnp.int32(0), first, start, start, start, start, jnp.bool_(False), jnp.bool_(False))
    k, _, last, low, high, best, bracketed, done = lax.while_loop(
        lambda s: (s[0] < maxiter) & ~s[-2] & ~s[-1], bracket, state
    )

    def zoom(state: tuple[Any, ...]) -> tuple[Any, ...]:
        j, low, high, best, done = state
        here = at(_within(low, high))
        rises = too_high(here) | (here.value >= low.value)
        good = ~rises & is_flat(here)
        behind = ~rises & (here.slope * (high.step - low.step) >= 0)
        high = _pick(rises, here, _pick(behind, low, high))
        return j + 1, _pick(rises, low, here), high, _pick(good, here, best), good

    j, low, high, best, done = lax.while_loop(
        lambda s: (s[0] < maxiter) & ~s[-1] & bracketed, zoom, (jnp.int32(0), low, high, best, done)
    )
    # Without success, the lowest place known that is lower enough than the start, if there is one.
    lowest = _pick(bracketed, low, last)
    better = (lowest.value < start.value) & ~too_high(lowest)
    return Found(_pick(done, best, _pick(better, lowest, start)), done, k + j)
