"""Layouts in memory together with shardings (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.layouts import Format as Format
from arrax.transforms.layouts import Layout as Layout
from arrax.transforms.layouts import with_layout_constraint as with_layout_constraint

_bound_names(__name__)
