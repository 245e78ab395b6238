"""Of which arrays values of high types consist, and what stands for such values in trees of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from arrax.core.pytrees import register_pytree_node, tree_flatten, tree_map, tree_unflatten
from arrax.core.types import high_classes, type_of_any
from arrax.interpreters.high_operations import belongs_here, made_here, state_of
from arrax.interpreters.high_types import is_high


class Kind(NamedTuple):
    """How a value consists of arrays.

    Attributes:
      aval: its type. state: what the type leaves open, of a value that changes; None of others.
    """

    aval: Any
    state: Any

    @classmethod
    def of(cls, value: Any, aval: Any) -> Kind | None:
        """That of a value; None of an array."""
        if not is_high(aval):
            return None
        return cls(aval, state_of(value) if aval.has_qdd else None)

    def arrays(self, value: Any) -> list[Any]:
        """The arrays of a value."""
        found = self.aval.read_loval(self.state, value) if self.aval.has_qdd else self.aval.lower_val(value)
        return list(found)

    def length(self) -> int:
        """How many they are."""
        return len(self.aval.lo_ty_qdd(self.state) if self.aval.has_qdd else self.aval.lo_ty())

    def value(self, arrays: Iterator[Any]) -> Any:
        """A new value of the next of some arrays."""
        own = islice(arrays, self.length())
        return self.aval.new_from_loval(self.state, *own) if self.aval.has_qdd else self.aval.raise_val(*own)


class _Same:
    """A value that changes, as what it is: equal to itself alone."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)

    def __repr__(self) -> str:
        return f"the same {type(self.held).__name__}"


class Contents:
    """What stands for a value in a tree: its arrays and their kind, or the value itself, which what is recorded closes over."""

    def __init__(self, kind: Kind | _Same, arrays: Sequence[Any]) -> None:
        self.kind, self.arrays = kind, arrays

    def value(self) -> Any:
        """The value itself, or a new one."""
        if isinstance(self.kind, _Same):
            return self.kind.held
        value = self.kind.value(iter(self.arrays))
        if self.kind.aval.has_qdd:
            belongs_here(value)
        return value


register_pytree_node(
    Contents, lambda contents: (tuple(contents.arrays), contents.kind), lambda kind, arrays: Contents(kind, arrays)
)


def _contents(value: Any, consists: Callable[[Any], bool]) -> Contents:
    aval = type_of_any(value)
    kind = Kind.of(value, aval) if not aval.has_qdd or consists(value) else None
    return Contents(_Same(value), ()) if kind is None else Contents(kind, kind.arrays(value))


def _lowered(values: Any, consists: Callable[[Any], bool]) -> Any:
    leaves, tree = tree_flatten(values)
    if not any(type(leaf) in high_classes for leaf in leaves):
        return values
    return tree_unflatten(tree, [_contents(leaf, consists) if type(leaf) in high_classes else leaf for leaf in leaves])


def lowered(values: Any) -> Any:
    """What control flow is given, with what stands for values of high types: those that change are closed over."""
    return _lowered(values, lambda value: False)


def lowered_results(values: Any) -> Any:
    """What a recorded function returns, likewise: values that change and were made in it consist of arrays."""
    return _lowered(values, made_here)


def raised(values: Any) -> Any:
    """A tree with the values that stand in it."""
    return tree_map(
        lambda each: each.value() if isinstance(each, Contents) else each,
        values,
        is_leaf=lambda each: isinstance(each, Contents),
    )
