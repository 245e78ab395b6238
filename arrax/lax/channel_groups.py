"""Groups of channels, or of a batch, that move from one axis to another."""

from __future__ import annotations

from arrax.core.types import typeof
from arrax.lax.axis_order import move_axis
from arrax.lax.shapes import reshape
from arrax.xla.arrays import ArrayLike


def groups_moved(x: ArrayLike, source: int, to: int, groups: int) -> ArrayLike:
    """An array whose axis ``source`` has its entries group by group, with these groups in axis ``to`` instead."""
    if groups == 1:
        return x
    shape = typeof(x).shape
    x = reshape(x, (*shape[:source], groups, shape[source] // groups, *shape[source + 1 :]))
    x = move_axis(x, source, to)  # without the axis of groups, ``to`` is where it was, and the groups stand before it
    merged = list(shape)
    merged[source], merged[to] = shape[source] // groups, shape[to] * groups
    return reshape(x, merged)
