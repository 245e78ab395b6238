"""Named axes (of ``vmap``, ``pmap``, ``shard_map`` and ``xmap``) among the axes that reductions are told."""

from __future__ import annotations

from typing import Any

from arrax.core.interpreter import context


def split_named(axis: Any) -> tuple[tuple[Any, ...], Any]:
    """(names of axes that are in scope, the other axes) of an axis or tuple of axes."""
    if not context.axes or axis is None or isinstance(axis, int):
        return (), axis
    bound = {name for name, _ in context.axes}
    given = axis if isinstance(axis, tuple | list | range) else (axis,)
    names = tuple(each for each in given if not hasattr(each, "__index__") and _is_bound(each, bound))
    return names, (tuple(each for each in given if each not in names) if names else axis)


def _is_bound(name: Any, bound: set[Any]) -> bool:
    try:
        return name in bound
    except TypeError:
        return False
