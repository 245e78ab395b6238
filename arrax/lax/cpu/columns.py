"""Reductions on the CPU over other axes than the last, by groups: over some rows at once, and then over what they give.

The compiler makes windows of 32 rows of longer axes, and goes through these element by element. Its loop over a group of few
rows goes through many columns at once, with vectors, and takes in what computes the elements.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.functions import name_function
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_symbolic
from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.arithmetic import max_, min_
from arrax.lax.calls import call_apart
from arrax.lax.conversion import convert_element_type
from arrax.lax.operand_checks import accumulator
from arrax.lax.shapes import reshape
from arrax.lax.static_slicing import slice_in_dim

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

MAX_COLUMN = 24  # elements: over more the compiler computes exponentials and the like without vectors
_MIN_GROUP = 8  # rows that are combined at once, where there are more than MAX_COLUMN
_MAX_UNDIVIDED = 32  # elements of a column that the compiler does not divide into windows
_MIN_COLUMNS = 8  # fewer do not fill a vector
_OF_LIBRARY = (max_, min_)  # of which the compiler's library takes integers of 8 bits

Reduced = Callable[[Any, tuple[int, ...]], Any]  # reduces an array over axes
Joined = Callable[[Any, Any], Any]  # of two arrays, element by element


def are_side_by_side(axes: Sequence[int]) -> bool:
    """Whether each axis comes right after the one before it."""
    return all(second == first + 1 for first, second in pairwise(axes))


def columns_form(join: Joined, before: Rule | None = None, *, floats: bool = False) -> Rule:
    """The form of reductions of integers and flags, whose order says nothing, and of products of floats.

    How floats are grouped is a matter of the length of their columns alone: so a column gives the same bits beside any others.

    Args:
      join: what the reduction does with two elements.
      before: a rule that is asked first, as for host kernels.
      floats: whether those are taken, too.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        if before is not None and (form := before(eqn, around)) is not None:
            return form
        aval, axes = eqn.invars[0].aval, tuple(sorted(eqn.params["axes"]))
        exact = isinstance(aval.dtype, np.dtype) and aval.dtype.kind in "biu"
        if not around.undivided or not (exact or floats) or not axes or not are_side_by_side(axes):
            return None
        length, columns = math.prod(aval.shape[axis] for axis in axes), math.prod(aval.shape[axes[-1] + 1 :])
        if is_symbolic(aval.size) or length <= _MAX_UNDIVIDED or columns < (_MIN_COLUMNS if exact else 2):
            return None
        if join in _OF_LIBRARY and aval.dtype.name in ("int8", "uint8"):
            return None
        params = (("primitive", eqn.primitive), ("axes", axes), ("join", join))
        return Form(_reduced_columns, params)

    return rule


def _reduced_columns(x: Array, *, primitive: Primitive, axes: tuple[int, ...], join: Joined) -> list[Any]:
    return [reduced_by_groups(x, axes, lambda x, axes: primitive.bind(x, axes=axes), join)]


def reduced_by_groups(x: Array, axes: Sequence[int], reduced: Reduced, join: Joined) -> Array:
    """A reduction over axes that lie side by side; small floats are rounded once, at its end."""
    shape, dtype = typeof(x).shape, typeof(x).dtype
    first, length = axes[0], math.prod(shape[axis] for axis in axes)
    wide = convert_element_type(x, accumulator(dtype))
    found = _reduced(reshape(wide, (*shape[:first], length, *shape[axes[-1] + 1 :])), first, reduced, join)
    return convert_element_type(found, dtype)


def _reduced(x: Array, axis: int, reduced: Reduced, join: Joined) -> Array:
    """A reduction of groups first, and then of these, apart, or the compiler would make one loop of all."""
    shape = typeof(x).shape
    length = shape[axis]
    if length <= MAX_COLUMN:
        return reduced(x, (axis,))
    size = _group_size(length)
    groups, rest = divmod(length, size)
    whole = slice_in_dim(x, 0, length - rest, axis=axis) if rest else x
    parts = [reduced(reshape(whole, (*shape[:axis], groups, size, *shape[axis + 1 :])), (axis + 1,))]
    if rest:
        parts.append(reduced(slice_in_dim(x, length - rest, length, axis=axis), (axis,)))

    def total(found: Array, *others: Array) -> list[Any]:
        return [functools.reduce(join, others, _reduced(found, axis, reduced, join))]

    name_function(total, "of_groups")
    return call_apart(total, *parts)[0]


def _group_size(length: int) -> int:
    """How many rows are combined at once: a divisor, if there is one, so that what computes the rows is in one loop with it."""
    sizes = range(MAX_COLUMN, _MIN_GROUP - 1, -1)
    return next((size for size in sizes if length % size == 0), 2 * _MIN_GROUP)
