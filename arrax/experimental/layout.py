"""Layouts in memory together with shardings (public names)."""

from arrax.transforms.layouts import Format as Format
from arrax.transforms.layouts import Layout as Layout
from arrax.transforms.layouts import with_layout_constraint as with_layout_constraint
