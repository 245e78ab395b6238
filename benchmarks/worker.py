"""A process that times cases of one group on one library, as told line by line: JSON in, JSON out."""

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from benchmarks.case import Case


class Bench:
    """One group's cases, written once, bound to one library."""

    def __init__(self, library: str, group: str) -> None:
        self.lib = importlib.import_module(library)
        jnp = self.lib if library == "numpy" else importlib.import_module(f"{library}.numpy")
        module = importlib.import_module(f"benchmarks.{group}")
        self.cases: dict[str, Case] = {case.name: case for case in module.cases(self.lib, jnp)}

    def names(self) -> list[str]:
        """The cases, in the order in which they are to run."""
        return list(self.cases)

    def time(self, name: str) -> float:
        """Seconds that a case takes."""
        return self.cases[name].best_time(settler(self.lib))


def settler(lib: ModuleType) -> Callable[[Any], Any]:
    """Waits for a result: the shortest way for an array, the library's for a tree of them."""

    def settle(result: Any) -> Any:
        method = getattr(result, "block_until_ready", None)
        if method is not None:
            return method()
        return lib.block_until_ready(result) if hasattr(lib, "block_until_ready") else result

    return settle


def versions(library: str) -> dict[str, str]:
    """What this side consists of."""
    found = {"python": platform.python_version()}
    for package in dict.fromkeys((library, "jaxlib", "numpy")):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "from this checkout"
    return found


def answer(library: str, group: str, benches: list[Bench], request: dict[str, str]) -> dict[str, Any]:
    """What a request asks for, or the error that it met."""
    try:
        if request["ask"] == "versions":
            return {"answer": versions(library)}
        if not benches:
            benches.append(Bench(library, group))
        if request["ask"] == "names":
            return {"answer": benches[0].names()}
        return {"answer": benches[0].time(request["case"])}
    except Exception as error:  # a case that fails must not stop the others
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}


def main() -> None:
    """Answer until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="arrax, jax or numpy")
    parser.add_argument("--group", required=True)
    options = parser.parse_args()
    # Answers have the standard output for themselves; whatever libraries print goes to the standard error.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    benches: list[Bench] = []
    for line in sys.stdin:
        print(json.dumps(answer(options.library, options.group, benches, json.loads(line))), file=answers)


if __name__ == "__main__":
    main()
