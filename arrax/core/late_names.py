"""Packages that load their modules on first use: importing the package stays quick, whatever it holds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

from arrax.core.tracebacks import bound_names, published


def late_names(
    package: str,
    names: Mapping[str, Sequence[str]],
    submodules: Sequence[str] = (),
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a module that does not import all its names itself.

    Args:
      package: the module's name; it calls this after its own imports.
      names: by module, the public names that stand in it.
      submodules: modules of the package.
      aliases: further names of some of these, by their own name here.
    """
    homes = {name: home for home, listed in names.items() for name in listed}

    present = sys.modules[package].__dict__

    def find(name: str) -> Any:
        own_name = aliases.get(name, name)
        if own_name in homes:
            found = published(getattr(import_module(homes[own_name]), own_name), package, name)
        elif own_name in submodules:
            found = import_module(f"{package}.{own_name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        present[name] = found  # asked once: a search costs as much as half an eager operation
        return found

    own = [
        name
        for name, value in present.items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and value is not late_names
    ]
    bound_names(package)
    public = sorted({*own, *homes, *submodules, *aliases})
    return find, lambda: public, public
