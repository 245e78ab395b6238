"""Reverse mode through ``scan``: what is known of a loop runs first, the linear rest runs backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from arrax.core.interpreter import Primitive, context
from arrax.core.program import ClosedJaxpr, Jaxpr, Literal, Var, no_effects
from arrax.core.sequences import split_list
from arrax.core.types import Zero, instantiate, slots
from arrax.interpreters.ad.partial import Partial, split_program
from arrax.interpreters.ad.transpose import is_undefined_primal, transpose_program
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.calls import jit_p
from arrax.lax.control_flow.scan_rules import bind_scan, scan_p, scan_params, settings_of
from arrax.lax.control_flow.staged_functions import either, rearranged, selected, unselected
from arrax.xla.arrays import Array


class ScanSplit(NamedTuple):
    """A scan split into a known one and the rest.

    Attributes:
      known: the body over known consts, carry and xs -> (*known carry, *known ys, *stacked residuals).
      hoisted: (*known consts) -> residuals that are the same in every step and have to be computed; None without any.
      rest: the body of the rest: (*consts, *carry, *xs); its first consts and xs are residuals.
      const_sources, xs_sources: where those come from, such as ("const", n); the kinds are the pools of ``run_known``.
      carry_unknown, ys_unknown: which results belong to the rest.
      known_consts, known_xs: which known consts and xs the known body uses.
    """

    known: ClosedJaxpr
    hoisted: ClosedJaxpr | None
    rest: ClosedJaxpr
    const_sources: list[tuple[str, int]]
    xs_sources: list[tuple[str, int]]
    carry_unknown: list[bool]
    ys_unknown: list[bool]
    known_consts: list[bool]
    known_xs: list[bool]


def split_scan(program: ClosedJaxpr, num_consts: int, num_carry: int, unknown: Sequence[bool]) -> ScanSplit:
    """Split the body of a scan by which operands are unknown; once per program."""
    key = ("scan split", num_consts, num_carry, tuple(unknown))
    return program.memo(key, lambda: _split_scan(program, *split_list(unknown, [num_consts, num_carry])))


def _split_scan(program: ClosedJaxpr, const_uk: list[bool], carry_uk: list[bool], xs_uk: list[bool]) -> ScanSplit:
    ys_count = len(program.out_avals) - len(carry_uk)
    while True:
        split = split_program(program, [*const_uk, *carry_uk, *xs_uk], [*carry_uk, *[False] * ys_count])
        out_carry, ys_uk = split_list(split.out_unknown, [len(carry_uk)])
        if out_carry == carry_uk:
            break
        carry_uk = either(carry_uk, out_carry)
    jaxpr = split.known.jaxpr
    known_carry, known_ys = len(carry_uk) - sum(carry_uk), ys_count - sum(ys_uk)
    results = known_carry + known_ys
    const_vars, _, xs_vars = split_list(jaxpr.invars, [len(const_uk) - sum(const_uk), known_carry])
    sources = _sources(jaxpr, const_vars, xs_vars, known_carry, results)
    stacked, hoisted = (
        list(dict.fromkeys(index for kind, index in sources if kind == wanted)) for wanted in ("stacked", "hoisted")
    )
    sources = [
        (kind, {"stacked": stacked, "hoisted": hoisted}[kind].index(n) if kind in ("stacked", "hoisted") else n)
        for kind, n in sources
    ]
    known = rearranged(split.known, range(len(jaxpr.invars)), [*range(results), *stacked])
    lean, kept = dce_jaxpr(
        known.jaxpr, [True] * len(known.out_avals),
        [False] * len(const_vars) + [True] * known_carry + [False] * len(xs_vars),
    )  # fmt: skip
    known_consts, _, known_xs = split_list(kept, [len(const_vars), known_carry])
    outside = _program_of(split.known, hoisted, const_vars) if hoisted else None
    # the rest takes (*residuals, *consts, *carry, *xs): residuals that are equal in all steps become consts, others xs
    invariant = [kind in ("const", "hoisted") for kind, _ in sources]
    indices = split_list(range(len(split.rest.in_avals)), [len(sources), sum(const_uk), sum(carry_uk)])
    order = [
        *selected(indices[0], invariant),
        *indices[1],
        *indices[2],
        *unselected(indices[0], invariant),
        *indices[3],
    ]
    rest = rearranged(split.rest, order, range(len(split.rest.out_avals)))
    return ScanSplit(
        known.replace(jaxpr=lean), outside, rest, selected(sources, invariant), unselected(sources, invariant),
        carry_uk, ys_uk, known_consts, known_xs,
    )  # fmt: skip


def _sources(
    jaxpr: Jaxpr, const_vars: Sequence[Var], xs_vars: Sequence[Var], known_carry: int, results: int
) -> list[tuple[str, int]]:
    """For each residual of a known body, where to take it from: ("stacked", output) where each step has its own."""
    consts, xs = ({var: n for n, var in enumerate(variables)} for variables in (const_vars, xs_vars))
    ys = {atom: n for n, atom in enumerate(jaxpr.outvars[known_carry:results]) if isinstance(atom, Var)}
    invariant: set[Var] = {*const_vars, *jaxpr.constvars}
    for eqn in jaxpr.eqns:
        if not eqn.effects and all(isinstance(atom, Literal) or atom in invariant for atom in eqn.invars):
            invariant.update(eqn.outvars)
    found: list[tuple[str, int]] = []
    first: dict[Any, int] = {}
    for index, atom in enumerate(jaxpr.outvars[results:], results):
        position = first.setdefault(atom, index) if isinstance(atom, Var) else index
        if isinstance(atom, Literal) or (atom in invariant and atom not in consts):
            found.append(("hoisted", position))
        elif atom in consts:
            found.append(("const", consts[atom]))
        elif atom in xs:
            found.append(("xs", xs[atom]))
        elif atom in ys:
            found.append(("ys", ys[atom]))
        else:
            found.append(("stacked", position))
    return found


def _program_of(program: ClosedJaxpr, outputs: Sequence[int], inputs: Sequence[Var]) -> ClosedJaxpr:
    """The part of a program that makes some outputs, which need only some inputs and no effects."""
    jaxpr = program.jaxpr
    eqns = [eqn for eqn in jaxpr.eqns if not eqn.effects]
    part = jaxpr.replace(eqns=eqns, outvars=[jaxpr.outvars[i] for i in outputs], effects=no_effects)
    keep = set(inputs)
    lean, _ = dce_jaxpr(part, [True] * len(outputs), [var in keep for var in jaxpr.invars])
    return program.replace(jaxpr=lean)


def run_known(
    split: ScanSplit, evaluate: Callable[..., list[Any]], consts: Sequence[Any], init: Sequence[Any], xs: Sequence[Any],
    settings: dict[str, Any],
) -> tuple[list[Any], list[Any], list[Any]]:  # fmt: skip
    """Run the known part on known operands.

    Args:
      evaluate: function of a primitive, its operands and its parameters.
    Returns: known results, then the residual consts and the residual xs of the rest.
    """
    operands = [*selected(consts, split.known_consts), *init, *selected(xs, split.known_xs)]
    outs: list[Any] = []
    if split.known.out_avals or split.known.effects:
        outs = evaluate(scan_p, operands, scan_params(split.known, sum(split.known_consts), len(init), settings))
    hoisted: list[Any] = []
    if split.hoisted is not None:
        hoisted = evaluate(jit_p, consts, {"jaxpr": split.hoisted, "name": "loop_invariants"})
    results = len(split.carry_unknown) - sum(split.carry_unknown) + len(split.ys_unknown) - sum(split.ys_unknown)
    pools = {"const": consts, "hoisted": hoisted, "xs": xs, "ys": outs[len(init) : results], "stacked": outs[results:]}
    const_residuals, xs_residuals = (
        [pools[kind][n] for kind, n in sources] for sources in (split.const_sources, split.xs_sources)
    )
    return outs[:results], const_residuals, xs_residuals


def _partial_eval(interpreter: Partial, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    sizes = params["num_consts"], params["num_carry"]
    settings = settings_of(params)
    unknown = [interpreter.is_unknown(arg) for arg in args]
    split = split_scan(params["jaxpr"], *sizes, unknown)
    const_uk, _, xs_uk = split_list(unknown, sizes)
    consts, init, xs = split_list(args, sizes)
    known_init = unselected(init, split.carry_unknown)
    known, const_residuals, xs_residuals = run_known(
        split, interpreter.evaluate, unselected(consts, const_uk), known_init, unselected(xs, xs_uk), settings
    )
    out_unknown = [*split.carry_unknown, *split.ys_unknown]
    recorded: list[Any] = []
    if any(out_unknown):
        rest_consts = [*const_residuals, *selected(consts, const_uk)]
        rest_init = selected(init, split.carry_unknown)
        rest_xs = [*xs_residuals, *selected(xs, xs_uk)]
        operands = [*rest_consts, *rest_init, *rest_xs]
        linear = [interpreter.is_unknown(operand) for operand in operands]
        recorded = interpreter.record(
            scan_p, operands, scan_params(split.rest, len(rest_consts), len(rest_init), settings, linear)
        )
    values, waiting = iter(known), iter(recorded)
    return [next(waiting) if u else next(values) for u in out_unknown]


# ---- transposition ---------------------------------------------------------------------------------------------------


def _transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    program, sizes, settings = params["jaxpr"], (params["num_consts"], params["num_carry"]), settings_of(params)
    linear = [is_undefined_primal(arg) for arg in args]
    split = split_scan(program, *sizes, linear)
    consts, init, xs = split_list(args, sizes)
    const_lin, init_lin, xs_lin = split_list(linear, sizes)
    if all(split.carry_unknown):  # nothing but the linear carry goes round: no known part to run first
        ct_consts, ct_init, ct_xs = _run_backwards(
            program, cts, unselected(consts, const_lin), unselected(xs, xs_lin), (const_lin, xs_lin), sizes, settings
        )
    else:  # such as the counter of a loop over indices
        _, const_residuals, xs_residuals = run_known(
            split,
            _bind,
            unselected(consts, const_lin),
            unselected(init, split.carry_unknown),
            unselected(xs, xs_lin),
            settings,
        )
        flags = (
            [False] * len(const_residuals) + [True] * sum(const_lin), [False] * len(xs_residuals) + [True] * sum(xs_lin)
        )  # fmt: skip
        ct_consts, carry, ct_xs = _run_backwards(
            split.rest, selected(cts, [*split.carry_unknown, *split.ys_unknown]), const_residuals, xs_residuals, flags,
            (len(flags[0]), sum(split.carry_unknown)), settings,
        )  # fmt: skip
        rest = iter(carry)
        ct_init = [next(rest) if u else None for u in split.carry_unknown]
    found_consts, found_xs = iter(ct_consts), iter(ct_xs)
    return [
        *(next(found_consts) if lin else None for lin in const_lin),
        *(ct if lin else None for ct, lin in zip(ct_init, init_lin, strict=True)),
        *(next(found_xs) if lin else None for lin in xs_lin),
    ]


def _bind(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    return context.interpreter.process(primitive, tuple(operands), params)


def _run_backwards(
    program: ClosedJaxpr, cts: Sequence[Any], consts: Sequence[Any], xs: Sequence[Any],
    linear: tuple[list[bool], list[bool]], sizes: tuple[int, int], settings: dict[str, Any],
) -> tuple[list[Any], list[Any], list[Any]]:  # fmt: skip
    """Cotangents of the linear consts, the carry and the linear xs of a scan that is linear in its whole carry."""
    num_carry = sizes[1]
    ct_carry, ct_ys = split_list(cts, [num_carry])
    nonzero = [type(ct) is not Zero for ct in cts]
    key = ("scan transpose", *sizes, tuple(linear[0]), tuple(linear[1]), tuple(nonzero))
    body, const_nz, carry_nz, xs_nz = program.memo(
        key, lambda: _transposed_body(program, *linear, *split_list(nonzero, [num_carry]))
    )
    const_avals, _, xs_avals = split_list([aval.to_tangent_aval() for aval in program.in_avals], sizes)
    const_avals, xs_avals = selected(const_avals, linear[0]), selected(xs_avals, linear[1])
    sums = [slots.zeros(aval) for aval in selected(const_avals, const_nz)]
    init = [*sums, *(instantiate(ct) for ct in selected(ct_carry, carry_nz))]
    ys = [ct for ct in ct_ys if type(ct) is not Zero]
    flags = [False] * len(consts) + [True] * len(init) + [False] * len(xs) + [True] * len(ys)
    outs = bind_scan(body, consts, init, [*xs, *ys], {**settings, "reverse": not settings["reverse"]}, flags)
    found = iter(outs)

    def results(flags: Sequence[bool], avals: Sequence[Any]) -> list[Any]:
        return [next(found) if nz else Zero(aval) for nz, aval in zip(flags, avals, strict=True)]

    carry_avals = [aval.to_tangent_aval() for aval in program.in_avals[sizes[0] : sum(sizes)]]
    length = settings["length"]
    stacked = [aval.update(shape=(length, *aval.shape)) for aval in xs_avals]
    return results(const_nz, const_avals), results(carry_nz, carry_avals), results(xs_nz, stacked)


def _transposed_body(
    program: ClosedJaxpr, const_lin: list[bool], xs_lin: list[bool], carry_nz: list[bool], ys_nz: list[bool]
) -> tuple[ClosedJaxpr, list[bool], list[bool], list[bool]]:
    """The body of the backward scan: (*consts, *sums, *ct_carry, *xs, *ct_ys) -> (*sums, *ct_carry, *ct_xs)."""
    count = len(carry_nz)
    linear = [*const_lin, *[True] * count, *xs_lin]
    while True:
        derived, out_nz = transpose_program(program, linear, [*carry_nz, *ys_nz])
        const_nz, new_nz, xs_nz = split_list(out_nz, [sum(const_lin), count])
        if either(carry_nz, new_nz) == carry_nz:
            break
        carry_nz = either(carry_nz, new_nz)
    consts, carry, xs = split_list(program.in_avals, [len(const_lin), count])
    sum_avals = [aval.to_tangent_aval() for aval in selected(selected(consts, const_lin), const_nz)]
    carry_avals = [aval.to_tangent_aval() for aval in selected(program.out_avals[:count], carry_nz)]
    y_avals = [aval.to_tangent_aval() for aval in selected(program.out_avals[count:], ys_nz)]
    known_consts, known_xs = unselected(consts, const_lin), unselected(xs, xs_lin)

    def body(*values: Array) -> list[Any]:
        residuals, sums, ct_carry, x, ct_y = split_list(
            values, [len(known_consts), len(sum_avals), len(carry_avals), len(known_xs)]
        )
        outs = eval_jaxpr(derived.jaxpr, derived.consts, *residuals, *x, *ct_carry, *ct_y)
        terms, rest = split_list(outs, [len(sum_avals)])
        found = iter(rest[: sum(new_nz)])
        following = [
            next(found) if has else slots.zeros(aval.to_tangent_aval())
            for aval, has, nz in zip(carry, new_nz, carry_nz, strict=True)
            if nz
        ]
        return [*map(slots.add, sums, terms), *following, *rest[sum(new_nz) :]]

    avals = [*known_consts, *sum_avals, *carry_avals, *known_xs, *y_avals]
    return ClosedJaxpr(*stage(body, avals, program.jaxpr.debug_info)), const_nz, carry_nz, xs_nz


scan_p.partial_eval = _partial_eval
scan_p.transpose = _transpose
