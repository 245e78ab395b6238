"""Forgetting what was traced and compiled."""

from __future__ import annotations

from arrax.native import runtime
from arrax.transforms.tracing import traces
from arrax.xla import compilation


def clear_caches() -> None:
    """Forget all traces, compiled calls and executables in memory; what is stored on disk stays.

    Example: ``arrax.clear_caches()``.
    """
    traces.clear()
    runtime.PjitFunctionCache.clear_all()
    compilation.clear_memory()
