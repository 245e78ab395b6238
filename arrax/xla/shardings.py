"""Shardings that hold devices: what the runtime's sharding classes lack."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from arrax.core.partition_specs import PartitionSpec, check_rank, entry_names, spec_names
from arrax.core.tracebacks import bound_methods
from arrax.native import runtime
from arrax.xla import tilings
from arrax.xla.devices import device_by_id, device_list, single_sharding
from arrax.xla.meshes import Mesh, without_devices

Sharding = runtime.Sharding
SingleDeviceSharding = runtime.SingleDeviceSharding
NamedSharding = runtime.NamedSharding
GSPMDSharding = runtime.GSPMDSharding
Shape = tuple[int, ...]


class Unspecified:
    """Stands for a sharding that nobody asked for: the compiler chooses."""

    def __repr__(self) -> str:
        return "UnspecifiedValue"


class Auto:
    """Stands for a sharding that the compiler is asked to choose.

    Example: ``from arrax.experimental.pjit import AUTO; isinstance(AUTO(None), AUTO)`` is True.
    """

    def __init__(self, mesh: Any = None):
        self.mesh = mesh

    def __repr__(self) -> str:
        return "AUTO"


UNSPECIFIED = Unspecified()
AUTO = Auto


def _complete(cls: type, table: dict[str, Any]) -> None:
    """Give a class of the runtime the methods and attributes of a table."""
    for name, value in table.items():
        if isinstance(value, FunctionType):
            value.__name__, value.__qualname__ = name, f"{cls.__name__}.{name}"
        setattr(cls, name, value)
    bound_methods(cls)


# ---- what all have in common, on the class that all descend from -----------------------------------------------------


def _devices_of(self: runtime.Sharding) -> runtime.DeviceList:
    mesh = getattr(self, "mesh", None)
    if mesh is not None and mesh._internal_device_list is None:
        raise ValueError(f"{self} is over {without_devices(mesh)}")
    found = getattr(self, "_internal_device_list", None)
    return device_list(tuple(self._device_assignment)) if found is None else found  # of a class of the user's


def _named_devices(self: runtime.Sharding) -> Any:
    """The devices, or what stands in for them in the mesh."""
    mesh = getattr(self, "mesh", None)
    if isinstance(mesh, Mesh) and mesh.size and mesh._internal_device_list is None:
        return tuple(mesh.devices.flat)
    return _devices_of(self)


def _of_subclasses(name: str) -> Any:
    """A method that classes of shardings have to have."""

    def missing(self: Any, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: subclasses of Sharding should implement {name}")

    return missing


def check_compatible_aval(self: Any, aval_shape: Shape) -> None:
    """Refuse a shape that has too few axes for the sharding.

    Raises:
      ValueError: it has.
    """
    if type(self) is NamedSharding:  # arrays lie by specs of more entries, but none may be asked to
        check_rank(f"Sharding {self}", self.spec, len(aval_shape))
    else:
        self._to_xla_hlo_sharding(len(aval_shape))


def devices_indices_map(self: runtime.Sharding, global_shape: Shape) -> dict[Any, tuple[slice, ...]]:
    """The piece of an array of a shape that each device holds."""
    return dict(zip(_named_devices(self), tilings.indices(self, tuple(global_shape)), strict=True))


def addressable_devices_indices_map(self: runtime.Sharding, global_shape: Shape) -> dict[Any, tuple[slice, ...]]:
    """The piece of an array of a shape that each device of this process holds."""
    here = _devices_of(self)
    if here.is_fully_addressable:
        return devices_indices_map(self, global_shape)
    mine = self.addressable_devices
    return {device: index for device, index in devices_indices_map(self, global_shape).items() if device in mine}


def is_equivalent_to(self: Any, other: Any, ndim: int) -> bool:
    """True where arrays of the rank lie alike under both shardings."""
    return isinstance(other, Sharding) and tilings.same_tiling(self, other, ndim)


def _internal_devices(self: Any) -> Any:
    if hasattr(self, "_internal_device_list"):
        return _devices_of(self)
    raise NotImplementedError(f"{type(self).__name__}: subclasses of Sharding should implement _device_assignment")


def _fully_replicated(self: Any) -> bool:
    return not self._to_xla_hlo_sharding(0 if not hasattr(self, "spec") else len(self.spec)).is_tiled()


def _addressable_devices(self: Any) -> set[Any]:
    return set(_devices_of(self).addressable_device_list)


# fmt: off
COMMON: dict[str, Any] = {
    "device_set": property(lambda self: set(_named_devices(self)), doc="The devices."),
    "addressable_devices": property(_addressable_devices, doc="The devices of this process."),
    "num_devices": property(lambda self: len(_devices_of(self)), doc="Number of devices."),
    "memory_kind": property(lambda self: self._memory_kind, doc="Kind of memory."),
    "is_fully_replicated": property(_fully_replicated, doc="Whether each device holds the whole array."),
    "is_fully_addressable": property(lambda self: _devices_of(self).is_fully_addressable,
                                     doc="Whether all devices belong to this process."),
    "_addressable_device_assignment": property(lambda self: tuple(_devices_of(self).addressable_device_list),
                                               doc="The devices of this process, in order."),
    "_device_assignment": property(lambda self: tuple(_internal_devices(self)), doc="The devices, in order."),
    "has_addressable_devices": property(lambda self: bool(self.addressable_devices),
                                        doc="Whether a device belongs to this process."),
    "with_memory_kind": _of_subclasses("with_memory_kind"), "_to_xla_hlo_sharding": _of_subclasses("_to_xla_hlo_sharding"),
    "check_compatible_aval": check_compatible_aval,
    "devices_indices_map": devices_indices_map, "addressable_devices_indices_map": addressable_devices_indices_map,
    "is_equivalent_to": is_equivalent_to,
    "shard_shape": lambda self, global_shape: tilings.shard_shape(self, tuple(global_shape)),
}
# fmt: on

_complete(Sharding, COMMON)


def _kind_text(self: runtime.Sharding) -> str:
    """Which memory a sharding is of, where that is not the devices' own."""
    return f", memory_kind={self._memory_kind}" if self._memory_kind not in (None, "device") else ""


# ---- one device ------------------------------------------------------------------------------------------------------


def _on_device(platform: str, number: int, memory_kind: str | None) -> Any:
    return single_sharding(device_by_id(platform, number), memory_kind)


def _single_key(self: runtime.Sharding) -> tuple:
    return self._device, self._memory_kind


# fmt: off
SINGLE_DEVICE: dict[str, Any] = {
    "__repr__": lambda self: f"SingleDeviceSharding(device={self._device!r}{_kind_text(self)})",
    "device_set": property(lambda self: {self._device}, doc="The devices."),
    "num_devices": property(lambda self: 1, doc="Number of devices."),
    "is_fully_replicated": property(lambda self: True, doc="Whether each device holds the whole array."),
    "devices_indices_map": lambda self, global_shape: {self._device: (slice(None),) * len(global_shape)},
    "shard_shape": lambda self, global_shape: tuple(global_shape),
    "with_memory_kind": lambda self, kind: single_sharding(self._device, kind),
    "__eq__": lambda self, other: self is other or (
        isinstance(other, SingleDeviceSharding) and _single_key(self) == _single_key(other)),
    "__hash__": lambda self: hash(_single_key(self)),
    "__reduce__": lambda self: (_on_device, (self._device.platform, self._device.id, self._memory_kind)),
}
# fmt: on

_complete(SingleDeviceSharding, SINGLE_DEVICE)


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> Any:
    """The sharding of arrays that lie on one device.

    Example: ``make_single_device_sharding(arrax.devices()[0])``.
    """
    return single_sharding(device, memory_kind)


# ---- a spec over a mesh ----------------------------------------------------------------------------------------------


def _named_repr(self: Any) -> str:
    return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{_kind_text(self)})"


def _named_fully_replicated(self: runtime.Sharding) -> bool:
    sizes = dict(self.mesh.shape_tuple)
    return all(sizes[name] == 1 for entry in self.spec for name in entry_names(entry))


def _replicated_axes(self: Any) -> frozenset[Any]:
    return frozenset(self.mesh.axis_names) - set(spec_names(self.spec)) - self.spec.unreduced


def _named_replace(self: Any, **changes: Any) -> Any:
    fields = {"mesh": self.mesh, "spec": self.spec, "memory_kind": self._memory_kind, **changes}
    return NamedSharding(fields["mesh"], fields["spec"], memory_kind=fields["memory_kind"])


# fmt: off
NAMED: dict[str, Any] = {
    "__repr__": _named_repr,
    "_to_xla_hlo_sharding": lambda self, num_dimensions: tilings.spec_to_hlo(self.mesh, self.spec, num_dimensions),
    "is_fully_replicated": property(_named_fully_replicated, doc="Whether each device holds the whole array."),
    "num_devices": property(lambda self: self.mesh.size, doc="Number of devices."),
    "replicated_axes": property(_replicated_axes, doc="Names of the mesh axes along which all devices hold the same."),
    "with_memory_kind": lambda self, kind: NamedSharding(self.mesh, self.spec, memory_kind=kind),
    "with_spec": lambda self, spec: NamedSharding(
        self.mesh, spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec), memory_kind=self._memory_kind),
    "update": _named_replace,
    "__reduce__": lambda self: (NamedSharding, (self.mesh, self.spec, self._memory_kind)),
}
# fmt: on

_complete(NamedSharding, NAMED)


# ---- the compiler's own description ----------------------------------------------------------------------------------


def _gspmd_rebuild(ids: tuple, platform: str, proto: bytes, memory_kind: str | None) -> Any:
    devices = tuple(device_by_id(platform, number) for number in ids)
    sharding = runtime.OpSharding()
    sharding.ParseFromString(proto)
    return GSPMDSharding(devices, sharding, memory_kind=memory_kind)


def _gspmd_reduce(self: Any) -> tuple:
    devices = tuple(self._internal_device_list)
    ids, proto = tuple(device.id for device in devices), self._hlo_sharding.to_proto().SerializeToString()
    return _gspmd_rebuild, (ids, devices[0].platform, proto, self._memory_kind)


def get_replicated(device_assignment: Any, *, memory_kind: str | None = None) -> Any:
    """The sharding under which each of some devices holds the whole array."""
    devices = device_list(tuple(device_assignment))
    return GSPMDSharding(devices, runtime.HloSharding.replicate(), memory_kind=memory_kind)


def _gspmd_key(self: Any) -> tuple:
    return self._internal_device_list, self._hlo_sharding, self._memory_kind


# fmt: off
GSPMD: dict[str, Any] = {
    "__repr__": lambda self: f"GSPMDSharding({self._hlo_sharding!r}{_kind_text(self)})",
    "_to_xla_hlo_sharding": lambda self, num_dimensions: self._hlo_sharding,
    "is_fully_replicated": property(lambda self: not self._hlo_sharding.is_tiled()),
    "with_memory_kind": lambda self, kind: GSPMDSharding(self._internal_device_list, self._hlo_sharding, memory_kind=kind),
    "get_replicated": staticmethod(get_replicated),
    "__eq__": lambda self, other: self is other or (
        type(self) is type(other) is GSPMDSharding and _gspmd_key(self) == _gspmd_key(other)),
    "__hash__": lambda self: hash(_gspmd_key(self)),
    "__reduce__": _gspmd_reduce,
}
# fmt: on

_complete(GSPMDSharding, GSPMD)


@functools.lru_cache(1024)
def named_like(mesh: Mesh, hlo: Any, rank: int, memory_kind: str | None = None) -> Any:
    """The sharding over a mesh's devices that a description of the compiler means: by a spec where there is one."""
    spec = tilings.hlo_to_spec(mesh, hlo, rank)
    if spec is not None:
        if mesh.are_all_axes_explicit:  # as types say it: an entry for each axis
            spec = PartitionSpec(*spec, *[None] * (rank - len(spec)))
        return NamedSharding(mesh, spec, memory_kind=memory_kind)
    return GSPMDSharding(mesh._internal_device_list, hlo, memory_kind=memory_kind)
