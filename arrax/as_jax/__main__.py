"""Run a program with the name ``jax`` served: ``python -m arrax.as_jax program.py …``, ``-m module …`` or ``-c code …``."""

from __future__ import annotations

import runpy
import sys

USAGE = "usage: python -m arrax.as_jax (PROGRAM | -m MODULE | -c CODE) [ARGUMENTS ...]"


def main() -> None:
    """Run what the command line names, as ``__main__``."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help") or (arguments[0] in ("-m", "-c") and len(arguments) < 2):
        sys.exit(USAGE)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path.insert(0, "")
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
