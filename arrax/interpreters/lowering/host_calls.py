"""Calls of the host kernels from programs on the CPU, and the rules that use them in place of the compiler's operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder
from arrax.xla.host_kernels import table

NativeRule = Callable[..., Sequence[Any] | None]


def native_or(general: Callable[..., Any], native: NativeRule) -> Callable[..., Any]:
    """The CPU's lowering rule of a primitive: its own where that is wanted and fits, else the general one.

    Args:
      native: a rule that may decline by returning None. It is asked only for programs of this process on one device, and
        where the setting ``cpu_kernels`` is on.
    """

    def rule(ctx: Any, *values: Any, **params: Any) -> Sequence[Any]:
        if ctx.module_context.cpu_kernels:
            found = native(ctx, *values, **params)
            if found is not None:
                return found
        return general(ctx, *values, **params)

    return rule


def call_kernel(
    ctx: Any, kernel: table.Kernel, values: Sequence[Any], avals: Sequence[ShapedArray], outs: Sequence[ShapedArray],
    *parameters: int,
) -> list[Any]:  # fmt: skip
    """Call a host kernel: it sees the operands' memory and fills the results'.

    Args:
      values, avals: operands and their types.
      outs: types of the results.
      parameters: integers that the kernel is given besides.
    """
    ctx.module_context.calls_kernels = True
    number, settled = table.number_of(kernel, parameters)
    if not settled:
        given = np.array([len(values), *parameters], np.int32)
        values, avals = [builder.constant(given), *values], [ShapedArray(given.shape, given.dtype), *avals]
    attributes = {
        "call_target_name": builder.string("xla_buffer_python_cpu_callback"),
        "api_version": builder.integer(4, 32),
        "backend_config": builder.attribute(f"{{index = {number} : ui64}}"),
        "operand_layouts": builder.row_major(avals),
        "result_layouts": builder.row_major(outs),
        "mhlo.frontend_attributes": builder.attribute(f'{{kernel = "{kernel.__name__}", table = "{table.VERSION}"}}'),
    }
    types = [builder.ir_type(out) for out in outs]
    return list(builder.operation("stablehlo.custom_call", types, values, attributes).results)
