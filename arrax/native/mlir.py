"""What we use of jaxlib's MLIR bindings, which are imported on first lowering.

We make operations by their names. The classes that jaxlib has for operations are three quarters of what its bindings take to
import: they are imported where users meet operations, as ``hlo``, ``chlo``, ``func``, ``sdy`` or by ``import_classes``.
"""

import functools
import importlib
import pkgutil
import sys
import types

from jaxlib._jax import mlir as conversions
from jaxlib.mlir import dialects, ir, passmanager
from jaxlib.mlir._mlir_libs import _chlo as chlo_types
from jaxlib.mlir._mlir_libs import _jax_mlir_ext as extension
from jaxlib.mlir._mlir_libs import _mlir
from jaxlib.mlir._mlir_libs import _sdy as sdy_types
from jaxlib.mlir._mlir_libs import _stablehlo as stablehlo_types

__all__ = ["chlo_types", "conversions", "extension", "ir", "passmanager", "sdy_types", "stablehlo_types"]
_DIALECTS = {"hlo": "stablehlo", "chlo": "chlo", "func": "func", "sdy": "sdy"}
_LOADED = ("builtin", *_DIALECTS.values())


def load_dialects(context):  # type: ignore[no-untyped-def]
    """Load the dialects that programs use into a context, without the classes of their operations.

    The bindings import a module for each dialect that they meet: they are given empty ones for these.
    """
    folders = _mlir.globals.dialect_search_modules
    for name in _LOADED:
        sys.modules.setdefault(f"{__name__}.{name}", types.ModuleType(name))
    _mlir.globals.dialect_search_modules = [__name__]
    try:
        for name in _LOADED:
            context.dialects[name]
    finally:
        _mlir.globals.dialect_search_modules = folders


@functools.cache
def import_classes():  # type: ignore[no-untyped-def]
    """Import the classes of operations: those of programs that are handed to users are then of them."""
    for name in _LOADED:
        importlib.import_module(f"jaxlib.mlir.dialects.{name}")


def dialect_names():  # type: ignore[no-untyped-def]
    """The dialects that jaxlib has bindings for."""
    return sorted(found.name for found in pkgutil.iter_modules(dialects.__path__) if not found.name.startswith("_"))


def dialect(name):  # type: ignore[no-untyped-def]
    """The bindings of a dialect, or None."""
    return importlib.import_module(f"jaxlib.mlir.dialects.{name}") if name in dialect_names() else None


def __getattr__(name):  # type: ignore[no-untyped-def]
    if name not in _DIALECTS:
        raise AttributeError(f"module 'arrax.native.mlir' has no attribute {name!r}")
    return dialect(_DIALECTS[name])
