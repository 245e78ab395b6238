"""Exchanging arrays with other libraries by DLPack. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.xla.dlpack import from_dlpack as from_dlpack
from arrax.xla.dlpack import is_supported_dtype as is_supported_dtype
from arrax.xla.dlpack import to_dlpack as to_dlpack

_bound_names(__name__)
