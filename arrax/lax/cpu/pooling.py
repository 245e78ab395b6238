"""Extremes in windows of few elements on the CPU: what all windows have at one place, compared place by place, with vectors.

The compiler goes through each window by itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.calls import call_apart
from arrax.lax.computations import Monoid
from arrax.lax.cpu import thresholds
from arrax.lax.operand_checks import kind_of, real
from arrax.lax.window_geometry import Windows
from arrax.lax.window_selection import window_slices

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def pooling_form(extreme: Monoid) -> Rule:
    """The form of extremes in windows."""

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        (x,), windows = eqn.invars, Windows(**eqn.params)
        few = 1 < math.prod(windows.window_dimensions) <= thresholds.POOLING_MAX_ELEMENTS
        if not few or not around.one_device or type(x.aval.size) is not int or kind_of(x.aval.dtype) not in real:
            return None
        overlap = windows.overlap()
        if windows.have_gaps() and not overlap:
            return None  # to fill the padding in takes longer
        computed = overlap and around.maker(x) is not None
        return Form(_pooled, (("windows", windows), ("extreme", extreme), ("computed", computed)))

    return rule


def _pooled(x: Array, *, windows: Windows, extreme: Monoid, computed: bool) -> list[Any]:
    """What computes elements that several windows see goes before, not once for each place."""

    def by_window_elements(x: Array) -> list[Any]:
        parts = window_slices(x, extreme.identity(typeof(x).dtype)[()], windows)
        while len(parts) > 1:
            odd = parts[len(parts) // 2 * 2 :]
            parts = [*(extreme.combine(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)), *odd]
        return parts

    return call_apart(by_window_elements, x) if computed else by_window_elements(x)
