"""Hear of a module when it is loaded, perhaps much later or never, without loading it."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

Change = Callable[[ModuleType], None]


class _Finder:
    """Finds one module once, as the usual finder does, to hear when it has been loaded."""

    def __init__(self, module: str, then: Change) -> None:
        self._module, self._then = module, then
        self._waiting = threading.Lock()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = (
            PathFinder.find_spec(name, path, target) if name == self._module and self._waiting.acquire(False) else None
        )
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)  # type: ignore[assignment]
        return spec


class _Loader:
    """Loads as another loader does, which the module then has as its own."""

    def __init__(self, loader: Any, then: Change) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then(module)


def when_loaded(module: str, then: Change) -> None:
    """Call a function with a module as soon as it has been loaded: now, if it has been."""
    if module in sys.modules:
        then(importlib.import_module(module))
    else:
        sys.meta_path.insert(0, _Finder(module, then))
