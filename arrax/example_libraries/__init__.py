"""Small libraries on top of the system: optimizers, and networks of layers. Modules that load on first use."""

from arrax.core.late_names import late_names

__getattr__, __dir__, __all__ = late_names(__name__, {}, submodules=("optimizers", "schedules", "stax"))
