"""Functions that say themselves how they are divided among devices (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.custom_partitioning import custom_partitioning as custom_partitioning
from arrax.transforms.custom_partitioning import custom_partitioning_p as custom_partitioning_p
from arrax.transforms.sharding_rules import BATCHING as BATCHING
from arrax.transforms.sharding_rules import ArrayMapping as ArrayMapping
from arrax.transforms.sharding_rules import CompoundFactor as CompoundFactor
from arrax.transforms.sharding_rules import SdyShardingRule as SdyShardingRule

_bound_names(__name__)
