"""Joins of the end of an array and its beginning, as stencils roll it, on the CPU: slices of the array with its ends repeated.

The compiler makes one loop of all joins that meet in an element, without vectors, since it asks in it where each element lies.
Slices at other places need no question. The array whose ends are repeated is made once for all of its rolls along an axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from arrax.core.program import JaxprEqn, Var
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.calls import call_apart
from arrax.lax.concatenation import concatenate, split_p
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.copies import parts_of_one
from arrax.lax.static_slicing import slice_in_dim, slice_p

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

Window = tuple[int, int]  # the first index, negative before the array's beginning, and the end


def window_form(eqn: JaxprEqn, around: Around, alone: Rule) -> Form | None:
    """The form of a join of contiguous parts of one array that is a window of the array repeated without end.

    Args:
      alone: the form of the only such join of an array, if it has one.
    """
    axis, shape = eqn.params["dimension"], eqn.outvars[0].aval.shape
    large = math.prod(shape) >= thresholds.WINDOW_MIN_SIZE and math.prod(shape[axis:]) >= thresholds.WINDOW_MIN_ROW
    found = _window(eqn, around) if large else None
    if found is None:
        return alone(eqn, around)
    whole, (first, end) = found
    windows = list(_windows(whole, eqn, around))
    if len(windows) == 1 and (form := alone(eqn, around)) is not None:
        return form
    length = whole.aval.shape[axis]
    before, behind = max(0, -min(windows)[0]), max(0, max(end for _, end in windows) - length)
    ends, start = (before, behind), before + first
    if whole.aval.size <= thresholds.WINDOW_MAX_TWICE:
        ends, start = (0, length), first % length
    params = (("axis", axis), ("ends", ends), ("start", start), ("size", end - first))
    return Form(_sliced, params, [whole])


def _windows(whole: Var, eqn: JaxprEqn, around: Around) -> Iterator[Window]:
    """What joins like this one, itself included, take of the array."""
    makers = (user for user in around.users[whole] if user.primitive in (slice_p, split_p))
    parts = (part for maker in makers for part in maker.outvars)
    joins = {id(join): join for part in parts for join in around.users.get(part, ())}
    for join in joins.values():
        if join.primitive is eqn.primitive and join.params["dimension"] == eqn.params["dimension"]:
            found = _window(join, around)
            if found is not None:
                yield found[1]


def _window(eqn: JaxprEqn, around: Around) -> tuple[Var, Window] | None:
    """(array, what a join takes of it), where its parts follow each other in the array that is repeated without end."""
    axis, found = eqn.params["dimension"], parts_of_one(eqn, around)
    whole, bounds = found or (None, ())
    if not isinstance(whole, Var):
        return None
    length = whole.aval.shape[axis]
    follows = all(end % length == first for end, first in zip(bounds[1:-1:2], bounds[2::2], strict=True))
    size = eqn.outvars[0].aval.shape[axis]
    if not follows or not 0 < size <= length:
        return None
    first = bounds[0]  # or a length before it, where less lies outside of the array
    first = min(first, first - length, key=lambda first: max(0, -first) + max(0, first + size - length))
    return whole, (first, first + size)


def _sliced(x: Array, *, axis: int, ends: tuple[int, int], start: int, size: int) -> list[Any]:
    length, (before, behind) = typeof(x).shape[axis], ends

    def extended(x: Array) -> list[Any]:
        left = [slice_in_dim(x, length - before, length, axis=axis)] if before else []
        right = [slice_in_dim(x, 0, behind, axis=axis)] if behind else []
        return [concatenate([*left, x, *right], axis)]

    return [slice_in_dim(call_apart(extended, x)[0], start, start + size, axis=axis)]
