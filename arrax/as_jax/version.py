"""The version of the interface that is served, as ``jax.version``."""

__version__ = _version = "0.10.2"
__version_info__ = (0, 10, 2)
