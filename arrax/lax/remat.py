"""Recomputation: the primitive of ``checkpoint``, which keeps its inputs instead of its intermediate values.

Differentiation splits its program into a known part, which runs at once, and a linear rest. The rest is recorded together
with a copy of the known part that computes the residuals again, but for those that the policy lets it save.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arrax.core.interpreter import Primitive
from arrax.core.program import ClosedJaxpr, Jaxpr, JaxprEqn, Var, joined_effects
from arrax.core.types import Zero
from arrax.interpreters.ad.partial import Partial, split_program
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.module import inline_program
from arrax.interpreters.staging import eval_jaxpr
from arrax.lax.calls import fill_program_rules, opened
from arrax.lax.saved_values import halves, inlined

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


def _partial_eval(interpreter: Partial, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    program = inlined(params["jaxpr"])
    policy, prevent_cse = params["policy"], params["prevent_cse"]
    unknown = [interpreter.is_unknown(arg) for arg in args]
    split = split_program(program, unknown)
    known = opened(split.known.jaxpr)
    known_count = len(split.out_unknown) - sum(split.out_unknown)
    first, again, saved = halves(known, policy)
    rest = _with_recomputation(
        known, again, split.rest.jaxpr, known_count, saved
    )  # its constants stand behind the saved
    lean, used = dce_jaxpr(rest, [True] * len(rest.outvars))
    inputs = len(known.invars)
    kept_saved = [var for var, use in zip(saved, used[inputs : inputs + len(saved)], strict=True) if use]
    known_args = [arg for arg, is_unknown in zip(args, unknown, strict=True) if not is_unknown]
    known_args = [*split.known.consts, *known_args]
    unknown_args = [arg for arg, is_unknown in zip(args, unknown, strict=True) if is_unknown]
    forward = known.replace(eqns=first, outvars=[*known.outvars[:known_count], *kept_saved])
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


def _with_recomputation(
    known: Jaxpr, again: Sequence[JaxprEqn], rest: Jaxpr, known_count: int, saved: Sequence[Var]
) -> Jaxpr:
    """The program (*known inputs, *saved values, *unknown inputs) -> the unknown outputs: residuals, then the rest."""
    residuals = known.outvars[known_count:]
    count = len(residuals)
    substitution = dict(zip(rest.invars[:count], residuals, strict=True))

    def read(atom: Any) -> Any:
        return substitution.get(atom, atom) if isinstance(atom, Var) else atom

    tail = [eqn.replace(invars=[read(atom) for atom in eqn.invars]) for eqn in rest.eqns]
    return Jaxpr(
        (), [*known.invars, *saved, *rest.constvars, *rest.invars[count:]], [read(atom) for atom in rest.outvars],
        [*again, *tail], joined_effects([*again, *tail]),
    )  # fmt: skip


def _lower(ctx: Any, *args: Any, jaxpr: ClosedJaxpr, prevent_cse: bool, differentiated: bool, policy: Any) -> list[Any]:
    if differentiated and prevent_cse and args:
        types = [builder.ir_type(aval) for aval in ctx.avals_in]
        args = tuple(builder.operation("stablehlo.optimization_barrier", types, args).results)
    return inline_program(ctx.module_context, jaxpr, args)


remat_p.partial_eval = _partial_eval
remat_p.lower[None] = _lower
remat_p.impl = lambda *args, jaxpr, **params: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
