"""What shows how far a loop is: bars of tqdm or rich, or plain text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec

# A style's module has a class Bar. Libraries are imported when they are first needed.
_MODULES = {style: f"arrax.transforms.progress.{style}_bars" for style in ("tqdm", "rich", "text")}
STYLES = tuple(_MODULES)


class AnyBar(ABC):
    """A bar of one loop.

    Args:
      label: stands in front.
      total: how many steps there will be, or None.
    """

    @abstractmethod
    def __init__(self, label: str, total: int | None): ...

    @abstractmethod
    def show(self, steps: int, seconds: float, words: str) -> None:
        """Show that so many steps are done, since so many seconds, and some words behind that."""

    @abstractmethod
    def close(self) -> None:
        """Leave the bar as it is and go on behind it."""


def checked_style(style: str | None) -> str:
    """A style that there is; the first one whose library is installed for None.

    Raises:
      ValueError: no such style.
      ModuleNotFoundError: its library is not installed.
    """
    if style is None:
        return _first_installed()
    if style not in _MODULES:
        raise ValueError(f"progress: style must be one of {[*STYLES, None]}, got {style!r}")
    if style != "text" and find_spec(style) is None:
        raise ModuleNotFoundError(f"progress: style {style!r} needs the package {style}, which is not installed")
    return style


@lru_cache
def _first_installed() -> str:
    return next(style for style in STYLES if style == "text" or find_spec(style) is not None)


def bar_of(style: str) -> Callable[[str, int | None], AnyBar]:
    """The class of a style's bars."""
    return import_module(_MODULES[style]).Bar
