"""Effects: what a program does besides computing its results. An equation that has any is never left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Effect:
    """One kind of effect. Those that are ``ordered`` happen in the order in which the program was written."""

    __slots__ = ("name",)

    ordered = False

    def __init__(self, name: str = ""):
        self.name = name or type(self).__name__

    def __repr__(self) -> str:
        return self.name


def any_ordered(effects: Iterable[Any]) -> bool:
    """Whether the order of some effects counts."""
    return any(effect.ordered for effect in effects)
