"""One value per device, as one array: stacked along a new leading axis that is spread over the devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.pytrees import tree_map
from arrax.core.types import typeof
from arrax.lax.placement import device_put
from arrax.lax.shapes import expand_dims
from arrax.native import runtime
from arrax.xla.annotations import Tree
from arrax.xla.arrays import Array
from arrax.xla.distribution import make_array_from_single_device_arrays
from arrax.xla.meshes import Mesh
from arrax.xla.shardings import NamedSharding, PartitionSpec


def _along_devices(function: str, devices: Sequence[Any]) -> Any:
    if not isinstance(devices, list | tuple) or not devices or not all(isinstance(d, runtime.Device) for d in devices):
        raise ValueError(f"{function}: devices must be a non-empty list of devices, got {devices!r}")
    return NamedSharding(
        Mesh(np.asarray(devices, object), ("_device_put_sharded",)), PartitionSpec("_device_put_sharded")
    )


def device_put_sharded(shards: Sequence[Any], devices: Sequence[Any]) -> Array:
    """Put one value on each device; the result stacks them along a leading axis spread over the devices.

    Args:
      shards: arrays or pytrees of one structure, one per device, of equal shapes and dtypes.
      devices: as many devices.
    Returns: a pytree of arrays with a leading axis of the devices' number.
    Raises:
      ValueError: another number of shards than devices, or shards of different shapes or dtypes.
    Example: ``arrax.device_put_sharded([jnp.ones(2)], arrax.devices()[:1])``.
    """
    sharding = _along_devices("device_put_sharded", devices)
    if len(shards) != len(devices):
        raise ValueError(f"device_put_sharded: got {len(shards)} shards for {len(devices)} devices")

    def stacked(*rows: Any) -> Any:
        avals = [typeof(row) for row in rows]
        if len({(aval.shape, aval.dtype) for aval in avals}) > 1:
            raise ValueError(
                f"device_put_sharded: the shards differ in shape or dtype: {[a.str_short(True) for a in avals]}"
            )
        pieces = [expand_dims(device_put(row, device), (0,)) for row, device in zip(rows, devices, strict=True)]
        return make_array_from_single_device_arrays((len(devices), *avals[0].shape), sharding, pieces)

    return tree_map(stacked, *shards)


def device_put_replicated(x: Tree, devices: Sequence[Any]) -> Tree:
    """Put a value on each device; the result stacks the copies along a leading axis spread over the devices.

    Args:
      x: array or pytree of arrays.
      devices: the devices.
    Returns: a pytree of arrays with a leading axis of the devices' number.
    Raises:
      ValueError: no devices.
    Example: ``arrax.device_put_replicated(jnp.ones(2), arrax.devices()[:1])``.
    """
    _along_devices("device_put_replicated", devices)
    return device_put_sharded([x] * len(devices), devices)  # type: ignore[return-value]
