"""Packages that load their modules on first use: importing the package stays quick, whatever it holds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from arrax.core.completion import complete_package
from arrax.core.tracebacks import boundary, publish_names, published

_MAX_ATTEMPTS = 20
_PAUSE_SECONDS = 0.01
_loading = threading.local()  # whether this thread loads a name


def late_names(
    package: str, names: Mapping[str, Sequence[str]], submodules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a module that does not import all its names itself.

    Args:
      package: the module's name; it calls this after its own imports.
      names: by module, the public names that stand in it; ``"own as public"`` where it calls one otherwise.
      submodules: modules of the package.
    """
    homes = {
        public or own: (home, own)
        for home, listed in names.items()
        for own, _, public in (name.partition(" as ") for name in listed)
    }

    present = sys.modules[package].__dict__

    def load(name: str) -> Any:
        if name in homes:
            complete_package()
            home, own = homes[name]
            return published(getattr(import_module(home), own), package, name)
        if name in submodules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def find(name: str) -> Any:
        found = _without_deadlock(load, name)
        present[name] = found  # asked once: a search costs as much as half an eager operation
        return found

    find.__name__ = find.__qualname__ = "__getattr__"  # what Python calls it: messages name no protocol
    here = [
        name
        for name, value in present.items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and value is not late_names
    ]
    publish_names(package)
    public = sorted({*here, *homes, *submodules})
    return boundary(find), lambda: public, public


def _without_deadlock(load: Callable[[str], Any], name: str) -> Any:
    """What ``load`` gives, which begins anew where this thread and another wait for each other's imports.

    Both import modules of one package, and one of them the package: Python notices, and raises in one of them. Nothing is half-done
    then, as modules begin with their imports. Only the outermost of several loads begins anew: then the thread holds no module.
    """
    if getattr(_loading, "begun", False):
        return load(name)
    _loading.begun = True
    try:
        for _ in range(_MAX_ATTEMPTS - 1):
            try:
                return load(name)
            except RuntimeError as error:
                if type(error).__name__ != "_DeadlockError":  # which is no public class of Python
                    raise
            time.sleep(_PAUSE_SECONDS)  # the other thread takes what this one has let go
        return load(name)
    finally:
        _loading.begun = False
