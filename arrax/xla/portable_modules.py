"""Modules as bytes that later versions of the compiler read, too, and their functions as a part of other modules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from arrax import native
from arrax.native import runtime
from arrax.xla.modules import apart, bytecode_of, read_apart

if TYPE_CHECKING:
    from arrax.native.mlir import ir


def portable_bytes(module: ir.Module) -> bytes:
    """A module in the portable form of StableHLO, which compilers of the twelve weeks before can read, too."""
    hlo = native.mlir.stablehlo_types
    oldest = hlo.get_version_from_compatibility_requirement(hlo.StablehloCompatibilityRequirement.WEEK_12)

    def serialized(own: ir.Module) -> bytes:
        with own.context:
            return runtime._jax.mlir.serialize_portable_artifact(own, oldest, "sdy." in str(own))

    return read_apart(bytecode_of(module), serialized)


def module_of(data: bytes, context: ir.Context) -> ir.Module:
    """The module of such bytes, in a context."""

    def bytecode(own: ir.Context) -> bytes:
        with own:
            return bytecode_of(runtime._jax.mlir.deserialize_portable_artifact(data, own))

    return native.mlir.ir.Module.parse(apart(len(data), bytecode), context)


def for_platform(module: ir.Module, platforms: tuple[str, ...], platform: str) -> None:
    """Make the function of one platform the main one of a module for several: those of the others are dropped."""
    ir = native.mlir.ir
    functions = {ir.StringAttr(each.attributes["sym_name"]).value: each for each in module.body.operations}
    for name in ("main", *(f"main_{each}" for each in platforms if each != platform)):
        functions[name].operation.erase()
    with module.context:
        functions[f"main_{platform}"].attributes["sym_name"] = ir.StringAttr.get("main")
        functions[f"main_{platform}"].attributes["sym_visibility"] = ir.StringAttr.get("public")


def for_shapes(module: ir.Module, types: Sequence[ir.RankedTensorType]) -> ir.Module:
    """A module whose main function takes arrays of shapes known only later, for arguments of some types."""
    ir = native.mlir.ir
    with module.context, ir.Location.unknown():
        main = next(
            each for each in module.body.operations if ir.StringAttr(each.attributes["sym_name"]).value == "main"
        )
        block = main.regions[0].blocks[0]
        start = ir.InsertionPoint.at_block_begin(block)
        for argument, given in zip(block.arguments, types, strict=True):
            unknown = argument.type
            if unknown != given:  # the operations that take the argument still expect the type that it had before
                argument.set_type(given)
                widened = ir.Operation.create("stablehlo.convert", results=[unknown], operands=[argument], ip=start)
                argument.replace_all_uses_except(widened.results[0], widened)
        (*_, end) = main.regions[0].blocks[0].operations
        results = [value.type for value in end.operands]  # arguments may be handed through
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(list(types), results))
        refined = runtime._jax.mlir.refine_polymorphic_shapes(bytecode_of(module), True, True, False)
        return ir.Module.parse(refined)


def custom_calls(module: ir.Module) -> Iterator[str]:
    """The names of the functions outside of the module that it calls."""
    yield from re.findall(r"stablehlo\.custom_call @([\w.$-]+)", str(module))


_SYMBOL = re.compile(r'@(?:"([^"]+)"|([\w.$-]+))')


def renamed(module: ir.Module, name_for: Callable[[str], str]) -> tuple[Any, dict[str, str]]:
    """A module with other names for its functions and meshes, and the table of these names."""
    symbols = [native.mlir.ir.StringAttr(each.attributes["sym_name"]).value for each in module.body.operations]
    names = {symbol: name_for(symbol) for symbol in symbols}

    def replace(found: re.Match[str]) -> str:
        symbol = found[1] or found[2]
        return f"@{names[symbol]}" if symbol in names else found[0]

    return native.mlir.ir.Module.parse(_SYMBOL.sub(replace, str(module)), module.context), names
