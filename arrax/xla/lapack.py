"""LAPACK's kernels in the process: made known to the compiler, and their functions fetched, once, on first use.

Whoever lowers a call to one of them must have called ``prepare`` before: the compiler refuses names that it does not know,
an executable from disk does too, and running one whose functions were never fetched would end the process. As every program
is lowered before it is looked up, compiled or run, lowering is the one place that needs it.
"""

from __future__ import annotations

import threading

from arrax import native
from arrax.native import runtime

_lock = threading.Lock()
_ready = False
_NAMES = {"cpu": "Host"}


def prepare() -> None:
    """Register all kernels and fetch LAPACK's functions (from modules of SciPy); later calls do nothing."""
    global _ready
    if _ready:
        return
    with _lock:
        if _ready:
            return
        register = runtime.xla_client.register_custom_call_target
        for platform, targets in native.lapack.registrations().items():
            for name, capsule, version in targets:
                register(name, capsule, platform=_NAMES.get(platform, platform), api_version=version)
                runtime.xla_client.register_custom_call_as_batch_partitionable(name)
        native.lapack.initialize()
        _ready = True
