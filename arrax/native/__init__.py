"""The only package that names jaxlib. Re-exports of what we use, nothing of ours imported, no logic.

``native.mlir`` loads on first use: half of the start-up time of a program that never lowers anything would be its.
"""

import contextlib
import importlib
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    mlir: Any  # the bindings do more than they declare

_lock = threading.RLock()  # two threads importing extension modules for the first time can see half of them


def __getattr__(name: str) -> Any:
    if name in ("mlir", "lapack", "absl_flags"):
        with _lock:
            return _imported(f"arrax.native.{name}")
    raise AttributeError(f"module 'arrax.native' has no attribute {name!r}")


def _imported(name: str) -> Any:
    """A module, imported by another thread: Ctrl-C, which only the main thread sees, must not leave half of it."""
    if name not in sys.modules:
        try:
            thread = threading.Thread(target=_import_quietly, args=(name,))
            thread.start()
        except RuntimeError:  # the interpreter is about to end
            return importlib.import_module(name)
        thread.join()
    return importlib.import_module(name)


def _import_quietly(name: str) -> None:
    with contextlib.suppress(ImportError):  # the caller, who tries again, gets it
        importlib.import_module(name)
