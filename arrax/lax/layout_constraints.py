"""The order in which the axes of a value follow each other in memory, as an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.explicit_axes import as_typed
from arrax.core.interpreter import Primitive, Rounding
from arrax.core.types import Zero, typeof
from arrax.interpreters.placements import orders_of_primitive
from arrax.xla.axis_orders import Order, in_order
from arrax.xla.placement import to_device_array

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent
    from arrax.xla.arrays import ArrayLike

# The value itself. Inside of programs the compiler chooses the order; in results of programs it is as asked.
layout_constraint_p = Primitive("layout_constraint", rounding=Rounding.NONE)
layout_constraint_p.type_rule, layout_constraint_p.divides = lambda aval, *, layout: aval, as_typed
layout_constraint_p.lower[None] = lambda ctx, x, *, layout: [x]


def with_order(x: Any, layout: Any, order: Order | None) -> Any:
    """The value, laid out with its axes in an order."""
    return layout_constraint_p.bind(x, layout=OrderedLayout(layout, order))


class OrderedLayout:
    """A layout as the user wrote it, and the order that it means for a value; it prints as the former."""

    __slots__ = ("layout", "order")

    def __init__(self, layout: Any, order: Order | None):
        self.layout, self.order = layout, order

    def with_batch_axis(self, axis: int, rank: int) -> OrderedLayout:
        """That of a batch along an axis, which then varies slowest, around values of a rank."""
        order = tuple(range(rank)) if self.order is None else self.order
        moved = (axis, *(n + (n >= axis) for n in order))
        usual = moved == tuple(range(rank + 1))
        return OrderedLayout(self.layout.with_axes(moved), None if usual else moved)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrderedLayout) and self.layout == other.layout

    def __hash__(self) -> int:
        return hash(self.layout)

    def __repr__(self) -> str:
        return repr(self.layout)


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, layout: OrderedLayout) -> tuple[Any, Any]:
    out = layout_constraint_p.bind(*primals, layout=layout)
    return out, Zero.of(out) if type(tangents[0]) is Zero else layout_constraint_p.bind(*tangents, layout=layout)


def _batch(values: Sequence[ArrayLike], dims: Any, *, layout: OrderedLayout) -> tuple[Any, int]:
    (x,), (dim,) = values, dims
    return layout_constraint_p.bind(x, layout=layout.with_batch_axis(dim, typeof(x).ndim - 1)), dim


layout_constraint_p.jvp, layout_constraint_p.batch = _jvp, _batch
layout_constraint_p.transpose = lambda ct, x, *, layout: [
    Zero(x.aval) if type(ct) is Zero else layout_constraint_p.bind(ct, layout=layout)
]
layout_constraint_p.impl = lambda x, *, layout: in_order(to_device_array(x), layout.order)
orders_of_primitive[layout_constraint_p] = lambda params: params["layout"].order
