"""Lowering rules for primitives of one's own (public names of ``arrax.interpreters.lowering``)."""

from typing import Any

from arrax import native
from arrax.core.late_names import late_names as _late_names
from arrax.interpreters.lowering.builder import element_type as dtype_to_ir_type
from arrax.interpreters.lowering.builder import ir_type as aval_to_ir_type
from arrax.interpreters.lowering.builder import tensor_type as tensor_type
from arrax.interpreters.lowering.custom_calls import custom_call as custom_call
from arrax.interpreters.lowering.module import LoweringContext as LoweringRuleContext
from arrax.interpreters.lowering.module import ir_constant as ir_constant
from arrax.interpreters.lowering.module import lower_fun as lower_fun
from arrax.interpreters.lowering.own_rules import TokenSet as TokenSet
from arrax.interpreters.lowering.own_rules import register_lowering as register_lowering

__all__ = [  # noqa: F822
    "LoweringRuleContext", "TokenSet", "aval_to_ir_type", "custom_call", "dtype_to_ir_type", "emit_python_callback", "ir_constant", "ir_constants",
    "lower_fun", "register_lowering", "tensor_type",
]  # fmt: skip


def ir_constants(value: Any) -> list[Any]:
    """The constant operations that represent a concrete value: one."""
    return [ir_constant(value)]


_find_late = _late_names(__name__, {"arrax.lax.host_functions": ("emit_python_callback",)})[0]


def __getattr__(name: str) -> Any:
    return getattr(native.mlir, name) if name in ("hlo", "ir", "chlo", "func", "sdy") else _find_late(name)
