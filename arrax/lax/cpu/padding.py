"""Padding on the CPU: as a join, which the compiler copies part by part. Of each element of a padded array it asks where that
lies, and has no vectors then. Results are the same bits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from arrax.core.lengths import is_symbolic
from arrax.core.program import JaxprEqn
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.concatenation import concatenate
from arrax.lax.shapes import broadcast_in_dim

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def pad_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of paddings at both ends of the first axis longer than 1: the compiler makes a padding of a join at one end,
    and joins along other axes are slow where they are part of a larger loop."""
    aval, config = eqn.invars[0].aval, eqn.params["padding_config"]
    if not around.one_device or not isinstance(aval, ShapedArray) or not aval.size:
        return None
    padded = [axis for axis, sides in enumerate(config) if any(sides)]
    if len(padded) != 1 or any(map(is_symbolic, (*aval.shape, *config[padded[0]]))):
        return None
    (axis,), (low, high, gap) = padded, config[padded[0]]
    if low < 1 or high < 1 or gap or math.prod(aval.shape[:axis]) != 1:
        return None
    return Form(_joined, (("axis", axis), ("low", low), ("high", high)))


def _joined(x: Array, value: Array, *, axis: int, low: int, high: int) -> list[Any]:
    shape = typeof(x).shape
    before, after = (broadcast_in_dim(value, (*shape[:axis], n, *shape[axis + 1 :]), ()) for n in (low, high))
    return [concatenate([before, x, after], axis)]
