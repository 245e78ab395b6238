"""Pytrees as vectors (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.raveling import ravel_pytree as ravel_pytree

_bound_names(__name__)
