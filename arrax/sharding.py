"""Placement of arrays on devices (public names)."""

from arrax.core.late_names import late_names as _late_names
from arrax.core.meshes import AbstractDevice as AbstractDevice
from arrax.core.meshes import AbstractMesh as AbstractMesh
from arrax.core.meshes import AxisType as AxisType
from arrax.core.meshes import ManualAxisType as ManualAxisType
from arrax.core.meshes import get_abstract_mesh as get_abstract_mesh
from arrax.core.meshes import use_abstract_mesh as use_abstract_mesh
from arrax.core.partition_specs import PartitionSpec as PartitionSpec
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.xla.meshes import Mesh as Mesh
from arrax.xla.meshes import get_mesh as get_mesh
from arrax.xla.meshes import make_mesh as make_mesh
from arrax.xla.meshes import set_mesh as set_mesh
from arrax.xla.meshes import use_mesh as use_mesh
from arrax.xla.positional import PmapSharding as PmapSharding
from arrax.xla.positional import PositionalSharding as PositionalSharding
from arrax.xla.shardings import GSPMDSharding as GSPMDSharding
from arrax.xla.shardings import NamedSharding as NamedSharding
from arrax.xla.shardings import Sharding as Sharding
from arrax.xla.shardings import SingleDeviceSharding as SingleDeviceSharding
from arrax.xla.shardings import make_single_device_sharding as make_single_device_sharding

XLACompatibleSharding = Sharding

_LATE = {
    "arrax.transforms.axis_types": ("auto_axes", "explicit_axes", "reshard"),
    "arrax.transforms.shard_map": ("Infer",),
}
__getattr__, __dir__, __all__ = _late_names(__name__, _LATE)

_bound_names(__name__)
