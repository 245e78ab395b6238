"""Names of the compiler under the old private path."""

from arrax.lib import xla_client as xla_client
from arrax.native.runtime import _jax as _jax  # qwix
from arrax.native.runtime import extension_version as jaxlib_extension_version  # grain
from arrax.native.runtime import extension_version as xla_extension_version  # its name in older releases
