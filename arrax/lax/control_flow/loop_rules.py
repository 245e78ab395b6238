"""The primitive ``while``: repeat a program while another one says so; its meaning to every interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.effects import any_ordered, refuse_repetition
from arrax.core.interpreter import Primitive, context
from arrax.core.program import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Var
from arrax.core.sequences import split_list
from arrax.core.types import ShapedArray, Zero, abstract_token, instantiate, joined_varying, typeof
from arrax.interpreters.ad.forward import Derive, jvp_jaxpr
from arrax.interpreters.ad.partial import Partial, Split, split_program
from arrax.interpreters.batching import AxisData, batch_at, batch_program, running_batch
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import inline_program
from arrax.interpreters.ordering import program_with_tokens
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.calls import core_call_p
from arrax.lax.control_flow.reported_loops import STEPS, counted_steps, loop_ir, with_values
from arrax.lax.control_flow.staged_functions import either, rearranged, selected, unselected
from arrax.lax.reductions import reduce_or
from arrax.lax.selection import select_n
from arrax.lax.shape_slots import shape_slots

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.xla.arrays import Array, ArrayLike

while_p = Primitive("while", multiple_results=True, cost=lambda eqn: float("inf"))
while_p.holds_programs = True


def bind_while(
    cond: ClosedJaxpr, body: ClosedJaxpr, cond_consts: Sequence[Any], body_consts: Sequence[Any], carry: Sequence[Any]
) -> list[Any]:
    """Repeat ``body`` (*body_consts, *carry) -> carry while ``cond`` (*cond_consts, *carry) holds."""
    return while_p.bind(
        *cond_consts, *body_consts, *carry, **while_params(cond, body, len(cond_consts), len(body_consts))
    )


def while_params(cond: ClosedJaxpr, body: ClosedJaxpr, cond_nconsts: int, body_nconsts: int) -> dict[str, Any]:
    """The parameters of the primitive."""
    return {"body_jaxpr": body, "body_nconsts": body_nconsts, "cond_jaxpr": cond, "cond_nconsts": cond_nconsts}


def _types(*avals: ShapedArray, body_jaxpr: ClosedJaxpr, cond_jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    outs = body_jaxpr.out_avals
    if not context.tracks_varying:
        return outs
    carries = body_jaxpr.in_avals[len(body_jaxpr.in_avals) - len(outs) :]
    decided = cond_jaxpr.out_avals[:1] * len(outs)  # where devices leave the loop at different times, all of it varies
    return joined_varying(joined_varying(outs, carries), decided)


def _effects(*avals: ShapedArray, body_jaxpr: ClosedJaxpr, cond_jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
    return body_jaxpr.effects | cond_jaxpr.effects


def _with_unused(program: ClosedJaxpr, at: int, avals: Sequence[Any]) -> ClosedJaxpr:
    """The program with inputs that it doesn't use, at a place among the others."""
    jaxpr = program.jaxpr
    new = [Var(aval) for aval in avals]
    return program.replace(jaxpr=jaxpr.replace(invars=[*jaxpr.invars[:at], *new, *jaxpr.invars[at:]]))


# ---- derivatives -----------------------------------------------------------------------------------------------------


def differentiated_while(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, body_jaxpr: ClosedJaxpr, body_nconsts: int,
    cond_jaxpr: ClosedJaxpr, cond_nconsts: int, derive: Derive = jvp_jaxpr, kind: str = "jvp",
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """The jvp rule, with another way to differentiate programs if asked for.

    Args:
      derive: like ``jvp_jaxpr``. kind: what it gives, for caches.
    """
    cond_consts, body_consts, init = split_list(primals, [cond_nconsts, body_nconsts])
    _, const_tangents, init_tangents = split_list(tangents, [cond_nconsts, body_nconsts])
    const_nz = [type(t) is not Zero for t in const_tangents]
    init_nz = [type(t) is not Zero for t in init_tangents]
    key = ("while", kind, cond_jaxpr, tuple(const_nz), tuple(init_nz))
    cond, body, carry_nz = body_jaxpr.memo(
        key, lambda: _jvp_programs(derive, cond_jaxpr, body_jaxpr, const_nz, init_nz)
    )
    carry = [*init, *(instantiate(t) for t in selected(init_tangents, carry_nz))]
    outs = bind_while(cond, body, cond_consts, [*body_consts, *selected(const_tangents, const_nz)], carry)
    rest = iter(outs[len(init) :])
    out_tangents = [
        next(rest) if nz else Zero(typeof(out).to_tangent_aval())
        for nz, out in zip(carry_nz, outs[: len(init)], strict=True)
    ]
    return outs[: len(init)], out_tangents


def _jvp_programs(
    derive: Derive, cond: ClosedJaxpr, body: ClosedJaxpr, const_nz: list[bool], carry_nz: list[bool]
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool]]:
    while True:
        derived, out_nz = derive(body, [*const_nz, *carry_nz], carry_nz)
        if out_nz == carry_nz:
            break
        carry_nz = either(carry_nz, out_nz)
    # (consts, carry, const tangents, carry tangents) -> (consts, const tangents, carry, carry tangents)
    indices = split_list(range(len(derived.in_avals)), [len(const_nz), len(carry_nz), sum(const_nz)])
    consts, carry, const_t, carry_t = indices
    body = rearranged(derived, [*consts, *const_t, *carry, *carry_t], range(len(derived.out_avals)))
    tangent_avals = [derived.in_avals[i] for i in carry_t]
    return _with_unused(cond, len(cond.in_avals), tangent_avals), body, carry_nz


def _partial_eval(interpreter: Partial, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The known part of the carry runs; the whole loop is recorded for the rest, which recomputes the known part."""
    body, cond = params["body_jaxpr"], params["cond_jaxpr"]
    cond_consts, body_consts, init = split_list(args, [params["cond_nconsts"], params["body_nconsts"]])
    const_uk = [interpreter.is_unknown(x) for x in body_consts]
    carry_uk = [interpreter.is_unknown(x) for x in init]
    while True:
        split = split_program(body, [*const_uk, *carry_uk], carry_uk)
        if split.out_unknown == carry_uk:
            break
        carry_uk = either(carry_uk, split.out_unknown)
    cond_uk = [interpreter.is_unknown(x) for x in cond_consts]
    needed = _used_inputs(cond)
    waits = any(uk and use for uk, use in zip([*cond_uk, *carry_uk], needed, strict=True))
    if waits or all(carry_uk):
        return interpreter.record(while_p, args, params)
    key = ("while known", cond, tuple(const_uk), tuple(carry_uk))
    known_cond, known_body, kept = body.memo(key, lambda: _known_programs(cond, split, len(cond_consts), carry_uk))
    known_consts = selected(unselected(body_consts, const_uk), kept)
    known_params = while_params(known_cond, known_body, len(cond_consts), len(known_consts))
    known_args = [*cond_consts, *known_consts, *unselected(init, carry_uk)]
    known = iter(interpreter.evaluate(while_p, known_args, known_params))
    recorded = interpreter.record(while_p, args, params)
    return [out if uk else next(known) for out, uk in zip(recorded, carry_uk, strict=True)]


def _used_inputs(program: ClosedJaxpr) -> list[bool]:
    return program.memo("used inputs", lambda: dce_jaxpr(program.jaxpr, [True] * len(program.out_avals))[1])


def _known_programs(
    cond: ClosedJaxpr, split: Split, cond_nconsts: int, carry_uk: list[bool]
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool]]:
    known_carry = [i for i, uk in enumerate(carry_uk) if not uk]
    known_cond = rearranged(
        cond, [*range(cond_nconsts), *(cond_nconsts + i for i in known_carry)], range(len(cond.out_avals))
    )
    without_residuals = rearranged(split.known, range(len(split.known.in_avals)), range(len(known_carry)))
    consts = len(split.known.in_avals) - len(known_carry)
    lean, kept = dce_jaxpr(
        without_residuals.jaxpr, [True] * len(known_carry), [False] * consts + [True] * len(known_carry)
    )
    return known_cond, without_residuals.replace(jaxpr=lean), kept[:consts]


def _transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop "
        "values. Use lax.scan, or lax.fori_loop with bounds that are known while tracing."
    )


# ---- batching --------------------------------------------------------------------------------------------------------


def _batch(
    values: Sequence[ArrayLike],
    dims: Dims,
    *,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
    cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
) -> tuple[list[Any], list[int | None]]:
    axis = running_batch().axis
    mapped = [dim is not None for dim in dims]
    key = ("while batch", cond_jaxpr, tuple(mapped), axis)
    cond, body, carry_mapped, pred_mapped = body_jaxpr.memo(
        key, lambda: _batch_programs(cond_jaxpr, body_jaxpr, split_list(mapped, [cond_nconsts, body_nconsts]), axis)
    )
    moved = [x if d is None else batch_at(x, d, axis) for x, d in zip(values, dims, strict=True)]
    cond_consts, body_consts, init = split_list(moved, [cond_nconsts, body_nconsts])
    init_mapped = mapped[cond_nconsts + body_nconsts :]
    carry = [
        batch_at(x, None, axis) if now and not before else x
        for x, before, now in zip(init, init_mapped, carry_mapped, strict=True)
    ]
    body_operands = [*cond_consts, *body_consts] if pred_mapped else body_consts
    outs = bind_while(cond, body, cond_consts, body_operands, carry)
    return outs, [0 if m else None for m in carry_mapped]


def _batch_programs(
    cond: ClosedJaxpr, body: ClosedJaxpr, mapped: Sequence[Sequence[bool]], axis: AxisData
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool], bool]:
    """Batched programs; where the predicate is mapped, examples that have finished keep their carry."""
    cond_m, const_m, carry_m = map(list, mapped)

    def batched(
        program: ClosedJaxpr, flags: list[bool], forced: bool | Sequence[bool]
    ) -> tuple[ClosedJaxpr, list[bool]]:
        return batch_program(program, axis, flags, forced)

    first = len(const_m)
    unchanged = [atom is body.jaxpr.invars[first + n] for n, atom in enumerate(body.jaxpr.outvars)]
    while True:
        new_cond, (pred_mapped,) = batched(cond, [*cond_m, *carry_m], False)
        if pred_mapped:
            refuse_repetition(body.effects, "a while loop whose predicate depends on an axis mapped by vmap")
            carry_m = either(carry_m, [not same for same in unchanged])
        new_body, out_m = batched(body, [*const_m, *carry_m], carry_m)
        if out_m == carry_m:
            break
        carry_m = either(carry_m, out_m)
    if not pred_mapped:
        return new_cond, new_body, carry_m, False
    new_cond, _ = batched(cond, [*cond_m, *carry_m], True)
    return _any_goes_on(new_cond), _frozen_when_done(new_cond, new_body, len(cond_m), unchanged), carry_m, True


def _any_goes_on(cond: ClosedJaxpr) -> ClosedJaxpr:
    def batched(*values: Array) -> list[Any]:
        (going,) = eval_jaxpr(cond.jaxpr, cond.consts, *values)
        return [reduce_or(going, (0,))]

    return ClosedJaxpr(*stage(batched, cond.in_avals, cond.jaxpr.debug_info))


def _frozen_when_done(cond: ClosedJaxpr, body: ClosedJaxpr, cond_nconsts: int, unchanged: list[bool]) -> ClosedJaxpr:
    count = len(body.out_avals)

    def batched(*values: Array) -> list[Any]:
        cond_consts, rest = split_list(values, [cond_nconsts])
        carry = rest[len(rest) - count :]
        (going,) = eval_jaxpr(cond.jaxpr, cond.consts, *cond_consts, *carry)
        new = eval_jaxpr(body.jaxpr, body.consts, *rest)
        return [y if same else _where(going, x, y) for x, y, same in zip(new, carry, unchanged, strict=True)]

    return ClosedJaxpr(*stage(batched, [*cond.in_avals[:cond_nconsts], *body.in_avals], body.jaxpr.debug_info))


def _where(flags: Array, x: Array, y: Array) -> Array:
    shape = typeof(x).shape
    return select_n(flags if len(shape) == 1 else shape_slots.broadcast_in_dim(flags, shape, (0,)), y, x)


# ---- ordered effects --------------------------------------------------------------------------------------------------


def _with_token(eqn: JaxprEqn, token: Var, after: Var) -> list[JaxprEqn]:
    """The token is the first of what is carried; so is the answer of a test that has ordered effects itself."""
    cond, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    counts = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    if any_ordered(cond.effects):
        return _with_tested_token(eqn, token, after, cond, body, counts)
    cond_consts, body_consts, init = split_list(eqn.invars, counts)
    program = program_with_tokens(body)
    first, *invars = program.jaxpr.invars
    program = program.replace(jaxpr=program.jaxpr.replace(invars=[*invars[: counts[1]], first, *invars[counts[1] :]]))
    params = while_params(_with_unused(cond, counts[0], [abstract_token]), program, *counts)
    invars = [*cond_consts, *body_consts, token, *init]
    return [eqn.replace(invars=invars, outvars=[after, *eqn.outvars], params=params)]


def _with_tested_token(
    eqn: JaxprEqn, token: Var, after: Var, cond: ClosedJaxpr, body: ClosedJaxpr, counts: tuple[int, int]
) -> list[JaxprEqn]:
    """The test comes before the loop, and at the end of each turn; the loop itself asks for its answer."""
    test, turn = program_with_tokens(cond), program_with_tokens(body)
    cond_consts, body_consts, init = split_list(eqn.invars, counts)
    begun, answer = Var(abstract_token), Var(cond.out_avals[0])
    first = _call(test, [token, *cond_consts, *init], [begun, answer], eqn)

    def variables(avals: Sequence[Any]) -> list[Var]:
        return [Var(aval) for aval in avals]

    carry_avals = body.out_avals
    tests, turns = variables(cond.in_avals[: counts[0]]), variables(body.in_avals[: counts[1]])
    before, go_on, carry = Var(abstract_token), Var(answer.aval), variables(carry_avals)
    between, moved, end, again = Var(abstract_token), variables(carry_avals), Var(abstract_token), Var(answer.aval)
    steps = [
        _call(turn, [before, *turns, *carry], [between, *moved], eqn),
        _call(test, [between, *tests, *moved], [end, again], eqn),
    ]
    new_body = Jaxpr([], [*tests, *turns, before, go_on, *carry], [end, again, *moved], steps, eqn.effects)
    asked = [Var(abstract_token), Var(answer.aval), *variables(carry_avals)]
    new_cond = Jaxpr([], asked, [asked[1]], [])
    params = while_params(ClosedJaxpr(new_cond), ClosedJaxpr(new_body), 0, sum(counts))
    invars = [*cond_consts, *body_consts, begun, answer, *init]
    last = DropVar(answer.aval)
    return [first, eqn.replace(invars=invars, outvars=[after, last, *eqn.outvars], params=params)]


def _call(program: ClosedJaxpr, invars: Sequence[Any], outvars: Sequence[Var], eqn: JaxprEqn) -> JaxprEqn:
    return eqn.replace(invars=invars, outvars=outvars, primitive=core_call_p, params={"jaxpr": program})


# ---- dead code and lowering ------------------------------------------------------------------------------------------


def _dce(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    if not any(used) and not eqn.effects:
        return None
    params = eqn.params
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    sizes = params["cond_nconsts"], params["body_nconsts"]
    key = ("while dce", cond, tuple(used))
    lean_cond, lean_body, cond_kept, const_kept, carry_kept = body.memo(
        key, lambda: _lean(cond, body, sizes[0], list(used))
    )
    if all(carry_kept) and all(cond_kept) and all(const_kept):
        return eqn
    cond_consts, body_consts, init = split_list(eqn.invars, sizes)
    return eqn.replace(
        invars=[*selected(cond_consts, cond_kept), *selected(body_consts, const_kept), *selected(init, carry_kept)],
        outvars=selected(eqn.outvars, carry_kept),
        params=while_params(lean_cond, lean_body, sum(cond_kept), sum(const_kept)),
    )


def _lean(cond: ClosedJaxpr, body: ClosedJaxpr, cond_nconsts: int, used: list[bool]) -> tuple[Any, ...]:
    needed = dce_jaxpr(cond.jaxpr, [True])[1]
    cond_kept = needed[:cond_nconsts]
    used = either(used, needed[cond_nconsts:])
    consts = len(body.in_avals) - len(used)
    while True:
        lean, kept = dce_jaxpr(body.jaxpr, used, [False] * consts + used)
        if kept[consts:] == used:
            break
        used = either(used, kept[consts:])
    lean_cond, _ = dce_jaxpr(cond.jaxpr, [True], [*cond_kept, *used])
    return cond.replace(jaxpr=lean_cond), body.replace(jaxpr=lean), cond_kept, kept[:consts], used


def _lower(
    ctx: LoweringContext,
    *args: Value,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
    cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
) -> list[Any]:
    cond_consts, body_consts, init = split_list(args, [cond_nconsts, body_nconsts])
    module = ctx.module_context
    program, value_avals = with_values(body_jaxpr)

    def cond(carry: list[Any]) -> Value:
        return inline_program(module, cond_jaxpr, [*cond_consts, *carry], "while/cond")[0]

    def body(carry: list[Any]) -> list[Any]:
        return inline_program(module, program, [*body_consts, *carry], "while/body")

    def total() -> Value | None:
        counted = counted_steps(cond_jaxpr.jaxpr, body_jaxpr.jaxpr, cond_nconsts, body_nconsts)
        if counted is None:
            return None
        first, last = (builder.op("convert", STEPS, [*cond_consts, *init][index]) for index in counted)
        return builder.op("subtract", STEPS, last, first)

    return loop_ir(ctx, body_jaxpr, init, body_jaxpr.out_avals, cond, body, total, value_avals)


def _by_operation(
    *values: Any, body_jaxpr: ClosedJaxpr, body_nconsts: int, cond_jaxpr: ClosedJaxpr, cond_nconsts: int
) -> list[Any]:
    cond_consts, body_consts, carry = split_list(values, [cond_nconsts, body_nconsts])
    while np.asarray(eval_jaxpr(cond_jaxpr.jaxpr, cond_jaxpr.consts, *cond_consts, *carry)[0]):
        carry = eval_jaxpr(body_jaxpr.jaxpr, body_jaxpr.consts, *body_consts, *carry)
    return carry


while_p.type_rule = _types
while_p.by_operation = _by_operation
while_p.effects_rule = _effects
while_p.with_token = _with_token
while_p.jvp = differentiated_while
while_p.partial_eval = _partial_eval
while_p.transpose = _transpose
while_p.batch = _batch
while_p.dce = _dce
while_p.lower[None] = _lower
