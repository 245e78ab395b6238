"""Dialects of MLIR: ``stablehlo``, ``chlo``, ``func``, ``sdy`` and the others that jaxlib has."""

from __future__ import annotations

from types import ModuleType

from arrax import native as _native


def __getattr__(name: str) -> ModuleType:
    found = None if name.startswith("_") else _native.mlir.dialect(name)
    if found is None:
        raise AttributeError(
            f"module 'arrax.extend.mlir.dialects' has no attribute {name!r}: jaxlib has no such dialect"
        )
    return found


def __dir__() -> list[str]:
    return list(_native.mlir.dialect_names())
