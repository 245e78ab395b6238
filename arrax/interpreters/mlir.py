"""Lowering rules for primitives of one's own (public names of ``arrax.interpreters.lowering``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import native
from arrax.core.late_names import late_names as _late_names
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder as _builder
from arrax.interpreters.lowering.builder import element_type as dtype_to_ir_type
from arrax.interpreters.lowering.builder import ints as dense_int_array
from arrax.interpreters.lowering.builder import ir_type as _ir_type
from arrax.interpreters.lowering.builder import tensor_type as tensor_type
from arrax.interpreters.lowering.contexts import LoweringContext as LoweringRuleContext
from arrax.interpreters.lowering.contexts import TokenSet as TokenSet
from arrax.interpreters.lowering.custom_calls import custom_call as custom_call
from arrax.interpreters.lowering.module import ir_constant as _ir_constant
from arrax.interpreters.lowering.module import lower_fun as lower_fun
from arrax.interpreters.lowering.own_rules import register_lowering as register_lowering
from arrax.xla.arrays import ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.native.mlir import ir

__all__ = [  # noqa: F822
    "LoweringRuleContext", "TokenSet", "aval_to_ir_type", "aval_to_ir_types", "custom_call", "dense_int_array", "dense_int_elements", "dtype_to_ir_type", "emit_python_callback", "i32_attr", "i64_attr", "ir_constant", "ir_constants",
    "lower_fun", "register_lowering", "tensor_type",
]  # fmt: skip


def aval_to_ir_type(ctx: ShapedArray | LoweringContext, aval: ShapedArray | None = None) -> ir.Type:
    """The MLIR type of values of a type.

    Args:
      ctx: the context of a rule, which may be left out.
      aval: the type.
    """
    return _ir_type(ctx if aval is None else aval)


def aval_to_ir_types(ctx: ShapedArray | LoweringContext, aval: ShapedArray | None = None) -> tuple[ir.Type, ...]:
    """The MLIR types of values of a type: one; arguments as of ``aval_to_ir_type``."""
    return (aval_to_ir_type(ctx, aval),)


def i32_attr(i: int) -> ir.Attribute:
    """The attribute of an integer of 32 bits, for custom operations.

    Args:
      i: the integer.
    """
    return _builder.integer(i, 32)


def i64_attr(i: int) -> ir.Attribute:
    """The attribute of an integer of 64 bits. Args: as of ``i32_attr``."""
    return _builder.integer(i)


def dense_int_elements(xs: Sequence[int]) -> ir.Attribute:
    """The attribute of several integers of 64 bits as a tensor.

    Args:
      xs: the integers.
    """
    return _builder.dense(np.asarray(xs, np.int64))


def ir_constant(val: ArrayLike, *, const_lowering: Any = None, aval: ShapedArray | None = None) -> Value:
    """A constant operation for any concrete value.

    Args:
      val: array, NumPy value or Python number.
      const_lowering: accepted; constants stand where they are used.
      aval: its type, by default what it says of itself.
    """
    return _ir_constant(val, aval)


def ir_constants(val: Any, *, const_lowering: Any = None, aval: Any = None) -> list[Any]:
    """The constant operations that represent a concrete value: one; arguments as of ``ir_constant``."""
    return [ir_constant(val, aval=aval)]


_find_late = _late_names(__name__, {"arrax.lax.host_functions": ("emit_python_callback",)})[0]


def __getattr__(name: str) -> Any:
    if name not in ("hlo", "ir", "chlo", "func", "sdy"):
        return _find_late(name)
    native.mlir.import_classes()
    return getattr(native.mlir, name)
