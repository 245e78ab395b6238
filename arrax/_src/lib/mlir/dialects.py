"""Dialects of MLIR: ``from arrax._src.lib.mlir.dialects import hlo``."""

from typing import Any

from arrax import native as _native


def __getattr__(name: str) -> Any:  # not while the module is imported: the bindings are imported by another thread
    if name not in ("chlo", "func", "hlo", "sdy"):
        raise AttributeError(f"module 'arrax._src.lib.mlir.dialects' has no attribute {name!r}")
    return getattr(_native.mlir, name)
