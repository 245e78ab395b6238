"""Arrangements of devices in grids, so that neighbours in a grid are near each other in the machine."""

from __future__ import annotations

import itertools
import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax.dtypes.wording import shown
from arrax.xla.devices import client_of

logger = logging.getLogger("arrax")
Grid = np.ndarray
Sizes = Sequence[int]
Devices = Sequence[Any] | None
device_kind_handler_dict: dict[str, Callable[..., Grid | None]] = {}  # device kind -> own arrangement, or None


def create_device_mesh(
    mesh_shape: Sizes | int,
    devices: Devices = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> Grid:
    """An ndarray of devices of a shape, in an order that suits how they are linked.

    Args:
      mesh_shape: sizes of the axes; those whose traffic is heaviest last. A number for a single axis.
      devices: which devices; all if not given.
      contiguous_submeshes: on a torus of chips, keep sub-grids of the slowest axes together.
      allow_split_physical_axes: let an axis of the torus serve several axes of the grid.
    Raises:
      TypeError: what is no device.
      ValueError: the number of devices is not the product of the sizes.
    Example: ``create_device_mesh((1,))``. Devices without coordinates stay in their order.
    """
    found = list(client_of().devices() if devices is None else devices)
    wrong = [device for device in found if not hasattr(device, "device_kind")]
    if wrong:
        raise TypeError(f"devices must hold devices only, got {shown(wrong[0])}")
    shape = (mesh_shape,) if isinstance(mesh_shape, int) else tuple(int(size) for size in mesh_shape)
    if math.prod(shape) != len(found):
        raise ValueError(
            f"Number of devices {len(found)} must equal the product of mesh_shape {shape}, which is {math.prod(shape)}"
        )
    handler = device_kind_handler_dict.get(found[0].device_kind) if found else None
    arranged = handler(shape, found, contiguous_submeshes=contiguous_submeshes) if handler is not None else None
    if arranged is not None:
        return arranged
    if found and hasattr(found[0], "coords") and len(found) > 1:
        return _on_torus(shape, found, allow_split_physical_axes)
    return _filled(found).reshape(shape)


def _filled(devices: Sequence[Any]) -> Grid:
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return grid


def _on_torus(shape: tuple[int, ...], devices: Sequence[Any], split: bool) -> Grid:
    """A grid whose axes are products of axes of the torus that the devices' coordinates span."""
    torus = _torus(devices)
    if torus is None:
        return _filled(devices).reshape(shape)
    axes = _assignment(shape, torus.shape)
    if axes is None:
        if not split:
            logger.warning("No axes of the torus %s multiply to the grid %s: devices stay in order", torus.shape, shape)
        return _filled(devices).reshape(shape)
    order = [axis for group in axes for axis in group]
    return torus.transpose([*order, *(a for a in range(torus.ndim) if a not in order)]).reshape(shape)


def _torus(devices: Sequence[Any]) -> Grid | None:
    """The devices by their coordinates (and cores), or None where these do not fill a box."""
    coordinates = np.array([(*device.coords, getattr(device, "core_on_chip", 0)) for device in devices])
    coordinates -= coordinates.min(axis=0)
    shape = tuple(int(n) for n in coordinates.max(axis=0) + 1)
    if math.prod(shape) != len(devices):
        return None
    grid = np.empty(shape, object)
    for coordinate, device in zip(coordinates, devices, strict=True):
        grid[tuple(coordinate)] = device
    return None if any(device is None for device in grid.flat) else grid


def _assignment(shape: Sequence[int], torus: Sequence[int]) -> list[tuple[int, ...]] | None:
    """For each axis of a grid, the axes of the torus whose product it is; the last axes choose first."""
    free = [axis for axis, size in enumerate(torus) if size > 1]
    chosen: list[tuple[int, ...]] = []
    for size in reversed(shape):
        groups = (group for n in range(len(free) + 1) for group in itertools.combinations(free, n))
        group = next((group for group in groups if math.prod(torus[axis] for axis in group) == size), None)
        if group is None:
            return None
        chosen.append(group)
        free = [axis for axis in free if axis not in group]
    return chosen[::-1]


def create_hybrid_device_mesh(
    mesh_shape: Sizes,
    dcn_mesh_shape: Sizes,
    devices: Devices = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> Grid:
    """A grid over groups of devices that are linked by a slower network: slices, or processes.

    Args:
      mesh_shape: sizes of the axes within a group.
      dcn_mesh_shape: sizes of the axes across groups; one per axis of ``mesh_shape``.
      devices: which devices; all if not given.
      process_is_granule: the groups are processes, otherwise slices.
      should_sort_granules_by_key: order the groups by their numbers.
      allow_split_physical_axes: let an axis of the torus serve several axes of the grid.
    Returns: ndarray of devices whose axis ``i`` has length ``mesh_shape[i] * dcn_mesh_shape[i]``.
    Raises:
      ValueError: groups of different sizes, or another number of them than the product of ``dcn_mesh_shape``.
    Example: ``from arrax.experimental import mesh_utils;
    mesh_utils.create_hybrid_device_mesh((1, 1), (1, 1), arrax.devices()[:1], process_is_granule=True).shape``
    is ``(1, 1)``.
    """
    found = list(client_of().devices() if devices is None else devices)
    attribute = "process_index" if process_is_granule else "slice_index"
    if not all(hasattr(device, attribute) for device in found):
        advice = "" if process_is_granule else "; process_is_granule=True groups them by their processes"
        raise ValueError(f"create_hybrid_device_mesh: not all devices have a {attribute}: {found}{advice}")
    groups: dict[int, list[Any]] = {}
    for device in found:
        groups.setdefault(getattr(device, attribute), []).append(device)
    if math.prod(dcn_mesh_shape) != len(groups):
        raise ValueError(
            f"Number of slices {len(groups)} must equal the product of dcn_mesh_shape {tuple(dcn_mesh_shape)}"
        )
    if len(Counter(map(len, groups.values()))) > 1:
        raise ValueError(f"create_hybrid_device_mesh: groups of different sizes: {[*map(len, groups.values())]}")
    keys = sorted(groups) if should_sort_granules_by_key else list(groups)
    inner = [
        create_device_mesh(mesh_shape, groups[key], allow_split_physical_axes=allow_split_physical_axes) for key in keys
    ]
    outer = np.arange(len(keys)).reshape(tuple(dcn_mesh_shape))
    blocks = np.vectorize(lambda number: inner[number], otypes=[object])(outer)
    return np.block(blocks.tolist())
