"""What ``clear_caches`` empties: each cache of traced or compiled programs says here how, beside its definition."""

from __future__ import annotations

from collections.abc import Callable

_clearings: list[Callable[[], None]] = []


def cleared_by(clear: Callable[[], None]) -> Callable[[], None]:
    """Let ``clear`` run when all caches are to be emptied; returns it."""
    _clearings.append(clear)
    return clear


def clear_caches() -> None:
    """Forget all traces, compiled calls and executables in memory; what is stored on disk stays.

    Example: ``arrax.clear_caches()``.
    """
    for clear in _clearings:
        clear()
