"""The key-reuse checker of eager calls: which keys were consumed already (option ``debug_key_reuse``)."""

from __future__ import annotations

from typing import Any

from arrax.core import config
from arrax.core.errors import KeyReuseError


def consume(operation: str, keys: Any) -> None:
    """Mark concrete keys as consumed by an operation, where the checker is on.

    Raises:
      KeyReuseError: they were consumed before.
    """
    if config.debug_key_reuse.cell.value:
        refuse_consumed(operation, keys)
        keys._consumed = True


def refuse_consumed(operation: str, keys: Any, index: int = 0) -> None:
    """Raise where keys that reach an operation were consumed before."""
    if keys._consumed:
        raise KeyReuseError(f"Previously-consumed key passed to {operation} at index {index}")
