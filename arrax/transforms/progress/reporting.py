"""``debug.progress``: compiled loops show how far they are."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from types import FunctionType
from typing import Any, TypeVar, overload

import numpy as np

from arrax.core.calls import as_index, check_callable
from arrax.lax.control_flow.reported_loops import UNKNOWN, mark_loop
from arrax.lax.operand_checks import checked_operand
from arrax.transforms.progress.bars import AnyBar, bar_of, checked_style
from arrax.xla import host_failures
from arrax.xla.callers import current_caller

F = TypeVar("F", bound=Callable[..., Any])
Show = Callable[[Any], dict[str, Any]]
logger = logging.getLogger("arrax")
_GROWTH = 16  # how many times as many steps there are, at most, between reports than between those before


class _Run:
    """One run of a loop: how fast it is, and the bar that shows it."""

    __slots__ = ("began", "since", "steps", "bar", "caller")

    def __init__(self) -> None:
        self.began = self.since = perf_counter()
        self.steps = 0
        self.caller = current_caller()
        self.bar: AnyBar | None = None

    def close(self) -> None:
        """Let the bar go; another report opens a new one."""
        bar, self.bar = self.bar, None
        if bar is not None:
            bar.close()


_runs: dict[int, _Run] = {}
_handles = itertools.count(1)
_lock = threading.Lock()


@host_failures.after_failure
def _close_all() -> None:
    for run in list(_runs.values()):
        run.close()


@dataclass(frozen=True)
class Reporter:
    """Hears how far a loop is; see ``lax.control_flow.reported_loops``."""

    label: str
    total: int | None
    style: str
    every: float
    delay: float
    names: tuple[str, ...] = ()  # of the values that are shown

    def __call__(
        self, handle: int, steps: int, total: int, ended: bool, repeated: bool, values: Sequence[np.ndarray]
    ) -> tuple[int, int]:
        if handle == 0:
            return (0 if ended else self._begin()), 1
        run, now = _runs.get(handle) or _Run(), perf_counter()
        if run.caller is not None and run.caller.interrupted:  # the loop ends, and its caller raises
            run.close()
            _runs.pop(handle, None)
            return handle, 0
        try:
            if not repeated and (ended or run.bar is not None or now - run.began >= self.delay):
                words = ", ".join(f"{name}={_text(value)}" for name, value in zip(self.names, values, strict=False))
                self._show(run, steps, total, now, ended, words)
        except Exception:  # what watches a program does not end it
            logger.exception("arrax.debug.progress: the bar cannot be shown")
            run.bar = None
        taken, seconds = steps - run.steps, now - run.since
        run.steps = steps
        if ended:
            with _lock:
                _runs.pop(handle, None)
        run.since = perf_counter()
        return handle, max(1, min(int(taken / max(seconds, 1e-9) * self.every), _GROWTH * taken))

    def _begin(self) -> int:
        with _lock:
            handle = next(_handles)
            _runs[handle] = _Run()
        return handle

    def _show(self, run: _Run, steps: int, total: int, now: float, ended: bool, words: str) -> None:
        if run.bar is None:
            if ended and now - run.began < self.delay:
                return
            known = self.total if self.total is not None else None if total == UNKNOWN else total
            run.bar = bar_of(self.style)(self.label, known)
        run.bar.show(steps, now - run.began, words)
        if ended:
            run.close()


def _text(value: np.ndarray) -> str:
    """A number; of several, such as those of mapped examples, the mean and how many."""
    if value.ndim == 0 or value.size == 1:
        return f"{value.item():.4g}" if value.dtype.kind in "fc" else str(value.item())
    return f"{value.astype(np.float64, copy=False).mean():.4g} (mean of {value.size})"


class Reporting:
    """A body of loops that report."""

    def __init__(self, fun: Callable[..., Any], reporter: Reporter, show: Show | None) -> None:
        functools.update_wrapper(self, fun, updated=())
        self.fun, self.reporter, self.show = fun, reporter, show

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.fun(*args, **kwargs)
        shown = {} if self.show is None else self.show(result)
        if not isinstance(shown, dict):
            raise TypeError(f"progress: show must return a dict of names and numbers, got {shown!r}")
        values = [checked_operand("progress", value) for value in shown.values()]
        mark_loop(dataclasses.replace(self.reporter, names=tuple(map(str, shown))), values)
        return result


def _reporting(fun: Callable[..., Any], reporter: Reporter, show: Show | None) -> Reporting:
    """One for each function and settings, which lives as long as the function: loops that run at once find their programs."""
    if type(fun) is not FunctionType:
        return Reporting(fun, reporter, show)
    made = fun.__dict__.setdefault("__progress__", {})
    if (reporter, show) not in made:
        made[reporter, show] = Reporting(fun, reporter, show)
    return made[reporter, show]


@overload
def progress(
    fun: F,
    label: str = ...,
    *,
    total: int | None = ...,
    style: str | None = ...,
    every: float = ...,
    delay: float = ...,
) -> F: ...
@overload
def progress(
    fun: None = None, label: str = ..., *, show: Show | None = ..., total: int | None = ..., style: str | None = ...,
    every: float = ..., delay: float = ...,
) -> Callable[[F], F]: ...  # fmt: skip
def progress(
    fun: Callable[..., Any] | None = None,
    label: str = "",
    *,
    show: Show | None = None,
    total: int | None = None,
    style: str | None = None,
    every: float = 0.1,
    delay: float = 0.2,
) -> Any:
    """The body of a compiled loop that shows how far the loop is: for ``scan``, ``fori_loop``, ``map``, ``while_loop``.

    The loop calls Python from time to time, as often as ``every`` says and however long steps take. ``vmap`` shows one bar
    for all examples, ``grad`` the forward pass. Loops inside of others have bars of their own. Ctrl-C ends a loop at
    its next report. Where there is no compiled loop around the function, nothing is shown.

    Args:
      fun: what the loop repeats. Without it, the rest makes a decorator.
      label: stands in front of the bar.
      show: from what ``fun`` returns, a dict of names and numbers that stand behind the bar, as they are after the last step.
        Nothing is shown of a function that is jitted inside of the loop.
      total: how many steps there will be, where the loop itself does not know (``while_loop``).
      style: ``"tqdm"``, ``"rich"``, ``"text"``; None for the first of them whose package is installed.
      every: seconds between reports.
      delay: loops that take less seconds show nothing.
    Returns: a function like ``fun``.
    Raises:
      TypeError: ``fun`` is not a function, times or ``total`` are not numbers.
      ValueError: an unknown style, times that are negative, a ``total`` that is not positive.
      ModuleNotFoundError: the package of the style is not installed.
    Example: ``lax.fori_loop(0, 10, arrax.debug.progress(lambda i, x: x + i, "adding"), 0)``.
    """
    if fun is None:
        return lambda body: progress(body, label, show=show, total=total, style=style, every=every, delay=delay)
    check_callable(fun)
    if show is not None:
        check_callable(show)
    for name, seconds in (("every", every), ("delay", delay)):
        if not isinstance(seconds, float | int | np.floating | np.integer):
            raise TypeError(f"progress: {name} must be a number of seconds, got {seconds!r}")
    if total is not None:
        total = as_index(total)
    if every < 0 or delay < 0:
        raise ValueError(f"progress: every and delay must not be negative, got {every} and {delay}")
    if total is not None and total < 1:
        raise ValueError(f"progress: total must be positive, got {total}")
    return _reporting(fun, Reporter(str(label), total, checked_style(style), float(every), float(delay)), show)
