"""Running operations along short axes on the CPU: one operation per element, for all rows at once.

The compiler's library takes some 10 ns for each row. Whether an axis is short is a matter of its length alone: so a row gives
the same bits in every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.concatenation import concatenate
from arrax.lax.conversion import convert_element_type
from arrax.lax.static_slicing import slice_in_dim

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

MAX_LENGTH = 8


def _entries(x: Array, axis: int) -> Sequence[Any]:
    """The entries along an axis, which they keep with length 1."""
    return [slice_in_dim(x, at, at + 1, axis=axis) for at in range(typeof(x).shape[axis])]


def short_scan_form(combine: Callable[[Any, Any], Any], carried: Callable[[Any], Any]) -> Rule:
    """The form of running operations along short axes.

    Args:
      combine: the operation.
      carried: from a dtype to the one that the running value has.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        aval, axis = eqn.invars[0].aval, eqn.params["axis"]
        if not 1 < aval.shape[axis] <= MAX_LENGTH or not aval.size:
            return None
        params = (("axis", axis), ("reverse", eqn.params["reverse"]), ("combine", combine))
        return Form(_running, (*params, ("work", carried(aval.dtype))))

    return rule


def _running(x: Array, *, axis: int, reverse: bool, combine: Callable[[Any, Any], Any], work: np.dtype) -> list[Any]:
    dtype = typeof(x).dtype
    entries = _entries(convert_element_type(x, work), axis)
    totals = list(entries[-1:] if reverse else entries[:1])
    for entry in entries[-2::-1] if reverse else entries[1:]:
        totals.append(combine(totals[-1], entry))
    return [convert_element_type(concatenate(totals[::-1] if reverse else totals, axis), dtype)]
