"""Integrals. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.numpy_api.differences import trapezoid as trapezoid

_bound_names(__name__)
