"""Repeated calls refuse NumPy's masked arrays, which the runtime would take for plain ones.

``numpy.ma`` loads when it is first used, perhaps after functions have been compiled: its class becomes known to calls as
soon as it exists.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from arrax.core.loading import when_loaded
from arrax.core.pytree_nodes import call_registry
from arrax.core.tracebacks import boundary
from arrax.core.types import refuse_masked

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike


@boundary
def _refuse_leaf(value: ArrayLike) -> Any:
    refuse_masked(value)
    return (), None


def _refuse_class_of(module: ModuleType) -> None:
    call_registry.register_node(module.MaskedArray, _refuse_leaf, lambda data, children: None)


when_loaded("numpy.ma", _refuse_class_of)
