"""The kinds of cases, and how each takes its time.

Every kind reports the shortest time seen: what disturbs a measurement on a busy machine only ever adds to it.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

BATCH_SECONDS = 0.01
BUDGET_SECONDS = 0.4
MAX_LOOPS = 10_000
MIN_REPEATS, MAX_REPEATS = 3, 15


class Case(Protocol):
    """Something to be timed."""

    name: str

    def best_time(self, settle: Callable[[Any], Any]) -> float:
        """Seconds that it takes.

        Args:
          settle: waits until a result has been computed.
        """
        ...


@dataclass(frozen=True)
class Repeated:
    """A call that can be made over and over, its first time left out."""

    name: str
    run: Callable[[], Any]

    def best_time(self, settle: Callable[[Any], Any]) -> float:
        """Seconds a call takes, in batches long enough for the clock."""
        settle(self.run())
        single = timed_batch(self.run, 1, settle)
        loops = max(1, min(MAX_LOOPS, int(BATCH_SECONDS / max(single, 1e-7))))
        repeats = max(MIN_REPEATS, min(MAX_REPEATS, int(BUDGET_SECONDS / max(single * loops, 1e-7))))
        return min(timed_batch(self.run, loops, settle) for _ in range(repeats)) / loops


@dataclass(frozen=True)
class Prepared:
    """A call that needs something new each time, whose making does not count."""

    name: str
    prepare: Callable[[], Any]
    run: Callable[[Any], Any]

    def best_time(self, settle: Callable[[Any], Any]) -> float:
        """Seconds a call takes, once per preparation."""
        times: list[float] = []
        while len(times) < MIN_REPEATS or (sum(times) < BUDGET_SECONDS and len(times) < MAX_REPEATS):
            prepared = self.prepare()
            times.append(timed_batch(lambda prepared=prepared: self.run(prepared), 1, settle))
        return min(times)


@dataclass(frozen=True)
class Measured:
    """A call that says itself how long it took."""

    name: str
    seconds: Callable[[], float]

    def best_time(self, settle: Callable[[Any], Any]) -> float:
        """Seconds as measured, once: more rounds give more of them."""
        return self.seconds()


def timed_batch(run: Callable[[], Any], loops: int, settle: Callable[[Any], Any]) -> float:
    """Seconds that some calls take together, the last result awaited, the garbage collector kept out."""
    gc.collect()
    gc.disable()
    try:
        result = None
        start = time.perf_counter()
        for _ in range(loops):
            result = run()
        settle(result)
        return time.perf_counter() - start
    finally:
        gc.enable()
