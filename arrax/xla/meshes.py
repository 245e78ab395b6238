"""Meshes of devices: arrays of devices with a name for each axis."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core import config
from arrax.core.interpreter import context
from arrax.core.meshes import (
    AbstractDevice,
    AbstractMesh,
    MeshDescription,
    MeshState,
    check_axes,
    checked_axis_types,
    mesh_repr,
    mesh_state,
    no_axes,
)
from arrax.core.tracebacks import bound_methods
from arrax.native import runtime
from arrax.xla.device_grids import create_device_mesh
from arrax.xla.devices import client_of, device_by_id, device_list

if TYPE_CHECKING:
    from arrax.core.meshes import AxisType


_lock = threading.Lock()
_interned: dict[Any, Mesh] = {}  # equal meshes are one object: the runtime compares them by identity


@bound_methods
class Mesh(MeshDescription):
    """An array of devices whose axes have names. Equal meshes are one object.

    Args:
      devices: ndarray (or nested sequence) of devices, or of objects with an ``id`` that stand in for them where no
        array lies there.
      axis_names: one name per axis of ``devices``.
      axis_types: one AxisType for all axes or one for each; Auto if not given.
    Raises:
      ValueError: something else than devices, another number of names than axes, or a name or device that repeats.
    Example: ``Mesh(np.array(arrax.devices()).reshape(-1, 1), ("x", "y"))``. As a context manager, ``with mesh:`` lets
      PartitionSpecs stand for shardings.
    """

    devices: np.ndarray
    _internal_device_list: Any

    def __new__(cls, devices: Any, axis_names: Any, axis_types: tuple[AxisType, ...] | None = None) -> Mesh:
        grid = _device_array(devices)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        check_axes("Mesh", names, grid.ndim)
        types = checked_axis_types(axis_types, len(names))
        key = (tuple(grid.flat), grid.shape, names, types)
        found = _interned.get(key)
        if found is not None:
            return found
        with _lock:
            return _interned.setdefault(key, cls._make(grid, names, types))

    @classmethod
    def _make(cls, grid: np.ndarray, names: tuple, types: tuple) -> Mesh:
        described = None
        if grid.size and names:
            first = grid.flat[0]
            traits: Any = [getattr(first, name, None) for name in ("device_kind", "num_cores", "platform")]
            described = AbstractDevice(*traits)
        grid.flags.writeable = False
        mesh = object.__new__(cls)
        vars(mesh).update(
            devices=grid,
            axis_names=names,
            axis_types=types,
            axis_sizes=grid.shape,
            size=math.prod(grid.shape) if names else 0,
            abstract_mesh=AbstractMesh(grid.shape, names, types, abstract_device=described),
            _internal_device_list=device_list(tuple(grid.flat)) if names and _are_devices(grid) else None,
            _hash=hash((tuple(grid.flat), grid.shape, names, types)),
        )
        return mesh

    abstract_mesh: AbstractMesh
    _hash: int

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Mesh cannot be changed: cannot assign to {name!r}")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return mesh_repr(self)

    def __str__(self) -> str:
        return "Mesh()" if self.empty else super().__str__()

    def __reduce__(self) -> tuple:
        ids = np.array([device.id for device in self.devices.flat]).reshape(self.devices.shape)
        platform = self.devices.flat[0].platform if self.devices.size else None
        return _mesh_of_ids, (platform, ids, self.axis_names, self.axis_types)

    @property
    def device_ids(self) -> np.ndarray:
        """Ids of the devices, in their array's shape."""
        return np.array([device.id for device in self.devices.flat], np.int64).reshape(self.devices.shape)

    @property
    def is_multi_process(self) -> bool:
        """Whether devices belong to several processes."""
        return len({device.process_index for device in self.devices.flat}) > 1

    def _process(self) -> int:
        first = self.devices.flat[0]
        return client_of(first.client if isinstance(first, runtime.Device) else None).process_index()

    @property
    def local_devices(self) -> list[Any]:
        """The devices of this process."""
        here = self._process() if self.devices.size else 0
        return [device for device in self.devices.flat if device.process_index == here]

    @property
    def local_mesh(self) -> Mesh:
        """The part of the mesh whose devices belong to this process.

        Raises:
          ValueError: these devices are no box of the mesh.
        """
        here = self._process()
        mine = np.array([device.process_index == here for device in self.devices.flat]).reshape(self.devices.shape)
        positions = np.nonzero(mine)
        box = tuple(slice(int(p.min()), int(p.max()) + 1) for p in positions)
        if not mine[box].all():
            raise ValueError(f"The devices of process {here} are no contiguous part of {self}")
        return Mesh(self.devices[box], self.axis_names, self.axis_types)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """The mesh with other devices, names or types."""
        return Mesh(
            self.devices if devices is None else devices, axis_names or self.axis_names, axis_types or self.axis_types
        )

    def __enter__(self) -> Mesh:
        _stack.entered.append(config.mesh.swap_local(mesh_state()._replace(legacy=self)))
        return self

    def __exit__(self, *_: object) -> None:
        config.mesh.set_local(_stack.entered.pop())


class _Stack(threading.local):
    """What was in force before each ``with mesh:`` of a thread."""

    def __init__(self) -> None:
        self.entered: list[Any] = []


_stack = _Stack()


def _are_devices(grid: np.ndarray) -> bool:
    """Whether all are devices, rather than objects that stand in for them, as in tests of programs."""
    return all(isinstance(device, runtime.Device) for device in grid.flat)


def without_devices(mesh: Any) -> str:
    """What a mesh is that no array can lie on, in words."""
    if isinstance(mesh, Mesh) and mesh.size:
        return f"a mesh of {mesh.devices.flat[0]!r} and the like, which are no devices"
    return "an abstract mesh: it has no devices"


def _device_array(devices: Any) -> np.ndarray:
    """An ndarray of devices, or of objects with an ``id`` that stand in for them: such a mesh describes shapes.

    Raises:
      ValueError: something else, or a device that repeats.
    """
    if isinstance(devices, np.ndarray) and devices.dtype == object:
        grid = devices.copy()
    else:
        grid = np.empty(_nested_shape(devices), object)
        for position, device in zip(np.ndindex(grid.shape), _leaves(devices), strict=True):
            grid[position] = device
    for device in grid.flat:
        if not isinstance(device, runtime.Device) and not hasattr(device, "id"):
            raise ValueError(f"Mesh: devices must be an array of devices, got {device!r} of type {type(device)} in it")
    if len(set(grid.flat)) < grid.size:
        raise ValueError(f"Mesh: each device may stand in a mesh once, got {list(grid.flat)}")
    return grid


def _nested_shape(devices: Any) -> tuple[int, ...]:
    if isinstance(devices, list | tuple | np.ndarray):
        return (len(devices), *(_nested_shape(devices[0]) if len(devices) else ()))
    return ()


def _leaves(devices: Any) -> Iterator[Any]:
    if isinstance(devices, list | tuple | np.ndarray):
        for each in devices:
            yield from _leaves(each)
    else:
        yield devices


def _mesh_of_ids(platform: str | None, ids: np.ndarray, names: tuple, types: tuple) -> Mesh:
    grid = np.empty(ids.shape, object)
    for position, number in np.ndenumerate(ids):
        grid[position] = device_by_id(platform, int(number))
    return Mesh(grid, names, types)


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: Any = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """A mesh of the first devices, arranged as their links advise.

    Args:
      axis_shapes: one size per axis.
      axis_names: one name per axis; a string is one name.
      axis_types: one AxisType for all axes or one for each; Auto if not given.
      devices: the devices to choose from; all if not given.
    Raises:
      ValueError: more devices are needed than there are, or another number of names than sizes.
    Example: ``arrax.make_mesh((1,), ("x",))``.
    """
    shape = tuple(int(size) for size in axis_shapes)
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    check_axes("make_mesh", names, len(shape))
    if any(size < 1 for size in shape):
        raise ValueError(f"make_mesh: axis_shapes must be positive, got {shape}")
    count = math.prod(shape)
    found = list(client_of().devices() if devices is None else devices)
    if count > len(found):
        raise ValueError(
            f"make_mesh: number of devices {len(found)} must be >= the product of the mesh shape {shape}, {count}"
        )
    return Mesh(create_device_mesh(shape, found[:count]), names, axis_types)


def physical_mesh() -> Mesh | None:
    """The mesh with devices in force: of ``set_mesh``, or of ``with mesh:``."""
    state = mesh_state()
    return state.mesh if state.mesh is not None else state.legacy


def over_devices(sharding: Any, *meshes: Mesh | None) -> runtime.Sharding:
    """A sharding over a mesh without devices, over the first of some meshes that it describes; others as they are."""
    own = getattr(sharding, "mesh", None)
    if own is None or own._internal_device_list is not None:
        return sharding
    for mesh in meshes:
        if mesh is not None and mesh.shape_tuple == own.shape_tuple:
            return type(sharding)(mesh, sharding.spec, memory_kind=sharding.memory_kind)
    return sharding


empty_mesh = Mesh._make(np.empty((), object), (), ())


def get_mesh() -> Mesh:
    """The mesh with devices in force; an empty one where there is none.

    Raises:
      ValueError: in a function that is traced.
    Example: ``arrax.sharding.get_mesh().empty``.
    """
    if not context.interpreter.is_evaluation:  # a traced program serves other devices, too
        raise ValueError(
            "get_mesh: cannot be called in a function that jit or another transformation traces; "
            "arrax.sharding.get_abstract_mesh() gives the mesh without its devices there"
        )
    return mesh_state().mesh or empty_mesh


class set_mesh:
    """Put a mesh in force: for good as a call, for a while as a context manager.

    PartitionSpecs are then over it, and ``jit`` runs over all of its devices what nothing binds to others.

    Args:
      mesh: a Mesh, or None for none.
    Raises:
      ValueError: something else than a mesh; in a function that is traced.
    Example: ``with arrax.set_mesh(arrax.make_mesh((1,), ("x",))): …``.
    """

    def __init__(self, mesh: Mesh | None):
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(f"set_mesh: expected a Mesh, got {mesh!r} of type {type(mesh)}")
        if not context.interpreter.is_evaluation:
            raise ValueError(
                "set_mesh: cannot be called in a function that jit or another transformation traces; "
                "put the mesh in force around the call of that function"
            )
        self.mesh = mesh
        state = MeshState(mesh, mesh.abstract_mesh if mesh is not None else no_axes)
        self.previous = config.mesh.swap_local(state)

    def __enter__(self) -> Mesh | None:
        return self.mesh

    def __exit__(self, *_: object) -> None:
        config.mesh.set_local(self.previous)


@contextmanager
def use_mesh(mesh: Mesh) -> Iterator[Mesh]:
    """Context manager: put a mesh in force.

    Example: ``with arrax.sharding.use_mesh(arrax.make_mesh((1,), ("x",))): …``.
    """
    with set_mesh(mesh):
        yield mesh
