"""The package is whole before anything of it is used, although it is imported piece by piece.

Some modules are imported for what they do: they give arrays their methods, programs their text, compiled functions their
stages. Nobody needs their names, so nobody's import brings them. The top of the package says once which module imports all
of them, and each way in calls ``complete_package``: names that load late when they are asked for, public modules at their
end, and the functions that pickles name. No inner module does: two threads would wait for each other's imports.
"""

from __future__ import annotations

from importlib import import_module

_last_modules: list[str] = []


def complete_with(module: str) -> None:
    """Say which module imports what completes the package."""
    _last_modules.append(module)


def complete_package() -> None:
    """Import what completes the package; nothing where that is done, or under way in this thread."""
    for module in _last_modules:
        import_module(module)
