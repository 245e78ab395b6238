"""Contexts that modules are built in, and modules as bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from arrax import native

if TYPE_CHECKING:
    from arrax.native.mlir import ir

Result = TypeVar("Result")


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


_BYTES_PER_CONTEXT = 1 << 22  # constants stay in a context for ever, so each is replaced from time to time
_idle: list[tuple[ir.Context, int]] = []  # contexts that nobody builds in, and how many bytes more they may read


def apart(size: int, use: Callable[[ir.Context], Result]) -> Result:
    """What a function makes in a context in which no other thread builds meanwhile, of some number of bytes.

    So the compiler may read modules, and load what they need, without the interpreter's lock. Contexts belong to no thread:
    where one of the runtime's threads takes leave of the interpreter, freeing a context ends the process.
    """
    context, left = _idle_context(size)
    try:
        return use(context)
    finally:
        _idle.append((context, left - size))


def read_apart(bytecode: bytes, read: Callable[[ir.Module], Result]) -> Result:
    """What a function makes of the module of a bytecode, in a context of its own."""
    return apart(len(bytecode), lambda context: read(native.mlir.ir.Module.parse(bytecode, context)))


def _idle_context(size: int) -> tuple[ir.Context, int]:
    try:
        context, left = _idle.pop()
    except IndexError:
        return new_context(), _BYTES_PER_CONTEXT
    return (context, left) if left >= size else (new_context(), _BYTES_PER_CONTEXT)
