"""From a program to a module: one function per nested program, each equation by its primitive's lowering rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes, native
from arrax.core import config, errors
from arrax.core.name_stacks import metadata_of
from arrax.core.program import ClosedJaxpr, Jaxpr, Literal, Var
from arrax.core.types import ShapedArray, elements_of, typeof
from arrax.interpreters.lowering import builder, sharding_text
from arrax.interpreters.lowering.contexts import LoweringContext, ModuleContext
from arrax.interpreters.lowering.locations import LIBRARY, NOWHERE, Origin, is_users, noted_in
from arrax.interpreters.lowering.symbol_values import symbols_from, symbols_of
from arrax.interpreters.platform_forms import with_forms
from arrax.interpreters.staging import stage
from arrax.xla.arrays import Array

if TYPE_CHECKING:
    from arrax.core.interpreter import Primitive
    from arrax.core.manual_regions import Region
    from arrax.interpreters.annotations import Value
    from arrax.native.mlir import ir

Rule = Callable[..., Sequence[Any]]


def find_rule(primitive: Primitive, platform: str) -> Rule:
    """The lowering rule of a primitive for a platform, or its general one."""
    rule = primitive.lower.get(platform)
    if rule is None and platform in ("cuda", "rocm"):
        rule = primitive.lower.get("gpu")
    rule = primitive.lower.get(None) if rule is None else rule
    if rule is None:
        raise NotImplementedError(
            f"MLIR translation rule for primitive '{primitive.name}' not found for platform {platform}"
        )
    return rule


def lower_eqns(
    ctx: ModuleContext, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Value], inside: Origin | str | None = ""
) -> list[Value]:
    """Lower the equations of a program at the current insertion point; returns its outputs.

    Args:
      inside: what holds the program; None where all of it is lowered from what is being lowered.
    """
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    literals: dict[Any, Any] = {}

    def read(atom: Any) -> Value:
        return _literal(atom, literals) if type(atom) is Literal else env[atom]

    outer, note = ctx.origin, ctx.locations.record.append
    try:
        for eqn in jaxpr.eqns:
            if inside is not None:
                ctx.origin = (eqn, inside, None)
                note(ctx.origin)
            primitive, outvars = eqn.primitive, eqn.outvars
            rule = find_rule(primitive, ctx.platform)
            operands = [read(atom) for atom in eqn.invars]
            rule_ctx = LoweringContext(
                ctx, primitive, [atom.aval for atom in eqn.invars], [var.aval for var in outvars],
                eqn.source_info.names, None, eqn,
            )  # fmt: skip
            first = len(ctx.locations.record)
            out = rule(rule_ctx, *operands, **eqn.params)
            metadata = metadata_of(eqn.source_info.names)
            if metadata:
                _tell(metadata, ctx.locations.record[first:])
            if len(out) != len(outvars):
                raise ValueError(
                    f"lowering rule of '{primitive.name}' gave {len(out)} results, expected {len(outvars)}"
                )
            if ctx.num_devices > 1:
                out = [_as_typed(ctx, value, var.aval) for value, var in zip(out, outvars, strict=True)]
            env.update(zip(outvars, out, strict=True))
    except Exception as error:
        if is_users(inside):
            errors.blame(error, eqn)
        raise
    ctx.origin = outer
    note(outer)
    return [read(atom) for atom in jaxpr.outvars]


def _tell(metadata: dict[str, str], operations: Sequence[Any]) -> None:
    """Let operations have what the user's scopes tell the compiler of them."""
    for each in operations:
        if type(each) is not tuple and len(each.results) and each.operation.name != "stablehlo.constant":
            builder.add_metadata(each, metadata)


def _as_typed(ctx: ModuleContext, value: Value, aval: ShapedArray) -> Value:
    """A result, divided by explicit axes of the mesh as its type says."""
    if aval.explicit is None or isinstance(aval.dtype, dtypes.ExtendedDType):
        return value
    mesh = aval.explicit.mesh
    own = ctx.mesh is not None and ctx.mesh.abstract_mesh == mesh
    sharding = aval.explicit.update(mesh=ctx.mesh) if own else aval.explicit
    return sharding_text.constrain(ctx, value, sharding, not mesh.are_all_axes_explicit)


def _literal(atom: Literal, made: dict[Any, Any]) -> Value:
    value, aval = atom.val, atom.aval
    array = np.asarray(value)
    if array.dtype != aval.dtype and aval.dtype != dtypes.float0:
        with np.errstate(all="ignore"):
            array = array.astype(aval.dtype)
    key = (aval.dtype, array.tobytes())
    found = made.get(key)
    if found is None:
        found = made[key] = builder.constant(array)
    return found


def inner_function(ctx: ModuleContext, name: str, program: ClosedJaxpr, inside: str | None = "") -> ir.Operation:
    """The private function of a nested program: lowered once per module. ``inside`` as in ``lower_eqns``."""
    key = id(program)
    found = ctx.functions.get(key)
    if found is None:
        ctx.keepalives.append(program)
        found = ctx.functions[key] = _function(ctx, ctx.fresh_name(name), program, inside)
    return found


def call_program(
    ctx: ModuleContext, name: str, program: ClosedJaxpr, args: Sequence[Value], one_kernel: bool = False,
    apart: bool = False, shown_as: str | None = None,
) -> list[Value]:  # fmt: skip
    """Call the function of a nested program; ``one_kernel`` and ``apart`` as in ``call_function``.

    Args:
      shown_as: what stands for the call in the names of operations; None for a function of the library, whose operations
        have the line of the call.
    """
    if builder.symbols.values is not None:  # functions of their own would have to be told the lengths
        return inline_program(ctx, program, args, shown_as or None)
    function = inner_function(ctx, name, program, LIBRARY if shown_as is None else "")
    if shown_as is not None:
        ctx.show_as(shown_as)
    types = [builder.ir_type(aval) for aval in program.out_avals]
    callee = native.mlir.ir.StringAttr(function.attributes["sym_name"]).value
    return call_function(callee, types, args, one_kernel, apart)


# XLA's CPU compiler runs a loop as a sequence of launched kernels, one or more per iteration, unless the call around it
# carries this mark, with which its own passes mark loops over little data: then the loop becomes native code. Other
# compilers ignore the mark.
_ONE_KERNEL = '{inlineable = "false", xla_cpu_small_call = "true"}'
_APART = '{inlineable = "false"}'


def call_function(
    name: str, types: Sequence[Any], args: Sequence[Value], one_kernel: bool = False, apart: bool = False
) -> list[Value]:
    """Call a function of the module.

    Args:
      one_kernel: whether the CPU compiler is to make native code of the whole function, loops included.
      apart: whether the compiler is to keep the function apart: none of its operations is fused with others around it.
    """
    attributes = {"callee": native.mlir.ir.FlatSymbolRefAttr.get(name)}
    if one_kernel or apart:
        attributes["mhlo.frontend_attributes"] = builder.attribute(_ONE_KERNEL if one_kernel else _APART)
    return list(builder.operation("func.call", types, args, attributes).results)


def inline_program(
    ctx: ModuleContext, program: ClosedJaxpr, args: Sequence[Any], shown_as: str | None = None
) -> list[Any]:
    """Lower a nested program in place.

    Args:
      shown_as: what stands for it in the names of its operations, such as ``while/body``; None where all of them are
        named as what is being lowered.
    """
    inside = None if shown_as is None or ctx.origin is NOWHERE else (*ctx.origin[:2], shown_as)
    return lower_eqns(ctx, program.jaxpr, lower_consts(program), args, inside)


def lower_consts(program: ClosedJaxpr) -> list[Any]:
    """Constants of a program as constant operations."""
    return [ir_constant(value) for value in program.consts]


def ir_constant(value: Any, aval: ShapedArray | None = None) -> Value:
    """A constant operation for any concrete value, whose type may be given.

    Raises:
      TypeError: what only describes an array.
    """
    aval = typeof(value) if aval is None else aval
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return builder.constant(np.asarray(value._base_array))
    return builder.constant(elements_of(value), aval)


def _empty_function(
    ctx: ModuleContext, name: str, in_types: Sequence[Any], out_types: Sequence[Any], public: bool
) -> tuple[ir.Operation, ir.Block]:
    """A new function of the module, and the block of its body."""
    ir = native.mlir.ir
    attributes = {
        "sym_name": builder.string(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(in_types, out_types)),
        "sym_visibility": builder.string("public" if public else "private"),
    }
    with ir.InsertionPoint(ctx.module.body):
        function = builder.operation("func.func", [], [], attributes, 1)
    return function, function.regions[0].blocks.append(*in_types, arg_locs=[ir.Location.unknown()] * len(in_types))


def _function(
    ctx: ModuleContext, name: str, program: ClosedJaxpr, inside: str | None, public: bool = False
) -> ir.Operation:
    """The function of a program; ``inside`` as in ``lower_eqns``."""
    in_types = [builder.ir_type(aval) for aval in program.in_avals]
    out_types = [builder.ir_type(aval) for aval in program.out_avals]
    function, block = _empty_function(ctx, name, in_types, out_types, public)
    outer, ctx.origin = ctx.origin, NOWHERE
    ctx.locations.record.append(NOWHERE)
    with builder.inside(block), symbols_from(program.in_avals, block.arguments):
        outs = lower_eqns(ctx, program.jaxpr, lower_consts(program), list(block.arguments), inside)
        if public and ctx.platform == "cpu" and program.effects and len(outs) == 1:
            outs = [_behind_barrier(outs[0], program.out_avals[0])]
        builder.operation("func.return", [], outs)
    ctx.origin = outer
    ctx.locations.record.append(outer)
    return function


def _behind_barrier(value: Value, aval: ShapedArray) -> Value:
    """The only result of a program with effects, as an operation of its own.

    XLA's CPU compiler fuses a product of matrices with a sum over it, and fails where the product itself is all that a program
    returns (jaxlib 0.10.2). That takes another user of the sum, such as a print. A barrier alone is gone too early.
    """
    if not isinstance(aval, ShapedArray) or not dtypes.is_inexact(aval.dtype) or builder.symbols.values is not None:
        return value
    wide = aval.update(shape=(1, *aval.shape))
    (kept,) = builder.operation(
        "stablehlo.optimization_barrier", [builder.ir_type(wide)], [builder.op("reshape", wide, value)]
    ).results
    return builder.op("reshape", aval, kept)


def lower_module(
    program: ClosedJaxpr,
    name: str,
    platform: str,
    *,
    argument_attributes: Sequence[dict[str, str]] = (),
    result_attributes: Sequence[dict[str, str]] = (),
    argument_names: Sequence[str] = (),
    devices: Sequence[Any] | None = None,
    mesh: Any = None,
    in_shardings: Sequence[Any] = (),
    out_shardings: Sequence[Any] = (),
    num_replicas: int = 1,
    manual: Region | None = None,
    platforms: Sequence[str] = (),
    portable: bool = False,
    stem: str = "jit",
) -> tuple[Any, ModuleContext]:
    """The module of a program whose constants have become inputs or are to be embedded.

    Args:
      argument_attributes: for each input, texts of MLIR attributes such as ``{"tf.aliasing_output": "0 : i32"}``.
      argument_names: of the inputs, for locations.
      devices: of a program for several, in the order of its partitions. mesh: a mesh of them.
      in_shardings, out_shardings: for such a program, how each input and output is laid out; None leaves it to the compiler.
      num_replicas: how many devices run the program, each with data of its own. manual: the region whose axes these lie over.
      platforms: several that the program is for, whose number is its first argument.
      portable: the program is not for this process only, so it consists of the compiler's own operations.
      stem: what made the program: the names of the module and of its operations begin with it.
    """
    ir = native.mlir.ir
    num_devices = 1 if devices is None else len(devices)
    with builder.ir_context(), ir.Location.unknown():
        module = ir.Module.create()
        attributes = module.operation.attributes
        attributes["sym_name"] = builder.string(re.sub(r"[^\w.-]", "_", f"{stem}_{name}"))
        attributes["mhlo.num_partitions"] = builder.integer(num_devices, 32)
        attributes["mhlo.num_replicas"] = builder.integer(num_replicas, 32)
        here = platform == "cpu" and num_devices == num_replicas == 1 and not portable
        ctx = ModuleContext(module, platform, num_devices, here and config.cpu_kernels.value)
        ctx.portable = portable
        ctx.names["main"], ctx.devices, ctx.mesh, ctx.manual = 1, devices, mesh, manual
        ctx.program = _formed(ctx, program)
        with noted_in(ctx.locations):
            if platforms:
                function = _for_platforms(ctx, program, platforms, f"{stem}({name})")
                argument_names = ["", *argument_names]
            else:
                function = _function(ctx, "main", ctx.program, f"{stem}({name})", public=True)
        ctx.locations.arguments = function.regions[0].blocks[0], argument_names
        if devices is not None:
            argument_attributes = _with_shardings(ctx, argument_attributes, in_shardings, program.in_avals)
            result_attributes = _with_shardings(ctx, result_attributes, out_shardings, program.out_avals)
        if platforms:
            own = argument_attributes or [{}] * len(program.in_avals)
            argument_attributes = [{"jax.global_constant": '"_platform_index"'}, *own]
        for key, texts in (("arg_attrs", argument_attributes), ("res_attrs", result_attributes)):
            if any(texts):
                dicts = [ir.DictAttr.get({k: builder.attribute(v) for k, v in text.items()}) for text in texts]
                function.attributes[key] = ir.ArrayAttr.get(dicts)
    return module, ctx


def _for_platforms(ctx: ModuleContext, program: ClosedJaxpr, platforms: Sequence[str], inside: str) -> ir.Operation:
    """The public function of a module for several platforms: it calls that of the platform whose number comes first."""
    ctx.platforms = tuple(platforms)
    names = [ctx.fresh_name(f"main_{each}") for each in platforms]
    for each, own in zip(platforms, names, strict=True):
        ctx.platform = each
        ctx.functions.clear()  # nested programs differ, too
        _function(ctx, own, _formed(ctx, program), inside)
    number = ShapedArray((), np.dtype(np.int32))
    in_types = [builder.ir_type(aval) for aval in (number, *program.in_avals)]
    out_types = [builder.ir_type(aval) for aval in program.out_avals]
    function, block = _empty_function(ctx, "main", in_types, out_types, True)
    index, *arguments = block.arguments
    with builder.inside(block):
        case = builder.operation("stablehlo.case", out_types, [index], None, len(platforms))
        for branch, own in enumerate(names):
            with builder.inside(builder.block_with(case, branch, [])):
                builder.return_(call_function(own, out_types, arguments))
        builder.operation("func.return", [], list(case.results))
    return function


def _formed(ctx: ModuleContext, program: ClosedJaxpr) -> ClosedJaxpr:
    """The program in the forms of its platform; as it is where lengths are symbols, since forms depend on sizes."""
    if builder.symbols.values is not None or symbols_of(program.in_avals):
        return program
    return with_forms(program, ctx.platform, ctx.with_kernels, ctx.num_devices == 1, ctx.portable)


def lower_main(ctx: ModuleContext, program: ClosedJaxpr) -> Any:
    """The public function of a module."""
    return _function(ctx, "main", program, "", public=True)


def _with_shardings(
    ctx: ModuleContext, attributes: Sequence[dict[str, str]], shardings: Sequence[Any], avals: Sequence[Any]
) -> list[dict[str, str]]:
    """The attributes of inputs or outputs, with how they are laid out and in which memory."""
    given = attributes or [{}] * len(avals)
    usual = ctx.devices[0].default_memory().kind
    result = []
    for texts, sharding, aval in zip(given, shardings, avals, strict=True):
        if sharding is not None:
            rank = builder.physical_aval(aval).ndim
            texts = {**texts, "sdy.sharding": sharding_text.sharding_text(ctx, sharding, rank)}
            if sharding.memory_kind not in (None, usual):
                texts["mhlo.memory_kind"] = f'"{sharding.memory_kind}"'
        result.append(texts)
    return result


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Rule:
    """A lowering rule that traces ``fun(*args, **params)``, written in terms of other operations."""

    def rule(ctx: LoweringContext, *values: Value, **params: Any) -> list[Any]:
        return inline_program(ctx.module_context, _staged(ctx, fun, params, multiple_results), values)

    return rule


def lower_as_meant(primitive: Primitive, meaning: Callable[..., Any], multiple_results: bool = True) -> None:
    """Say an operation in terms of others, both to the compiler and to interpreters of libraries."""
    primitive.lower[None], primitive.meaning = lower_fun(meaning, multiple_results), meaning


def _staged(
    ctx: LoweringContext, fun: Callable[..., Any], params: dict[str, Any], multiple_results: bool
) -> ClosedJaxpr:
    """The program of a lowering rule that is written in terms of other operations."""

    def flat(*args: Array) -> Sequence[Any]:
        out = fun(*args, **params)
        return out if multiple_results else [out]

    return _formed(ctx.module_context, ClosedJaxpr(*stage(flat, list(ctx.avals_in))))


def cached_lower_fun(
    fun: Callable[..., Any], name: str, multiple_results: bool = False, one_kernel: bool = False, apart: bool = False
) -> Rule:
    """Like ``lower_fun``, as a private function made once per module and signature: for big elementary functions.

    Args:
      one_kernel: whether the CPU compiler is to make native code of the whole function: for loops over little data.
      apart: whether the compiler is to keep the function apart: none of its operations is fused with others around it.
    """

    def rule(ctx: LoweringContext, *values: Value, **params: Any) -> list[Value]:
        module = ctx.module_context
        key = (fun, tuple(ctx.avals_in), tuple(sorted(params.items())))
        program = module.functions.get(key)
        if program is None:
            program = module.functions[key] = _staged(ctx, fun, params, multiple_results)
        return call_program(module, name, program, values, one_kernel, apart)

    return rule
