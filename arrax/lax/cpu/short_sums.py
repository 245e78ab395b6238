"""Sums over few elements on the CPU: in loops that the compiler makes itself.

Sums are those of its library, which takes some 5 ns for each row of few elements, as for one of a hundred, and up to 30 ns for
each column. The compiler's own loop goes through many rows or columns at once, with vectors, and takes in what computes the
elements. Whether a sum is short is a matter of its length alone: so a row gives the same bits in every batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.arithmetic import neg, sub
from arrax.lax.conversion import convert_element_type
from arrax.lax.operand_checks import accumulator

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

MAX_ROW = 8  # elements that lie beside each other: of longer rows the library adds several at once
MAX_COLUMN = 24  # other elements: over more the compiler computes exponentials and the like without vectors
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def sum_form(
    fold: Callable[..., Any], otherwise: Callable[[JaxprEqn, Around], Form | None]
) -> Callable[[JaxprEqn, Around], Form | None]:
    """The form of sums.

    Args:
      fold: reductions by any computation: of an array, the neutral element, the computation and axes.
      otherwise: the form of sums of other types, or over more elements.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        aval, axes = eqn.invars[0].aval, eqn.params["axes"]
        length = math.prod(aval.shape[axis] for axis in axes)
        limit = MAX_ROW if aval.ndim - 1 in axes else MAX_COLUMN
        short = isinstance(length, int) and 1 < length <= limit
        if not short or accumulator(aval.dtype) not in _FLOATS or not around.undivided:
            return otherwise(eqn, around)
        return Form(_summed, (("axes", axes), ("fold", fold)))

    return rule


def _summed(x: Array, *, axes: tuple[int, ...], fold: Callable[..., Any]) -> list[Any]:
    dtype = typeof(x).dtype
    work = accumulator(dtype)
    total = fold(convert_element_type(x, work), work.type(0), _added, axes)
    return [convert_element_type(total, dtype)]


def _added(total: Array, term: Array) -> Array:
    """The sum, in a form that the compiler does not take for one of its library's."""
    return sub(total, neg(term))
