"""Pickles of jitted functions: by their name where a module has them, otherwise as the function and its options."""

from __future__ import annotations

import copyreg
import importlib
import sys
from collections.abc import Callable
from typing import Any

from arrax.core.completion import complete_package
from arrax.native import runtime
from arrax.transforms.jit import Jitted, make_jitted
from arrax.transforms.jit_options import JitOptions


def _place_of(function: Callable[..., Any]) -> tuple[str, str] | None:
    """Module and name under which other processes find a function: its own module, or a package around that."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    while module:
        if module in sys.modules and _find(module, name) is function:
            return module, name
        module = module.rpartition(".")[0]
    return None


def _find(module: str, name: str) -> Callable[..., Any] | None:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _reduced(function: Any) -> tuple[Any, ...]:
    place = _place_of(function)
    if place is not None:
        return _find, place
    jitted = function._jitted
    options = {slot: getattr(jitted.options, slot) for slot in JitOptions.__slots__}
    return _restored, (type(jitted), jitted.fun, options)


def _restored(kind: type[Jitted], fun: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    complete_package()
    return make_jitted(kind(fun, JitOptions(**options)))


copyreg.pickle(runtime.PjitFunction, _reduced)
