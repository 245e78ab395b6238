"""Contexts that modules are built in, and modules as bytes."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING, Any, Protocol

from arrax import native

if TYPE_CHECKING:
    from arrax.native.mlir import ir


class Source(Protocol):
    """A module that is made without the locations of its operations."""

    def plain_bytecode(self) -> bytes:
        """The module without locations: programs that are the same have the same bytes."""

    def full_bytecode(self) -> bytes:
        """The module with them."""

    def text(self) -> str:
        """The module with them, as text."""


class ModuleAsItIs:
    """A module that is compiled with the locations that it has."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module

    def plain_bytecode(self) -> bytes:
        """The module."""
        return bytecode_of(self.module)

    full_bytecode = plain_bytecode

    def text(self) -> str:
        """The module as text."""
        return str(self.module)


def new_context() -> ir.Context:
    """A new MLIR context with the dialects that programs use."""
    mlir = native.mlir
    registry = mlir.ir.DialectRegistry()
    mlir.extension.register_dialects(registry)
    context = mlir.ir.Context()
    context.append_dialect_registry(registry)
    mlir.stablehlo_types.register_dialect(context)
    mlir.chlo_types.register_dialect(context)
    mlir.sdy_types.register_dialect(context)
    mlir.load_dialects(context)
    return context


def bytecode_of(module: ir.Module) -> bytes:
    """The module as bytecode."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


class _Apart(threading.local):
    """A thread's own context. Constants stay in a context for ever, so it is replaced from time to time."""

    context: Any = None
    left = 0

    def parse(self, bytecode: bytes) -> ir.Module:
        if self.left < len(bytecode):
            self.context, self.left = new_context(), _BYTES_PER_CONTEXT
        self.left -= len(bytecode)
        return native.mlir.ir.Module.parse(bytecode, self.context)


_BYTES_PER_CONTEXT = 1 << 22
_apart = _Apart()


def copy_apart(bytecode: bytes) -> ir.Module:
    """The module of a bytecode where no other thread builds: the compiler reads it without the interpreter's lock."""
    return _apart.parse(bytecode)
