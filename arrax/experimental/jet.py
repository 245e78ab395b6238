"""Derivatives of higher order along a curve, by Taylor expansions (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.taylor_mode import jet as jet

_bound_names(__name__)
