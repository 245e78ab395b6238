"""Where a program is per device: its mesh axes are named axes, and types say over which of them values vary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from arrax.core.explicit_axes import divided_type, placed_type
from arrax.core.interpreter import context
from arrax.core.meshes import AxisType, MeshDescription, MeshState, in_mesh, mesh_state
from arrax.core.named_axes import named_axes
from arrax.core.partition_specs import PartitionSpec, entry_names, spec_names
from arrax.core.types import ShapedArray
from arrax.native import runtime

NamedSharding = runtime.NamedSharding
Specs = tuple[PartitionSpec, ...]


class Region(NamedTuple):
    """A mesh and the axes that a program is per device over.

    Attributes:
      mesh: with devices or without.
      axes: their names. tracked: whether types say over which axes values vary.
    """

    mesh: MeshDescription
    axes: frozenset[Any]
    tracked: bool

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Context manager: what is traced belongs to the region."""
        outside, tracked = mesh_state(), context.tracks_varying
        abstract = self.mesh.abstract_mesh  # type: ignore[attr-defined]
        if outside.abstract.shape_tuple == abstract.shape_tuple:
            abstract = outside.abstract
        state = MeshState(
            outside.mesh,
            abstract.update_axis_types(dict.fromkeys(self.axes, AxisType.Manual)),
            outside.legacy,
            self.tracked,
        )
        sizes = dict(self.mesh.shape_tuple)
        context.tracks_varying = self.tracked
        try:
            with in_mesh(state), named_axes(*((name, sizes[name]) for name in self.ordered(self.axes))):
                yield
        finally:
            context.tracks_varying = tracked

    def ordered(self, names: frozenset[Any]) -> tuple[Any, ...]:
        """Names of axes in the mesh's order."""
        return tuple(name for name in self.mesh.axis_names if name in names)

    def counts(self, spec: PartitionSpec, rank: int) -> list[int]:
        """Into how many pieces a spec cuts each axis of an array."""
        sizes = dict(self.mesh.shape_tuple)
        entries = [*spec, *[None] * (rank - len(spec))]
        counts = []
        for entry in entries:
            count = 1
            for name in entry_names(entry):
                count *= sizes[name]
            counts.append(count)
        return counts

    def piece(self, aval: ShapedArray, spec: PartitionSpec) -> ShapedArray:
        """The type of what each device has of an array."""
        shape = tuple(n // count for n, count in zip(aval.shape, self.counts(spec, aval.ndim), strict=True))
        names = frozenset(spec_names(spec)) if self.tracked else frozenset()
        found = aval.update(shape=shape, vma=aval.vma | names)
        if aval.explicit is None:
            return found
        inside = aval.explicit.mesh.update_axis_types(dict.fromkeys(self.axes, AxisType.Manual))
        return divided_type(found, inside, self._others(aval))

    def _others(self, aval: ShapedArray) -> tuple[tuple[Any, ...], ...]:
        """The explicit axes beside those of the region that divide values of a type."""
        return tuple(tuple(name for name in names if name not in self.axes) for names in aval.divided)

    def joined(self, aval: ShapedArray, spec: PartitionSpec) -> PartitionSpec:
        """How the whole array is divided: by a spec, and by the other axes that its type or that of its pieces tells."""
        if aval.explicit is None:
            return spec
        entries = [*map(entry_names, spec), *[()] * (aval.ndim - len(spec))]
        return PartitionSpec(*(entry + own for entry, own in zip(entries, self._others(aval), strict=True)))

    def whole(self, aval: ShapedArray, spec: PartitionSpec) -> ShapedArray:
        """The type of the array whose pieces the devices have."""
        shape = tuple(n * count for n, count in zip(aval.shape, self.counts(spec, aval.ndim), strict=True))
        found = aval.update(shape=shape, vma=aval.vma - self.axes)
        outside = mesh_state().abstract
        mesh = outside if outside.shape_tuple == self.mesh.shape_tuple else self.mesh.abstract_mesh  # type: ignore[attr-defined]
        if not mesh.explicit_axes:
            return found
        return placed_type(found, NamedSharding(mesh, self.joined(aval, spec)))

    def division_inside(self, division: Any) -> Any:
        """What divides a batch (``explicit_axes.batch_division``) for the program of each device: only axes of the compiler's."""
        if division is None or not self.axes.isdisjoint(spec_names(division.spec)):
            return None
        inside = division.mesh.abstract_mesh.update_axis_types(dict.fromkeys(self.axes, AxisType.Manual))
        return NamedSharding(inside, division.spec)

    def unmentioned(self, spec: PartitionSpec) -> tuple[Any, ...]:
        """The region's axes that a spec does not name: over them every device has the same piece."""
        names = spec_names(spec)
        return tuple(name for name in self.ordered(self.axes) if name not in names)

    def residual_spec(self, aval: ShapedArray) -> PartitionSpec:
        """The spec by which what a program leaves for its derivative is put together: along its leading axis."""
        names = self.ordered(aval.vma & self.axes) if self.tracked else self.ordered(self.axes)
        return PartitionSpec(names) if names else PartitionSpec()
