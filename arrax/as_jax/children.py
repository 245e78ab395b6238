"""Processes that a program starts by ``multiprocessing``, or by joblib's loky, serve the name, too.

A spawned process first loads what its parent says of the program, then imports the program's main module, then what it is
asked to do. What its parent says here has a part that serves the name as it is loaded, so that ``import jax`` means the same
in both. A server of forks imports before it hears of that: it loads arrax itself, and its forks the main module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from arrax.core.loading import when_loaded

_FOLDER = str(Path(__file__).resolve().parents[2])


class _Serving:
    """Serves the name in the process that unpickles it, which has not been told yet where the parent found arrax."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"import sys; sys.path.append({_FOLDER!r}); import arrax.as_jax",)


def _serve_in_spawned(module: ModuleType) -> None:
    told: Callable[..., dict[str, Any]] = module.get_preparation_data

    @functools.wraps(told)
    def get_preparation_data(*args: Any, **options: Any) -> dict[str, Any]:
        return {"serving jax": _Serving(), **told(*args, **options)}

    module.get_preparation_data = get_preparation_data  # type: ignore[attr-defined]


def _serve_in_server(module: ModuleType) -> None:
    module.set_forkserver_preload(["arrax.as_jax"])


def serve_in_children() -> None:
    """Let processes that this one starts from now on serve the name."""
    for name in ("multiprocessing.spawn", "loky.backend.spawn", "joblib.externals.loky.backend.spawn"):
        when_loaded(name, _serve_in_spawned)
    when_loaded("multiprocessing.forkserver", _serve_in_server)
