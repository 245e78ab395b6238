"""Stacks of names: the named scopes and transformations around an operation, as profiles and compiled programs show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Transformation:
    """A transformation in a stack of names: it wraps the name that follows, or stands alone: ``jvp(scope)``, ``jvp()``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{self.name}(…)"


class Metadata:
    """What a compiler is told of the operations of a scope: names and texts. It is not a part of their names."""

    __slots__ = ("entries",)

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self.entries = {name: metadata_text(value) for name, value in entries.items()}

    def __repr__(self) -> str:
        return f"Metadata({self.entries})"


def metadata_text(value: Any) -> str:
    """How a value is told to a compiler."""
    return str(value).lower() if isinstance(value, bool) else str(value)


JVP, TRANSPOSE, VMAP = map(Transformation, ("jvp", "transpose", "vmap"))
Name = str | Transformation | Metadata
Names = tuple[Name, ...]  # outermost first


def metadata_of(names: Sequence[Name]) -> dict[str, str]:
    """What a compiler is told of an operation with a stack of names; the innermost scope has the last word."""
    return {name: text for each in names if isinstance(each, Metadata) for name, text in each.entries.items()}


def stack_text(names: Sequence[Name]) -> str:
    """The text of a stack of names.

    Example: ``stack_text((TRANSPOSE, JVP, "layer", "head"))`` is ``"transpose(jvp(layer))/head"``.
    """
    parts, opened, depth = [], "", 0
    for name in names:
        if isinstance(name, Transformation):
            opened += f"{name.name}("
            depth += 1
        elif isinstance(name, str):
            parts.append(f"{opened}{name}{')' * depth}")
            opened, depth = "", 0
    if depth:
        parts.append(opened + ")" * depth)
    return "/".join(parts)


class NameStack(tuple[Name, ...]):
    """The names around an equation, outermost first; its text is that of ``stack_text``.

    Args:
      stack: names of scopes, and transformations.
    Example: ``str(arrax.extend.source_info_util.new_name_stack('layer').transform('jvp').extend('head'))`` is
    ``'layer/jvp(head)'``.
    """

    __slots__ = ()

    @property
    def stack(self) -> Names:
        """The names one by one."""
        return tuple(self)

    def extend(self, name: str) -> NameStack:
        """The stack with a scope inside."""
        return NameStack((*self, name))

    def transform(self, name: str) -> NameStack:
        """The stack with a transformation inside."""
        return NameStack((*self, _known.setdefault(name, Transformation(name))))

    def __add__(self, other: Any) -> NameStack:
        return NameStack(tuple.__add__(self, other))

    def __getitem__(self, place: Any) -> Any:
        found = tuple.__getitem__(self, place)
        return NameStack(found) if isinstance(place, slice) else found

    def __str__(self) -> str:
        return stack_text(self)


_known = {each.name: each for each in (JVP, TRANSPOSE, VMAP)}
