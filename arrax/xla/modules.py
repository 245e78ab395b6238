"""Contexts that modules are built in, and modules as bytes."""

from __future__ import annotations

import io
from typing import Any

from arrax import native


def new_context() -> Any:
    """A new MLIR context with the dialects that programs use."""
    mlir = native.mlir
    registry = mlir.ir.DialectRegistry()
    mlir.extension.register_dialects(registry)
    context = mlir.ir.Context()
    context.append_dialect_registry(registry)
    mlir.hlo.register_dialect(context)
    mlir.chlo.register_dialect(context)
    mlir.sdy.register_dialect(context)
    for dialect in ("func", "stablehlo", "chlo", "sdy"):
        context.dialects[dialect]
    return context


def bytecode_of(module: Any) -> bytes:
    """The module as bytecode."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def copy_apart(bytecode: bytes) -> Any:
    """The module of a bytecode in a context of its own, which no other thread touches."""
    return native.mlir.ir.Module.parse(bytecode, new_context())
