"""The primitive ``cond``: run one of several programs, chosen by an index; its meaning to every interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.effects import refuse_repetition
from arrax.core.interpreter import Primitive, context
from arrax.core.program import ClosedJaxpr, JaxprEqn, Var, no_effects
from arrax.core.types import ShapedArray, Zero, joined_varying, slots, typeof
from arrax.interpreters.ad.forward import Derive, jvp_jaxpr
from arrax.interpreters.ad.partial import Partial, Split, split_program
from arrax.interpreters.ad.transpose import is_undefined_primal, transpose_program
from arrax.interpreters.batching import batch_at, batch_program, only_maps, running_batch
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import inline_program
from arrax.interpreters.ordering import program_with_tokens
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.arithmetic import eq
from arrax.lax.barriers import stop_gradient
from arrax.lax.control_flow.staged_functions import either, selected, unselected
from arrax.lax.conversion import convert
from arrax.lax.selection import select_n
from arrax.lax.shape_slots import shape_slots

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.xla.arrays import Array, ArrayLike

Branches = tuple[ClosedJaxpr, ...]


class Conditional(Primitive):
    """The choice among branches."""

    def bind(
        self, index: ArrayLike, *operands: Any, linear: Sequence[bool] | None = None,
        branches_platforms: Sequence[Any] | None = None, **params: Any,
    ) -> Any:  # fmt: skip
        """Apply the operation; libraries say neither which operands are linear nor what platforms branches are for."""
        linear = (False,) * len(operands) if linear is None else tuple(linear)
        return super().bind(index, *operands, **params, linear=linear, branches_platforms=branches_platforms)


cond_p = Conditional("cond", multiple_results=True)
cond_p.hidden_params = frozenset({"branches_platforms"})
cond_p.holds_programs = True

platform_index_p = Primitive("platform_index")
platform_index_p.type_rule = lambda *, platforms: ShapedArray((), np.int32)


def joined_avals(branches: Branches) -> list[ShapedArray]:
    """Types of the results: weak only where every branch's output is."""
    first = branches[0].out_avals
    if all(branch.out_avals == first for branch in branches[1:]):
        return first
    columns = zip(*[branch.out_avals for branch in branches], strict=True)
    return [
        column[0].update(weak_type=all(a.weak_type for a in column), vma=frozenset().union(*(a.vma for a in column)))
        if isinstance(column[0], ShapedArray)
        else column[0]
        for column in columns
    ]


def _effects(*avals: Any, branches: Branches, **params: Any) -> frozenset[Any]:
    return no_effects.union(*(branch.effects for branch in branches))


def bind_cond(
    index: ArrayLike,
    operands: Sequence[Any],
    branches: Branches,
    branches_platforms: Sequence[Any] | None = None,
    linear: tuple[bool, ...] | None = None,
) -> list[ArrayLike]:
    """Run branch ``index`` on the operands."""
    return cond_p.bind(index, *operands, branches=branches, linear=linear, branches_platforms=branches_platforms)


def _memo(branches: Branches, key: tuple, make: Callable[[], Any]) -> tuple[Any, ...]:
    return branches[0].memo(("cond", *key, branches), make)


# ---- derivatives -----------------------------------------------------------------------------------------------------


def differentiated_branches(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, branches: Branches, linear: tuple[bool, ...],
    branches_platforms: tuple[tuple[str, ...] | None, ...] | None, derive: Derive = jvp_jaxpr, kind: str = "jvp",
) -> tuple[Any, Any]:  # fmt: skip
    """The jvp rule, with another way to differentiate programs if asked for.

    Args:
      derive: like ``jvp_jaxpr``. kind: what it gives.
    """
    index, *operands = primals
    nonzeros = [type(t) is not Zero for t in tangents[1:]]
    out_nonzeros = [False] * len(branches[0].out_avals)
    for branch in branches:
        out_nonzeros = either(out_nonzeros, derive(branch, nonzeros)[1])
    derived = tuple(derive(branch, nonzeros, out_nonzeros)[0] for branch in branches)
    given = selected(tangents[1:], nonzeros)
    flags = (*linear, *[True] * len(given))
    outs = bind_cond(index, [*operands, *given], derived, branches_platforms, flags)
    count = len(out_nonzeros)
    rest = iter(outs[count:])
    return outs[:count], [
        next(rest) if nz else Zero(typeof(out).to_tangent_aval())
        for nz, out in zip(out_nonzeros, outs[:count], strict=True)
    ]


def _partial_eval(interpreter: Partial, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    index, *operands = args
    branches: Branches = params["branches"]
    if interpreter.is_unknown(index):
        return interpreter.record(cond_p, args, params)
    unknown = [interpreter.is_unknown(x) for x in operands]
    known, rest, forwarded, out_unknown, residual_count = _memo(
        branches, ("split", tuple(unknown)), lambda: _split(branches, unknown)
    )
    known_operands = unselected(operands, unknown)
    branches_platforms = params["branches_platforms"]
    known_outs: list[Any] = []
    if known[0].jaxpr.outvars:
        known_params = {
            "branches": known,
            "linear": (False,) * len(known_operands),
            "branches_platforms": branches_platforms,
        }
        known_outs = interpreter.evaluate(cond_p, [index, *known_operands], known_params)
    known_count = len(known_outs) - residual_count
    values, residuals = iter(known_outs[:known_count]), known_outs[known_count:]
    recorded: list[Any] = []
    if any(out_unknown):
        rest_operands = [*(known_operands[k] for k in forwarded), *residuals, *selected(operands, unknown)]
        flags = [False] * (len(forwarded) + len(residuals)) + [True] * sum(unknown)
        rest_params = {"branches": rest, "linear": tuple(flags), "branches_platforms": branches_platforms}
        recorded = interpreter.record(cond_p, [index, *rest_operands], rest_params)
    waiting = iter(recorded)
    return [next(waiting) if u else next(values) for u in out_unknown]


def _split(branches: Branches, unknown: list[bool]) -> tuple[Branches, Branches, list[int], list[bool], int]:
    """The branches split in two, with residuals in common slots: those of one type in different branches share one.

    Returns: known branches (*known operands) -> (*known outputs, *slots); rest branches (*forwarded known operands,
      *slots, *unknown operands) -> unknown outputs; which known operands are forwarded; which outputs are unknown;
      number of slots.
    """
    out_unknown = [False] * len(branches[0].out_avals)
    for branch in branches:
        out_unknown = either(out_unknown, split_program(branch, unknown).out_unknown)
    splits = [split_program(branch, unknown, out_unknown) for branch in branches]
    known_count = len(out_unknown) - sum(out_unknown)
    origins: list[list[tuple[str, Any]]] = []  # for each branch and residual: a forwarded operand, or a slot
    for split in splits:
        numbers = {var: n for n, var in enumerate(split.known.jaxpr.invars)}
        taken: dict[Any, int] = {}
        own: list[tuple[str, Any]] = []
        for atom in split.known.jaxpr.outvars[known_count:]:
            if isinstance(atom, Var) and atom in numbers:
                own.append(("operand", numbers[atom]))
                continue
            aval = atom.aval
            own.append(("slot", (aval, taken.get(aval, 0))))
            taken[aval] = taken.get(aval, 0) + 1
        origins.append(own)
    forwarded = sorted({where for own in origins for kind, where in own if kind == "operand"})
    slots_used = list(dict.fromkeys(where for own in origins for kind, where in own if kind == "slot"))
    known = tuple(
        _known_branch(split.known, known_count, own, slots_used) for split, own in zip(splits, origins, strict=True)
    )
    rest = tuple(
        _rest_branch(split.rest, own, forwarded, slots_used, selected(branch.in_avals, unknown), split)
        for branch, split, own in zip(branches, splits, origins, strict=True)
    )
    return known, rest, forwarded, out_unknown, len(slots_used)


def _known_branch(known: ClosedJaxpr, count: int, own: list[tuple[str, Any]], slots_used: list[Any]) -> ClosedJaxpr:
    def branch(*operands: Array) -> list[Any]:
        outs = eval_jaxpr(known.jaxpr, known.consts, *operands)
        mine = {where: x for (kind, where), x in zip(own, outs[count:], strict=True) if kind == "slot"}
        return [*outs[:count], *(mine[slot] if slot in mine else slots.zeros(slot[0]) for slot in slots_used)]

    return ClosedJaxpr(*stage(branch, known.in_avals, known.jaxpr.debug_info))


def _rest_branch(
    rest: ClosedJaxpr,
    own: list[tuple[str, Any]],
    forwarded: list[int],
    slots_used: list[Any],
    avals: list[Any],
    split: Split,
) -> ClosedJaxpr:
    operand_avals = split.known.in_avals

    def branch(*values: Array) -> list[Any]:
        passed = dict(zip(forwarded, values, strict=False))
        filled = dict(zip(slots_used, values[len(forwarded) :], strict=False))
        residuals = [passed[where] if kind == "operand" else filled[where] for kind, where in own]
        return eval_jaxpr(rest.jaxpr, rest.consts, *residuals, *values[len(forwarded) + len(slots_used) :])

    in_avals = [*(operand_avals[k] for k in forwarded), *(slot[0] for slot in slots_used), *avals]
    return ClosedJaxpr(*stage(branch, in_avals, rest.jaxpr.debug_info))


def _transpose(
    cts: Sequence[Any],
    index: ArrayLike,
    *operands: Any,
    branches: Branches,
    linear: tuple[bool, ...],
    branches_platforms: tuple[tuple[str, ...] | None, ...] | None,
) -> list[Any]:
    undefined = [is_undefined_primal(x) for x in operands]
    nonzero = [type(ct) is not Zero for ct in cts]
    key = ("transpose", tuple(undefined), tuple(nonzero))
    derived, out_nonzero = _memo(branches, key, lambda: _transposed(branches, undefined, nonzero))
    known = unselected(operands, undefined)
    outs = iter(bind_cond(index, [*known, *selected(cts, nonzero)], derived, branches_platforms))
    flags = iter(out_nonzero)
    return [
        None,
        *(
            (next(outs) if next(flags) else Zero(x.aval.to_tangent_aval())) if is_undefined_primal(x) else None
            for x in operands
        ),
    ]


def _transposed(branches: Branches, undefined: list[bool], nonzero: list[bool]) -> tuple[Branches, list[bool]]:
    pairs = [transpose_program(branch, undefined, nonzero) for branch in branches]
    union = [any(flags) for flags in zip(*(flags for _, flags in pairs), strict=True)]
    avals = [aval.to_tangent_aval() for aval in selected(branches[0].in_avals, undefined)]
    return tuple(_with_zeros(program, flags, union, avals) for program, flags in pairs), union


def _with_zeros(program: ClosedJaxpr, has: list[bool], union: list[bool], avals: list[Any]) -> ClosedJaxpr:
    """A program that gives some of the outputs, made to give zeros for those that others give."""
    if has == union:
        return program

    def branch(*values: Array) -> list[Any]:
        outs = iter(eval_jaxpr(program.jaxpr, program.consts, *values))
        return [next(outs) if h else slots.zeros(aval) for h, aval, u in zip(has, avals, union, strict=True) if u]

    return ClosedJaxpr(*stage(branch, program.in_avals, program.jaxpr.debug_info))


# ---- batching --------------------------------------------------------------------------------------------------------


def _batch(
    values: Sequence[ArrayLike], dims: Dims, *, branches: Branches, linear: tuple[bool, ...], branches_platforms: Any
) -> tuple[list[ArrayLike], list[int | None]]:
    axis = running_batch().axis
    index, *operands = values
    index_dim, *operand_dims = dims
    mapped = [dim is not None for dim in operand_dims]
    operands = [x if d is None else batch_at(x, d, axis) for x, d in zip(operands, operand_dims, strict=True)]

    def batched(
        branch: ClosedJaxpr, forced: bool | list[bool], rows: list[bool] = mapped
    ) -> tuple[ClosedJaxpr, list[bool]]:
        return batch_program(branch, axis, rows, forced)

    if index_dim is not None:
        refuse_repetition(_effects(branches=branches), "a conditional whose branch depends on an axis mapped by vmap")
        return _batch_index(index, operands, mapped, linear, branches, batched)
    out_mapped = [False] * len(branches[0].out_avals)
    for branch in branches:
        out_mapped = either(out_mapped, batched(branch, False)[1])
    derived = tuple(batched(branch, out_mapped)[0] for branch in branches)
    return bind_cond(index, operands, derived, branches_platforms, linear), [0 if m else None for m in out_mapped]


def _batch_index(
    index: ArrayLike,
    operands: list[Any],
    mapped: list[bool],
    linear: Sequence[bool],
    branches: Branches,
    batched: Callable[..., Any],
) -> tuple[list[Any], list[int | None]]:
    """Each example has its own branch: all of them run, then each example gets the results of its own.

    Where a derivative may follow, a branch gets its operands without their tangents in the examples that do not take it:
    NaNs of its derivatives there would reach gradients, as products with zero.
    """
    forwarded = _forwarded(branches)
    axis = running_batch().axis
    inexact = [dtypes.is_inexact(aval.dtype) and not dtypes.is_extended(aval.dtype) for aval in branches[0].in_avals]
    follows = not only_maps(context.interpreter)  # derivatives may
    cut = [follows and one and not tangent for one, tangent in zip(inexact, linear, strict=True)]
    rows = [m or c for m, c in zip(mapped, cut, strict=True)]
    wide = [batch_at(x, None, axis) if c and not m else x for x, m, c in zip(operands, mapped, cut, strict=True)]
    results = []
    for number, branch in enumerate(branches):
        program = batched(branch, True, rows)[0]
        taken = eq(index, _constant_like(index, number)) if any(cut) else None
        own = [_tangents_where(taken, x) if c else x for x, c in zip(wide, cut, strict=True)]
        results.append(eval_jaxpr(program.jaxpr, program.consts, *own))
    outs = [
        _select(index, [convert_weak(x, aval) for x in xs], len(branches))
        for aval, *xs in zip(joined_avals(branches), *results, strict=True)
    ]
    pairs = [
        (out, 0) if n is None else (operands[n], 0 if mapped[n] else None)
        for out, n in zip(outs, forwarded, strict=True)
    ]
    return [out for out, _ in pairs], [dim for _, dim in pairs]


def _forwarded(branches: Branches) -> list[int | None]:
    """For each result, the operand that every branch hands on as it is, if there is one."""
    found: list[int | None] = []
    for atoms in zip(*(branch.jaxpr.outvars for branch in branches), strict=True):
        operands_handed_on = {
            branch.jaxpr.invars.index(atom) if isinstance(atom, Var) and atom in branch.jaxpr.invars else None
            for branch, atom in zip(branches, atoms, strict=True)
        }
        found.append(operands_handed_on.pop() if len(operands_handed_on) == 1 else None)
    return found


def _constant_like(index: ArrayLike, number: int) -> ArrayLike:
    return np.asarray(number, typeof(index).dtype)[()]


def _tangents_where(taken: Array | None, x: ArrayLike) -> Array:
    """``x``, a constant to derivatives but in the examples where ``taken`` holds."""
    shape = typeof(x).shape
    return select_n(shape_slots.broadcast_in_dim(taken, shape, (0,)), stop_gradient(x), x)


def convert_weak(x: ArrayLike, aval: ShapedArray) -> Array:
    """A branch's output with the weakness of the result."""
    return convert(x, aval.dtype, aval.weak_type) if isinstance(aval, ShapedArray) else x


def _select(index: ArrayLike, cases: list[Any], count: int) -> Array:
    """Choose among outputs by an index per example, whose axis is in front."""
    if count == 1:
        return cases[0]
    which = convert(index, np.bool_) if count == 2 else index
    shape = typeof(cases[0]).shape
    return select_n(shape_slots.broadcast_in_dim(which, shape, (0,)), *cases)


# ---- ordered effects --------------------------------------------------------------------------------------------------


def _with_token(eqn: JaxprEqn, token: Var, after: Var) -> list[JaxprEqn]:
    """All branches take a token and give one, whether they have effects or not."""
    branches = tuple(map(program_with_tokens, eqn.params["branches"]))
    index, *operands = eqn.invars
    params = {**eqn.params, "branches": branches, "linear": (False, *eqn.params["linear"])}
    return [eqn.replace(invars=[index, token, *operands], outvars=[after, *eqn.outvars], params=params)]


# ---- dead code, types, lowering --------------------------------------------------------------------------------------


def _dce(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    if not any(used) and not eqn.effects:
        return None
    branches: Branches = eqn.params["branches"]
    lean, kept = _memo(branches, ("dce", tuple(used)), lambda: _lean(branches, list(used)))
    return eqn.replace(
        invars=[eqn.invars[0], *selected(eqn.invars[1:], kept)],
        outvars=selected(eqn.outvars, used),
        params={**eqn.params, "branches": lean, "linear": tuple(selected(eqn.params["linear"], kept))},
    )


def _lean(branches: Branches, used: list[bool]) -> tuple[Branches, list[bool]]:
    kept = [False] * len(branches[0].in_avals)
    for branch in branches:
        kept = either(kept, dce_jaxpr(branch.jaxpr, used)[1])
    return tuple(branch.replace(jaxpr=dce_jaxpr(branch.jaxpr, used, kept)[0]) for branch in branches), kept


def _lower(
    ctx: LoweringContext,
    index: Value,
    *operands: Value,
    branches: Branches,
    linear: tuple[bool, ...],
    branches_platforms: tuple[tuple[str, ...], ...] | None,
) -> list[Value]:
    module = ctx.module_context
    if branches_platforms is not None:
        return inline_program(module, branches[platform_choice(branches_platforms, ctx.platform)], operands, "")
    if len(branches) == 1:
        return inline_program(module, branches[0], operands, "")
    types = [builder.ir_type(aval) for aval in ctx.avals_out]
    operation = builder.operation("stablehlo.case", types, [index], None, len(branches))
    for number, branch in enumerate(branches):
        with builder.inside(builder.block_with(operation, number, ())):
            builder.return_(inline_program(module, branch, operands, f"cond/branch_{number}_fun"))
    return list(operation.results)


def platform_choice(platforms: Sequence[tuple[str, ...] | None], platform: str) -> int:
    """The branch for a platform: the one that names it, or the default (None).

    Raises:
      NotImplementedError: there is neither.
    """
    names = {platform, "gpu"} if platform in ("cuda", "rocm") else {platform}
    for number, own in enumerate(platforms):
        if own is None or names & set(own):
            return number
    raise NotImplementedError(f"platform_dependent has no branch for platform {platform} and no default")


def _check_types(index: ShapedArray, *operands: Any, branches: Branches, **params: Any) -> list[ShapedArray]:
    outs = joined_avals(branches)
    return joined_varying(outs, [index] * len(outs)) if context.tracks_varying else outs


def _by_operation(index: Array, *operands: Any, branches: Branches, **params: Any) -> list[Any]:
    branch = branches[min(max(int(index), 0), len(branches) - 1)]
    return eval_jaxpr(branch.jaxpr, branch.consts, *operands)


cond_p.type_rule = _check_types
cond_p.by_operation = _by_operation
cond_p.effects_rule = _effects
cond_p.jvp = differentiated_branches
cond_p.partial_eval = _partial_eval
cond_p.transpose = _transpose
cond_p.batch = _batch
cond_p.dce = _dce
cond_p.with_token = _with_token
cond_p.lower[None] = _lower
platform_index_p.lower[None] = lambda ctx, *, platforms: [
    builder.constant(np.int32(platform_choice(platforms, ctx.platform)))
]
