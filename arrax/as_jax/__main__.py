"""Run a program with the name ``jax`` served: ``python -m arrax.as_jax program.py …``, ``-m module …`` or ``-c code …``."""

from __future__ import annotations

import builtins
import io
import os
import pkgutil
import runpy
import sys
from types import CodeType, ModuleType

USAGE = "usage: python -m arrax.as_jax (PROGRAM | -m MODULE | -c CODE) [ARGUMENTS ...]"


def _run(code: CodeType, path: str | None) -> None:
    """Run code as the main module, which it stays: for what runs at the end, and for pickles."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    if path is not None:
        module.__file__ = path
    module.__builtins__ = builtins  # type: ignore[attr-defined]
    exec(code, module.__dict__)


def main() -> None:
    """Run what the command line names, as ``__main__``."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help") or (arguments[0] in ("-m", "-c") and len(arguments) < 2):
        sys.exit(USAGE)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    path: str | None = None
    source: str | bytes
    if arguments[0] == "-c":
        sys.argv, source = ["-c", *arguments[2:]], arguments[1]
    else:
        sys.argv, path = arguments, arguments[0]
        if pkgutil.get_importer(path) is not None:  # a folder or an archive
            runpy.run_path(path, run_name="__main__")
            return
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    if not sys.flags.safe_path:  # what stands beside a program can be imported
        sys.path[0] = "" if path is None else os.path.dirname(os.path.realpath(path))
    _run(compile(source, path or "<string>", "exec", dont_inherit=True), path)


if __name__ == "__main__":
    main()
