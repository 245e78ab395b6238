"""Recomputation: the primitive of ``checkpoint``, which keeps its inputs instead of its intermediate values.

Differentiation splits its program into a known part, which runs at once, and a linear rest. The rest is recorded together
with a copy of the known part that computes the residuals again, but for those that the policy lets it save.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.effects import refuse_repetition
from arrax.core.explicit_axes import as_typed
from arrax.core.interpreter import Primitive
from arrax.core.program import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, SourceInfo, Var, consts_to_invars, joined_effects
from arrax.core.types import Zero
from arrax.interpreters.ad.partial import Partial, split_program
from arrax.interpreters.dce import dce_closed_call, dce_jaxpr
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import inline_program
from arrax.interpreters.staging import eval_jaxpr
from arrax.lax.calls import fill_program_rules
from arrax.lax.saved_values import halves, inlined

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value

remat_p = Primitive("remat2", multiple_results=True)


def _adapt(params: dict[str, Any], sources: Sequence[int | None]) -> dict[str, Any]:
    """Which operands stand behind the barrier: all, none, or a flag for each; new ones do."""
    flags = params["prevent_cse"]
    if isinstance(flags, bool):
        return params
    return {**params, "prevent_cse": tuple(True if index is None else flags[index] for index in sources)}


fill_program_rules(remat_p, _adapt)


def _dce(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    lean = dce_closed_call(used, eqn, "jaxpr")
    if lean is None or isinstance(eqn.params["prevent_cse"], bool):
        return lean
    flags: Sequence[bool] = eqn.params["jaxpr"].memo(("dce", tuple(used)), lambda: None)[1]
    kept = [index for index, keep in enumerate(flags) if keep]
    return lean.replace(params={**lean.params, "prevent_cse": _adapt(eqn.params, kept)["prevent_cse"]})


remat_p.dce = _dce

name_p = Primitive("name")
name_p.type_rule, name_p.divides = lambda aval, *, name: aval, as_typed
name_p.lower[None] = lambda ctx, x, *, name: [x]
name_p.impl = lambda x, *, name: x
name_p.jvp = lambda primals, tangents, *, name: (
    name_p.bind(*primals, name=name), tangents[0] if type(tangents[0]) is Zero else name_p.bind(*tangents, name=name)
)  # fmt: skip
name_p.transpose = lambda ct, x, *, name: [ct]
name_p.batch = lambda values, dims, *, name: (name_p.bind(*values, name=name), dims[0])


def _partial_eval(interpreter: Partial, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    program = inlined(params["jaxpr"])
    policy = params["policy"]
    unknown = [interpreter.is_unknown(arg) for arg in args]
    split = split_program(program, unknown)
    known = consts_to_invars(split.known.jaxpr)
    known_count = len(split.out_unknown) - sum(split.out_unknown)
    first, again, saved = halves(known, policy)
    refuse_repetition(joined_effects(again), "a checkpoint that is differentiated")
    rest = _with_recomputation(known, again, split.rest.jaxpr, known_count, saved)
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
    indices = [index for index, is_unknown in enumerate(unknown) if not is_unknown]
    new = len(split.known.consts), len(saved_values) + len(split.rest.consts)
    sources = [*[None] * new[0], *indices, *[None] * new[1], *(p for p, is_unknown in enumerate(unknown) if is_unknown)]
    prevent_cse = _adapt(params, [index for index, use in zip(sources, used, strict=True) if use])["prevent_cse"]
    recorded = interpreter.record(
        remat_p, operands,
        {"jaxpr": ClosedJaxpr(lean, ()), "prevent_cse": prevent_cse, "differentiated": True, "policy": policy},
    ) if any(split.out_unknown) else []  # fmt: skip
    outs, waiting = iter(known_outs), iter(recorded)
    return [next(waiting) if is_unknown else next(outs) for is_unknown in split.out_unknown]


def _with_recomputation(
    known: Jaxpr, again: Sequence[JaxprEqn], rest: Jaxpr, known_count: int, saved: Sequence[Var]
) -> Jaxpr:
    """The program that computes residuals again, and then the rest of them.

    It is (*known inputs, *saved values, *constants of ``rest``, *unknown inputs) -> (*unknown outputs).
    """
    residuals = known.outvars[known_count:]
    count = len(residuals)
    substitution = dict(zip(rest.invars[:count], residuals, strict=True))

    def read(atom: Atom) -> Atom:
        return substitution.get(atom, atom) if isinstance(atom, Var) else atom

    tail = [eqn.replace(invars=[read(atom) for atom in eqn.invars]) for eqn in rest.eqns]
    again = [_as_recomputed(eqn) for eqn in again]
    return Jaxpr(
        (), [*known.invars, *saved, *rest.constvars, *rest.invars[count:]], [read(atom) for atom in rest.outvars],
        [*again, *tail], joined_effects([*again, *tail]),
    )  # fmt: skip


def _as_recomputed(eqn: JaxprEqn) -> JaxprEqn:
    traceback, names = eqn.source_info
    source = SourceInfo(traceback, ("rematted_computation", *names))
    return JaxprEqn(eqn.invars, eqn.outvars, eqn.primitive, eqn.params, eqn.effects, source)


def _lower(
    ctx: LoweringContext,
    *args: Value,
    jaxpr: ClosedJaxpr,
    prevent_cse: bool | tuple[bool, ...],
    differentiated: bool,
    policy: Callable[..., Any] | None,
) -> list[Value]:
    flags = [prevent_cse] * len(args) if isinstance(prevent_cse, bool) else list(prevent_cse)
    flags = [*[False] * (len(args) - len(flags)), *flags]  # a token comes first
    if differentiated and any(flags):
        types = [builder.ir_type(aval) for aval, flag in zip(ctx.avals_in, flags, strict=True) if flag]
        kept = [arg for arg, flag in zip(args, flags, strict=True) if flag]
        behind = iter(builder.operation("stablehlo.optimization_barrier", types, kept).results)
        args = tuple(next(behind) if flag else arg for arg, flag in zip(args, flags, strict=True))
    return inline_program(ctx.module_context, jaxpr, args, "checkpoint")


remat_p.partial_eval = _partial_eval
remat_p.lower[None] = _lower
remat_p.impl = lambda *args, jaxpr, **params: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
