"""Watching programs while they run."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.debug_prints import debug_print as print
from arrax.lax.effectful_callbacks import DebugEffect as DebugEffect
from arrax.lax.effectful_callbacks import OrderedDebugEffect as OrderedDebugEffect
from arrax.lax.effectful_callbacks import debug_callback as callback
from arrax.transforms.sharding_pictures import inspect_array_sharding as inspect_array_sharding
from arrax.transforms.sharding_pictures import visualize_array_sharding as visualize_array_sharding
from arrax.transforms.sharding_pictures import visualize_sharding as visualize_sharding

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "callback",
    "inspect_array_sharding",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]

_bound_names(__name__)
