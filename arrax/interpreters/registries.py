"""The documented registries of rules, as views of the primitives' slots: ``primitive_jvps[p] = rule`` fills ``p.jvp``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from arrax.core.interpreter import Primitive, context

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike


class SlotView(MutableMapping[Any, Any]):
    """A mapping from primitives to one of their slots."""

    def __init__(self, slot: str):
        self.slot = slot
        self.filled: dict[Primitive, None] = {}

    def __getitem__(self, primitive: Primitive) -> Any:
        rule = getattr(primitive, self.slot)
        if rule is None:
            raise KeyError(primitive)
        return rule

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        setattr(primitive, self.slot, rule)
        self.filled[primitive] = None

    def __delitem__(self, primitive: Primitive) -> None:
        setattr(primitive, self.slot, None)
        self.filled.pop(primitive, None)

    def __contains__(self, primitive: object) -> bool:
        return getattr(primitive, self.slot, None) is not None

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self.filled)

    def __len__(self) -> int:
        return len(self.filled)


primitive_jvps = SlotView("jvp")
primitive_transposes = SlotView("transpose")
primitive_batchers = SlotView("batch")


class AxisData(NamedTuple):
    """The axis of a batch.

    Attributes:
      name: for collectives, or None. size: its length.
      spmd_name: the mesh axes that the user says it lies over, or None.
      division: what types say of the explicit mesh axes that divide it (``explicit_axes.batch_division``), or None.
    """

    name: Hashable | None
    size: int
    spmd_name: Any = None
    division: Any = None

    @property
    def explicit_mesh_axis(self) -> Any:
        """The explicit mesh axes that divide it, or None."""
        return None if self.division is None else self.division.spec[0]


class AxisBatchers(SlotView):
    """Batching rules that are told of the axis: ``rule(*description, values, dims, **params)``.

    Args:
      describe: function of the axis to the arguments that describe it.
    """

    def __init__(self, describe: Callable[[AxisData], tuple[Any, ...]]) -> None:
        super().__init__("batch")
        self.describe = describe
        self.rules: dict[Primitive, Callable[..., Any]] = {}

    def __getitem__(self, primitive: Primitive) -> Callable[..., Any]:
        return self.rules[primitive]

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        def told(values: Sequence[ArrayLike], dims: Sequence[int], **params: Any) -> tuple[Any, Any]:
            return rule(*self.describe(context.batching.axis), tuple(values), tuple(dims), **params)

        super().__setitem__(primitive, told)
        self.rules[primitive] = rule

    def __delitem__(self, primitive: Primitive) -> None:
        super().__delitem__(primitive)
        del self.rules[primitive]

    def __contains__(self, primitive: object) -> bool:
        return primitive in self.rules


# A rule is called with (axis_data, values, dims), or with (size, name, None, values, dims).
fancy_primitive_batchers = AxisBatchers(lambda axis: (axis,))
axis_primitive_batchers = AxisBatchers(lambda axis: (axis.size, axis.name, None))
