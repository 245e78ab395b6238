"""Values laid out alike (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.custom_partitioning import shard_alike as shard_alike

_bound_names(__name__)
