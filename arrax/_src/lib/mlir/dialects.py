"""Dialects of MLIR: ``from arrax._src.lib.mlir.dialects import hlo``."""

from arrax import native

chlo, func, hlo, sdy = native.mlir.chlo, native.mlir.func, native.mlir.hlo, native.mlir.sdy
