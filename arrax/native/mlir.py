"""What we use of jaxlib's MLIR bindings. Importing this module costs 50 to 100 ms, so it is imported on first lowering."""

from jaxlib._jax import mlir as conversions
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir._mlir_libs import _jax_mlir_ext as extension
from jaxlib.mlir.dialects import chlo, func, sdy
from jaxlib.mlir.dialects import stablehlo as hlo

__all__ = ["chlo", "conversions", "extension", "func", "hlo", "ir", "passmanager", "sdy"]
