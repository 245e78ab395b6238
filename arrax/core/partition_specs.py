"""PartitionSpec: which axes of a mesh divide which axes of an array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from arrax.core.tracebacks import bound_methods, boundary

if TYPE_CHECKING:
    from arrax.core.meshes import MeshDescription


class _Unconstrained:
    """The entry of a spec whose axis the compiler divides as it likes."""

    _only: _Unconstrained | None = None

    def __new__(cls) -> _Unconstrained:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> tuple[Any, ...]:
        return _Unconstrained, ()


UNCONSTRAINED = _Unconstrained()
_nothing: frozenset[Any] = frozenset()


def _entry(entry: Any) -> Any:
    """An entry in its plain form: one name is the name itself, no name is None."""
    if isinstance(entry, tuple | list):
        return None if not entry else entry[0] if len(entry) == 1 else tuple(entry)
    return entry


def _name_set(argument: str, names: Any) -> frozenset[Any]:
    if not isinstance(names, set | frozenset):
        raise TypeError(f"PartitionSpec: {argument} must be a set or frozenset of names of axes, got {names!r}")
    if None in names:
        raise ValueError(f"PartitionSpec: {argument} must consist of names of axes, got {names!r}")
    return frozenset(names)


def _check_disjoint(partitions: tuple[Any, ...], unreduced: frozenset[Any], reduced: frozenset[Any]) -> None:
    """Refuse an axis that divides an array and belongs to its sums, or to both kinds of these.

    Raises:
      ValueError: there is one.
    """
    if not unreduced and not reduced:
        return
    if unreduced & reduced:
        raise ValueError(
            f"PartitionSpec: no axis can be both unreduced and reduced, got unreduced={set(unreduced)} and reduced={set(reduced)}"
        )
    for argument, names in (("unreduced", unreduced), ("reduced", reduced)):
        if names.intersection(spec_names(partitions)):
            raise ValueError(f"PartitionSpec: the partitions {partitions} name axes that are {argument}, {set(names)}")


@bound_methods
class PartitionSpec:
    """For each axis of an array, the axes of a mesh that divide it.

    Args:
      partitions: per axis None (not divided), a name, a tuple of names (the first varies slowest), or
        ``PartitionSpec.UNCONSTRAINED``. Axes beyond the last entry are not divided.
      unreduced, reduced: names of mesh axes over which a sum is still to be made, or was made.
    Example: ``P("x", None, ("y", "z"))``.
    """

    __slots__ = ("_partitions", "unreduced", "reduced", "_hash", "__weakref__")
    UNCONSTRAINED = UNCONSTRAINED
    _partitions: tuple[Any, ...]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]
    _hash: int

    def __init__(
        self, *partitions: Any, unreduced: AbstractSet[Any] = _nothing, reduced: AbstractSet[Any] = _nothing
    ) -> None:
        fields = tuple(map(_entry, partitions)), _name_set("unreduced", unreduced), _name_set("reduced", reduced)
        _check_disjoint(*fields)
        for name, value in zip(("_partitions", "unreduced", "reduced"), fields, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_hash", hash(fields))

    @property
    def partitions(self) -> tuple[Any, ...]:
        """The entries."""
        return self._partitions

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a PartitionSpec cannot be changed")

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def __getitem__(self, index: Any) -> Any:
        return self._partitions[index]

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionSpec):
            mine, theirs = (
                (self._partitions, self.unreduced, self.reduced),
                (other._partitions, other.unreduced, other.reduced),
            )
            return mine == theirs
        return NotImplemented

    def __add__(self, other: Any) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self, *other, unreduced=self.unreduced | other.unreduced, reduced=self.reduced | other.reduced
            )
        return self.update(partitions=(*self, *other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> PartitionSpec:
        return self.update(partitions=(*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __repr__(self) -> str:
        alone = len(self._partitions) == 1 and not self.unreduced and not self.reduced
        inner = ", ".join(map(repr, self._partitions)) + ("," if alone else "")
        for name, names in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if names:
                inner += f"{', ' if inner else ''}{name}={set(names)!r}"
        return f"PartitionSpec({inner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._partitions, self.unreduced, self.reduced)

    def index(self, value: Any) -> int:
        """The first axis with an entry."""
        return self._partitions.index(_entry(value))

    def count(self, value: Any) -> int:
        """How many axes have an entry."""
        return self._partitions.count(_entry(value))

    def update(self, **changes: Any) -> PartitionSpec:
        """The spec with other ``partitions``, ``unreduced`` or ``reduced``."""
        partitions = changes.pop("partitions", self._partitions)
        return PartitionSpec(*partitions, **{"unreduced": self.unreduced, "reduced": self.reduced, **changes})


def _rebuild(partitions: tuple[Any, ...], unreduced: frozenset[Any], reduced: frozenset[Any]) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def entry_names(entry: Any) -> tuple[Any, ...]:
    """The mesh axes in one entry of a spec."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def spec_names(spec: Iterable[Any]) -> tuple[Any, ...]:
    """All mesh axes in a spec, in order."""
    return tuple(name for entry in spec for name in entry_names(entry))


@boundary
def check_spec(mesh: MeshDescription, spec: PartitionSpec) -> None:
    """Refuse a spec that a mesh cannot serve.

    Raises:
      TypeError: not a PartitionSpec.
      ValueError: an axis that the mesh lacks, or that stands in the spec twice; ``UNCONSTRAINED`` over a mesh of which
        the compiler divides no axis.
    """
    if not isinstance(spec, PartitionSpec):
        raise TypeError(f"NamedSharding: spec must be a PartitionSpec, got {spec!r} of type {type(spec)}")
    if UNCONSTRAINED in spec and mesh.axis_names and not mesh.auto_axes:
        raise ValueError(
            f"NamedSharding: UNCONSTRAINED leaves an axis of a value to the compiler, which divides by none of the axes of "
            f"{mesh}, but the spec is {spec}"
        )
    names = spec_names(spec)
    sums = [name for name in (*spec.unreduced, *spec.reduced) if name in mesh.auto_axes]
    if sums:
        raise ValueError(
            f"NamedSharding: only explicit axes of a mesh can be unreduced or reduced, but {spec} names {sums} of {mesh}"
        )
    for name in (*names, *spec.unreduced, *spec.reduced):
        if name not in mesh.axis_names:
            raise ValueError(f"NamedSharding: Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}.")
    for name in names:
        if names.count(name) > 1:
            raise DuplicateSpecError(
                f"A single NamedSharding spec can map every mesh axis to at most one axis of an array, but {spec} has "
                f"`{name}` more than once",
            )


def free_entry(mesh: MeshDescription) -> Any:
    """The entry of a spec that says nothing of an axis: what divides it the compiler chooses, where a mesh leaves it to that."""
    return UNCONSTRAINED if mesh.auto_axes else None


class DuplicateSpecError(ValueError):
    """A mesh axis stands twice in one spec."""


def check_rank(what: str, spec: Sequence[Any], rank: int) -> None:
    """Refuse a spec with more entries than an array has axes.

    Raises:
      ValueError: the spec is too long.
    """
    if len(spec) > rank:
        raise ValueError(
            f"{what} is only valid for values of rank at least {len(spec)}, but was applied to a value of rank {rank}"
        )


def fitted_entries(what: str, spec: Sequence[Any], rank: int) -> list[Any]:
    """One entry of a spec for each axis of an array; entries beyond, which must be None, divide nothing.

    Raises:
      ValueError: an entry beyond the last axis names axes of the mesh.
    """
    used = max((number for number, entry in enumerate(spec, 1) if entry is not None), default=0)
    check_rank(what, spec[:used], rank)
    return [*spec[:rank], *[None] * (rank - len(spec))]


P = PartitionSpec
