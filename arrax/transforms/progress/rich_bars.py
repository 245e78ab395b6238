"""Bars of rich, in terminals and notebooks: those of all loops in one display."""

from __future__ import annotations

import threading
from typing import Any

from arrax.transforms.progress.bars import AnyBar

try:
    from rich import progress
except ImportError:  # checked_style tells users
    pass

_lock = threading.Lock()
_displays: list[Any] = []  # one, while there are bars
_open: list[Bar] = []


class Bar(AnyBar):
    """A bar among others of one display, which ends with the last of them."""

    def __init__(self, label: str, total: int | None):
        with _lock:
            if not _displays:
                _displays.append(_display())
                _displays[0].start()
            self.display = _displays[0]
            self.nested = bool(_open)
            self.task = self.display.add_task(label, total=total, rate="")
            _open.append(self)

    def show(self, steps: int, seconds: float, words: str) -> None:
        rate = f"{steps / seconds:.3g} steps/s" if seconds > 0 else ""
        self.display.update(self.task, completed=steps, rate=f"{rate} {words}".strip(), refresh=True)

    def close(self) -> None:
        with _lock:
            if self not in _open:
                return
            _open.remove(self)
            self.display.stop_task(self.task)
            if self.nested:
                self.display.remove_task(self.task)
            if not _open:
                _displays.remove(self.display)
                self.display.stop()


def _display() -> Any:
    """What shows bars, and what stands in them."""
    return progress.Progress(
        progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(), progress.TimeRemainingColumn(), progress.TextColumn("{task.fields[rate]}"),
    )  # fmt: skip
