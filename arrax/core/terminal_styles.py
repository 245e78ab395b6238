"""Colours of texts: as codes of terminals, as markup of ``rich``, or none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import IO, Any

Paint = Callable[[str, str], str]  # a text and a style: "bold", "dim" or a colour, "" for none

_CODES = {
    "bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36,
}  # fmt: skip


def plain(text: str, style: str = "") -> str:
    """The text as it is."""
    return text


def terminal(text: str, style: str = "") -> str:
    """The text with the codes that terminals understand."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and text else text


def rich_markup(text: str, style: str = "") -> str:
    """The text in the markup of ``rich``."""
    escaped = re.sub(r"(\\*)(\[[a-zA-Z#/@])", r"\1\1\\\2", text)
    return f"[{style}]{escaped}[/]" if style and text else escaped


def paint_for(stream: IO[Any]) -> Paint:
    """How texts that go to a stream are painted: for terminals in colours, unless the variable NO_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        return plain
    if os.environ.get("FORCE_COLOR"):
        return terminal
    return terminal if stream.isatty() and os.environ.get("TERM") != "dumb" else plain
