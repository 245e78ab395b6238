"""Watching programs while they run."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.debug_prints import debug_print as print
from arrax.lax.effectful_callbacks import DebugEffect as DebugEffect
from arrax.lax.effectful_callbacks import OrderedDebugEffect as OrderedDebugEffect
from arrax.lax.effectful_callbacks import debug_callback as callback

__all__ = ["DebugEffect", "OrderedDebugEffect", "callback", "print"]

_bound_names(__name__)
