"""Arrangements of devices for meshes (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.xla.device_grids import create_device_mesh as create_device_mesh
from arrax.xla.device_grids import create_hybrid_device_mesh as create_hybrid_device_mesh
from arrax.xla.device_grids import device_kind_handler_dict as device_kind_handler_dict

_bound_names(__name__)
