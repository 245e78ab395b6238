"""Metadata of operations for the compiler (public names of ``arrax.lax.metadata``)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.metadata import set_xla_metadata as set_xla_metadata

_bound_names(__name__)
