"""Whole programs of the kinds that users write, each in a process of its own: the first call with cold caches, and later ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

from benchmarks.case import Measured
from benchmarks.programs import catalogue

KINDS = ("first call", "steady")


def cases(lib: ModuleType, jnp: ModuleType) -> Iterator[Measured]:
    """Each program's first call, which traces and compiles, and the shortest of those after it."""
    for name in catalogue.PROGRAMS:
        timed = OnceForBoth(lib.__name__, name)
        for number, kind in enumerate(KINDS):
            yield Measured(f"{name}, {kind}", timed.reader(number))


class OnceForBoth:
    """Runs a program's process when one of its times is asked for again."""

    def __init__(self, library: str, name: str) -> None:
        self.library, self.name = library, name
        self.left: dict[int, float] = {}

    def reader(self, number: int) -> Callable[[], float]:
        """A function that gives the time with this number."""

        def read() -> float:
            if number not in self.left:
                self.left = dict(enumerate(run(self.library, self.name)))
            return self.left.pop(number)

        return read


def run(library: str, name: str) -> list[float]:
    """Seconds of the first call and of the shortest later one, in a fresh process that finds nothing on disk."""
    command = [sys.executable, "-m", "benchmarks.programs.run_program", library, name]
    environment = {**os.environ, "ARRAX_ENABLE_COMPILATION_CACHE": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return [float(text) for text in done.stdout.rpartition("seconds")[2].split()]
