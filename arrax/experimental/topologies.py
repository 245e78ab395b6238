"""Descriptions of devices (public names of ``arrax.xla.topologies``)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.xla.topologies import TopologyDescription as TopologyDescription
from arrax.xla.topologies import get_attached_topology as get_attached_topology
from arrax.xla.topologies import get_topology_desc as get_topology_desc
from arrax.xla.topologies import make_mesh as make_mesh

_bound_names(__name__)
