"""Sums in windows on the CPU: what all windows have at one place, added place by place, with vectors.

The compiler goes through each window by itself. Windows of many elements are summed axis by axis; where each sees one element at
most, as in the derivative of average pooling, elements are repeated.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.arithmetic import add
from arrax.lax.calls import call_apart
from arrax.lax.conversion import convert
from arrax.lax.cpu import thresholds
from arrax.lax.operand_checks import accumulator
from arrax.lax.window_geometry import Windows
from arrax.lax.window_selection import repeated_at, window_slices

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def window_sum_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of sums in windows that overlap or lie along the last axis.

    Along axes where each window sees one element at most, as in derivatives, elements are repeated instead.
    """
    (x,), windows, shape = eqn.invars, Windows(**eqn.params), eqn.outvars[0].aval.shape
    if not around.one_device or type(x.aval.size) is not int or 0 in shape:
        return None
    repeated = tuple(axis for axis in range(len(shape)) if _sees_one_at_most(windows, axis))
    rest = functools.reduce(_without, repeated, windows)
    passes = _passes(rest)
    few = all(math.prod(one.window_dimensions) <= thresholds.POOLING_MAX_ELEMENTS for one in passes)
    side_by_side = 1 < math.prod(windows.window_dimensions[-1:]) <= thresholds.POOLING_SIDE_BY_SIDE
    if not few or not (repeated or rest.overlap() or side_by_side):
        return None
    return Form(_summed, (("windows", windows), ("passes", passes), ("repeated", repeated), ("shape", shape)))


def _sees_one_at_most(windows: Windows, axis: int) -> bool:
    """Whether windows at all places along an axis are not longer than the distances between elements."""
    everywhere = windows.window_strides[axis] == windows.window_dilation[axis] == 1
    return everywhere and 1 < windows.window_dimensions[axis] <= windows.base_dilation[axis]


def _without(windows: Windows, axis: int) -> Windows:
    """The windows that have one element along an axis, and move along it one by one."""
    return Windows(*(
        (*entries[:axis], (0, 0) if name == "padding" else 1, *entries[axis + 1 :])
        for name, entries in windows._asdict().items()
    ))  # fmt: skip


def _passes(windows: Windows) -> tuple[Windows, ...]:
    """Windows that give the same sums one after the other.

    Where windows overlap and have many more elements than their axes in all, they are windows along one axis each, those first
    that leave the fewest elements.
    """
    elements = [n for n in windows.window_dimensions if n > 1]
    if not windows.overlap() or math.prod(elements) <= 2 * sum(elements):
        return (windows,)
    moving = [axis for axis in range(len(windows.padding)) if not windows.are_elements(axis)]
    moving.sort(key=lambda axis: -windows.window_strides[axis])
    return tuple(functools.reduce(_without, (n for n in moving if n != axis), windows) for axis in moving)


def _summed(
    x: Array, *, windows: Windows, passes: tuple[Windows, ...], repeated: tuple[int, ...], shape: tuple[int, ...]
) -> list[Any]:
    dtype = typeof(x).dtype
    x = convert(x, accumulator(dtype))
    for one in passes:

        def by_window_elements(x: Array, windows: Windows = one) -> list[Any]:
            return [_sum_of_places(x, windows)]

        # What computes elements that several windows see goes before, not once for each place.
        (x,) = call_apart(by_window_elements, x) if one.overlap() else by_window_elements(x)
    if repeated:
        (x,) = call_apart(lambda x: [_repeated(x, windows, repeated, shape)], x)
    return [convert(x, dtype)]


def _sum_of_places(x: Array, windows: Windows) -> Any:
    zero = np.zeros((), typeof(x).dtype)[()]
    total: Any = zero
    for part in window_slices(x, zero, windows):
        total = add(total, part)
    return total


def _repeated(x: Array, windows: Windows, axes: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    for axis in axes:
        span, distance = windows.window_dimensions[axis], windows.base_dilation[axis]
        x = repeated_at(x, axis, windows.padding[axis][0] - span + 1, span, distance, shape[axis])
    return x
