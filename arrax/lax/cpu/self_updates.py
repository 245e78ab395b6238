"""Arrays that are written to with values computed from other parts of themselves.

The compiler writes in place where it can. Beside a reshape of the result it overlooks that the new values are read from
places that are overwritten meanwhile: ``x.at[1:].set(x[:-1])[None]`` would repeat the first element. A barrier behind such a
write keeps the reshape away from it, and costs nothing. Where the array itself was reshaped before, no barrier helps: there
its part is cleared first, so that the compiler must make another array. Writes of what is computed from the same places,
element by element, are safe.

Most of an array that is computed from its elements at other places, as in a step of a stencil, is put together with what is
left of the array: the compiler would copy what it reads first, and write in a loop that it does not divide among processors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.explicit_axes import elementwise
from arrax.core.interpreter import Primitive
from arrax.core.program import Atom, JaxprEqn, Literal, Var
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.arithmetic import add, ge, lt
from arrax.lax.axis_order import transpose_p
from arrax.lax.barriers import optimization_barrier_p
from arrax.lax.bitwise import bitwise_and
from arrax.lax.concatenation import concatenate
from arrax.lax.conversion import convert
from arrax.lax.cpu.copies import TAKEN
from arrax.lax.cpu.loops import is_in_loop, is_reshape
from arrax.lax.filled_arrays import broadcasted_iota, full_like
from arrax.lax.selection import clamp, select
from arrax.lax.shapes import broadcast_in_dim
from arrax.lax.static_slicing import slice_, slice_p

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

_MAX_VISITED = 200


def self_update_form(
    write: Primitive,
    replace_p: Primitive,
    dynamic_slice_p: Primitive,
    new_values: Callable[..., Any],
) -> Rule:
    """The form of writes into a part of an array.

    Args:
      write: the primitive; its operands are the array, the new values, and an index for each axis.
      replace_p: the one that puts new values in the place of the old ones.
      dynamic_slice_p: the one that reads a part.
      new_values: of the array, the operand and the indices to what stands in the part afterwards.
    """

    def written(*operands: Array) -> list[Any]:
        return optimization_barrier_p.bind(write.bind(*operands))

    def put_together(x: Array, update: Array, *, starts: tuple[int, ...]) -> list[Any]:
        return optimization_barrier_p.bind(_framed(x, new_values(x, update, *map(np.int32, starts)), starts))

    def written_apart(x: Array, update: Array, *starts: Array) -> list[Any]:
        values = new_values(x, update, *starts)
        return optimization_barrier_p.bind(replace_p.bind(_cleared(x, typeof(update).shape, starts), values, *starts))

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        reads = _Reads(eqn, around, dynamic_slice_p)
        if reads.elsewhere(eqn.invars[1]):
            starts = _known_starts(eqn)
            if around.one_device and starts is not None and _is_most(eqn) and reads.is_stencil(eqn.invars[1]):
                return Form(put_together, (("starts", starts),), eqn.invars[:2])
            return Form(written_apart if len(reads.places) > 1 else written)
        return Form(written) if around.nested and reads.given and reads.given_array else None

    return rule


def _known_starts(eqn: JaxprEqn) -> tuple[int, ...] | None:
    """Where the part begins that is written; None where that is data, or the lengths are symbols."""
    x, update, *starts = eqn.invars
    if type(x.aval.size) is not int or not all(isinstance(start, Literal) for start in starts):
        return None
    lengths = zip(starts, x.aval.shape, update.aval.shape, strict=True)
    return tuple(max(0, min(int(start.val), size - length)) for start, size, length in lengths)


def _is_most(eqn: JaxprEqn) -> bool:
    """Whether most elements of an array are written, of a dtype that joins leave as it is."""
    x, update = (atom.aval for atom in eqn.invars[:2])
    return 2 * update.size >= x.size and x.dtype.name in TAKEN


def _framed(x: Array, values: Array, starts: Sequence[int]) -> Array:
    """New values with what is left of an array around them, axis by axis."""
    shape = typeof(x).shape
    ends = [start + length for start, length in zip(starts, typeof(values).shape, strict=True)]
    for axis in reversed(range(len(shape))):
        inside, behind = list(zip(starts, ends, strict=True))[:axis], [(0, n) for n in shape[axis + 1 :]]
        spans = ((0, starts[axis]), (ends[axis], shape[axis]))
        before, after = ([_box(x, [*inside, span, *behind])] if span[0] < span[1] else [] for span in spans)
        if before or after:
            values = concatenate([*before, values, *after], axis)
    return values


def _box(x: Array, spans: Sequence[tuple[int, int]]) -> Array:
    return slice_(x, [first for first, _ in spans], [end for _, end in spans])


def _cleared(x: Array, lengths: Sequence[int], starts: Sequence[Any]) -> Array:
    """The array with zeros in a part of it."""
    shape, inside = typeof(x).shape, None
    for axis, (size, length, start) in enumerate(zip(shape, lengths, starts, strict=True)):
        if size == length:
            continue
        start = clamp(np.int32(0), convert(start, np.int32), np.int32(size - length))
        index = broadcasted_iota(np.int32, shape, axis)
        here = bitwise_and(ge(index, _like(start, index)), lt(index, _like(add(start, np.int32(length)), index)))
        inside = here if inside is None else bitwise_and(inside, here)
    return full_like(x, 0) if inside is None else select(inside, full_like(x, 0), x)


def _like(scalar: Array, array: Array) -> Array:
    return broadcast_in_dim(scalar, typeof(array).shape, ())


class _Reads:
    """How the values that are written depend on the array that they are written to.

    Attributes:
      places: the array, and what it was before it was reshaped.
      given_array: whether it is an input of the program.
      given: whether the values depend on inputs, which may be parts of it if the program is a part of another one.
    """

    __slots__ = ("eqn", "around", "dynamic_slice_p", "places", "given", "given_array")

    def __init__(self, eqn: JaxprEqn, around: Around, dynamic_slice_p: Primitive) -> None:
        self.eqn, self.around, self.dynamic_slice_p = eqn, around, dynamic_slice_p
        self.places: set[Atom] = set()
        self.given = False
        atom, maker = eqn.invars[0], around.maker(eqn.invars[0])
        while isinstance(atom, Var):
            self.places.add(atom)
            if maker is None or not (is_reshape(maker) or maker.primitive is transpose_p):
                break
            atom, maker = maker.invars[0], around.maker(maker.invars[0])
        self.given_array = isinstance(atom, Var) and maker is None

    def elsewhere(self, update: Atom) -> bool:
        """Whether an element is computed from others than the one that it replaces; True where that is not easily seen."""
        rest, seen = [(update, True)], set()
        while rest:
            atom, aligned = rest.pop()
            if isinstance(atom, Literal) or (atom, aligned) in seen:
                continue
            seen.add((atom, aligned))
            if atom in self.places:
                if aligned and atom.aval.shape == update.aval.shape:
                    continue
                return True
            maker = self.around.maker(atom)
            if maker is None:
                self.given = True
                continue
            if aligned and self._reads_same_part(maker):
                continue
            aligned = aligned and maker.primitive.divides is elementwise
            rest += [(operand, aligned and operand.aval.shape == atom.aval.shape) for operand in maker.invars]
            if len(seen) > _MAX_VISITED:
                return True
        return False

    def is_stencil(self, update: Atom) -> bool:
        """Whether the values are computed in one loop from as many elements of the array; of few the compiler makes copies."""
        rest, seen = [update], set[Atom]()
        while rest and len(seen) <= _MAX_VISITED:
            atom = rest.pop()
            if isinstance(atom, Literal) or atom in seen:
                continue
            if atom in self.places:
                return True
            seen.add(atom)
            maker = self.around.maker(atom)
            if maker is not None and is_in_loop(maker):
                rest += [operand for operand in maker.invars if 2 * operand.aval.size >= update.aval.size]
        return False

    def _reads_same_part(self, eqn: JaxprEqn) -> bool:
        array, update, *starts = self.eqn.invars
        if not eqn.invars or eqn.invars[0] is not array or eqn.outvars[0].aval.shape != update.aval.shape:
            return False
        if eqn.primitive is self.dynamic_slice_p:
            return all(_same(one, other) for one, other in zip(eqn.invars[1:], starts, strict=True))
        if eqn.primitive is not slice_p or any(step != 1 for step in eqn.params["strides"] or ()):
            return False
        firsts = eqn.params["start_indices"]
        return all(isinstance(at, Literal) and int(at.val) == first for at, first in zip(starts, firsts, strict=True))


def _same(one: Atom, other: Atom) -> bool:
    if isinstance(one, Literal) and isinstance(other, Literal):
        return bool(one.val == other.val)
    return one is other
