"""``shard_map`` in its older form (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.shard_map_older import shard_map as shard_map

_bound_names(__name__)
