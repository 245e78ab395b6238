"""The meanings of programs: evaluation, differentiation, batching, staging, lowering. Modules that load on first use."""

from arrax.core.late_names import late_names

__getattr__ = late_names(__name__, {}, submodules=("ad", "batching", "mlir", "partial_eval", "xla"))[0]
