"""The compiler's own interface: the names of jaxlib's module ``xla_client``."""

from typing import Any

from arrax.native import runtime as _runtime

OpSharding = _runtime.OpSharding
register_custom_call_target = _runtime.xla_client.register_custom_call_target


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'arrax.lib.xla_client' has no attribute {name!r}")
    return getattr(_runtime.xla_client, name)


def __dir__() -> list[str]:
    return [name for name in dir(_runtime.xla_client) if not name.startswith("_")]
