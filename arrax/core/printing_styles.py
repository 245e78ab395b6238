"""Printed programs in colours: for terminals, for notebooks, for ``rich``."""

from __future__ import annotations

import re

from arrax.core.terminal_styles import Paint

_TOKENS = (
    r"(?P<comment>  # .*$)"
    r"|(?P<keyword>\blambda\b(?= )|\blet\b(?=\s|$)|(?:^|(?<= ))in(?= \())"
    r"|(?P<type>(?<=\w):[\w<>]+\[[^\]]*\](?:\{[^}]*\})?)"
    r"|(?P<primitive>(?<== )[A-Za-z_][\w.]*(?=[\[ ]|$)(?! *=))"
)
_STYLES = {"comment": "dim", "keyword": "bold", "type": "magenta", "primitive": "blue"}


def painted(text: str, paint: Paint) -> str:
    """The text of a program, each part in its style."""
    parts, end = [], 0
    for found in re.finditer(_TOKENS, text, re.MULTILINE):
        parts.append(paint(text[end : found.start()], ""))
        parts.append(paint(found[0], _STYLES[found.lastgroup or "comment"]))
        end = found.end()
    parts.append(paint(text[end:], ""))
    return "".join(parts)


_HTML = {
    "dim": "opacity:.6",
    "bold": "font-weight:bold;color:#4a6fd0",
    "magenta": "color:#a0409a",
    "blue": "color:#0b7fb5",
}


def html_span(text: str, style: str = "") -> str:
    """The text for a page, in its style."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<span style="{_HTML[style]}">{escaped}</span>' if style and text else escaped


def page_part(text: str) -> str:
    """The text of a program as a part of a page."""
    return f'<pre style="line-height:1.35">{painted(text, html_span)}</pre>'
