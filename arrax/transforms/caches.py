"""Forgetting what was traced and compiled."""

from __future__ import annotations

from arrax.core.caches import clear_all
from arrax.native import runtime


def clear_caches() -> None:
    """Forget all traces, compiled calls and executables in memory; what is stored on disk stays.

    Example: ``arrax.clear_caches()``.
    """
    clear_all()
    runtime.PjitFunctionCache.clear_all()
