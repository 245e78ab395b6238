"""Programs whose checks have become results: what ``checkify`` does to every operation, control flow included.

A checked program returns a code, the values of its checks and then its own results. It takes no error: where a program
calls another one, or repeats it, the outcome of the inner checks is a finding among others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arrax.core.interpreter import Primitive, context
from arrax.core.partition_specs import PartitionSpec
from arrax.core.program import ClosedJaxpr, JaxprEqn, Literal
from arrax.core.sequences import split_list
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.recorded_widths import recorded_settings
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.arithmetic import eq, ne
from arrax.lax.calls import bind_program, consts_as_inputs, core_call_p, jit_p, program_type_rule
from arrax.lax.control_flow.conditional_rules import bind_cond, cond_p
from arrax.lax.control_flow.loop_rules import bind_while, while_p
from arrax.lax.control_flow.scan_rules import bind_scan, scan_p, settings_of
from arrax.lax.control_flow.solves import linear_solve_p, root_p
from arrax.lax.custom_linear_calls import Hidden
from arrax.lax.custom_rules import custom_jvp_call_p, custom_vjp_call_p
from arrax.lax.reductions import reduce_or
from arrax.lax.remat import remat_p
from arrax.lax.runtime_checks import (
    ErrorCategory,
    FailedCheckError,
    Sites,
    check_effect,
    check_p,
    mapped_site,
    side_by_side,
)
from arrax.lax.selection import select
from arrax.lax.shapes import reshape
from arrax.lax.shard_maps import bind_shard_map, region_of, shard_map_p
from arrax.transforms.automatic_checks import Finding, check_equation, code_where, first_failure, join_findings

Errors = frozenset[ErrorCategory]
Rule = Callable[[JaxprEqn, Sequence[Any], Errors], "tuple[list[Finding], list[Any]] | None"]


class Checked(NamedTuple):
    """A checked program: ``(*args) -> (code, *payload, *outputs)``; it has no constants."""

    program: ClosedJaxpr
    sites: Sites
    payload_avals: list[Any]
    lost_checks: bool  # those that were not asked for

    @property
    def is_as_before(self) -> bool:
        """Whether there was nothing to add and nothing to take away."""
        return not self.sites and not self.lost_checks

    def split(self, outs: Sequence[Any]) -> tuple[list[Finding], list[Any]]:
        """The finding and the outputs among results."""
        (code,), payload, rest = split_list(outs, [1, len(self.payload_avals)])
        return [Finding(code, self.sites, payload)], rest

    def no_finding(self) -> list[Any]:
        """Code and payload of a program that was not run yet."""
        return [np.int32(0), *_zeros(self.payload_avals)]


def _zeros(avals: Sequence[Any]) -> list[Any]:
    return [np.zeros(aval.shape, aval.dtype) for aval in avals]


def walk(
    program: ClosedJaxpr, args: Sequence[Any], apply: Callable[[JaxprEqn, Sequence[Any]], Sequence[Any]]
) -> list[Any]:
    """The results of a program whose equations are applied by a function, of an equation and its operands, one by one."""
    jaxpr = program.jaxpr
    env: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*program.consts, *args], strict=True))
    scopes, source = context.scopes, context.source
    setting = recorded_settings(jaxpr)
    try:
        for eqn in jaxpr.eqns:
            values = [atom.val if type(atom) is Literal else env[atom] for atom in eqn.invars]
            context.source, names = eqn.source_info
            context.scopes = scopes + names
            with setting(eqn):
                env.update(zip(eqn.outvars, apply(eqn, values), strict=True))
    finally:
        context.scopes, context.source = scopes, source
    return [atom.val if type(atom) is Literal else env[atom] for atom in jaxpr.outvars]


def run_checked(program: ClosedJaxpr, args: Sequence[Any], errors: Errors) -> tuple[Finding, list[Any]]:
    """Apply the equations of a program, with their checks, in the current interpretation."""
    findings: list[Finding] = []

    def apply(eqn: JaxprEqn, values: Sequence[Any]) -> list[Any]:
        found, outs = _apply(eqn, values, errors)
        findings.extend(found)
        return outs

    outs = walk(program, args, apply)
    return join_findings(findings), outs


def _apply(eqn: JaxprEqn, values: Sequence[Any], errors: Errors) -> tuple[list[Finding], list[Any]]:
    rule = _RULES.get(eqn.primitive)
    if rule is None and eqn.primitive.type_rule is program_type_rule:  # of a library, it only calls its program
        rule = _call
    if rule is not None:
        ruled = rule(eqn, values, errors)
        if ruled is not None:
            return ruled
    out = context.interpreter.process(eqn.primitive, tuple(values), eqn.params)
    outs = list(out) if eqn.primitive.multiple_results else [out]
    if rule is not None:  # what is inside was looked at
        return [], outs
    return list(check_equation(eqn, values, outs, errors)), outs


def checked(program: ClosedJaxpr, errors: Errors) -> Checked:
    """The checked form of a program without constants; made once."""
    return program.memo(("checked", errors), lambda: _checked(program, errors))


def _checked(program: ClosedJaxpr, errors: Errors) -> Checked:
    found: list[tuple[Sites, list[Any]]] = []  # no tracers: they would outlive their trace

    def flat(*args: Any) -> list[Any]:
        finding, outs = run_checked(program, args, errors)
        found.append((finding.sites, [typeof(value) for value in finding.payload]))
        return [finding.code, *finding.payload, *outs]

    avals = program.in_avals
    jaxpr, consts = stage(flat, avals, program.jaxpr.debug_info)
    return Checked(ClosedJaxpr(jaxpr, consts), *found[0], check_effect in program.effects)


# ---- what calls programs ---------------------------------------------------------------------------------------------


def _check(eqn: JaxprEqn, values: Sequence[Any], errors: Errors) -> tuple[list[Finding], list[Any]]:
    code, *payload = values
    wanted = FailedCheckError in errors
    return [first_failure(code, eqn.params["sites"], payload)] if wanted else [], []


def _opened_call(program: ClosedJaxpr, values: Sequence[Any], errors: Errors) -> tuple[Checked, list[Any]]:
    """The checked form of a program, its constants as leading operands."""
    return checked(consts_as_inputs(program), errors), [*program.consts, *values]


def _call(eqn: JaxprEqn, values: Sequence[Any], errors: Errors) -> tuple[list[Finding], list[Any]] | None:
    inner, operands = _opened_call(eqn.params["jaxpr"], values, errors)
    if inner.is_as_before:
        return None
    return inner.split(bind_changed(eqn, inner.program, operands, len(operands) - len(values)))


def bind_changed(eqn: JaxprEqn, program: ClosedJaxpr, operands: Sequence[Any], added: int) -> list[Any]:
    """Call another program in the place of an equation's; so many of the operands, the first ones, are new."""
    params = eqn.params
    if not isinstance(params.get("prevent_cse", True), bool):
        params = {**params, "prevent_cse": (*[True] * added, *params["prevent_cse"])}
    return bind_program(eqn.primitive, program, operands, params)


def _cond(eqn: JaxprEqn, values: Sequence[Any], errors: Errors) -> tuple[list[Finding], list[Any]] | None:
    branches, platforms = eqn.params["branches"], eqn.params["branches_platforms"]
    forms = [checked(branch, errors) for branch in branches]
    if all(form.is_as_before for form in forms):
        return None
    sites, avals, places = side_by_side([(form.sites, form.payload_avals) for form in forms])
    joined = branches[0].memo(("checked cond", errors, branches), lambda: tuple(_padded(forms, avals, places)))
    outs = bind_cond(values[0], values[1:], joined, platforms)
    return Checked(joined[0], sites, avals, False).split(outs)


def _padded(forms: Sequence[Checked], avals: Sequence[Any], places: Sequence[Sequence[int]]) -> list[ClosedJaxpr]:
    """Checked branches that return the values of the checks of all of them: of these types, theirs in these slots."""
    ends = itertools.accumulate(len(form.sites) for form in forms)
    return [
        _pad(form, end - len(form.sites), avals, slots) for form, end, slots in zip(forms, ends, places, strict=True)
    ]


def _pad(own: Checked, before: int, avals: Sequence[Any], slots: Sequence[int]) -> ClosedJaxpr:
    def flat(*args: Any) -> list[Any]:
        program = own.program
        (found,), outs = own.split(eval_jaxpr(program.jaxpr, program.consts, *args))
        code = found.code if not before else select(eq(found.code, np.int32(0)), found.code, found.code + before)
        payload = _zeros(avals)
        for slot, value in zip(slots, found.payload, strict=True):
            payload[slot] = value
        return [code, *payload, *outs]

    return ClosedJaxpr(*stage(flat, own.program.in_avals, own.program.jaxpr.debug_info))


def _shard_map(eqn: JaxprEqn, values: Sequence[Any], errors: Errors) -> tuple[list[Finding], list[Any]] | None:
    """Each device has its own finding; the messages tell of all that failed."""
    params = eqn.params
    region, whole = region_of(params), consts_as_inputs(params["jaxpr"])
    operands = [*params["jaxpr"].consts, *values]

    def make() -> tuple[Checked, ClosedJaxpr]:
        with region.entered():
            inner = _checked(whole, errors)

            def flat(*args: Any) -> list[Any]:
                outs = eval_jaxpr(inner.program.jaxpr, inner.program.consts, *args)
                head, rest = split_list(outs, [1 + len(inner.payload_avals)])
                return [*(reshape(value, (1, *typeof(value).shape)) for value in head), *rest]

            return inner, ClosedJaxpr(*stage(flat, whole.in_avals, whole.jaxpr.debug_info))

    inner, program = params["jaxpr"].memo(("checked shard_map", errors, region), make)
    if inner.is_as_before:
        return None
    count = 1 + len(inner.payload_avals)
    axes = tuple(name for name in region.mesh.axis_names if name in region.axes)
    ins = (*[PartitionSpec()] * (len(operands) - len(values)), *params["in_specs"])
    outs_specs = (*[PartitionSpec(axes)] * count, *params["out_specs"])
    outs = bind_shard_map(program, operands, region, ins, outs_specs, params["name"])
    found, rest = split_list(outs, [count])
    failed = reduce_or(ne(found[0], np.int32(0)), (0,))
    return [Finding(code_where(failed), (mapped_site(inner.sites, count - 1),), found)], rest


def _kept(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Code and payload after one more step of a loop: the first failure stays."""
    ongoing = eq(old[0], np.int32(0))
    return [select(ongoing, after, before) for before, after in zip(old, new, strict=True)]


def _scan(eqn: JaxprEqn, values: Sequence[Any], errors: Errors) -> tuple[list[Finding], list[Any]] | None:
    params = eqn.params
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    inner = checked(params["jaxpr"], errors)
    if inner.is_as_before:
        return None
    count = 1 + len(inner.payload_avals)

    def make() -> ClosedJaxpr:
        def body(*args: Any) -> list[Any]:
            consts, old, rest = split_list(args, [num_consts, count])
            outs = eval_jaxpr(inner.program.jaxpr, inner.program.consts, *consts, *rest)
            return [*_kept(old, outs[:count]), *outs[count:]]

        consts, rest = split_list(inner.program.in_avals, [num_consts])
        return ClosedJaxpr(*stage(body, [*consts, *map(_strong, inner.program.out_avals[:count]), *rest]))

    program = params["jaxpr"].memo(("checked scan", errors, num_consts), make)
    consts, init, xs = split_list(values, [num_consts, num_carry])
    return inner.split(bind_scan(program, consts, [*inner.no_finding(), *init], xs, settings_of(params)))


def _strong(aval: ShapedArray) -> ShapedArray:
    return aval.update(weak_type=False)


def _while(eqn: JaxprEqn, values: Sequence[Any], errors: Errors) -> tuple[list[Finding], list[Any]] | None:
    params = eqn.params
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    forms = [checked(program, errors) for program in (cond, body)]
    if all(form.is_as_before for form in forms):
        return None
    sizes = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts, carry = split_list(values, sizes)
    first = eval_jaxpr(forms[0].program.jaxpr, forms[0].program.consts, *cond_consts, *carry)
    step, test = body.memo(("checked while", errors, cond), lambda: _checked_loop(forms[0], forms[1], sizes))
    going = first[-1]
    count = len(forms[0].payload_avals) + 1, len(forms[1].payload_avals) + 1
    unrun = forms[1].no_finding()
    outs = bind_while(test, step, [], [*cond_consts, *body_consts], [going, *first[: count[0]], *unrun, *carry])
    _, after, inside, final = split_list(outs, [1, *count])
    # the condition of a step fails after the steps before it: which came first was settled in the loop
    return [Finding(after[0], forms[0].sites, after[1:]), Finding(inside[0], forms[1].sites, inside[1:])], final


def _checked_loop(cond: Checked, body: Checked, sizes: tuple[int, int]) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """(step, test) of a loop that carries (whether it goes on, findings of the condition, those of the body, carry)."""
    counts = len(cond.payload_avals) + 1, len(body.payload_avals) + 1

    def step(*args: Any) -> list[Any]:
        cond_consts, body_consts, _, old_cond, old_body, carry = split_list(args, [*sizes, 1, *counts])
        outs = eval_jaxpr(body.program.jaxpr, body.program.consts, *body_consts, *carry)
        clean = eq(old_cond[0], np.int32(0))
        found = [select(clean, outs[0], np.int32(0)), *outs[1 : counts[1]]]
        new_body, following = _kept(old_body, found), outs[counts[1] :]
        tested = eval_jaxpr(cond.program.jaxpr, cond.program.consts, *cond_consts, *following)
        clean = eq(new_body[0], np.int32(0))
        found = [select(clean, tested[0], np.int32(0)), *tested[1 : counts[0]]]
        return [tested[-1], *_kept(old_cond, found), *new_body, *following]

    states = [
        *map(_strong, cond.program.out_avals[: counts[0]]), *map(_strong, body.program.out_avals[: counts[1]])
    ]  # fmt: skip
    going, carry = cond.program.out_avals[-1], body.program.in_avals[sizes[1] :]
    consts = [*cond.program.in_avals[: sizes[0]], *body.program.in_avals[: sizes[1]]]
    carried = [going, *states, *carry]
    return (
        ClosedJaxpr(*stage(step, [*consts, *carried])),
        ClosedJaxpr(*stage(lambda first, *rest: [first], carried)),
    )


def _solve(eqn: JaxprEqn, values: Sequence[Any], errors: Errors) -> tuple[list[Finding], list[Any]]:
    """The solver runs once more for its own checks, so that the solve keeps its derivatives."""
    programs, params, found = eqn.params["jaxprs"], eqn.params, list[Finding]()
    if check_effect in programs.solve.effects:
        *groups, rest = split_list(values, params["const_lengths"])
        inner = checked(programs.solve, errors)
        consts = groups[programs._fields.index("solve")]
        found = inner.split(eval_jaxpr(inner.program.jaxpr, inner.program.consts, *consts, *rest))[0]
        plain = {name: unchecked(one) for name, one in programs._asdict().items() if one is not None}
        params = {**params, "jaxprs": programs._replace(**plain)}
    outs = list(context.interpreter.process(eqn.primitive, tuple(values), params))
    return [*found, *check_equation(eqn, values, outs, errors)], outs


def unchecked(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program without its checks."""

    def flat(*args: Any) -> list[Any]:
        return run_checked(program, args, frozenset())[1]

    return program.memo("unchecked", lambda: ClosedJaxpr(*stage(flat, program.in_avals, program.jaxpr.debug_info)))


# ---- functions with rules of their own -------------------------------------------------------------------------------


def _without_checks(fun: Callable[..., list[Any]], args: Sequence[Any]) -> list[Any]:
    """Call a rule that differentiation chose: its function is checked already, and derivatives are not."""
    jaxpr, consts = stage(fun, [typeof(arg) for arg in args])
    return run_checked(ClosedJaxpr(jaxpr, consts), args, frozenset({FailedCheckError}))[1]


def _run_jvp_rule(rule: Hidden, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    given = [t for t in tangents if type(t) is not Zero]
    zeros: list[Any] = []

    def plain(*args: Any) -> list[Any]:
        row, rest = args[: len(primals)], iter(args[len(primals) :])
        outs, found = rule.call(row, [t if type(t) is Zero else next(rest) for t in tangents])
        zeros[:] = [t if type(t) is Zero else None for t in found]
        return [*outs, *(t for t in found if type(t) is not Zero)]

    values = _without_checks(plain, [*primals, *given])
    outs, rest = values[: len(zeros)], iter(values[len(zeros) :])
    return outs, [next(rest) if zero is None else zero for zero in zeros]


def _custom_jvp(eqn: JaxprEqn, values: Sequence[Any], errors: Errors) -> tuple[list[Finding], list[Any]] | None:
    inner, operands = _opened_call(eqn.params["call_jaxpr"], values, errors)
    if inner.is_as_before:
        return None
    params, program = eqn.params, inner.program
    skipped = params["num_consts"] + len(operands) - len(values)
    count = 1 + len(inner.payload_avals)
    rule = params["jvp_jaxpr_fun"]

    def flat(*args: Any) -> list[Any]:
        return eval_jaxpr(program.jaxpr, program.consts, *args)

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        found = flat(*primals)[:count]
        outs, out_tangents = _run_jvp_rule(rule, primals[skipped:], tangents[skipped:])
        return [*found, *outs], [*(Zero.of(value) for value in found), *out_tangents]

    changed = {"fun": flat, "call_jaxpr": None, "jvp_jaxpr_fun": Hidden(jvp, rule.name), "num_consts": 0}
    return inner.split(custom_jvp_call_p.bind(*operands, **{**params, **changed}))


def _custom_vjp(eqn: JaxprEqn, values: Sequence[Any], errors: Errors) -> tuple[list[Finding], list[Any]] | None:
    inner, operands = _opened_call(eqn.params["call_jaxpr"], values, errors)
    if inner.is_as_before:
        return None
    params, program = eqn.params, inner.program
    skipped = params["num_consts"] + len(operands) - len(values)
    count = 1 + len(inner.payload_avals)
    forward, backward = params["fwd_jaxpr_thunk"], params["bwd"]

    def flat(*args: Any) -> list[Any]:
        return eval_jaxpr(program.jaxpr, program.consts, *args)

    def fwd(primals: Sequence[Any], nonzero: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        counts: list[int] = []

        def plain(*args: Any) -> list[Any]:
            outs, residuals = forward.call(args, tuple(nonzero[skipped:]))
            counts.append(len(outs))
            return [*outs, *residuals]

        values = _without_checks(plain, primals[skipped:])
        return [*flat(*primals)[:count], *values[: counts[0]]], values[counts[0] :]

    def bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        return [*[None] * skipped, *backward.call(residuals, cts[count:])]

    changed = {
        "fun": flat, "call_jaxpr": None, "fwd_jaxpr_thunk": Hidden(fwd, forward.name),
        "bwd": Hidden(bwd, backward.name), "num_consts": 0,
    }  # fmt: skip
    return inner.split(custom_vjp_call_p.bind(*operands, **{**params, **changed}))


_RULES: dict[Primitive, Rule] = {
    check_p: _check, jit_p: _call, core_call_p: _call, remat_p: _call, cond_p: _cond, shard_map_p: _shard_map, scan_p: _scan, while_p: _while,
    custom_jvp_call_p: _custom_jvp, custom_vjp_call_p: _custom_vjp, root_p: _solve, linear_solve_p: _solve,
}  # fmt: skip


def rule_of(primitive: Primitive) -> Rule:
    """How an operation that runs programs is checked."""
    return _RULES[primitive]
