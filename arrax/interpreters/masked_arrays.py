"""Repeated calls refuse NumPy's masked arrays, which the runtime would take for plain ones.

``numpy.ma`` loads when it is first used, perhaps after functions have been compiled: its class becomes known to calls as
soon as it exists.
"""

from __future__ import annotations

import importlib
import sys
import threading
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from arrax.core.pytree_nodes import call_registry
from arrax.core.types import refuse_masked

_MODULE = "numpy.ma"


def _refuse_leaf(value: Any) -> Any:
    refuse_masked(value)
    return (), None


def _refuse_class_of(module: ModuleType) -> None:
    call_registry.register_node(module.MaskedArray, _refuse_leaf, lambda data, children: None)


class _Finder:
    """Finds ``numpy.ma`` once, as the usual finder does, to hear when it has been loaded."""

    def __init__(self) -> None:
        self._waiting = threading.Lock()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == _MODULE and self._waiting.acquire(False) else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


class _Loader:
    """Loads as another loader does, which the module then has as its own."""

    def __init__(self, loader: Any):
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _refuse_class_of(module)


if _MODULE in sys.modules:
    _refuse_class_of(importlib.import_module(_MODULE))
else:
    sys.meta_path.insert(0, _Finder())
