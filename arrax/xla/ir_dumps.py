"""The option ``dump_ir_to``: the programs that are handed to the compiler, as text files."""

from __future__ import annotations

import itertools
import os
import pathlib
import re

from arrax.dtypes.canonical import warn_user
from arrax.xla.modules import Source

_numbers = itertools.count()


def dump(module: Source, name: str, folder: str) -> None:
    """Write a module, with locations, to ``folder/PROCESS_NUMBER_NAME.mlir``; warn where the folder cannot be written."""
    readable = re.sub(r"[^\w.-]+", "_", name)[:80]
    path = pathlib.Path(folder) / f"{os.getpid()}_{next(_numbers):04d}_{readable}.mlir"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(module.text())
    except OSError as error:
        warn_user(f"dump_ir_to: cannot write {path}: {error}")
