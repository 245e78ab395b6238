"""Named axes in scope: those that ``vmap``, ``pmap`` and ``shard_map`` bring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arrax.core.interpreter import context


class named_axes:
    """Context manager: named axes (name, size) are in scope."""

    __slots__ = ("added", "previous")

    def __init__(self, *added: tuple[Any, int]) -> None:
        self.added = added

    def __enter__(self) -> None:
        self.previous = context.axes
        context.axes = (*self.previous, *self.added)

    def __exit__(self, *_: object) -> None:
        context.axes = self.previous


class indexed_axis:
    """Context manager: a named axis is in scope, along which the program runs in turn: its index is a value."""

    __slots__ = ("axis", "index", "previous")

    def __init__(self, name: Any, size: int, index: Any) -> None:
        self.axis, self.index = (name, size), index

    def __enter__(self) -> None:
        self.previous = context.axes, context.axis_indices
        context.axis_indices = {**context.axis_indices, len(context.axes): self.index}
        context.axes = (*context.axes, self.axis)

    def __exit__(self, *_: object) -> None:
        context.axes, context.axis_indices = self.previous


def known_index(name: Any) -> Any:
    """The index along the innermost named axis ``name`` where it is a value; None elsewhere."""
    if not context.axis_indices:
        return None
    places = [place for place, (known, _) in enumerate(context.axes) if known == name]
    return context.axis_indices.get(places[-1]) if places else None


def axis_size(name: Any) -> int:
    """The size of the innermost named axis ``name``.

    Raises:
      NameError: no such axis is in scope.
      TypeError: what cannot be a name, such as a set.
    """
    try:
        hash(name)
    except TypeError:
        raise TypeError(f"the name of an axis must be hashable, got {name}, a {type(name).__name__}") from None
    for known, size in reversed(context.axes):
        if known == name:
            return size
    raise NameError(unbound_axis(name, [known for known, _ in context.axes]))


def unbound_axis(name: Any, known: Sequence[Any]) -> str:
    """What is said of the name of an axis that is not in scope."""
    scope = f"in scope are {', '.join(map(repr, known))}" if known else "no named axis is in scope"
    return f"unbound axis name: {name}. Here {scope}: shard_map, pmap, xmap and vmap(..., axis_name=...) bring theirs"
