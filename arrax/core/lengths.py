"""Lengths of axes, for code that serves ints and expressions of symbols (``core.symbolic_dimensions``) alike."""

from __future__ import annotations

from typing import Any


def is_symbolic(value: Any) -> bool:
    """Whether a length is an expression of symbols."""
    return hasattr(value, "symbols")


def is_below(length: Any, bound: int, unknown: bool) -> bool:
    """Whether a length is less than a bound; ``unknown`` where that depends on symbols."""
    return length.is_below(bound, unknown) if is_symbolic(length) else length < bound


def longer(first: Any, second: Any) -> Any:
    """The greater of two lengths, of which each may be an expression of symbols."""
    unknown = next(filter(is_symbolic, (first, second)), None)
    return max(first, second) if unknown is None else unknown.greatest(first, second)


def shorter(first: Any, second: Any) -> int:
    """The lesser of two lengths, of which each may be an expression of symbols."""
    unknown = next(filter(is_symbolic, (first, second)), None)
    return min(first, second) if unknown is None else unknown.least(first, second)


def typical(length: Any) -> int:
    """A length, or one to plan with where it is an expression of symbols."""
    return max(length.evaluate(dict.fromkeys(length.symbols(), 128)), 1) if is_symbolic(length) else length
