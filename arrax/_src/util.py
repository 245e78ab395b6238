"""Helpers for sequences under their old private path."""

from arrax.core.sequences import safe_map as safe_map
from arrax.core.sequences import safe_zip as safe_zip
from arrax.core.sequences import split_list as split_list
from arrax.core.sequences import unzip2 as unzip2
from arrax.core.sequences import wraps as wraps
