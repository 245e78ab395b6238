"""Descriptions of meshes: named axes and their sizes, without devices; and which mesh is in force."""

from __future__ import annotations

import enum
import math
import operator
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from arrax.core import config
from arrax.core.tracebacks import bound_methods, boundary


class AxisType(enum.Enum):
    """Who divides arrays along a mesh axis: the compiler (Auto), the types of values (Explicit), the program (Manual).

    Example: ``arrax.make_mesh((1,), ('x',), axis_types=(arrax.sharding.AxisType.Explicit,)).axis_types[0].name`` is
    ``'Explicit'``.
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


def checked_axis_types(axis_types: Any, count: int) -> tuple[AxisType, ...]:
    """One type per axis.

    Raises:
      ValueError: another number of types. TypeError: something else than types.
    """
    if axis_types is None:
        return (AxisType.Auto,) * count
    types = (axis_types,) * count if isinstance(axis_types, AxisType) else tuple(axis_types)
    if not all(isinstance(each, AxisType) for each in types):
        raise TypeError(f"axis_types must be of type AxisType, got {axis_types!r}")
    if len(types) != count:
        raise ValueError(f"Number of axis names should match the number of axis_types: got {count} names and {types}")
    return types


class MeshDescription:
    """What meshes with and without devices have in common: axis names, sizes and types.

    Attributes:
      axis_names, axis_sizes, axis_types: tuples, one entry per axis.
      size: number of devices.
    """

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]
    size: int

    @property
    def shape(self) -> OrderedDict[Any, Any]:
        """Sizes by name, in order."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """Pairs of name and size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def empty(self) -> bool:
        """Whether the mesh has no axes."""
        return not self.axis_names

    def _axes_of(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple(name for name, each in zip(self.axis_names, self.axis_types, strict=True) if each is kind)

    auto_axes = property(lambda self: self._axes_of(AxisType.Auto), doc="Names of the axes that the compiler divides.")
    explicit_axes = property(lambda self: self._axes_of(AxisType.Explicit), doc="Names of the axes of explicit types.")
    manual_axes = property(lambda self: self._axes_of(AxisType.Manual), doc="Names of the axes of per-device programs.")
    are_all_axes_auto = property(lambda self: all(t is AxisType.Auto for t in self.axis_types))
    are_all_axes_explicit = property(lambda self: all(t is AxisType.Explicit for t in self.axis_types))
    are_all_axes_manual = property(lambda self: all(t is AxisType.Manual for t in self.axis_types))

    def __str__(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple)
        types = "" if self.are_all_axes_auto else f", axis_types={_types_text(self.axis_types)}"
        return f"{type(self).__name__}({axes or '()'}{types})"


def _types_text(types: Sequence[AxisType]) -> str:
    return f"({', '.join(each.name for each in types)}{',' if len(types) == 1 else ''})"


def mesh_repr(mesh: MeshDescription) -> str:
    """``Mesh(axis_sizes=(4, 2), axis_names=('x', 'y'), axis_types=(Auto, Auto))``."""
    types = "" if mesh.empty else f", axis_types={_types_text(mesh.axis_types)}"
    return f"{type(mesh).__name__}(axis_sizes={mesh.axis_sizes}, axis_names={mesh.axis_names}{types})"


@dataclass(frozen=True)
class ManualAxisType:
    """Over which manual mesh axes a value varies, is a sum that is still to be made, or was made.

    Example: ``arrax.sharding.ManualAxisType(varying=frozenset({'x'})).unreduced`` is ``frozenset()``.
    """

    varying: frozenset[Any] = frozenset()
    unreduced: frozenset[Any] = frozenset()
    reduced: frozenset[Any] = frozenset()


@dataclass(frozen=True, repr=False)
class AbstractDevice:
    """What an abstract mesh may know of its devices.

    Attributes:
      device_kind: name of the kind of devices. num_cores: how many cores one has. platform: name of the platform.
    Example: ``mesh = AbstractMesh((4,), ('x',), abstract_device=AbstractDevice('H100', None, 'cuda'));
    mesh.abstract_device.platform`` is ``'cuda'``.
    """

    device_kind: str
    num_cores: int | None = None
    platform: str = "cpu"

    def _text(self) -> str:
        return f"device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform}"

    def __repr__(self) -> str:
        return f"AbstractDevice({self._text()})"


@bound_methods
class AbstractMesh(MeshDescription):
    """A mesh without devices.

    Args:
      axis_sizes: one size per axis; or pairs of name and size, without ``axis_names``.
      axis_names: one name per axis.
      axis_types: one AxisType for all axes or one for each; Auto if not given.
      abstract_device: what is known of the devices.
    Raises:
      ValueError: names and sizes of different number, or a name that repeats.
    Example: ``AbstractMesh((4, 2), ("x", "y"))``.
    """

    _internal_device_list = None  # the runtime asks for it: there are no devices

    def __init__(
        self,
        axis_sizes: Sequence[Any],
        axis_names: Sequence[Any] | None = None,
        axis_types: Any = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ):
        if axis_names is None:
            axis_names, axis_sizes = zip(*axis_sizes, strict=True) if axis_sizes else ((), ())
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        self.axis_names, self.axis_sizes = names, tuple(map(operator.index, axis_sizes))
        check_axes("AbstractMesh", self.axis_names, len(self.axis_sizes))
        self.axis_types = checked_axis_types(axis_types, len(names))
        self.size, self.abstract_device = math.prod(self.axis_sizes), abstract_device

    def _key(self) -> tuple[Any, ...]:
        return self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        known = "" if self.abstract_device is None else f", {self.abstract_device._text()}"
        return f"{super().__str__()[:-1]}{known})"

    def __repr__(self) -> str:
        return str(self)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """Itself."""
        return self

    @property
    @boundary
    def devices(self) -> Any:
        """An abstract mesh has none.

        Raises:
          ValueError: always.
        """
        raise ValueError(f"{self} is abstract: it has no devices")

    device_ids = local_devices = local_mesh = is_multi_process = devices

    def update(self, **changes: Any) -> AbstractMesh:
        """The mesh with other ``axis_sizes``, ``axis_names``, ``axis_types`` or ``abstract_device``."""
        fields = dict(zip(("axis_sizes", "axis_names", "axis_types", "abstract_device"), self._key(), strict=True))
        return AbstractMesh(**{**fields, **changes})

    def update_axis_types(self, name_to_type: Mapping[Any, AxisType]) -> AbstractMesh:
        """The mesh with the types of some axes changed, by name; names that it lacks have no effect."""
        types = zip(self.axis_names, self.axis_types, strict=True)
        return self.update(axis_types=tuple(name_to_type.get(name, kind) for name, kind in types))


def check_axes(what: str, names: Sequence[Any], count: int) -> None:
    """Refuse names that do not fit.

    Raises:
      ValueError: another number of names than axes, None as a name, or a name that repeats.
    """
    if len(names) != count:
        raise ValueError(f"{what}: one name per axis is needed, got {count} axes and the names {tuple(names)}")
    if any(name is None for name in names):
        raise ValueError(f"{what}: axis names cannot be None, got {tuple(names)}")
    if len(set(names)) < len(names):
        raise ValueError(f"{what}: axis names must differ, got {tuple(names)}")


class MeshState(NamedTuple):
    """The meshes in force: the one with devices (or None), its description, and whether varying axes are tracked."""

    mesh: Any
    abstract: AbstractMesh
    legacy: Any = None  # of ``with mesh:``
    tracked: bool = False


no_axes = AbstractMesh((), ())
no_mesh = MeshState(None, no_axes)


def mesh_state() -> MeshState:
    """The meshes in force in this thread."""
    return config.mesh.value or no_mesh


@contextmanager
def in_mesh(state: MeshState) -> Iterator[None]:
    """Put meshes in force for a while."""
    previous = config.mesh.swap_local(state)
    try:
        yield
    finally:
        config.mesh.set_local(previous)


def get_abstract_mesh() -> AbstractMesh:
    """The description of the mesh in force; one without axes where there is none.

    Inside of ``shard_map`` its axes are of type ``Manual``.

    Example: ``get_abstract_mesh().empty`` is True where no mesh is in force.
    """
    return mesh_state().abstract


@contextmanager
def use_abstract_mesh(mesh: AbstractMesh) -> Iterator[AbstractMesh]:
    """Context manager: put a mesh without devices in force.

    Args:
      mesh: ``AbstractMesh``.
    Raises:
      ValueError: something else than an AbstractMesh.
    Example: ``with use_abstract_mesh(AbstractMesh((4,), ('x',))) as mesh: same = mesh == get_abstract_mesh()``.
    """
    if not isinstance(mesh, AbstractMesh):
        raise ValueError(f"use_abstract_mesh: expected an AbstractMesh, got {mesh!r} of type {type(mesh)}")
    with in_mesh(mesh_state()._replace(abstract=mesh)):
        yield mesh
