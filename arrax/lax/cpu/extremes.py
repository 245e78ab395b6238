"""Greatest and least floats over short leading axes on the CPU, half against half: operations on whole arrays, which keep NaN.

The compiler's library drops NaN, so that its result needs a second look at all elements, and over short axes it may read
memory in an order that takes ten times longer. Over long ones it is as fast, and needs less to be compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from arrax.core.program import JaxprEqn
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.cpu import thresholds
from arrax.lax.operand_checks import kind_of
from arrax.lax.shapes import reshape
from arrax.lax.structure import concatenate, slice_in_dim


def extreme_form(
    combine: Callable[[Any, Any], Any], otherwise: Callable[[JaxprEqn, Around], Form | None]
) -> Callable[[JaxprEqn, Around], Form | None]:
    """The form of reductions to an extreme.

    Args:
      combine: the greater, or the lesser, of two values; NaN where one is.
      otherwise: the form of reductions of other types, over axes apart, and along rows.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        aval, axes = eqn.invars[0].aval, sorted(eqn.params["axes"])
        if kind_of(aval.dtype) != "floating" or not aval.size or not axes or not around.host_kernels:
            return otherwise(eqn, around)
        first, last = axes[0], axes[-1] + 1
        before, length, after = (math.prod(aval.shape[a:b]) for a, b in ((0, first), (first, last), (last, aval.ndim)))
        if last - first > len(axes) or not 2 <= length <= thresholds.EXTREME_MAX_HALVED or after == 1:
            return otherwise(eqn, around)
        shape = eqn.outvars[0].aval.shape
        return Form(_halved, (("block", (before, length, after)), ("combine", combine), ("shape", shape)))

    return rule


def _halved(
    x: Any, *, block: tuple[int, int, int], combine: Callable[[Any, Any], Any], shape: tuple[int, ...]
) -> list[Any]:
    x, length = reshape(x, block), block[1]
    while length > 1:
        half = length // 2
        halves = combine(_entries(x, 0, half), _entries(x, half, 2 * half))
        if length % 2:
            first = combine(_entries(halves, 0, 1), _entries(x, 2 * half, length))
            halves = concatenate([first, _entries(halves, 1, half)], 1) if half > 1 else first
        x, length = halves, half
    return [reshape(x, shape)]


def _entries(x: Any, start: int, stop: int) -> Any:
    return slice_in_dim(x, start, stop, axis=1)
