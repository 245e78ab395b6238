"""Differentiation: forward mode, partial evaluation, transposition. Public names only."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from arrax.core.types import Zero as Zero
from arrax.core.types import slots
from arrax.interpreters.registries import primitive_jvps as primitive_jvps
from arrax.interpreters.registries import primitive_transposes as primitive_transposes

_ALIASES = {"JVPTrace": "JVP", "add_jaxvals": "add_tangents"}


def __getattr__(name: str) -> Callable[..., Any]:
    if name == "add_jaxvals_p":
        return slots.add.primitive  # type: ignore[attr-defined]
    name = _ALIASES.get(name, name)
    for submodule in ("forward", "transpose", "rules"):
        module = import_module(f"arrax.interpreters.ad.{submodule}")
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module 'arrax.interpreters.ad' has no attribute {name!r}")
