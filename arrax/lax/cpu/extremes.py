"""Greatest and least floats on the CPU by operations on whole arrays, which keep NaN.

The compiler's library drops NaN, so that its result needs a second look at all elements, and over short axes it may read
memory in an order that takes ten times longer. Over short leading axes, half of the array is compared with the other half,
and so on. Over long axes, some windows that cover them are compared, and the library sees what that leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from arrax.core.program import JaxprEqn
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.calls import call_apart
from arrax.lax.cpu import thresholds
from arrax.lax.operand_checks import kind_of
from arrax.lax.shapes import reshape
from arrax.lax.structure import concatenate, slice_in_dim


def extreme_form(
    combine: Callable[[Any, Any], Any],
    reduce: Callable[[Any, tuple[int, ...]], Any],
    otherwise: Callable[[JaxprEqn, Around], Form | None],
) -> Callable[[JaxprEqn, Around], Form | None]:
    """The form of reductions to an extreme.

    Args:
      combine: the greater, or the lesser, of two values; NaN where one is.
      reduce: the reduction itself, over axes.
      otherwise: the form of reductions of other types, over axes apart, and of small arrays.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        aval, axes = eqn.invars[0].aval, sorted(eqn.params["axes"])
        if kind_of(aval.dtype) != "floating" or not aval.size or not axes or not around.host_kernels:
            return otherwise(eqn, around)
        first, last = axes[0], axes[-1] + 1
        before, length, after = (math.prod(aval.shape[a:b]) for a, b in ((0, first), (first, last), (last, aval.ndim)))
        if last - first > len(axes):
            return otherwise(eqn, around)
        block = (before, length, after) if after > 1 else (before, length)
        params = (("block", block), ("combine", combine), ("shape", eqn.outvars[0].aval.shape))
        if after > 1 and 2 <= length <= thresholds.EXTREME_MAX_HALVED:
            return Form(_halved, params)
        seen_anyway = eqn.params.get("may_drop_nan", False)
        large = aval.size >= thresholds.EXTREME_MIN_SIZE and length >= thresholds.EXTREME_MIN_LENGTH
        if large and not seen_anyway:
            computed = around.maker(eqn.invars[0]) is not None
            return Form(_folded, (*params, ("reduce", reduce), ("computed", computed)))
        return otherwise(eqn, around)

    return rule


def _halved(x: Any, *, block: tuple[int, ...], combine: Callable[[Any, Any], Any], shape: tuple[int, ...]) -> list[Any]:
    x, length = reshape(x, block), block[1]
    while length > 1:
        half = length // 2
        halves = combine(_entries(x, 0, half), _entries(x, half, 2 * half))
        if length % 2:
            first = combine(_entries(halves, 0, 1), _entries(x, 2 * half, length))
            halves = concatenate([first, _entries(halves, 1, half)], 1) if half > 1 else first
        x, length = halves, half
    return [reshape(x, shape)]


def _folded(
    x: Any,
    *,
    block: tuple[int, ...],
    combine: Callable[[Any, Any], Any],
    shape: tuple[int, ...],
    reduce: Callable[[Any, tuple[int, ...]], Any],
    computed: bool,
) -> list[Any]:
    """By windows that lie at equal distances, the first at the beginning and the last at the end; they may overlap."""
    length, count = block[1], thresholds.EXTREME_WINDOWS
    width = -(-length // count)
    starts = [(length - width) * number // (count - 1) for number in range(count)]

    def by_windows(x: Any) -> list[Any]:
        parts = [_entries(x, start, start + width) for start in starts]
        while len(parts) > 1:
            parts = [combine(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
        return parts

    x = reshape(x, block)
    (found,) = call_apart(by_windows, x) if computed else by_windows(x)  # what computes it is not to go by windows
    return [reshape(reduce(found, (1,)), shape)]


def _entries(x: Any, start: int, stop: int) -> Any:
    return slice_in_dim(x, start, stop, axis=1)
