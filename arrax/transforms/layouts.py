"""Descriptions of how arrays lie: the order of their axes in memory, and their sharding."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.tracebacks import boundary
from arrax.core.types import typeof
from arrax.lax.families import checked_operand
from arrax.lax.layout_constraints import with_order
from arrax.native import runtime
from arrax.xla.arrays import attach
from arrax.xla.axis_orders import asked_order
from arrax.xla.shardings import Sharding


class Layout:
    """The order in which the axes of an array follow each other in memory, the one that varies slowest first.

    Attributes:
      major_to_minor: a permutation of the axes. tiling: tiles, or None. sub_byte_element_size_in_bits: accepted, without effect.
    Raises:
      TypeError: something else than sequences of integers.
    Example: ``from arrax.experimental.layout import Layout; Layout(major_to_minor=(1, 0)).major_to_minor`` is
    ``(1, 0)``.
    """

    __slots__ = ("major_to_minor", "sub_byte_element_size_in_bits", "tiling")

    @boundary
    def __init__(
        self, major_to_minor: Sequence[int], tiling: Sequence[Sequence[int]] | None = None,
        sub_byte_element_size_in_bits: int = 0,
    ) -> None:  # fmt: skip
        self.major_to_minor = _integers("major_to_minor", major_to_minor)
        if tiling is not None and not isinstance(tiling, list | tuple):
            raise TypeError(f"Layout: tiling must be a sequence of tiles or None, got {tiling!r}")
        self.tiling = None if tiling is None else tuple(_integers("tiling", tile) for tile in tiling)
        self.sub_byte_element_size_in_bits = sub_byte_element_size_in_bits

    def with_axes(self, major_to_minor: Sequence[int]) -> Layout:
        """The same with its axes in another order."""
        return type(self)(major_to_minor, self.tiling, self.sub_byte_element_size_in_bits)

    def _key(self) -> tuple[Any, ...]:
        return self.major_to_minor, self.tiling or None, self.sub_byte_element_size_in_bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"Layout(major_to_minor={self.major_to_minor}, tiling={self.tiling}, "
            f"sub_byte_element_size_in_bits={self.sub_byte_element_size_in_bits})"
        )


def _integers(argument: str, values: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, values))
    except TypeError:
        raise TypeError(f"Layout: {argument} must consist of integers, got {values!r}") from None


class Format:
    """A layout and a sharding, either of which may be None.

    Args:
      layout: a Layout. sharding: a Sharding.
    Raises:
      TypeError: something else. ValueError: a layout without a sharding.
    Example: ``from arrax.experimental.layout import Format, Layout;
    Format(Layout((1, 0)), arrax.sharding.SingleDeviceSharding(arrax.devices()[0])).layout.major_to_minor`` is ``(1, 0)``.
    """

    __slots__ = ("layout", "sharding")

    @boundary
    def __init__(self, layout: Layout | None = None, sharding: Any = None):
        if layout is not None and not isinstance(layout, Layout):
            raise TypeError(f"Format: layout must be a Layout or None, got {layout!r} of type {type(layout)}")
        if sharding is not None and not isinstance(sharding, Sharding):
            raise TypeError(f"Format: sharding must be a Sharding or None, got {sharding!r} of type {type(sharding)}")
        if layout is not None and layout.major_to_minor and sharding is None:
            raise ValueError(f"Format: with the layout {layout} a sharding must be given, too")
        self.layout, self.sharding = layout, sharding

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and (self.layout, self.sharding) == (other.layout, other.sharding)

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"


class _Auto(Layout):
    """Stands for a layout that the compiler chooses."""

    def __repr__(self) -> str:
        return "AUTO"

    __str__ = __repr__


Layout.AUTO = _Auto(())  # type: ignore[attr-defined]


def format_of(layout: Any, sharding: Any) -> Format:
    """A layout as the runtime describes it, and a sharding."""
    found = layout._xla_layout()
    return Format(Layout(tuple(reversed(found.minor_to_major())), tuple(map(tuple, found.tiling()))), sharding)


def _format(self: Any) -> Format:
    if self.is_deleted():  # the runtime has no layout of nothing, and does not look
        return Format(None, self.sharding)
    return format_of(self._pjrt_layout, self.sharding)


attach(runtime.ArrayImpl, {"format": property(_format, doc="Layout and sharding.")})


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """The values, with their axes in an order in memory.

    Inside of programs the compiler chooses the order; results of programs have the one that is asked for.

    Args:
      x: array or pytree of arrays.
      layouts: a Layout, or a tree prefix of ``x`` of them.
    Raises:
      ValueError: something else, or a layout of another rank.
    Example: ``with_layout_constraint(jnp.ones((2, 3)), Layout((1, 0)))``.
    """
    leaves, tree = tree_flatten(x)
    wanted = (
        [layouts] * len(leaves)
        if isinstance(layouts, Layout)
        else named_broadcast_prefix("with_layout_constraint layouts", layouts, x, _is_layout)
    )
    return tree_unflatten(tree, list(map(_constrained, leaves, wanted)))


def _constrained(x: Any, layout: Any) -> Any:
    x = checked_operand("with_layout_constraint", x)
    aval = typeof(x)
    if not isinstance(layout, Layout) or sorted(layout.major_to_minor) != list(range(aval.ndim)):
        raise ValueError(f"with_layout_constraint: {layout!r} is no layout of a value of type {aval.str_short(True)}")
    return with_order(x, layout, asked_order(layout, aval.ndim))


def _is_layout(value: Any) -> bool:
    return isinstance(value, Layout)
