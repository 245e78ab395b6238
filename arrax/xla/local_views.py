"""Between arrays over all processes and the parts of them that one process holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax.core.partition_specs import PartitionSpec
from arrax.core.pytrees import tree_map
from arrax.native import runtime
from arrax.xla.distribution import make_array_from_process_local_data, make_array_from_single_device_arrays
from arrax.xla.meshes import Mesh
from arrax.xla.shardings import NamedSharding

ArrayImpl = runtime.ArrayImpl


def globalized(value: Any, sharding: Any) -> Any:
    """The array over all processes of which ``value`` is this process's part."""
    if type(value) is ArrayImpl and not value.is_fully_addressable:
        return value
    return make_array_from_process_local_data(sharding, np.asarray(value))


def localized(tree: Any) -> Any:
    """The parts of arrays that this process holds, as arrays over its own devices."""
    return tree_map(_local_part, tree)


def _local_part(array: Any) -> Any:
    sharding = array.sharding
    if array.is_fully_addressable or not isinstance(sharding, NamedSharding):
        return array
    return local_part(array, sharding.mesh, sharding.spec)


def local_part(array: Any, mesh: Mesh, spec: PartitionSpec) -> Any:
    """The part of an array over a mesh that this process holds, as an array over the mesh's local part."""
    sharding = NamedSharding(mesh.local_mesh, spec)
    pieces = [shard.data for shard in array.addressable_shards]
    shape = tuple(n * parts for n, parts in zip(pieces[0].shape, _parts(sharding, array.ndim), strict=True))
    return make_array_from_single_device_arrays(shape, sharding, pieces)


def _parts(sharding: Any, rank: int) -> list[int]:
    """Into how many pieces a sharding cuts each axis."""
    large = (sharding.num_devices,) * rank
    return [whole // piece for whole, piece in zip(large, sharding.shard_shape(large), strict=True)]
