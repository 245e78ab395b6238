"""Series and continued fractions that run until every element has settled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.types import typeof
from arrax.lax.arithmetic import abs_, add, gt, le, lt, mul, ne, scalar, sub
from arrax.lax.bitwise import bitwise_and, bitwise_not, bitwise_or
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.conversion import convert_element_type
from arrax.lax.filled_arrays import full_like
from arrax.lax.reductions import reduce_max, reduce_or
from arrax.lax.selection import select
from arrax.lax.shape_slots import broadcast_to_shape

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

_MAX_STEPS = 10_000  # near x = a, about 6 sqrt(a) steps are needed

Step = Callable[..., Any]


# ---- iteration -----------------------------------------------------------------------------------------------------


def iterate(
    state: Sequence[Any], step: Step, active: Array, precision: float, order: int = 0, first: Array | None = None
) -> list[Any]:
    """Iterate a state, whose last entry is the value sought, until that changes no more; the last state.

    Args:
      state: arrays of one shape.
      step: ``(number, *state) -> state``; the numbers count from 1.
      active: bools: the elements that are wanted.
      precision: the relative change that counts as none.
      order: how often the value is to be differentiated. Derivatives settle later, so that more steps are made.
      first: for each element the number of the first step that may be the last, where terms may grow again.
    """
    axes = tuple(range(typeof(active).ndim))
    dtype = typeof(state[-1]).dtype

    def goes_on(carry: tuple[Any, ...]) -> Array:
        number, running, _, _ = carry
        return bitwise_and(lt(number, np.int32(_MAX_STEPS)), reduce_or(running, axes))

    def body(carry: tuple[Any, ...]) -> tuple[Array, Array, Array, list[Array]]:
        number, running, end, before = carry
        after = step(convert_element_type(number, dtype), *before)
        settled = le(abs_(sub(after[-1], before[-1])), mul(scalar(precision, after[-1]), abs_(after[-1])))
        if first is not None:
            reached = le(first, broadcast_to_shape(convert_element_type(number, dtype), typeof(first).shape))
            settled = bitwise_and(settled, reached)
        settled = bitwise_or(settled, ne(after[-1], after[-1]))
        after = [select(running, new, old) for new, old in zip(after, before, strict=True)]
        later = add(number, np.int32(1))
        if not order:
            return later, bitwise_and(running, bitwise_not(settled)), end, after
        stop = add(mul(number, np.int32(1 + order)), np.int32(8 * order))
        end = select(bitwise_and(settled, gt(end, stop)), broadcast_to_shape(stop, typeof(end).shape), end)
        return later, bitwise_and(running, gt(end, number)), end, after

    end = full_like(state[-1], _MAX_STEPS, np.int32)
    return while_loop(goes_on, body, (np.int32(1), active, end, list(state)))[-1]


def upwards(step: Step, count: Array, active: Array) -> Array:
    """A continued fraction's tail from its last level up, so that no errors pile up.

    Args:
      step: ``(number, tail below) -> tail``; the numbers count down to 1.
      count: for each element, how many levels are taken.
      active: bools: the elements that are wanted.
    """
    dtype = typeof(count).dtype
    last = reduce_max(select(active, count, full_like(count, 0)), tuple(range(typeof(active).ndim)))

    def body(carry: tuple[Array, ...]) -> tuple[Array, Array]:
        number, tail = carry
        n = convert_element_type(number, dtype)
        taken = le(broadcast_to_shape(n, typeof(tail).shape), count)
        return sub(number, np.int32(1)), select(taken, step(n, tail), tail)

    start = convert_element_type(last, np.int32), full_like(count, 0)
    return while_loop(lambda carry: gt(carry[0], np.int32(0)), body, start)[1]
