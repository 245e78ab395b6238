"""``shard_map`` in its older form (public names)."""

from arrax.transforms.shard_map_older import shard_map as shard_map
