"""The folder of stored executables, chosen by functions instead of the setting (documented, older way)."""

from __future__ import annotations

import os

from arrax.core import config
from arrax.xla.compilation import clear_memory, disk_store


def set_cache_dir(path: str | os.PathLike[str] | None) -> None:
    """Choose the folder in which compiled programs are stored and looked for.

    Args:
      path: folder; it is made, for its owner alone, when the first program is stored. None: the user's cache folder.
    Raises: TypeError for what is no path.
    Example: ``set_cache_dir("/tmp/my-programs")``. The same as ``config.update("jax_compilation_cache_dir", path)``.
    """
    config.compilation_cache_dir.set_global(None if path is None else os.fspath(path))


def initialize_cache(path: str | os.PathLike[str] | None) -> None:
    """Deprecated name of ``set_cache_dir``.

    Example: ``initialize_cache("/tmp/my-programs")``.
    """
    set_cache_dir(path)


def is_initialized() -> bool:
    """Deprecated: whether programs are stored on disk.

    Example: ``is_initialized()`` is True unless a setting turns the store off.
    """
    return disk_store() is not None


def reset_cache() -> None:
    """Forget what was compiled in this process: programs are looked for in the chosen folder again, whose entries stay.

    Example: ``reset_cache()``.
    """
    clear_memory()
