"""The compiled runtime has one owner per process: where another front end has it, or wants it, the import says so."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_OTHER = "jax"


def refuse_other_owner() -> None:
    """Raise ImportError where the other front end has been imported."""
    inner = f"{_OTHER}._src.lib"
    if inner in sys.modules and sys.modules[inner].__name__ == inner:  # and none that is served under the name
        raise ImportError(
            f"arrax cannot be imported after {_OTHER}: both own the compiled runtime (jaxlib) of the process. "
            "Use them in processes of their own."
        )


class _Refusal:
    """Finds the other front end where it is installed, and refuses to load it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        found = PathFinder.find_spec(name) if name == _OTHER else None
        return None if found is None else ModuleSpec(name, self, origin=found.origin)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        raise ImportError(
            f"{_OTHER} cannot be imported after arrax: both own the compiled runtime (jaxlib) of the process. "
            f"Use them in processes of their own, or let arrax stand in: sys.modules[{_OTHER!r}] = arrax.",
            name=_OTHER,
        )


def _refuse_another_copy() -> None:
    """Raise ImportError where this package has been imported before, or is in an interpreter inside of the process."""
    for finder in sys.meta_path:
        if type(finder).__module__ == __name__ and not isinstance(finder, _Refusal):
            raise ImportError(
                "arrax cannot be imported twice in a process: its modules were taken out of sys.modules, but the compiled "
                "runtime (jaxlib) belongs to the first ones. Start Python anew, or keep the modules."
            )
    if _is_inner_interpreter():
        raise ImportError(
            "arrax cannot be imported in a subinterpreter: the compiled runtime (jaxlib) works in the main one only. "
            "Use processes (under mod_wsgi: WSGIApplicationGroup %{GLOBAL})."
        )


def _is_inner_interpreter() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):  # of Python 3.13, and before
        try:
            interpreters = importlib.import_module(name)
            return bool(interpreters.get_current() != interpreters.get_main())
        except (ImportError, AttributeError):
            continue
    return False


def refuse_other_from_now_on() -> None:
    """Let a later import of the other front end raise ImportError."""
    sys.meta_path.insert(0, _Refusal())


refuse_other_owner()
_refuse_another_copy()
