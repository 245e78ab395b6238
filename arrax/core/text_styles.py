"""Colours of texts: as codes of terminals, as markup of ``rich``, for pages, or none."""

from __future__ import annotations

import os
import re
import sys
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


_SPANS = {
    "bold": "font-weight:bold;color:#4a6fd0", "dim": "opacity:.6", "red": "color:#c0392b", "green": "color:#2e8b57",
    "yellow": "color:#b07d00", "blue": "color:#0b7fb5", "magenta": "color:#a0409a", "cyan": "color:#0b7f8f",
}  # fmt: skip


def html_markup(text: str, style: str = "") -> str:
    """The text for a page, in its style."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<span style="{_SPANS[style]}">{escaped}</span>' if style and text else escaped


def html_block(markup: str) -> str:
    """Lines of a page that keep their spaces."""
    return f'<pre style="line-height:1.35">{markup}</pre>'


def paint_for(stream: IO[Any]) -> Paint:
    """How texts that go to a stream are painted: for terminals in colours, unless the variable NO_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        return plain
    if os.environ.get("FORCE_COLOR"):
        return terminal
    return terminal if stream.isatty() and os.environ.get("TERM") != "dumb" else plain


class Report:
    """What shows itself as a text: subclasses define ``text``."""

    __slots__ = ()

    def text(self, paint: Paint) -> str:
        """The report as text, painted."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text(plain)

    def __repr__(self) -> str:
        return self.text(plain)

    def __rich__(self) -> str:
        """The report in the markup of ``rich``, which prints it so."""
        return self.text(rich_markup)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return html_block(self.text(html_markup))

    def show(self) -> None:
        """Print the report, in colours where the output is a terminal."""
        print(self.text(paint_for(sys.stdout)))
