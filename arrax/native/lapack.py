"""LAPACK kernels of jaxlib for the CPU. ``initialize`` loads SciPy's LAPACK, so call it on first use."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import PathFinder

from jaxlib import lapack as kernels
from jaxlib.lapack import _lapack

registrations = kernels.registrations
_PACKAGE = "scipy.linalg"
_FUNCTIONS = ("scipy.linalg.cython_blas", "scipy.linalg.cython_lapack")


def initialize() -> None:
    """Fetch the functions of BLAS and LAPACK.

    jaxlib takes them from two modules of ``scipy.linalg``. That package takes 0.1 seconds to import, these two 0.01: they are
    loaded without it where nobody has imported it yet.
    """
    lock = getattr(importlib._bootstrap, "_ModuleLockManager", None)  # type: ignore[attr-defined]
    if lock is not None and _PACKAGE not in sys.modules:
        with lock(_PACKAGE):  # other threads that import the package wait
            if _PACKAGE not in sys.modules and _initialize_without_package():
                return
    _lapack.initialize()


def _initialize_without_package() -> bool:
    """Fetch the functions from the modules alone, and forget these: whoever imports the package gets them as its parts.

    False where this SciPy's modules need their package.
    """
    import scipy

    folders = [os.path.join(folder, "linalg") for folder in scipy.__path__]
    try:
        for name in _FUNCTIONS:
            spec = PathFinder.find_spec(name, folders)
            if spec is None or spec.loader is None:
                return False
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        _lapack.initialize()
    except Exception:
        return False
    finally:
        for name in _FUNCTIONS:
            sys.modules.pop(name, None)
    return True
