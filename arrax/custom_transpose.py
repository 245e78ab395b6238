"""Transposes of one's own (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.linear_calls import custom_transpose as custom_transpose

_bound_names(__name__)
