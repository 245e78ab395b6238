"""Calls of functions that are registered with the runtime, for lowering rules of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes, native
from arrax.interpreters.lowering import builder

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.native.mlir import ir

Layouts = Sequence[Sequence[int]]


def layouts_of(orders: Layouts) -> ir.Attribute:
    """The attribute that says how operands or results lie: the axes of each, that of the nearest elements first."""
    texts = (f"dense<{list(order)}> : tensor<{len(order)}xindex>" for order in map(tuple, orders))
    return builder.attribute(f"[{', '.join(texts)}]")


def aliases_of(pairs: Mapping[int, int], operands: int, results: int) -> ir.Attribute:
    """The attribute that says which results are written over which operands.

    Args:
      pairs: from numbers of operands to numbers of results.
    Raises:
      ValueError: there is no such operand or result.
    """
    texts = []
    for operand, result in pairs.items():
        if not (0 <= operand < operands and 0 <= result < results):
            raise ValueError(
                f"result {result} is to be written over operand {operand}, but there are {operands} operands and {results} "
                "results, numbered from 0"
            )
        place = "" if results == 1 else str(result)
        texts.append(
            f"#stablehlo.output_operand_alias<output_tuple_indices = [{place}], operand_index = {operand}, "
            "operand_tuple_indices = []>"
        )
    return builder.attribute(f"[{', '.join(texts)}]")


def ir_attribute(value: Any) -> ir.Attribute:
    """The attribute of MLIR for a value: Python's and NumPy's numbers, texts, arrays, lists and dictionaries of such.

    Raises:
      TypeError: another class.
    """
    ir = native.mlir.ir
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, bool | np.bool_):
        return ir.BoolAttr.get(bool(value))
    if isinstance(value, str):
        return builder.string(value)
    if isinstance(value, Mapping):
        return ir.DictAttr.get({name: ir_attribute(each) for name, each in value.items()})
    if isinstance(value, list | tuple):
        return ir.ArrayAttr.get(list(map(ir_attribute, value)))
    if isinstance(value, np.ndarray):
        return builder.dense(value)
    if isinstance(value, int | float):
        value = np.int64(value) if isinstance(value, int) else np.float64(value)
    if isinstance(value, np.generic) and dtypes.issubdtype(value.dtype, np.integer):
        return ir.IntegerAttr.get(builder.element_type(value.dtype), int(value))
    if isinstance(value, np.generic) and dtypes.issubdtype(value.dtype, np.floating):
        return ir.FloatAttr.get(builder.element_type(value.dtype), float(value))
    raise TypeError(f"there is no attribute of a call for values of {type(value)}: {value!r}")


def custom_call(
    call_target_name: str | bytes, *, result_types: Sequence[Any], operands: Sequence[Value],
    backend_config: str | bytes | Mapping[str, Any] | None = None, has_side_effect: bool = False,
    result_shapes: Sequence[Value] | None = None, called_computations: Sequence[str] = (), api_version: int = 2,
    operand_output_aliases: Mapping[int, int] | None = None, operand_layouts: Layouts | None = None,
    result_layouts: Layouts | None = None, extra_attributes: Mapping[str, Any] | None = None,
) -> ir.Operation:  # fmt: skip
    """An operation that calls a function that is registered with the runtime.

    Args:
      call_target_name: the name that it is registered by.
      result_types: types of MLIR. operands: values.
      backend_config: what it is told: text or bytes, or with ``api_version`` 4 attributes by name.
      has_side_effect: whether it must run even if nobody uses its results.
      result_shapes: for results of shapes that are known only when the program runs, values with these.
      called_computations: names of functions of the module.
      api_version: how it is called.
      operand_output_aliases: from numbers of operands to those of the results that are written over them.
      operand_layouts, result_layouts: the axes of each, that of the nearest elements first.
      extra_attributes: further attributes.
    Returns: the operation, with ``results``.
    Raises:
      ValueError: aliases that do not exist, or attributes by name with another ``api_version``.
    """
    ir = native.mlir.ir
    name = call_target_name.decode() if isinstance(call_target_name, bytes) else call_target_name
    attributes: dict[str, Any] = {
        "call_target_name": builder.string(name),
        "has_side_effect": builder.attribute("true" if has_side_effect else "false"),
        "api_version": builder.integer(api_version, 32),
    }
    if isinstance(backend_config, Mapping):
        if api_version != 4:
            raise ValueError(f"custom_call of {name}: attributes by name need api_version=4, got {api_version}")
        attributes["backend_config"] = ir.DictAttr.get(dict(backend_config))
    elif backend_config is not None or api_version != 4:
        attributes["backend_config"] = ir.StringAttr.get(backend_config or "")
    if called_computations:
        attributes["called_computations"] = ir.ArrayAttr.get(list(map(ir.FlatSymbolRefAttr.get, called_computations)))
    if operand_output_aliases:
        attributes["output_operand_aliases"] = aliases_of(operand_output_aliases, len(operands), len(result_types))
    shapes = list(result_shapes or ())
    if operand_layouts is not None:
        attributes["operand_layouts"] = layouts_of([*operand_layouts, *[(0,)] * len(shapes)])
    if result_layouts is not None:
        attributes["result_layouts"] = layouts_of(result_layouts)
    if shapes:
        operand_numbers = builder.dense(np.arange(len(operands), len(operands) + len(shapes)))
        attributes["indices_of_shape_operands"] = operand_numbers
    return builder.operation(
        "stablehlo.custom_call", list(result_types), [*operands, *shapes], {**attributes, **(extra_attributes or {})}
    )
