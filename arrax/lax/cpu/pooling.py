"""Windows of few elements on the CPU: what all windows have at one place, compared or added place by place, with vectors.

The compiler goes through each window by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.program import Atom, JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.arithmetic import add
from arrax.lax.calls import call_apart
from arrax.lax.computations import Monoid
from arrax.lax.conversion import convert
from arrax.lax.cpu import thresholds
from arrax.lax.operand_checks import accumulator, kind_of, real
from arrax.lax.window_geometry import Windows
from arrax.lax.window_selection import window_slices

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def pooling_form(extreme: Monoid) -> Callable[[JaxprEqn, Around], Form | None]:
    """The form of extremes in windows."""

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        (x,), windows = eqn.invars, Windows(**eqn.params)
        if not _have_few_elements(windows, x, around) or kind_of(x.aval.dtype) not in real:
            return None
        overlap = _overlap(windows)
        if windows.have_gaps() and not overlap:
            return None  # to fill the padding in takes longer
        computed = overlap and around.maker(x) is not None
        return Form(_pooled, (("windows", windows), ("extreme", extreme), ("computed", computed)))

    return rule


def _have_few_elements(windows: Windows, x: Atom, around: Around) -> bool:
    """Whether windows of an array of known size, in a program for one device, go place by place."""
    few = 1 < math.prod(windows.window_dimensions) <= thresholds.POOLING_MAX_ELEMENTS
    return few and around.one_device and type(x.aval.size) is int


def _overlap(windows: Windows) -> bool:
    return any(span > stride for span, stride in zip(windows.spans(), windows.window_strides, strict=True))


def _pooled(x: Array, *, windows: Windows, extreme: Monoid, computed: bool) -> list[Any]:
    """What computes elements that several windows see goes before, not once for each place."""

    def by_window_elements(x: Array) -> list[Any]:
        parts = window_slices(x, extreme.identity(typeof(x).dtype)[()], windows)
        while len(parts) > 1:
            odd = parts[len(parts) // 2 * 2 :]
            parts = [*(extreme.combine(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)), *odd]
        return parts

    return call_apart(by_window_elements, x) if computed else by_window_elements(x)


def window_sum_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of sums in windows that overlap: in the order in which the compiler adds."""
    (x,), windows = eqn.invars, Windows(**eqn.params)
    if not _have_few_elements(windows, x, around) or not _overlap(windows):
        return None
    return Form(_summed, (("windows", windows),))


def _summed(x: Array, *, windows: Windows) -> list[Any]:
    dtype = typeof(x).dtype

    def by_window_elements(x: Array) -> list[Any]:
        zero = np.zeros((), typeof(x).dtype)[()]
        total: Any = zero
        for part in window_slices(x, zero, windows):
            total = add(total, part)
        return [total]

    (total,) = call_apart(by_window_elements, convert(x, accumulator(dtype)))
    return [convert(total, dtype)]
