"""Experimental modules; each is imported by its own name."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.effectful_callbacks import io_callback as io_callback

_bound_names(__name__)
