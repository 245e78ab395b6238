"""What we use of jaxlib's MLIR bindings. Importing this module costs 50 to 100 ms, so it is imported on first lowering."""

import importlib
import pkgutil

from jaxlib._jax import mlir as conversions
from jaxlib.mlir import dialects, ir, passmanager
from jaxlib.mlir._mlir_libs import _jax_mlir_ext as extension
from jaxlib.mlir.dialects import chlo, func, sdy
from jaxlib.mlir.dialects import stablehlo as hlo

__all__ = ["chlo", "conversions", "extension", "func", "hlo", "ir", "passmanager", "sdy"]


def dialect_names():  # type: ignore[no-untyped-def]
    """The dialects that jaxlib has bindings for."""
    return sorted(found.name for found in pkgutil.iter_modules(dialects.__path__) if not found.name.startswith("_"))


def dialect(name):  # type: ignore[no-untyped-def]
    """The bindings of a dialect, or None."""
    return importlib.import_module(f"jaxlib.mlir.dialects.{name}") if name in dialect_names() else None
