"""What a checkpoint policy saves: values of a program, those in the bodies of its loops and branches among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax.core.explicit_axes import stacked_type
from arrax.core.interpreter import Primitive
from arrax.core.memory_spaces import space_of_kind
from arrax.core.program import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, SourceInfo, Var, joined_effects
from arrax.core.types import slots
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.calls import jit_p
from arrax.lax.control_flow.conditional_rules import cond_p
from arrax.lax.control_flow.scan_rules import scan_p
from arrax.lax.placement import device_put_p
from arrax.xla.arrays import Array


class Offloadable(NamedTuple):
    """What a policy may say of a value: keep it, in another memory, from which the backward pass fetches it.

    Attributes:
      src: kind of memory that it is in, such as ``"device"``.
      dst: kind of memory that it may be kept in, such as ``"pinned_host"``.
    Example: ``policy = lambda *_, **__: arrax.ad_checkpoint.Offloadable('device', 'pinned_host');
    grad(arrax.checkpoint(jnp.sin, policy=policy))(0.0)`` is 1.0.
    """

    src: str
    dst: str


class SaveableType:
    """The type of ``Saveable``."""

    def __repr__(self) -> str:
        return "Saveable"


class RecomputeType:
    """The type of ``Recompute``."""

    def __repr__(self) -> str:
        return "Recompute"


Saveable, Recompute = SaveableType(), RecomputeType()  # what a policy may say in place of True and False
Decision = bool | Offloadable | SaveableType | RecomputeType


def is_saved(decision: Decision) -> bool:
    """Whether a policy lets a value be saved.

    Raises:
      TypeError: a policy that says something else than what it may.
    """
    if not isinstance(decision, Decision | np.bool_):
        raise TypeError(
            "checkpoint: a policy must return a bool, Saveable, Recompute or Offloadable(...) of arrax.ad_checkpoint, got "
            f"{decision!r} of type {type(decision)}"
        )
    return decision is not Recompute and bool(decision)


class Halves(NamedTuple):
    """A program that gives what is saved, and one that takes it.

    Attributes:
      forward: equations that compute everything.
      again: equations that compute the rest from what was saved.
      saved: the variables that the first binds and the second reads.
    """

    forward: list[JaxprEqn]
    again: list[JaxprEqn]
    saved: list[Var]


def halves(jaxpr: Jaxpr, policy: Callable[..., Any] | None) -> Halves:
    """Split a program by a policy, a function of a primitive, the types of its operands, and its parameters."""
    if policy is None:
        return Halves(list(jaxpr.eqns), list(jaxpr.eqns), [])
    forward: list[JaxprEqn] = []
    again: list[JaxprEqn] = []
    saved: list[Var] = []
    for eqn in jaxpr.eqns:
        decision = policy(eqn.primitive, *[atom.aval for atom in eqn.invars], **eqn.params)
        if is_saved(decision):
            forward.append(eqn)
            kept = [var for var in eqn.outvars if not isinstance(var, DropVar)]
            if isinstance(decision, Offloadable):
                away, back, kept = _moved(kept, decision, eqn.source_info)
                forward += away
                again += back
            saved += kept
            continue
        opened = _OPENERS.get(eqn.primitive)
        first, second, inner = (eqn, eqn, []) if opened is None else opened(eqn, policy)
        forward.append(first)
        again.append(second)
        saved += inner
    return Halves(forward, again, saved)


def _moved(
    values: Sequence[Var], places: Offloadable, source: SourceInfo
) -> tuple[list[JaxprEqn], list[JaxprEqn], list[Var]]:
    """Equations that bring values to another memory, those that fetch them, and the variables between the two."""
    there, here = space_of_kind(places.dst), space_of_kind(places.src)
    if there is here:
        return [], [], list(values)
    between = [Var(value.aval.update(memory_space=there)) for value in values]
    pairs = list(zip(values, between, strict=True))
    no_effects: frozenset[Any] = frozenset()
    away = [JaxprEqn([v], [b], device_put_p, {"device": there}, no_effects, source) for v, b in pairs]
    back = [JaxprEqn([b], [v], device_put_p, {"device": here}, no_effects, source) for v, b in pairs]
    return away, back, between


def _program_halves(program: ClosedJaxpr, policy: Callable[..., Any]) -> tuple[ClosedJaxpr, ClosedJaxpr, list[Any]]:
    """The program with the saved values as further outputs, the one with them as further inputs, and their types."""
    return program.memo(("halves", policy), lambda: _split(program, policy))


def _split(program: ClosedJaxpr, policy: Callable[..., Any]) -> tuple[ClosedJaxpr, ClosedJaxpr, list[Any]]:
    jaxpr = inlined(program).jaxpr
    forward, again, saved = halves(jaxpr, policy)
    first = jaxpr.replace(eqns=forward, outvars=[*jaxpr.outvars, *saved], effects=joined_effects(forward))
    second = jaxpr.replace(eqns=again, invars=[*jaxpr.invars, *saved], effects=joined_effects(again))
    return program.replace(jaxpr=first), program.replace(jaxpr=second), [var.aval for var in saved]


def _of_scan(eqn: JaxprEqn, policy: Callable[..., Any]) -> tuple[JaxprEqn, JaxprEqn, list[Var]]:
    """What is saved in the body is stacked."""
    params = eqn.params
    first, second, avals = _program_halves(params["jaxpr"], policy)
    if not avals:
        return eqn, eqn, []
    saved = [Var(stacked_type(aval, params["length"])) for aval in avals]
    linear = (*params["linear"], *[False] * len(saved))
    return (
        eqn.replace(outvars=[*eqn.outvars, *saved], params={**params, "jaxpr": first}),
        eqn.replace(invars=[*eqn.invars, *saved], params={**params, "jaxpr": second, "linear": linear}),
        saved,
    )


def _of_cond(eqn: JaxprEqn, policy: Callable[..., Any]) -> tuple[JaxprEqn, JaxprEqn, list[Var]]:
    """Each branch has places of its own for what it saves; the others give zeros there."""
    branches = eqn.params["branches"]
    parts = [_program_halves(branch, policy) for branch in branches]
    avals = [aval for _, _, own in parts for aval in own]
    if not avals:
        return eqn, eqn, []
    saved = [Var(aval) for aval in avals]
    forward, again, start = [], [], 0
    for first, second, own in parts:
        forward.append(_with_zeros(first, len(first.out_avals) - len(own), avals, start, len(own)))
        again.append(_with_unread(second, len(second.in_avals) - len(own), avals, start, len(own)))
        start += len(own)
    linear = (*eqn.params["linear"], *[False] * len(saved))
    return (
        eqn.replace(outvars=[*eqn.outvars, *saved], params={**eqn.params, "branches": tuple(forward)}),
        eqn.replace(
            invars=[*eqn.invars, *saved], params={**eqn.params, "branches": tuple(again), "linear": linear}
        ),
        saved,
    )  # fmt: skip


def _with_zeros(program: ClosedJaxpr, results: int, avals: list[Any], start: int, count: int) -> ClosedJaxpr:
    def branch(*operands: Array) -> list[Any]:
        outs = eval_jaxpr(program.jaxpr, program.consts, *operands)
        before, after = avals[:start], avals[start + count :]
        return [*outs[:results], *map(slots.zeros, before), *outs[results:], *map(slots.zeros, after)]

    return ClosedJaxpr(*stage(branch, program.in_avals, program.jaxpr.debug_info))


def _with_unread(program: ClosedJaxpr, operands: int, avals: list[Any], start: int, count: int) -> ClosedJaxpr:
    jaxpr = program.jaxpr
    before, after = ([Var(aval) for aval in part] for part in (avals[:start], avals[start + count :]))
    invars = [*jaxpr.invars[:operands], *before, *jaxpr.invars[operands:], *after]
    return program.replace(jaxpr=jaxpr.replace(invars=invars))


_OPENERS: dict[Primitive, Callable[..., tuple[JaxprEqn, JaxprEqn, list[Var]]]] = {scan_p: _of_scan, cond_p: _of_cond}


# ---- nested calls ----------------------------------------------------------------------------------------------------


def inline_calls(jaxpr: Jaxpr) -> Jaxpr:
    """The program with nested jitted programs in place, so that policies see their operations."""
    if not any(eqn.primitive is jit_p for eqn in jaxpr.eqns):
        return jaxpr
    eqns: list[JaxprEqn] = []
    renamed: dict[Var, Any] = {}

    def read(atom: Var) -> Var:
        while isinstance(atom, Var) and atom in renamed:
            atom = renamed[atom]
        return atom

    def add(source: Jaxpr) -> None:
        for eqn in source.eqns:
            invars = [read(atom) for atom in eqn.invars]
            inner = eqn.params.get("jaxpr") if eqn.primitive is jit_p else None
            if inner is None or inner.consts:
                eqns.append(eqn.replace(invars=invars))
                continue
            fresh = _fresh_copy(inner.jaxpr)
            renamed.update(zip(fresh.invars, invars, strict=True))
            add(fresh)
            renamed.update(zip(eqn.outvars, [read(atom) for atom in fresh.outvars], strict=True))

    add(jaxpr)
    return jaxpr.replace(eqns=eqns, outvars=[read(atom) for atom in jaxpr.outvars], effects=joined_effects(eqns))


def _fresh_copy(jaxpr: Jaxpr) -> Jaxpr:
    """The program with variables of its own: one nested program may be called many times."""
    new: dict[Var, Var] = {}

    def fresh(var: Var) -> Var:
        return new.setdefault(var, Var(var.aval))

    def read(atom: Var) -> Var:
        return atom if isinstance(atom, Literal) else fresh(atom)

    invars = [fresh(var) for var in jaxpr.invars]
    eqns = [
        eqn.replace(invars=[read(atom) for atom in eqn.invars], outvars=[fresh(var) for var in eqn.outvars])
        for eqn in jaxpr.eqns
    ]
    return Jaxpr((), invars, [read(atom) for atom in jaxpr.outvars], eqns, jaxpr.effects, jaxpr.debug_info)


def inlined(program: ClosedJaxpr) -> ClosedJaxpr:
    """Like ``inline_calls``, once for a program that lives on."""
    return program.memo("inlined", lambda: ClosedJaxpr(inline_calls(program.jaxpr), program.consts))
