"""Modules, operations, types and attributes of MLIR: the names of jaxlib's module ``mlir.ir``."""

from typing import Any

from arrax import native as _native


def __getattr__(name: str) -> type[Any]:
    if name.startswith("__"):
        raise AttributeError(f"module 'arrax.extend.mlir.ir' has no attribute {name!r}")
    _native.mlir.import_classes()
    return getattr(_native.mlir.ir, name)


def __dir__() -> list[str]:
    return [name for name in dir(_native.mlir.ir) if not name.startswith("_")]
