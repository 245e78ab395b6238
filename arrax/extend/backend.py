"""Platforms and their clients (public names of ``arrax.xla.backends``)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.xla.backends import backend_xla_version as backend_xla_version
from arrax.xla.backends import backends as backends
from arrax.xla.backends import clear_backends as clear_backends
from arrax.xla.backends import clear_in_memory_compilation_cache as clear_in_memory_compilation_cache
from arrax.xla.backends import get_backend as get_backend
from arrax.xla.backends import get_compile_options as get_compile_options
from arrax.xla.backends import get_default_device as get_default_device
from arrax.xla.backends import register_backend_cache as register_backend_cache
from arrax.xla.backends import register_backend_factory as register_backend_factory

_bound_names(__name__)
