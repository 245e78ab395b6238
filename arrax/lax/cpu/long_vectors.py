"""Joins that give long vectors, on the CPU: written part by part into one array.

The compiler divides the loop over a long vector among the processors. Each of them then goes over its whole share for each part,
under the condition that an element is of that part, unless all parts are equally long and divide evenly. Results are the same
bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_symbolic
from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.calls import call_apart
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.copies import TAKEN, part_of
from arrax.lax.filled_arrays import full
from arrax.lax.static_slicing import slice_in_dim

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def long_vectors_form(update_p: Primitive, otherwise: Rule) -> Rule:
    """The form of joins that give long vectors.

    Args:
      update_p: the primitive that writes them.
      otherwise: the form of joins that have another one.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        form = otherwise(eqn, around)
        if form is not None or not (_is_long(eqn, around) and _is_uneven(eqn) and _has_long_computed_part(eqn, around)):
            return form
        axis = eqn.params["dimension"]
        sources = [part_of(part, axis, around) or (part, 0, part.aval.size) for part in eqn.invars]
        bounds = tuple((start, end) for _, start, end in sources)
        return Form(
            _written, (("update_p", update_p), ("axis", axis), ("bounds", bounds)), [atom for atom, _, _ in sources]
        )

    return rule


def _is_long(eqn: JaxprEqn, around: Around) -> bool:
    """Whether the result is one vector, and the compiler divides its loop."""
    out, axis = eqn.outvars[0].aval, eqn.params["dimension"]
    if not around.one_device or out.dtype.name not in TAKEN:
        return False
    lengths = [length for atom in (*eqn.invars, *eqn.outvars) for length in atom.aval.shape]
    if any(map(is_symbolic, lengths)) or out.size != out.shape[axis] or out.size > np.iinfo(np.int32).max:
        return False
    return out.size * out.dtype.itemsize >= thresholds.JOIN_MIN_BYTES and len(eqn.invars) <= thresholds.JOIN_MAX_WRITTEN


def _is_uneven(eqn: JaxprEqn) -> bool:
    lengths = [part.aval.size for part in eqn.invars if part.aval.size > 1]  # single elements are not looped over
    return len(lengths) > 1 and (len(set(lengths)) > 1 or lengths[0] % thresholds.EVEN_MULTIPLE != 0)


def _has_long_computed_part(eqn: JaxprEqn, around: Around) -> bool:
    """Whether a part of some length is computed in the loop of the join; parts in memory are copied."""
    longest = max(part.aval.size for part in eqn.invars)
    return any(part.aval.size == longest and around.maker(part) is not None for part in eqn.invars)


def _written(*arrays: Array, update_p: Primitive, axis: int, bounds: Sequence[tuple[int, int]]) -> Sequence[Any]:
    def joined(*arrays: Array) -> list[Any]:
        ends = list(itertools.accumulate(end - start for start, end in bounds))
        shape = [1] * typeof(arrays[0]).ndim
        shape[axis] = ends[-1]
        whole = full(tuple(shape), 0, typeof(arrays[0]).dtype)
        for array, (first, end), place in zip(arrays, bounds, [0, *ends], strict=False):
            part = slice_in_dim(array, first, end, axis=axis)
            whole = update_p.bind(whole, part, *(np.int32(place * (dim == axis)) for dim in range(len(shape))))
        return [whole]

    return call_apart(joined, *arrays)
