"""``safe_map`` and ``safe_zip``: map and zip that require equal lengths (public names)."""

from arrax.core.sequences import safe_map as safe_map
from arrax.core.sequences import safe_zip as safe_zip
from arrax.core.sequences import split_list as split_list
from arrax.core.sequences import unzip2 as unzip2
from arrax.core.sequences import wraps as wraps
from arrax.core.tracebacks import bound_names as _bound_names

_bound_names(__name__)
