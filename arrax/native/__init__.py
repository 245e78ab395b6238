"""The ground: the only room that names jaxlib. Re-exports of what we use, nothing of ours imported, no logic.

``native.mlir`` loads on first use: half of the start-up time of a program that never lowers anything would be its.
"""

import importlib
import threading
from typing import Any

_lock = threading.RLock()  # two threads importing extension modules for the first time can see half of them


def __getattr__(name: str) -> Any:
    if name in ("mlir", "lapack", "absl_flags"):
        with _lock:
            return importlib.import_module(f"arrax.native.{name}")
    raise AttributeError(f"module 'arrax.native' has no attribute {name!r}")
