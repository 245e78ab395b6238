"""Named axes and easily revised parallelism (public names)."""

from arrax.transforms.xmap import SerialLoop as SerialLoop
from arrax.transforms.xmap import xmap as xmap
from arrax.xla.meshes import Mesh as Mesh
