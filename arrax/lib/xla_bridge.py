"""The clients of platforms (public names of ``arrax.xla.backends``)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.xla.backends import get_backend as get_backend
from arrax.xla.backends import get_compile_options as get_compile_options
from arrax.xla.devices import default_backend as default_backend

_bound_names(__name__)
