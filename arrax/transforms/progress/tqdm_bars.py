"""Bars of tqdm, in terminals and notebooks."""

from __future__ import annotations

import warnings
from typing import Any

from arrax.transforms.progress.bars import AnyBar

try:
    import tqdm

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tqdm.TqdmWarning)  # that notebooks lack widgets: there is text, then
        from tqdm.auto import tqdm as make
except ImportError:  # checked_style tells users
    make: Any = None  # type: ignore[no-redef]

_open: list[Bar] = []


class Bar(AnyBar):
    """A bar of tqdm; bars of loops inside of others go when these loops end."""

    def __init__(self, label: str, total: int | None):
        self.bar = make(desc=label or None, total=total, leave=not _open, unit="step", dynamic_ncols=True)
        _open.append(self)

    def show(self, steps: int, seconds: float, words: str) -> None:
        self.bar.start_t = self.bar._time() - seconds  # the loop began before the bar did
        self.bar.n = steps
        self.bar.set_postfix_str(words, refresh=False)
        self.bar.refresh()

    def close(self) -> None:
        if self in _open:
            _open.remove(self)
        self.bar.close()
