"""Sums on the CPU that the compiler makes by loops of its own: over few elements, of wide rows, of products that repeat a factor.

Other sums are those of its library, which takes

- some 5 ns for each row of few elements, as for one of a hundred, and up to 30 ns for each column;
- up to 15 ns for each element where it adds rows of more than 64 KiB, as the derivative of a position embedding does over a batch;
- 10 ns for each product of elements with a factor that is repeated along axes that are kept, such as ``w[:, None, None] * x``.

The compiler's own loop goes through many rows or columns at once, with vectors, and takes in what computes the elements.
Whether a sum is short is a matter of its length alone: so a row gives the same bits in every batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.lengths import is_symbolic
from arrax.core.program import Atom, JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.arithmetic import add, mul_p, neg, sub
from arrax.lax.conversion import convert_element_type
from arrax.lax.cpu.columns import MAX_COLUMN, are_side_by_side, reduced_by_groups
from arrax.lax.operand_checks import accumulator
from arrax.lax.shapes import broadcast_in_dim_p

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

MAX_ROW = 8  # elements that lie beside each other: of longer rows the library adds several at once
MAX_ROW_BYTES = 65_536  # of the rows that the library adds: of wider ones it reads each element from another page
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

Fold = Callable[..., Any]  # reductions by any computation: of an array, the neutral element, the computation and axes


def sum_form(fold: Fold, otherwise: Rule) -> Rule:
    """The form of sums.

    Args:
      fold: makes the loops.
      otherwise: the form of sums of other types, or that the library makes.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        (x,), axes = eqn.invars, eqn.params["axes"]
        if accumulator(x.aval.dtype) not in _FLOATS or not around.undivided or any(map(is_symbolic, x.aval.shape)):
            return otherwise(eqn, around)
        length = math.prod(x.aval.shape[axis] for axis in axes)
        if length < 2 or not x.aval.size:
            return otherwise(eqn, around)
        if length <= (MAX_ROW if x.aval.ndim - 1 in axes else MAX_COLUMN):
            return Form(_summed, (("axes", axes), ("fold", fold)))
        if are_side_by_side(axes) and (_is_wide(x, axes) or _repeats_a_factor(x, axes, around)):
            return Form(_summed_by_groups, (("axes", axes), ("fold", fold)))
        return otherwise(eqn, around)

    return rule


def _is_wide(x: Atom, axes: Sequence[int]) -> bool:
    width = math.prod(x.aval.shape[axes[-1] + 1 :])
    return width * accumulator(x.aval.dtype).itemsize > MAX_ROW_BYTES


def _repeats_a_factor(x: Atom, axes: Sequence[int], around: Around) -> bool:
    """Whether products are added that the library would go through element by element."""
    maker = around.maker(x)
    if maker is not None and maker.primitive is neg.primitive:  # the compiler takes the sign into a factor
        maker = around.maker(maker.invars[0])
    if maker is None or maker.primitive is not mul_p:
        return False
    kept = {axis for axis, length in enumerate(x.aval.shape) if length > 1 and axis not in axes}
    factors = [_varying_axes(factor, around) for factor in maker.invars]
    last = max(kept, default=-1)
    if last < axes[-1] or not all(factor.intersection(axes) for factor in factors):
        return False
    repeated = [kept - factor for factor in factors]
    if any(repeated) and all(last in factor for factor in factors):
        return True
    return any(sum(axis > axes[-1] for axis in missing) > 1 for missing in repeated)


def _varying_axes(x: Atom, around: Around) -> set[int]:
    """The axes along which an array is not one element, or several, repeated."""
    maker = around.maker(x)
    if maker is None or maker.primitive is not broadcast_in_dim_p:
        return {axis for axis, length in enumerate(x.aval.shape) if length > 1}
    dims = maker.params["broadcast_dimensions"]
    return {axis for axis, length in zip(dims, maker.invars[0].aval.shape, strict=True) if length > 1}


def _summed(x: Array, *, axes: tuple[int, ...], fold: Fold) -> list[Any]:
    dtype = typeof(x).dtype
    work = accumulator(dtype)
    return [convert_element_type(_folded(convert_element_type(x, work), axes, fold), dtype)]


def _summed_by_groups(x: Array, *, axes: tuple[int, ...], fold: Fold) -> list[Any]:
    """The sum over axes that lie side by side."""
    return [reduced_by_groups(x, axes, lambda x, axes: _folded(x, axes, fold), add)]


def _folded(x: Array, axes: tuple[int, ...], fold: Fold) -> Array:
    return fold(x, typeof(x).dtype.type(0), _added, axes)


def _added(total: Array, term: Array) -> Array:
    """The sum, in a form that the compiler does not take for one of its library's."""
    return sub(total, neg(term))
