"""Calls of exported functions: their modules become a part of the program that calls them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from arrax import native
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_symbolic
from arrax.interpreters.lowering import builder, sharding_text
from arrax.interpreters.lowering.contexts import LoweringContext, ModuleContext
from arrax.interpreters.lowering.module import call_function
from arrax.interpreters.lowering.symbol_values import solved, symbols_of
from arrax.interpreters.placements import device_counts_of_primitive
from arrax.native import runtime
from arrax.xla import lapack, startup
from arrax.xla.portable_modules import custom_calls, for_platform, for_shapes, module_of, renamed

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.native.mlir import ir


class ExportedProgram(Protocol):
    """What a call needs of an exported function (``transforms.exporting.Exported``)."""

    fun_name: str
    in_avals: Sequence[Any]
    out_avals: Sequence[Any]
    in_shardings_hlo: Sequence[Any]
    nr_devices: int
    platforms: tuple[str, ...]
    disabled_safety_checks: Sequence[Any]
    mlir_module_serialized: bytes
    module_kept_var_idx: Sequence[int]


call_exported_p = Primitive("call_exported", multiple_results=True)
call_exported_p.type_rule = lambda *avals, exported: result_types(exported, avals)


def kind_of_platform(platform: str) -> str:
    """The name that exported functions know a platform by: ``gpu`` is ``cuda`` or ``rocm``."""
    if platform != "gpu":
        return platform
    return "rocm" if "rocm" in startup.clients() else "cuda"


def result_types(exported: ExportedProgram, avals: Sequence[Any]) -> list[Any]:
    """The types of results for arguments of some types: where shapes have symbols, those for their lengths.

    Raises:
      ValueError: lengths that are those of no symbols.
    """
    if not symbols_of(exported.in_avals):
        return list(exported.out_avals)
    sizes = solved(exported.in_avals, [aval.shape for aval in avals])

    def known(aval: Any) -> tuple[int, ...]:
        return tuple(each.evaluate(sizes) if is_symbolic(each) else each for each in aval.shape)

    for number, (given, wanted) in enumerate(zip(avals, exported.in_avals, strict=True)):
        if given.shape != known(wanted):
            raise ValueError(
                f"argument {number} has the shape {given.shape}, where '{exported.fun_name}' was exported for {wanted.shape}, which is "
                f"{known(wanted)} for {', '.join(f'{name} = {size}' for name, size in sorted(sizes.items()))}"
            )
    return [aval.update(shape=known(aval)) for aval in exported.out_avals]


def _lower(ctx: LoweringContext, *args: Value, exported: ExportedProgram) -> list[Value]:
    module = ctx.module_context
    platform = kind_of_platform(module.platform)
    _check_platform(exported, platform)
    if exported.nr_devices not in (1, module.num_devices):
        raise ValueError(
            f"Function '{exported.fun_name}' was exported for {exported.nr_devices} devices but it is used on "
            f"{module.num_devices}: call it inside of a jit whose arguments lie over that many"
        )
    types = [builder.ir_type(aval) for aval in ctx.avals_out]
    kept = [_laid_out(module, args[index], exported.in_shardings_hlo[index]) for index in exported.module_kept_var_idx]
    # Where both have symbols, the lengths are known only when the caller's own program is called.
    if symbols_of(ctx.avals_in) and symbols_of(exported.in_avals):
        given = [builder.ir_type(exported.in_avals[index]) for index in exported.module_kept_var_idx]
        inner = [builder.ir_type(aval) for aval in exported.out_avals]
        name = _function(module, exported, platform, None)
        return _retyped(call_function(name, inner, _retyped(kept, given)), types)
    return call_function(_function(module, exported, platform, [value.type for value in kept]), types, kept)


def _laid_out(module: ModuleContext, value: Value, layout: Any) -> Value:
    """An operand as the function takes it, where that is divided; the compiler forgets what inlined functions say of theirs."""
    if layout is None or module.num_devices == 1 or layout.is_replicated():
        return value
    return sharding_text.constrain(module, value, runtime.GSPMDSharding(module.devices, layout))


def _retyped(values: Sequence[Any], types: Sequence[Any]) -> list[Any]:
    """The values with types that know more or fewer of their lengths."""
    return [
        value if value.type == wanted else builder.operation("stablehlo.convert", [wanted], [value]).results[0]
        for value, wanted in zip(values, types, strict=True)
    ]


def _check_platform(exported: ExportedProgram, platform: str) -> None:
    unchecked = len(exported.platforms) == 1 and any(check.is_platform() for check in exported.disabled_safety_checks)
    if platform not in exported.platforms and not unchecked:
        raise ValueError(
            f"Function '{exported.fun_name}' was exported for platforms '{exported.platforms}' but it is used on "
            f"'{(platform,)}'."
        )


def _function(module: ModuleContext, exported: ExportedProgram, platform: str, types: Sequence[Any] | None) -> str:
    """The name in this module of an exported function, for operands of some types or as exported; it is added once."""
    key = ("exported", id(exported), *map(str, types or ()))
    if key not in module.functions:
        ir = native.mlir.ir
        found = module_of(exported.mlir_module_serialized, builder.ir_context())
        if len(exported.platforms) > 1:
            for_platform(found, exported.platforms, platform)
        if types is not None and symbols_of(exported.in_avals):
            found = for_shapes(found, types)
        if any(name.startswith("lapack_") for name in custom_calls(found)):
            lapack.prepare()
        own, names = renamed(found, lambda name: module.fresh_name(f"{exported.fun_name}.{name}"))
        for operation in own.body.operations:
            copy = operation.operation.clone(ir.InsertionPoint(module.module.body)).operation
            if copy.name == "func.func":
                copy.attributes["sym_visibility"] = builder.string("private")
                _only_shardings(copy)
                if module.num_devices > 1:
                    copy.walk(_divisible)
        module.keepalives.append(exported)
        module.functions[key] = names["main"]
    return module.functions[key]


def _only_shardings(function: ir.Operation) -> None:
    """Leave out what is said of the arguments and results of whole programs only: donation, names."""
    ir = native.mlir.ir
    for place in ("arg_attrs", "res_attrs"):
        if place not in function.attributes:
            continue
        kept = [
            ir.DictAttr.get({each.name: each.attr for each in ir.DictAttr(one) if each.name == "sdy.sharding"})
            for one in ir.ArrayAttr(function.attributes[place])
        ]
        function.attributes[place] = ir.ArrayAttr.get(kept)


def _divisible(operation: ir.Operation) -> Any:
    """A call of what one device was to compile into one piece, as one that may be divided over several."""
    if operation.name == "func.call" and "mhlo.frontend_attributes" in operation.attributes:
        del operation.attributes["mhlo.frontend_attributes"]
    return native.mlir.ir.WalkResult.ADVANCE


device_counts_of_primitive[call_exported_p] = lambda params: params["exported"].nr_devices
call_exported_p.lower[None] = _lower
