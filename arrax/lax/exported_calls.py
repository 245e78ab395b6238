"""Calls of exported functions: their modules become a part of the program that calls them."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import native
from arrax.core.interpreter import Primitive
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.module import call_function
from arrax.xla import lapack, startup
from arrax.xla.portable_modules import custom_calls, module_of, renamed

call_exported_p = Primitive("call_exported", multiple_results=True)
call_exported_p.type_rule = lambda *avals, exported: list(exported.out_avals)


def kind_of_platform(platform: str) -> str:
    """The name that exported functions know a platform by: ``gpu`` is ``cuda`` or ``rocm``."""
    if platform != "gpu":
        return platform
    return "rocm" if "rocm" in startup.clients() else "cuda"


def _lower(ctx: Any, *args: Any, exported: Any) -> list[Any]:
    module = ctx.module_context
    platform = kind_of_platform(module.platform)
    number = _number_of_platform(exported, platform)
    if exported.nr_devices not in (1, module.num_devices):
        raise ValueError(
            f"Function '{exported.fun_name}' was exported for {exported.nr_devices} devices but it is used on "
            f"{module.num_devices}: call it inside of a jit whose arguments lie over that many"
        )
    types = [builder.ir_type(aval) for aval in exported.out_avals]
    kept = [args[index] for index in exported.module_kept_var_idx]
    if len(exported.platforms) > 1:
        kept = [builder.constant(np.int32(number)), *kept]
    return call_function(_function(module, exported), types, kept)


def _number_of_platform(exported: Any, platform: str) -> int:
    if platform in exported.platforms:
        return exported.platforms.index(platform)
    if any(check.is_platform() for check in exported.disabled_safety_checks) and len(exported.platforms) == 1:
        return 0
    raise ValueError(
        f"Function '{exported.fun_name}' was exported for platforms '{exported.platforms}' but it is used on "
        f"'{(platform,)}'."
    )


def _function(module: Any, exported: Any) -> str:
    """The name of the function that an exported one is in this module, which it is put into once."""
    key = ("exported", id(exported))
    if key not in module.functions:
        ir = native.mlir.ir
        found = module_of(exported.mlir_module_serialized, builder.ir_context())
        if any(name.startswith("lapack_") for name in custom_calls(found)):
            lapack.prepare()
        own, names = renamed(found, lambda name: module.fresh_name(f"{exported.fun_name}.{name}"))
        for operation in own.body.operations:
            copy = operation.operation.clone(ir.InsertionPoint(module.module.body)).operation
            if copy.name == "func.func":
                copy.attributes["sym_visibility"] = builder.string("private")
                _only_shardings(copy)
        module.keepalives.append(exported)
        module.functions[key] = names["main"]
    return module.functions[key]


def _only_shardings(function: Any) -> None:
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


call_exported_p.lower[None] = _lower
