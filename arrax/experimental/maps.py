"""Named axes and easily revised parallelism (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.xmap import SerialLoop as SerialLoop
from arrax.transforms.xmap import xmap as xmap
from arrax.xla.meshes import Mesh as Mesh

_bound_names(__name__)
