"""Batching rules of one's own (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.custom_vmap import custom_vmap as custom_vmap
from arrax.transforms.custom_vmap import sequential_vmap as sequential_vmap

_bound_names(__name__)
