"""Compiled functions as bytes (public names of ``arrax.transforms.serialized_executables``)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.serialized_executables import deserialize_and_load as deserialize_and_load
from arrax.transforms.serialized_executables import serialize as serialize

_bound_names(__name__)
