"""Calls of host kernels as operations of the language; only the CPU's form of a program contains them.

They stand in programs that are about to be lowered, after all transformations: so they have neither derivatives nor batching.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray
from arrax.interpreters.cost_model import passes
from arrax.interpreters.lowering import builder
from arrax.xla.host_kernels import table

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext

host_kernel_p = Primitive("host_kernel", multiple_results=True, cost=passes(1))


def _type(
    *avals: ShapedArray, kernel: table.Kernel, parameters: tuple[int, ...], outs: Sequence[ShapedArray]
) -> list[ShapedArray]:
    return list(outs)


def _lower(
    ctx: LoweringContext,
    *values: Value,
    kernel: table.Kernel,
    parameters: tuple[int, ...],
    outs: tuple[ShapedArray, ...],
) -> list[Value]:
    ctx.module_context.calls_kernels = True
    avals = list(ctx.avals_in)
    number, fixed = table.number_of(kernel, parameters)
    operands = list(values)
    if not fixed:
        given = np.array([len(values), *parameters], np.int32)
        operands, avals = [builder.constant(given), *operands], [ShapedArray(given.shape, given.dtype), *avals]
    attributes = {
        "call_target_name": builder.string("xla_buffer_python_cpu_callback"),
        "api_version": builder.integer(4, 32),
        "backend_config": builder.attribute(f"{{index = {number} : ui64}}"),
        "operand_layouts": builder.row_major(avals),
        "result_layouts": builder.row_major(outs),
        "mhlo.frontend_attributes": builder.attribute(f'{{kernel = "{kernel.__name__}", table = "{table.VERSION}"}}'),
    }
    types = [builder.ir_type(out) for out in outs]
    return list(builder.operation("stablehlo.custom_call", types, operands, attributes).results)


host_kernel_p.type_rule = _type
host_kernel_p.lower["cpu"] = _lower
host_kernel_p.param_texts["kernel"] = lambda kernel: kernel.__name__


def call_kernel(
    kernel: table.Kernel, operands: Sequence[Any], outs: Sequence[ShapedArray], *parameters: int
) -> list[Any]:
    """Call a host kernel: it sees the operands' memory and fills the results'.

    Args:
      outs: types of the results.
      parameters: integers that the kernel is given besides.
    """
    return host_kernel_p.bind(*operands, kernel=kernel, parameters=parameters, outs=tuple(outs))
