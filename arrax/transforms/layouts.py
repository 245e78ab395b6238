"""Descriptions of how arrays lie: the order of their axes in memory, and their sharding."""

from __future__ import annotations

from typing import Any, NamedTuple

from arrax.core.pytree_prefixes import broadcast_prefix
from arrax.core.pytrees import tree_flatten
from arrax.core.types import typeof
from arrax.native import runtime
from arrax.xla.arrays import attach
from arrax.xla.shardings import Sharding


class Layout(NamedTuple):
    """The order in which the axes of an array follow each other in memory, the slowest first.

    Attributes:
      major_to_minor: a permutation of the axes. tiling: tiles, or None. sub_byte_element_size_in_bits: accepted.
    Example: ``from arrax.experimental.layout import Layout; Layout(major_to_minor=(1, 0)).major_to_minor`` is
    ``(1, 0)``.
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0


class Format:
    """A layout and a sharding, either of which may be None.

    Args:
      layout: a Layout. sharding: a Sharding.
    Raises:
      TypeError: something else.
    Example: ``Format(Layout((1, 0)), arrax.sharding.SingleDeviceSharding(arrax.devices()[0]))``.
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Layout | None = None, sharding: Any = None):
        if layout is not None and not isinstance(layout, Layout):
            raise TypeError(f"Format: layout must be a Layout or None, got {layout!r} of type {type(layout)}")
        if sharding is not None and not isinstance(sharding, Sharding):
            raise TypeError(f"Format: sharding must be a Sharding or None, got {sharding!r} of type {type(sharding)}")
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
        return "Layout.AUTO"


Layout.AUTO = _Auto(())  # type: ignore[attr-defined]


def format_of(layout: Any, sharding: Any) -> Format:
    """A layout as the runtime describes it, and a sharding."""
    return Format(Layout(tuple(reversed(layout._xla_layout().minor_to_major()))), sharding)


def _format(self: Any) -> Format:
    return format_of(self._pjrt_layout, self.sharding)


attach(runtime.ArrayImpl, {"format": property(_format, doc="Layout and sharding.")})


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """The values; layouts inside of programs are the compiler's business, those that are no permutation are refused.

    Args:
      x: array or pytree of arrays.
      layouts: a Layout, or a tree prefix of ``x`` of them.
    Raises:
      ValueError: something else, or a layout of another rank.
    Example: ``with_layout_constraint(jnp.ones((2, 3)), Layout((1, 0)))``.
    """
    leaves = tree_flatten(x)[0]
    wanted = (
        [layouts] * len(leaves) if isinstance(layouts, Layout) else broadcast_prefix(layouts, x, is_leaf=_is_layout)
    )
    for leaf, layout in zip(leaves, wanted, strict=True):
        if not isinstance(layout, Layout) or sorted(layout.major_to_minor) != list(range(typeof(leaf).ndim)):
            raise ValueError(
                f"with_layout_constraint: {layout!r} is no layout of a value of type {typeof(leaf).str_short()}"
            )
    return x


def _is_layout(value: Any) -> bool:
    return isinstance(value, Layout)
