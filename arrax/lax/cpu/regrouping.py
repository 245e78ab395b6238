"""Arrays that are computed from elements at other places, and then regrouped, on the CPU: computed in the shape they have first.

The compiler would compute an array such as ``(x[:, None] * y).reshape(-1)`` in one loop over the new shape, where it takes
divisions to find the places of each element's operands, and has no vectors. A copy of the result is nothing beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from arrax.core.explicit_axes import elementwise
from arrax.core.functions import name_function
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_symbolic
from arrax.core.program import Atom, Jaxpr, JaxprEqn, Literal, Var, open_jaxpr, subprograms
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.cost_model import size_of
from arrax.interpreters.platform_forms import Around, Form, users_of
from arrax.lax.calls import call_apart, program_type_rule
from arrax.lax.cpu import thresholds
from arrax.lax.shape_slots import shape_slots

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

MAX_EQUATIONS = 100  # that are looked at
_COSTLY = 2  # additions for each element, as of quotients and exponentials: what the compiler does not compute twice


class Scope(NamedTuple):
    """A program, and where it is called."""

    jaxpr: Jaxpr
    makers: dict[Var, JaxprEqn]
    call: JaxprEqn | None = None
    outer: Any = None  # the scope of the call


def reshape_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of ``reshape``."""
    (x,), new = eqn.invars, eqn.outvars[0].aval
    if not around.one_device or around.maker(x) is None or not isinstance(x.aval, ShapedArray):
        return None
    if any(map(is_symbolic, new.shape)) or not _is_large(x):
        return None
    group = _regrouped_axes(x.aval.shape, new.shape)
    scope = Scope(around.jaxpr, around.makers)
    if (
        not group
        or not _reads_other_indices(x, group, scope)
        or _is_used_in_part(eqn.outvars[0], around.jaxpr, around.users)
    ):
        return None
    if _is_repeated(x, around) and any(map(is_elementwise, around.users.get(eqn.outvars[0], ()))):
        return None  # elementwise operations are computed before the elements are repeated
    return apart_form(eqn, "regrouped")


def apart_form(eqn: JaxprEqn, name: str) -> Form:
    """The operation as it is, in a function of a name that the compiler does not fuse with others."""
    params = tuple(eqn.params.items())
    return Form(_apart, (("primitive", eqn.primitive), ("params", params), ("name", name)))


def _apart(*operands: Array, primitive: Primitive, params: tuple[tuple[str, Any], ...], name: str) -> list[Any]:
    def alone(*operands: Array) -> list[Any]:
        return [primitive.bind(*operands, **dict(params))]

    name_function(alone, name)
    return call_apart(alone, *operands)


def several_columns_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of products of matrices whose rows or columns are several axes: the compiler would regroup them itself."""
    if not around.one_device:
        return None
    (contracted, batch), scope = eqn.params["dimension_numbers"], Scope(around.jaxpr, around.makers)
    counts = []
    for x, summed, shared in zip(eqn.invars, contracted, batch, strict=True):
        free = [axis for axis in range(x.aval.ndim) if axis not in summed and axis not in shared]
        counts.append(len(free) if _is_apart(x, free, scope) else 0)
    if not any(counts):
        return None
    params = (("primitive", eqn.primitive), ("counts", tuple(counts)), ("params", tuple(eqn.params.items())))
    return Form(_of_merged_columns, (*params, ("shape", eqn.outvars[0].aval.shape)))


def several_sums_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of products that sum over several axes, along which the operands are computed."""
    (contracted, batch), scope = eqn.params["dimension_numbers"], Scope(around.jaxpr, around.makers)
    sides, count = [list(axes) for axes in contracted], len(contracted[0])
    if not around.one_device or count < 2 or not all(axes == list(range(axes[0], axes[0] + count)) for axes in sides):
        return None
    apart = tuple(_is_apart(x, axes, scope) for x, axes in zip(eqn.invars, sides, strict=True))
    if not any(apart):
        return None
    shifted = tuple(
        tuple(axis - (count - 1) * (axis > axes[0]) for axis in shared)
        for axes, shared in zip(sides, batch, strict=True)
    )
    return sums_over_one_axis(eqn, (sides[0][0], sides[1][0]), shifted, apart)


def sums_over_one_axis(
    eqn: JaxprEqn, firsts: tuple[int, int], batch: tuple[tuple[int, ...], ...], apart: tuple[bool, ...]
) -> Form:
    """The form of a product whose contracted axes, side by side in each operand, become one.

    Args:
      firsts: the first of these axes in each operand.
      batch: the axes of the batch thereafter.
      apart: whether an operand is computed in the shape that it has first.
    """
    params = {**eqn.params, "dimension_numbers": (tuple((first,) for first in firsts), batch)}
    merged = (("firsts", firsts), ("count", len(eqn.params["dimension_numbers"][0][0])), ("apart", apart))
    return Form(_of_merged_sums, (("primitive", eqn.primitive), ("params", tuple(params.items())), *merged))


def _is_apart(x: Atom, axes: Sequence[int], scope: Scope) -> bool:
    """Whether an operand of a product is computed from elements at other indices along several last axes."""
    if list(axes) != list(range(x.aval.ndim))[-len(axes) :] or not _is_large(x) or isinstance(x, Literal):
        return False
    return (
        sum(x.aval.shape[axis] > 1 for axis in axes) > 1 and x in scope.makers and _reads_other_indices(x, axes, scope)
    )


def _of_merged_columns(
    x: Array, y: Array, *, primitive: Primitive, counts: tuple[int, ...], params: tuple[tuple[str, Any], ...],
    shape: tuple[int, ...],
) -> list[Any]:  # fmt: skip
    merged = [
        _merged(operand, typeof(operand).ndim - count, count, True) if count else operand
        for operand, count in zip((x, y), counts, strict=True)
    ]
    return [shape_slots.reshape(primitive.bind(*merged, **dict(params)), shape)]


def _of_merged_sums(
    x: Array, y: Array, *, primitive: Primitive, params: tuple[tuple[str, Any], ...], firsts: tuple[int, ...], count: int,
    apart: tuple[bool, ...],
) -> list[Any]:  # fmt: skip
    sides = zip((x, y), firsts, apart, strict=True)
    return [primitive.bind(*(_merged(operand, first, count, alone) for operand, first, alone in sides), **dict(params))]


def _merged(x: Array, first: int, count: int, apart: bool) -> Array:
    """With several axes as one."""
    shape = typeof(x).shape
    sizes = (*shape[:first], math.prod(shape[first : first + count]), *shape[first + count :])
    return reshaped_apart(x, sizes) if apart else shape_slots.reshape(x, sizes)


def reshaped_apart(x: Array, shape: tuple[int, ...]) -> Array:
    """In another shape, in a function that the compiler does not fuse with others."""

    def regrouped(x: Array) -> list[Any]:
        return [shape_slots.reshape(x, shape)]

    return call_apart(regrouped, x)[0]


def _is_large(x: Atom) -> bool:
    return not any(map(is_symbolic, x.aval.shape)) and x.aval.size >= thresholds.REGROUP_MIN_SIZE


def _regrouped_axes(old: Sequence[int], new: Sequence[int]) -> list[int]:
    """The axes longer than 1 that the last axis of the new shape is made of, where they are several."""
    row = next((length for length in reversed(new) if length > 1), 1)
    axes: list[int] = []
    length = 1
    for axis in reversed(range(len(old))):
        if length >= row:
            break
        length *= old[axis]
        if old[axis] > 1:
            axes.append(axis)
    return axes if len(axes) > 1 else []


# ---- how an array is computed ----------------------------------------------------------------------------------------


def other_scope(atom: Var, scope: Scope) -> tuple[Atom, Scope] | None:
    """Where a value comes from in the program that calls this one, or in the one that is called for it; None if from neither."""
    maker = scope.makers.get(atom)
    if maker is None:
        if scope.call is None or atom not in scope.jaxpr.invars:
            return None
        return scope.call.invars[scope.jaxpr.invars.index(atom)], scope.outer
    program = _inlined(maker)
    if program is None:
        return None
    makers = {var: eqn for eqn in program.eqns for var in eqn.outvars}
    return program.outvars[maker.outvars.index(atom)], Scope(program, makers, maker, scope)


def _reads_other_indices(x: Atom, group: Sequence[int], scope: Scope) -> bool:
    """Whether elements are computed, in one loop, from some at other indices along the axes of a group."""
    left, seen = [(x, scope)], set[Var]()
    while left and len(seen) < MAX_EQUATIONS:
        atom, scope = left.pop()
        if isinstance(atom, Literal) or atom in seen or atom.aval.shape != x.aval.shape:
            continue
        seen.add(atom)
        maker = scope.makers.get(atom)
        if maker is not None and is_elementwise(maker):
            left += [(operand, scope) for operand in maker.invars]
        elif (origin := other_scope(atom, scope)) is not None:
            left.append(origin)
        elif maker is not None and _relocates(maker, group):
            return True
    return False


def is_elementwise(eqn: JaxprEqn) -> bool:
    """Whether an operation computes each element from those at the same index."""
    return eqn.primitive.divides is elementwise


def is_all_elementwise(eqn: JaxprEqn) -> bool:
    """Whether an operation, or all of what a call consists of, is elementwise."""
    program = _inlined(eqn)
    return is_elementwise(eqn) if program is None else all(map(is_all_elementwise, program.eqns))


def _inlined(eqn: JaxprEqn) -> Jaxpr | None:
    """The program of a call that the compiler puts in the call's place."""
    program = eqn.params.get("jaxpr" if eqn.primitive.type_rule is program_type_rule else "call_jaxpr")
    return None if program is None or eqn.params.get("apart") else open_jaxpr(program)


def _relocates(eqn: JaxprEqn, group: Sequence[int]) -> bool:
    return eqn.primitive.relocates is not None and eqn.primitive.relocates(eqn, group)


def _is_repeated(x: Atom, around: Around) -> bool:
    maker = around.maker(x)
    return maker is not None and all(operand.aval.size < x.aval.size for operand in maker.invars)


# ---- what becomes of it ----------------------------------------------------------------------------------------------


def _is_used_in_part(var: Var, jaxpr: Jaxpr, users: Mapping[Var, Sequence[JaxprEqn]]) -> bool:
    """Whether all that becomes of a value, after elementwise operations, has fewer elements, as sums and slices have.

    The loops of these need no divisions, or not for all elements.
    """
    left, seen = [var], {var}
    for one in left:
        if one in jaxpr.outvars or len(seen) > MAX_EQUATIONS:
            return False
        for eqn in users.get(one, ()):
            if is_elementwise(eqn):
                left += [out for out in eqn.outvars if out not in seen]
                seen.update(eqn.outvars)
            elif (program := _inlined(eqn)) is not None:
                if not all(_is_used_in_part(v, program, users_of(program)) for v in _inside(program, eqn, one)):
                    return False
            elif _is_whole(eqn, one):
                return False
    return True


def is_repeated_later(var: Var, users: Mapping[Var, Sequence[JaxprEqn]]) -> bool:
    """Whether something with more elements becomes of a value, after operations that leave it as many as it has.

    The compiler computes anew, for each of these elements, what looks cheap.
    """
    left, seen, size = [var], {var}, var.aval.size
    for one in left:
        for eqn in users.get(one, ()):
            if (program := _inlined(eqn)) is not None:
                if any(is_repeated_later(v, users_of(program)) for v in _inside(program, eqn, one)):
                    return True
            elif len(seen) > MAX_EQUATIONS or any(size_of(out.aval) > size for out in eqn.outvars):
                return True
            same = [out for out in eqn.outvars if size_of(out.aval) == size and out not in seen]
            left += same
            seen.update(same)
    return False


def becomes_costly(var: Var, around: Around) -> bool:
    """Whether a value, after elementwise operations, is taken only by one that the compiler computes once for each element."""
    while var not in around.jaxpr.outvars:
        users = around.users.get(var, [])
        if len(users) != 1 or not is_elementwise(users[0]):
            return False
        if not callable(cost := users[0].primitive.cost) and (cost or 0) >= _COSTLY:
            return True
        (var,) = users[0].outvars
    return False


def _inside(program: Jaxpr, eqn: JaxprEqn, operand: Var) -> list[Var]:
    """The variables of a call's program that stand for an operand."""
    return [var for var, atom in zip(program.invars, eqn.invars, strict=True) if atom is operand]


def _is_whole(eqn: JaxprEqn, operand: Var) -> bool:
    """Whether an operation needs an operand in memory, or gives as many elements."""
    return needs_memory(eqn) or max(size_of(out.aval) for out in eqn.outvars) >= operand.aval.size


def needs_memory(eqn: JaxprEqn) -> bool:
    """Whether an operation needs its operands in memory: a library's code, or a loop."""
    return callable(eqn.primitive.cost) or any(True for _ in subprograms(eqn.params))
