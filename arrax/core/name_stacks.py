"""Names of where an operation comes from: named scopes and transformations around it, as profiles and compiled programs show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Transformation:
    """A transformation in a stack of names: it wraps the name that follows, or stands alone: ``jvp(scope)``, ``jvp()``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{self.name}(…)"


JVP, TRANSPOSE, VMAP = map(Transformation, ("jvp", "transpose", "vmap"))
Names = tuple[str | Transformation, ...]  # outermost first


def stack_text(names: Sequence[str | Transformation]) -> str:
    """The text of a stack of names.

    Example: ``stack_text((TRANSPOSE, JVP, "layer", "head"))`` is ``"transpose(jvp(layer))/head"``.
    """
    parts, opened, depth = [], "", 0
    for name in names:
        if isinstance(name, Transformation):
            opened += f"{name.name}("
            depth += 1
        else:
            parts.append(f"{opened}{name}{')' * depth}")
            opened, depth = "", 0
    if depth:
        parts.append(opened + ")" * depth)
    return "/".join(parts)


class NameStack(tuple[str | Transformation, ...]):
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
