"""The order in which the axes of arrays follow each other in memory, where a user asks for another one than the usual.

The usual order has the last axis innermost. Programs take arrays in the order that they were compiled for, and nothing in
the runtime checks it: whoever hands an array to a program has to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.native import runtime

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike


ArrayImpl = runtime.ArrayImpl
Order = tuple[int, ...]  # axes, the one that varies slowest in memory first
CHOSEN: Order = (-1,)  # of a result: the one that the compiler finds best


class _Asked:
    """Whether anyone asked for an unusual order (or memory) in this process: only then arrays and programs are looked at."""

    ever = False


def asked_order(layout: Any, rank: int) -> Order | None:
    """The order that a layout asks for; None for the usual one, which is taken, too, where a layout leaves the choice open.

    Raises:
      ValueError: it is not a permutation of the axes.
    """
    order = None if layout is None else tuple(layout.major_to_minor)
    if not order:
        return None
    if sorted(order) != list(range(rank)):
        raise ValueError(
            f"{layout} is incompatible with a value of {rank} axes: major_to_minor must be a permutation of them"
        )
    if order == tuple(range(rank)):
        return None
    note_asked()
    return order


def asked_order_of_result(layout: Any, rank: int) -> Order | None:
    """The order that a layout asks for; None for the usual one, ``CHOSEN`` where it leaves the choice to the compiler.

    Raises:
      ValueError: it is not a permutation of the axes.
    """
    if layout is None or layout.major_to_minor or rank < 2:
        return asked_order(layout, rank)
    note_asked()
    return CHOSEN


def note_asked() -> None:
    """From now on arrays and programs are looked at."""
    _Asked.ever = True


def ever_asked() -> bool:
    """Whether anyone asked for an unusual order or memory in this process."""
    return _Asked.ever


def order_of(value: Any) -> Order | None:
    """The unusual order of the axes of a value in memory, or None."""
    if not _Asked.ever or type(value) is not ArrayImpl or value.is_deleted():
        return None
    order = tuple(reversed(value._pjrt_layout._xla_layout().minor_to_major()))
    return None if order == tuple(range(len(order))) else order


def mode(order: Order) -> str:
    """The text of the attribute of an input or output in the order."""
    if order == CHOSEN:
        return '"auto"'
    return f'"{{{",".join(map(str, reversed(order)))}}}"'


class Wanted:
    """An order, as the C++ call path takes it."""

    def __init__(self, order: Order):
        self.order = order

    def _to_xla_layout(self, dtype: Any) -> Any:
        return runtime.Layout(tuple(reversed(self.order)))


# What lays an array out in another order (None for the usual one): see ``interpreters/reordering.py``.
reorderers: list[Callable[[Any, Order | None], Any]] = []


def in_order(value: ArrayLike, order: Order | None) -> Any:
    """The value with its axes in an order in memory."""
    return value if order_of(value) == order else reorderers[0](value, order)


def overlooked(values: Sequence[Any], orders: Sequence[Order | None]) -> bool:
    """Whether the C++ call path, which looks only where an unusual order is wanted, would take a value for a usual one."""
    if not _Asked.ever:
        return False
    return any(wanted is None and order_of(value) is not None for value, wanted in zip(values, orders, strict=True))
