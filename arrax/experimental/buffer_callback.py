"""Functions on the host that fill memory (public names of ``arrax.lax.buffer_callbacks``)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.buffer_callbacks import Buffer as Buffer
from arrax.lax.buffer_callbacks import ExecutionContext as ExecutionContext
from arrax.lax.buffer_callbacks import ExecutionStage as ExecutionStage
from arrax.lax.buffer_callbacks import buffer_callback as buffer_callback

_bound_names(__name__)
