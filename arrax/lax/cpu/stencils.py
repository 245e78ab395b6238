"""Joins of parts of one array along other axes than the last, as stencils roll it, on the CPU: rows taken by their places.

The compiler makes one loop of all joins that meet in an element. For each element and join it asks there in which part the
element lies, so that the loop has no vectors. The place of a row is known before the loop over the row's elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.arithmetic import add, lt
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.copies import TAKEN, parts_of_one
from arrax.lax.cpu.periodic import window_form
from arrax.lax.filled_arrays import full, iota
from arrax.lax.gathers import PROMISE_IN_BOUNDS, GatherDimensionNumbers, gather
from arrax.lax.selection import select
from arrax.lax.shapes import reshape

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def rows_form(otherwise: Rule) -> Rule:
    """The form of joins of parts of one array, where the program has several of them.

    Args:
      otherwise: the form of other joins.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        parts = parts_of_one(eqn, around) if _is_join_of_few(eqn, around) else None
        if parts is None or not any(_is_sibling(other, eqn, around) for other in around.jaxpr.eqns):
            return otherwise(eqn, around)
        if not _has_rows(eqn):
            return window_form(eqn, around, otherwise)
        whole, bounds = parts
        return Form(_rows_in_turn, (("axis", eqn.params["dimension"]), ("bounds", bounds)), [whole])

    return rule


def _is_sibling(other: JaxprEqn, eqn: JaxprEqn, around: Around) -> bool:
    if other is eqn or other.primitive is not eqn.primitive:
        return False
    return _is_join_of_few(other, around) and parts_of_one(other, around) is not None


def _is_join_of_few(eqn: JaxprEqn, around: Around) -> bool:
    """Whether a join has few parts of known size."""
    out = eqn.outvars[0].aval
    if not around.one_device or not 2 <= len(eqn.invars) <= thresholds.JOIN_MAX_PARTS or out.dtype.name not in TAKEN:
        return False
    return type(out.size) is int


def _has_rows(eqn: JaxprEqn) -> bool:
    """Whether the rows behind the axis of a join are long enough that it is worth it to take them one by one."""
    return math.prod(eqn.outvars[0].aval.shape[eqn.params["dimension"] + 1 :]) >= thresholds.JOIN_MAX_INNER


def _rows_in_turn(x: Array, *, axis: int, bounds: Sequence[int]) -> list[Any]:
    ends = np.array(bounds[1::2])
    until = np.cumsum(ends - bounds[::2])
    length = int(until[-1])
    broadcasted = lambda number: full((length,), number, np.int32)  # noqa: E731
    index = iota(np.dtype(np.int32), length)
    row = add(index, broadcasted(ends[-1] - length))
    for end, last in reversed(list(zip(ends[:-1], until[:-1], strict=True))):
        row = select(lt(index, broadcasted(last)), add(index, broadcasted(end - last)), row)
    shape = typeof(x).shape
    others = tuple(dim for dim in range(len(shape)) if dim != axis)
    numbers = GatherDimensionNumbers(offset_dims=others, collapsed_slice_dims=(axis,), start_index_map=(axis,))
    window = (*shape[:axis], 1, *shape[axis + 1 :])
    return [gather(x, reshape(row, (length, 1)), numbers, window, mode=PROMISE_IN_BOUNDS)]
