"""What a program computes of the arrays that it closes over alone, as a program of its own that runs once.

Arrays that a function closes over are inputs of its compiled program. So the compiler knows nothing of their values, and
would compute at each call anew what depends on nothing else, such as the logarithms of factorials of given counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from arrax import dtypes
from arrax.core.program import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    joined_effects,
    open_jaxpr,
    subprograms,
)
from arrax.core.types import ShapedArray
from arrax.interpreters.cost_model import largest_size, size_of, work_of_eqn

_MIN_WORK_PER_ELEMENT = 8  # additions: what takes less is computed anew, as fast as it is read
_MIN_WORK = 100_000  # additions: some 10 us of each call; to compile a second program takes 10 ms
_MIN_SHARE = 1 / 8  # of the work of the whole program
_FREE_BYTES = 1 << 20  # that results may take in any case
_MAX_GROWTH = 4  # of larger results: how many times the memory of the arrays closed over


def with_known_part_computed(
    program: ClosedJaxpr,
    run: Callable[[ClosedJaxpr], Sequence[Any] | None],
    called: Callable[[JaxprEqn], ClosedJaxpr | None] = lambda eqn: None,
) -> ClosedJaxpr:
    """The program that takes what it computes of its constants alone as constants, where that saves much of its time.

    Args:
      run: gives the results of a program without inputs, or None where it is to run at each call.
      called: gives the program of an equation that only calls it, which may stand in place of the call.
    """
    found = split_known(opened(program.jaxpr, called)) if program.consts else None
    if found is None:
        return program
    known, rest = found
    results = run(program.replace(jaxpr=known))
    return program if results is None else ClosedJaxpr(rest, [*program.consts, *results])


def split_known(jaxpr: Jaxpr) -> tuple[Jaxpr, Jaxpr] | None:
    """(the part that depends on constants alone, the rest with the results of that as further constants), or None.

    None is the answer where the first part takes little time beside the second, or its results too much memory.
    """
    known = known_equations(jaxpr.eqns, jaxpr.constvars)
    eqns = _costly_with_operands(known)
    work = sum(map(work_of_eqn, eqns))
    if work < _MIN_WORK:
        return None
    chosen = set(map(id, eqns))
    others = [eqn for eqn in jaxpr.eqns if id(eqn) not in chosen]
    if work < _MIN_SHARE * (work + sum(map(work_of_eqn, others))):
        return None
    used = {atom for eqn in others for atom in eqn.invars} | set(jaxpr.outvars)
    results = [var for eqn in eqns for var in eqn.outvars if var in used]
    if not _can_be_kept(results, jaxpr.constvars):
        return None
    return (
        jaxpr.replace(invars=[], outvars=results, eqns=eqns, effects=joined_effects(eqns)),
        jaxpr.replace(constvars=[*jaxpr.constvars, *results], eqns=others),
    )


def opened(jaxpr: Jaxpr, called: Callable[[JaxprEqn], ClosedJaxpr | None]) -> Jaxpr:
    """The program with other programs in place of their calls, where some of the operands depend on constants alone."""
    known, eqns = set(jaxpr.constvars), []

    def visit(program: Jaxpr, values: dict[Any, Any], fresh: bool) -> None:
        for eqn in program.eqns:
            invars = [values.get(atom, atom) for atom in eqn.invars]
            are_known = [atom in known for atom in invars if isinstance(atom, Var)]
            inner = called(eqn) if any(are_known) and not all(are_known) else None
            if inner is None or inner.consts:
                outvars = [_like(var) for var in eqn.outvars] if fresh else eqn.outvars
                eqns.append(eqn.replace(invars=invars, outvars=outvars) if fresh or values else eqn)
                known.update(outvars if all(are_known) else ())
                if fresh:
                    values.update(zip(eqn.outvars, outvars, strict=True))
            else:
                own = dict(zip(inner.jaxpr.invars, invars, strict=True))
                visit(inner.jaxpr, own, fresh=True)
                values.update(zip(eqn.outvars, (own.get(atom, atom) for atom in inner.jaxpr.outvars), strict=True))

    values: dict[Any, Any] = {}
    visit(jaxpr, values, fresh=False)
    return jaxpr.replace(eqns=eqns, outvars=[values.get(atom, atom) for atom in jaxpr.outvars])


def _like(var: Var) -> Var:
    return DropVar(var.aval) if isinstance(var, DropVar) else Var(var.aval)


def known_equations(
    eqns: Sequence[JaxprEqn], given: Iterable[Var], suits: Callable[[JaxprEqn], bool] = lambda eqn: not eqn.effects
) -> list[JaxprEqn]:
    """The equations that depend on given variables alone; by default those that do nothing beside their results."""
    known = set(given)
    found = []
    for eqn in eqns:
        if suits(eqn) and all(isinstance(atom, Literal) or atom in known for atom in eqn.invars):
            known.update(eqn.outvars)
            found.append(eqn)
    return found


def folded_otherwise(jaxpr: Jaxpr, known: Iterable[Var]) -> set[Var]:
    """Those of known variables that the compiler, if it knew them too, would compute functions of with other digits.

    It computes in advance what depends on numbers that stand in the program alone, with other code than at each call. That
    is the same for operations whose bits the standard for floating-point numbers determines, but not for ``exp``.
    """
    return _folded_otherwise(jaxpr, {var: frozenset([var]) for var in known})


def _folded_otherwise(jaxpr: Jaxpr, sources: dict[Var, frozenset[Var]]) -> set[Var]:
    """``sources``: what each known value is made of; it learns of the values that are made of known ones alone."""
    found: set[Var] = set()
    for eqn in jaxpr.eqns:
        operands = [frozenset() if isinstance(atom, Literal) else sources.get(atom) for atom in eqn.invars]
        made_of = frozenset[Var]().union(*(each for each in operands if each is not None))
        if not made_of:
            continue
        whole = all(each is not None for each in operands)
        if whole:
            sources.update(dict.fromkeys(eqn.outvars, made_of))
        inner = [open_jaxpr(program) for program in subprograms(eqn.params)]
        for program in inner:
            begin = len(operands) - len(program.invars)  # `cond` has the number of a branch before their operands
            if begin in (0, 1):
                pairs = zip(program.invars, operands[begin:], strict=True)
                found |= _folded_otherwise(program, {var: each for var, each in pairs if each})
            else:
                found |= made_of
        if not inner and whole and eqn.primitive.rounding is None and any(map(_is_inexact, eqn.outvars)):
            found |= made_of
    return found


def _is_inexact(var: Var) -> bool:
    return isinstance(var.aval, ShapedArray) and dtypes.is_inexact(var.aval.dtype)


def _costly_with_operands(eqns: Sequence[JaxprEqn]) -> list[JaxprEqn]:
    """The equations that take more time than it takes to read their results, and those that make their operands."""
    needed: set[Any] = set()
    chosen = []
    for eqn in reversed(eqns):
        if any(var in needed for var in eqn.outvars) or work_of_eqn(eqn) >= _MIN_WORK_PER_ELEMENT * largest_size(eqn):
            needed.update(atom for atom in eqn.invars if isinstance(atom, Var))
            chosen.append(eqn)
    return chosen[::-1]


def _can_be_kept(results: Sequence[Var], constants: Sequence[Var]) -> bool:
    """Whether results are plain arrays that take little memory beside the constants."""
    avals: list[Any] = [var.aval for var in results]
    if not all(isinstance(aval, ShapedArray) and not dtypes.is_extended(aval.dtype) for aval in avals):
        return False
    return _bytes_of(results) <= max(_FREE_BYTES, _MAX_GROWTH * _bytes_of(constants))


def _bytes_of(variables: Sequence[Var]) -> int:
    return sum(size_of(var.aval) * var.aval.dtype.itemsize for var in variables)
