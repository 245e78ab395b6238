"""The bindings of MLIR, and modules as portable bytes: names of jaxlib that load on first use."""

from typing import Any as _Any

from arrax.core.late_names import late_names as _late_names
from arrax.native import runtime as _runtime

_FUNCTIONS = (
    "deserialize_portable_artifact", "hlo_to_stablehlo", "refine_polymorphic_shapes", "serialize_portable_artifact",
)  # fmt: skip
_find_late, _list_names, _names = _late_names(__name__, {}, submodules=("dialects", "ir", "passmanager"))
__all__ = [*_names, *_FUNCTIONS]


def __getattr__(name: str) -> _Any:
    return getattr(_runtime._jax.mlir, name) if name in _FUNCTIONS else _find_late(name)


def __dir__() -> list[str]:
    return sorted(__all__)
