"""Recomputation: the primitive of ``checkpoint``, which keeps its inputs instead of its intermediate values.

Differentiation splits its program into a known part, which runs at once, and a linear rest. The rest is recorded together
with a copy of the known part that computes the residuals again, but for those that the policy lets it save.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arrax.core.interpreter import Primitive
from arrax.core.program import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, joined_effects
from arrax.core.types import Zero
from arrax.interpreters.ad.partial import Partial, split_program
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.module import inline_program
from arrax.interpreters.staging import eval_jaxpr
from arrax.lax.calls import fill_program_rules, jit_p, opened

remat_p = Primitive("remat2", multiple_results=True)
fill_program_rules(remat_p)

name_p = Primitive("name")
name_p.type_rule = lambda aval, *, name: aval
name_p.lower[None] = lambda ctx, x, *, name: [x]
name_p.impl = lambda x, *, name: x
name_p.jvp = lambda primals, tangents, *, name: (
    name_p.bind(*primals, name=name), tangents[0] if type(tangents[0]) is Zero else name_p.bind(*tangents, name=name)
)  # fmt: skip
name_p.transpose = lambda ct, x, *, name: [ct]
name_p.batch = lambda values, dims, *, name: (name_p.bind(*values, name=name), dims[0])


def inline_calls(jaxpr: Jaxpr) -> Jaxpr:
    """The program with nested jitted programs in place, so that policies see their operations."""
    if not any(eqn.primitive is jit_p for eqn in jaxpr.eqns):
        return jaxpr
    eqns: list[JaxprEqn] = []
    renamed: dict[Var, Any] = {}

    def read(atom: Any) -> Any:
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

    def read(atom: Any) -> Any:
        return atom if isinstance(atom, Literal) else fresh(atom)

    invars = [fresh(var) for var in jaxpr.invars]
    eqns = [
        eqn.replace(invars=[read(atom) for atom in eqn.invars], outvars=[fresh(var) for var in eqn.outvars])
        for eqn in jaxpr.eqns
    ]
    return Jaxpr((), invars, [read(atom) for atom in jaxpr.outvars], eqns, jaxpr.effects, jaxpr.debug_info)


def _inlined(program: ClosedJaxpr) -> ClosedJaxpr:
    return program.memo("inlined", lambda: ClosedJaxpr(inline_calls(program.jaxpr), program.consts))


def saveable_vars(jaxpr: Jaxpr, policy: Any) -> set[Var]:
    """Results of equations that a policy lets be saved."""
    if policy is None:
        return set()
    return {
        var for eqn in jaxpr.eqns for var in eqn.outvars
        if policy(eqn.primitive, *[atom.aval for atom in eqn.invars], **eqn.params)
    }  # fmt: skip


def _partial_eval(interpreter: Partial, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    program = _inlined(params["jaxpr"])
    policy, prevent_cse = params["policy"], params["prevent_cse"]
    unknown = [interpreter.is_unknown(arg) for arg in args]
    split = split_program(program, unknown)
    known = opened(split.known.jaxpr)
    known_count = len(split.out_unknown) - sum(split.out_unknown)
    saved = [
        var
        for var in dict.fromkeys(v for eqn in known.eqns for v in eqn.outvars)
        if var in saveable_vars(known, policy)
    ]
    rest = _with_recomputation(known, split.rest.jaxpr, known_count, saved)  # its constants stand behind the saved
    lean, used = dce_jaxpr(rest, [True] * len(rest.outvars))
    inputs = len(known.invars)
    kept_saved = [var for var, use in zip(saved, used[inputs : inputs + len(saved)], strict=True) if use]
    known_args = [arg for arg, is_unknown in zip(args, unknown, strict=True) if not is_unknown]
    known_args = [*split.known.consts, *known_args]
    unknown_args = [arg for arg, is_unknown in zip(args, unknown, strict=True) if is_unknown]
    forward = known.replace(outvars=[*known.outvars[:known_count], *kept_saved])
    forward, _ = dce_jaxpr(forward, [True] * len(forward.outvars), True)
    from_parent = interpreter.in_parent(eval_jaxpr, forward, (), *known_args)
    known_outs, residuals = from_parent[:known_count], iter(from_parent[known_count:])
    saved_values = [next(residuals) if use else None for use in used[inputs : inputs + len(saved)]]
    candidates = [*known_args, *saved_values, *split.rest.consts, *unknown_args]
    operands = [value for value, use in zip(candidates, used, strict=True) if use]
    recorded = interpreter.record(
        remat_p, operands,
        {"jaxpr": ClosedJaxpr(lean, ()), "prevent_cse": prevent_cse, "differentiated": True, "policy": policy},
    ) if any(split.out_unknown) else []  # fmt: skip
    outs, waiting = iter(known_outs), iter(recorded)
    return [next(waiting) if is_unknown else next(outs) for is_unknown in split.out_unknown]


def _with_recomputation(known: Jaxpr, rest: Jaxpr, known_count: int, saved: Sequence[Var]) -> Jaxpr:
    """The program (*known inputs, *saved values, *unknown inputs) -> the unknown outputs: residuals, then the rest."""
    saved_set = set(saved)
    eqns = [eqn for eqn in known.eqns if not all(var in saved_set for var in eqn.outvars)]
    fixed: list[JaxprEqn] = []
    for eqn in eqns:  # an equation kept for some of its results must not bind the saved ones again
        outvars = [Var(var.aval) if var in saved_set else var for var in eqn.outvars]
        fixed.append(eqn.replace(outvars=outvars) if any(var in saved_set for var in eqn.outvars) else eqn)
    residuals = known.outvars[known_count:]
    count = len(residuals)
    substitution = dict(zip(rest.invars[:count], residuals, strict=True))

    def read(atom: Any) -> Any:
        return substitution.get(atom, atom) if isinstance(atom, Var) else atom

    tail = [eqn.replace(invars=[read(atom) for atom in eqn.invars]) for eqn in rest.eqns]
    return Jaxpr(
        (), [*known.invars, *saved, *rest.constvars, *rest.invars[count:]], [read(atom) for atom in rest.outvars],
        [*fixed, *tail], joined_effects([*fixed, *tail]),
    )  # fmt: skip


def _lower(ctx: Any, *args: Any, jaxpr: ClosedJaxpr, prevent_cse: bool, differentiated: bool, policy: Any) -> list[Any]:
    if differentiated and prevent_cse and args:
        types = [builder.ir_type(aval) for aval in ctx.avals_in]
        args = tuple(builder.operation("stablehlo.optimization_barrier", types, args).results)
    return inline_program(ctx.module_context, jaxpr, args)


remat_p.partial_eval = _partial_eval
remat_p.lower[None] = _lower
remat_p.impl = lambda *args, jaxpr, **params: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
