"""Helpers for sequences and axes under their old private path."""

from arrax.core.sequences import safe_map as safe_map
from arrax.core.sequences import safe_zip as safe_zip
from arrax.core.sequences import split_list as split_list
from arrax.core.sequences import unzip2 as unzip2
from arrax.core.sequences import wraps as wraps
from arrax.lax import shape_arguments as _shapes

canonicalize_axis = _shapes.canonical_axis  # torchax
