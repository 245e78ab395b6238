"""Descriptions of devices and how they are linked: those that are attached to the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from arrax.xla.device_grids import create_device_mesh
from arrax.xla.devices import Device, devices
from arrax.xla.meshes import Mesh


class TopologyDescription:
    """Devices that programs can be compiled for.

    Attributes:
      devices: the devices.
    Example: ``from arrax.experimental import topologies
    topologies.TopologyDescription(arrax.devices()).devices == arrax.devices()`` is True.
    """

    def __init__(self, devices: list[Device]):
        self.devices = devices

    def __repr__(self) -> str:
        return f"TopologyDescription({self.devices})"


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The devices that are attached to this machine, or to the processes that work together.

    Args:
      platform: ``"cpu"``, ``"gpu"``, …; by default the default one.
    Raises:
      RuntimeError: there is no such platform.
    Example: ``from arrax.experimental import topologies
    topologies.get_attached_topology().devices == arrax.devices()`` is True.
    """
    return TopologyDescription(list(devices(platform)))


def get_topology_desc(topology_name: str = "", platform: str | None = None, **kwargs: object) -> NoReturn:
    """Refuses: devices that are not attached, such as a slice of TPUs by its name, cannot be compiled for.

    Args:
      topology_name, platform, kwargs: what would be described.
    Raises:
      NotImplementedError: always.
    Example: ``from arrax.experimental import topologies
    try: topologies.get_topology_desc('v5e:2x2', 'tpu')
    except NotImplementedError as error: log.append(str(error))``.
    """
    raise NotImplementedError(
        f"get_topology_desc: arrax compiles for devices that are attached, not for {topology_name or 'others'} of platform "
        f"{platform or 'tpu'}: get_attached_topology describes those that are there"
    )


def make_mesh(
    topo: TopologyDescription, mesh_shape: Sequence[int], axis_names: tuple[str, ...], *, contiguous_submeshes: bool = False
) -> Mesh:  # fmt: skip
    """A mesh of the devices of a description, in an order that suits how they are linked.

    Args:
      topo: the description.
      mesh_shape: sizes of the axes, whose product is the number of devices. axis_names: their names.
      contiguous_submeshes: on a torus of chips, keep sub-grids of the slowest axes together.
    Raises:
      ValueError: another number of devices, or of names.
    Example: ``from arrax.experimental import topologies
    topologies.make_mesh(topologies.get_attached_topology(), (1,), ('x',)).axis_names`` is ``('x',)``.
    """
    grid = create_device_mesh(list(mesh_shape), list(topo.devices), contiguous_submeshes=contiguous_submeshes)
    return Mesh(grid, axis_names)
