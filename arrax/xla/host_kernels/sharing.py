"""Work that several threads do at once: NumPy lets other threads run while it sorts and selects.

Rows are worked on one by one, so that which thread does a row changes nothing in its result.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from arrax.xla.processors import usable_processors

MIN_SHARE = 1 << 16  # elements for one thread: to start it costs about what NumPy takes to sort a twentieth of them


class _Work(threading.local):
    """Of a thread.

    Attributes:
      is_shared: whether it is at a share of some work, which is not divided again.
    """

    is_shared = False


_work = _Work()


def run_together(tasks: Sequence[Callable[[], object]]) -> None:
    """Run functions at the same time, each in a thread of its own but the first, and wait for all of them.

    Raises:
      Exception: what one of them has raised.
    """
    failures: list[BaseException] = []
    threads = [threading.Thread(target=_run, args=(task, failures), daemon=False) for task in tasks[1:]]
    started = [thread for thread, task in zip(threads, tasks[1:], strict=True) if _start(thread, task, failures)]
    _run(tasks[0], failures)
    for thread in started:
        thread.join()
    if failures:
        raise failures[0]


def _run(task: Callable[[], object], failures: list[BaseException]) -> None:
    _work.is_shared = True
    try:
        task()
    except BaseException as failure:  # raised again by the thread that waits
        failures.append(failure)
    finally:
        _work.is_shared = False


def _start(thread: threading.Thread, task: Callable[[], object], failures: list[BaseException]) -> bool:
    """Whether a thread has been started; where there can be none, as at the end of the process, this one does its task."""
    try:
        thread.start()
    except RuntimeError:
        _run(task, failures)
        return False
    return True


def count_of_shares(size: int) -> int:
    """Into how many parts work on so many elements is divided."""
    return 1 if _work.is_shared else max(1, min(usable_processors(), size // MIN_SHARE))


def share_rows(
    work: Callable[..., None], inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], *given: int
) -> None:
    """Let several threads do a kernel's work: each for some of the rows, which all arrays have as their first axis."""
    rows = inputs[0].shape[0]
    count = min(rows, count_of_shares(inputs[0].size))
    if count < 2:
        work(inputs, outputs, *given)
        return
    bounds = [rows * number // count for number in range(count + 1)]
    run_together(
        [
            functools.partial(work, [x[start:stop] for x in inputs], [x[start:stop] for x in outputs], *given)
            for start, stop in zip(bounds, bounds[1:], strict=False)
        ]
    )


def sort_row(row: np.ndarray) -> None:
    """Sort integers of several bytes in place: parts of them by themselves, which are merged two by two."""
    count = count_of_shares(row.size)
    if count < 2:
        row.sort()
        return
    count = 1 << (count.bit_length() - 1)
    bounds = [row.size * number // count for number in range(count + 1)]
    _sort_parts(row, bounds, None)
    while len(bounds) > 2:
        bounds = bounds[::2]
        _sort_parts(row, bounds, "stable")  # which merges the two parts of each, as both are in order


def _sort_parts(row: np.ndarray, bounds: Sequence[int], kind: Literal["stable"] | None) -> None:
    parts = [row[start:stop] for start, stop in zip(bounds, bounds[1:], strict=False)]
    run_together([functools.partial(part.sort, kind=kind) for part in parts])
