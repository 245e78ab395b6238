"""The primitive ``shard_map``: a program that each device of a mesh runs on its pieces of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import Primitive, Tracer
from arrax.core.manual_regions import Region, Specs
from arrax.core.partition_specs import PartitionSpec, spec_names
from arrax.core.program import ClosedJaxpr, JaxprEqn, Var
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.ad.forward import jvp_jaxpr
from arrax.interpreters.ad.partial import Partial, split_program
from arrax.interpreters.ad.transpose import is_undefined_primal, transpose_program
from arrax.interpreters.batching import AxisData, batch_at, batch_program, running_batch
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.lowering import builder, sharding_text
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import inline_program
from arrax.interpreters.ordering import in_order, program_with_tokens
from arrax.interpreters.placements import placements_of_primitive, placements_of_results
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax import collective_lowering as _collective_lowering  # noqa: F401  (how collectives are lowered)
from arrax.lax.arithmetic import div, scalar
from arrax.lax.calls import bind_program
from arrax.lax.collective_rules import psum_p
from arrax.lax.shapes import reshape
from arrax.lax.tokens import after_all_p
from arrax.xla.shardings import NamedSharding

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.batching import Batch
    from arrax.xla.arrays import ArrayLike

shard_map_p = Primitive("shard_map", multiple_results=True)
shard_map_p.holds_programs = True
shard_map_p.hidden_params = frozenset({"name"})


def region_of(params: dict[str, Any]) -> Region:
    """The region that the parameters describe."""
    return Region(params["mesh"], params["newly_manual_axes"], params["check_vma"])


shard_map_p.around = lambda params: region_of(params).entered()


def bind_shard_map(
    program: ClosedJaxpr, args: Sequence[Any], region: Region, ins: Specs, outs: Specs, name: str
) -> list[Any]:
    """Run a program per device."""
    extra = len(program.consts) if any(isinstance(const, Tracer) for const in program.consts) else 0
    params = {
        "mesh": region.mesh, "in_specs": ((PartitionSpec(),) * extra + tuple(ins)), "out_specs": tuple(outs), "check_vma": region.tracked,
        "newly_manual_axes": region.axes, "name": name,
    }  # fmt: skip
    return bind_program(shard_map_p, program, args, params)


def _again(params: dict[str, Any], program: ClosedJaxpr, args: Sequence[Any], ins: Specs, outs: Specs) -> list[Any]:
    """Run another program in the same region."""
    return bind_shard_map(program, args, region_of(params), ins, outs, params["name"])


def _types(*avals: ShapedArray, jaxpr: ClosedJaxpr, out_specs: Specs, **params: Any) -> list[Any]:
    region = region_of(params)
    return [region.whole(aval, spec) for aval, spec in zip(jaxpr.out_avals, out_specs, strict=True)]


# ---- derivatives -----------------------------------------------------------------------------------------------------


def _jvp(
    primals: Sequence[ArrayLike],
    tangents: Sequence[Tangent],
    *,
    jaxpr: ClosedJaxpr,
    in_specs: Specs,
    out_specs: Specs,
    **params: Any,
) -> Any:
    nonzeros = [type(t) is not Zero for t in tangents]
    with region_of(params).entered():
        derived, out_nonzeros = jvp_jaxpr(jaxpr, nonzeros)
    given = [t for t in tangents if type(t) is not Zero]
    ins = (*in_specs, *_chosen(in_specs, nonzeros))
    outs = _again(params, derived, [*primals, *given], ins, (*out_specs, *_chosen(out_specs, out_nonzeros)))
    values, rest = outs[: len(out_specs)], iter(outs[len(out_specs) :])
    return values, [
        next(rest) if nz else Zero(typeof(out).to_tangent_aval()) for out, nz in zip(values, out_nonzeros, strict=True)
    ]


def _chosen(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [value for value, flag in zip(values, flags, strict=True) if flag]


def _partial_eval(interpreter: Partial, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    program, region = params["jaxpr"], region_of(params)
    ins, outs = params["in_specs"], params["out_specs"]
    unknown = [interpreter.is_unknown(arg) for arg in args]
    known, rest, out_unknown, residual_specs = program.memo(
        ("shard_map split", tuple(unknown)), lambda: _split(program, region, unknown)
    )
    is_known = [not u for u in unknown]
    fixed = {name: value for name, value in params.items() if name not in ("jaxpr", "in_specs", "out_specs")}
    known_outs: list[Any] = []
    if known.jaxpr.outvars or known.effects:
        specs = (*_chosen(outs, [not u for u in out_unknown]), *residual_specs)
        given = {"jaxpr": known, "in_specs": tuple(_chosen(ins, is_known)), "out_specs": specs, **fixed}
        known_outs = interpreter.evaluate(shard_map_p, _chosen(args, is_known), given)
    count = len(out_unknown) - sum(out_unknown)
    values, residuals = iter(known_outs[:count]), known_outs[count:]
    recorded: list[Any] = []
    if any(out_unknown):
        given = {
            "jaxpr": rest, "in_specs": (*residual_specs, *_chosen(ins, unknown)),
            "out_specs": tuple(_chosen(outs, out_unknown)), **fixed,
        }  # fmt: skip
        recorded = interpreter.record(shard_map_p, [*residuals, *_chosen(args, unknown)], given)
    waiting = iter(recorded)
    return [next(waiting) if u else next(values) for u in out_unknown]


def _split(program: ClosedJaxpr, region: Region, unknown: Sequence[bool]) -> tuple[Any, Any, list[bool], Specs]:
    """The known part and the rest; residuals that differ between devices get an axis along which they can be joined."""
    with region.entered():
        split = split_program(program, unknown)
        specs = tuple(region.residual_spec(aval) for aval in split.residual_avals)
        scalars = [aval.ndim == 0 and len(spec) > 0 for aval, spec in zip(split.residual_avals, specs, strict=True)]
        count = len(split.out_unknown) - sum(split.out_unknown)

        def known_part(*args: Any) -> list[Any]:
            outs = eval_jaxpr(split.known.jaxpr, split.known.consts, *args)
            lifted = [reshape(x, (1,)) if s else x for x, s in zip(outs[count:], scalars, strict=True)]
            return [*outs[:count], *lifted]

        def rest_part(*args: Any) -> list[Any]:
            residuals = [reshape(x, ()) if s else x for x, s in zip(args, scalars, strict=False)]
            return eval_jaxpr(split.rest.jaxpr, split.rest.consts, *residuals, *args[len(scalars) :])

        if not any(scalars):
            return split.known, split.rest, split.out_unknown, specs
        known = ClosedJaxpr(*stage(known_part, split.known.in_avals))
        residual_avals = known.out_avals[count:]
        rest = ClosedJaxpr(*stage(rest_part, [*residual_avals, *split.rest.in_avals[len(scalars) :]]))
    return known, rest, split.out_unknown, specs


def _transpose(
    cts: Sequence[Any], *args: Any, jaxpr: ClosedJaxpr, in_specs: Specs, out_specs: Specs, **params: Any
) -> list[Any]:
    region = region_of(params)
    linear = [is_undefined_primal(arg) for arg in args]
    nonzero = [type(ct) is not Zero for ct in cts]
    with region.entered():
        derived, out_nonzero = transpose_program(jaxpr, linear, nonzero)
    known = [not flag for flag in linear]
    ins = (*_chosen(in_specs, known), *_chosen(out_specs, nonzero))
    outs = tuple(_chosen(_chosen(in_specs, linear), out_nonzero))
    if not region.tracked:
        key = ("shard_map transpose", tuple(linear), tuple(nonzero), ins, outs)
        derived = jaxpr.memo(key, lambda: _with_shares(derived, region, sum(known), ins, outs))
    given = [*_chosen(args, known), *_chosen(cts, nonzero)]
    results, flags = iter(_again(params, derived, given, ins, outs)), iter(out_nonzero)
    return [
        (next(results) if next(flags) else Zero(arg.aval.to_tangent_aval())) if is_linear else None
        for arg, is_linear in zip(args, linear, strict=True)
    ]


def _with_shares(program: ClosedJaxpr, region: Region, known: int, ins: Specs, outs: Specs) -> ClosedJaxpr:
    """The transposed program where nothing is known of how values vary: each device takes its share of a cotangent that
    all have, and gives its part of one that all are to have."""
    sizes = dict(region.mesh.shape_tuple)

    def shared(ct: Any, spec: PartitionSpec) -> Any:
        count = math.prod(sizes[name] for name in region.unmentioned(spec))
        return ct if count == 1 or _is_float0(ct) else div(ct, scalar(count, ct))

    def summed(ct: Any, spec: PartitionSpec) -> Any:
        names = region.unmentioned(spec)
        return psum_p.bind(ct, axes=names, axis_index_groups=None) if names and not _is_float0(ct) else ct

    def whole(*args: Any) -> list[Any]:
        cts = [shared(ct, spec) for ct, spec in zip(args[known:], ins[known:], strict=True)]
        results = eval_jaxpr(program.jaxpr, program.consts, *args[:known], *cts)
        return [summed(ct, spec) for ct, spec in zip(results, outs, strict=True)]

    with region.entered():
        return ClosedJaxpr(*stage(whole, program.in_avals))


def _is_float0(value: Any) -> bool:
    return typeof(value).dtype == dtypes.float0


# ---- batching and dead code ------------------------------------------------------------------------------------------


def _batch(
    values: Sequence[ArrayLike],
    dims: Sequence[int],
    *,
    jaxpr: ClosedJaxpr,
    in_specs: Specs,
    out_specs: Specs,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    batch, region = running_batch(), region_of(params)
    mapped = [dim is not None for dim in dims]
    names = _axes_of_batch(batch, region, (*in_specs, *out_specs))
    with region.entered():
        if names and region.tracked:
            jaxpr = jaxpr.memo(("varying", tuple(mapped), names), lambda: _varying(jaxpr, mapped, names))
        size = batch.size // region.counts(PartitionSpec(names), 1)[0]
        spmd_name = None if names else batch.axis.spmd_name
        axis = AxisData(batch.axis.name, size, spmd_name, region.division_inside(batch.axis.division))
        derived, out_mapped = batch_program(jaxpr, axis, mapped)
    ins = tuple(PartitionSpec(names, *spec) if m else spec for spec, m in zip(in_specs, mapped, strict=True))
    outs = tuple(PartitionSpec(names, *spec) if m else spec for spec, m in zip(out_specs, out_mapped, strict=True))
    moved = [batch_at(x, d, batch.axis) if d is not None else x for x, d in zip(values, dims, strict=True)]
    return _again(params, derived, moved, ins, outs), [0 if m else None for m in out_mapped]


def _axes_of_batch(batch: Batch, region: Region, specs: Specs) -> tuple[Any, ...]:
    """The mesh axes that divide a batch, as types or ``spmd_axis_name`` say, without those that the program itself uses."""
    names = batch.axis.spmd_name if batch.axis.division is None else batch.axis.explicit_mesh_axis
    names = () if names is None else names if isinstance(names, tuple) else (names,)
    free = region.axes - {name for spec in specs for name in spec_names(spec)}
    count = region.counts(PartitionSpec(names), 1)[0] if free.issuperset(names) else 0
    return names if count and batch.size % count == 0 and batch.axis_name is None else ()


def _varying(program: ClosedJaxpr, mapped: Sequence[bool], names: tuple[Any, ...]) -> ClosedJaxpr:
    """The program where mapped inputs vary over more mesh axes."""
    avals = [
        aval.update(vma=aval.vma | frozenset(names)) if m else aval
        for aval, m in zip(program.in_avals, mapped, strict=True)
    ]
    return ClosedJaxpr(*stage(lambda *args: eval_jaxpr(program.jaxpr, program.consts, *args), avals))


def _dce(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    program: ClosedJaxpr = eqn.params["jaxpr"]
    if not any(used) and not eqn.effects:
        return None

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        lean, kept = dce_jaxpr(program.jaxpr, used)
        return program.replace(jaxpr=lean), kept

    lean, kept = program.memo(("dce", tuple(used)), make)
    specs = {
        "in_specs": tuple(_chosen(eqn.params["in_specs"], kept)),
        "out_specs": tuple(_chosen(eqn.params["out_specs"], used)),
    }
    return eqn.replace(
        invars=_chosen(eqn.invars, kept), outvars=_chosen(eqn.outvars, used),
        params={**eqn.params, "jaxpr": lean, **specs}, effects=lean.effects,
    )  # fmt: skip


# ---- ordered effects -------------------------------------------------------------------------------------------------


def _with_token(eqn: JaxprEqn, token: Var, after: Var) -> list[JaxprEqn]:
    params = eqn.params
    if params["mesh"].size == 1:
        ins, outs = ((PartitionSpec(), *params[name]) for name in ("in_specs", "out_specs"))
        changed = {**params, "jaxpr": program_with_tokens(params["jaxpr"]), "in_specs": ins, "out_specs": outs}
        return [eqn.replace(invars=[token, *eqn.invars], outvars=[after, *eqn.outvars], params=changed)]
    refused = [effect for effect in eqn.effects if effect.ordered and not effect.per_device]
    if refused:
        raise ValueError(
            f"ordered effects are not supported on more than 1 device, but {params['name']} runs on {params['mesh'].size} "
            f"devices in shard_map or pmap, with the effect {refused[0]}: leave out ordered=True"
        )
    program = params["jaxpr"].memo("in order", lambda: params["jaxpr"].replace(jaxpr=in_order(params["jaxpr"].jaxpr)))
    passed_on = JaxprEqn([token], [after], after_all_p, {})
    return [eqn.replace(params={**params, "jaxpr": program}), passed_on]


# ---- lowering --------------------------------------------------------------------------------------------------------


def _lower(
    ctx: LoweringContext, *args: Value, jaxpr: ClosedJaxpr, in_specs: Specs, out_specs: Specs, **params: Any
) -> list[Value]:
    module, region = ctx.module_context, region_of(params)
    if module.num_devices == 1 and region.mesh.size > 1:
        raise ValueError(
            f"shard_map: the mesh {region.mesh} has no devices; pass arrays with a NamedSharding on its devices, or put "
            "them in force by arrax.set_mesh"
        )
    outside, module.manual = (module.manual, module.manual_axes), region
    module.manual_axes = (module.manual_axes or frozenset()) | region.axes
    try:
        if module.num_devices == 1:
            return inline_program(module, jaxpr, args, "shard_map")
        if out_specs:
            return _manual_computation(module, args, jaxpr, region, in_specs, out_specs)
        everywhere, number = PartitionSpec(), builder.constant(np.int32(0))
        _manual_computation(
            module, [*args, number], _with_result(jaxpr), region, (*in_specs, everywhere), (everywhere,)
        )
        return []
    finally:
        module.manual, module.manual_axes = outside


def _with_result(program: ClosedJaxpr) -> ClosedJaxpr:
    """A program without results as one that hands a number on.

    Shardy takes a region without results for none, and calls of the host in it would belong to no device.
    """
    number = Var(ShapedArray((), np.dtype(np.int32)))
    return program.replace(program.jaxpr.replace(invars=[*program.jaxpr.invars, number], outvars=[number]))


def _manual_computation(
    module: Any, args: Sequence[Any], jaxpr: ClosedJaxpr, region: Region, in_specs: Specs, out_specs: Specs
) -> list[Any]:
    mesh = region.mesh
    symbol = sharding_text.mesh_symbol(module, mesh)
    partly = len(region.axes) < len(mesh.axis_names)

    def layouts(avals: Sequence[ShapedArray], specs: Specs) -> Any:
        texts = [
            f"<@{symbol}, {sharding_text.spec_text(mesh, spec, builder.physical_aval(aval).ndim, partly)}>"
            for aval, spec in zip(avals, specs, strict=True)
        ]
        return builder.attribute(f"#sdy.sharding_per_value<[{', '.join(texts)}]>")

    names = ", ".join(sharding_text.axis_text(mesh, name) for name in region.ordered(region.axes))
    outs = [region.whole(aval, spec) for aval, spec in zip(jaxpr.out_avals, out_specs, strict=True)]
    attributes = {
        "in_shardings": layouts(jaxpr.in_avals, in_specs), "out_shardings": layouts(jaxpr.out_avals, out_specs),
        "manual_axes": builder.attribute(f"#sdy<manual_axes{{{names}}}>"),
    }  # fmt: skip
    made = builder.operation("sdy.manual_computation", [builder.ir_type(aval) for aval in outs], args, attributes, 1)
    block = builder.block_with(made, 0, jaxpr.in_avals)
    with builder.inside(block):
        builder.operation("sdy.return", [], inline_program(module, jaxpr, list(block.arguments), "shard_map"))
    return list(made.results)


def result_shardings(params: dict[str, Any]) -> list[Any]:
    """How the results lie where the operation runs by itself: as their specs say."""
    mesh, region = params["mesh"], region_of(params)
    if mesh._internal_device_list is None:
        return []
    results = zip(params["jaxpr"].out_avals, params["out_specs"], strict=True)
    return [NamedSharding(mesh, region.joined(aval, spec)) for aval, spec in results]


shard_map_p.type_rule = _types
shard_map_p.effects_rule = lambda *avals, jaxpr, **params: jaxpr.effects
shard_map_p.jvp = _jvp
shard_map_p.partial_eval = _partial_eval
shard_map_p.transpose = _transpose
shard_map_p.batch = _batch
shard_map_p.dce = _dce
shard_map_p.with_token = _with_token
shard_map_p.lower[None] = _lower
placements_of_primitive[shard_map_p] = lambda params: params["mesh"]
placements_of_results[shard_map_p] = result_shardings
