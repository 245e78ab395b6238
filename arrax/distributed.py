"""Several processes that work together (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.xla.processes import initialize as initialize
from arrax.xla.processes import is_initialized as is_initialized
from arrax.xla.processes import shutdown as shutdown
from arrax.xla.processes import state as global_state

__all__ = ["global_state", "initialize", "is_initialized", "shutdown"]

_bound_names(__name__)
