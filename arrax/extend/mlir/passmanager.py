"""Pipelines of passes over modules: the names of jaxlib's module ``mlir.passmanager``."""

from typing import Any

from arrax import native as _native


def __getattr__(name: str) -> type[Any]:
    if name.startswith("__"):
        raise AttributeError(f"module 'arrax.extend.mlir.passmanager' has no attribute {name!r}")
    return getattr(_native.mlir.passmanager, name)


def __dir__() -> list[str]:
    return [name for name in dir(_native.mlir.passmanager) if not name.startswith("_")]
