"""Bars of plain text: one line for all loops, drawn again and again in terminals, written now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time

from arrax.transforms.progress.bars import AnyBar

_WIDTH = 24  # characters of the bar itself
_PAUSE = 10.0  # seconds between lines where they cannot be drawn over
_lock = threading.Lock()
_open: list[Bar] = []


class Bar(AnyBar):
    """A part of the line; loops inside of others stand behind them."""

    shown = 0.0  # when the line was last written
    length = 0  # of the line that stands in the terminal

    def __init__(self, label: str, total: int | None):
        self.label, self.total, self.text = label, total, ""
        with _lock:
            _open.append(self)

    def show(self, steps: int, seconds: float, words: str) -> None:
        with _lock:
            self.text = f"{_text(self.label, self.total, steps, seconds)} {words}".rstrip()
            if _can_draw_over():
                _draw()
            elif time.monotonic() - Bar.shown > _PAUSE:
                _write_line()

    def close(self) -> None:
        with _lock:
            if self not in _open:
                return
            if _open[0] is not self:  # the line goes on without it
                _open.remove(self)
                return
            if _can_draw_over():
                _draw()
                print(file=sys.stderr, flush=True)
                Bar.length = 0
            else:
                _write_line()
            _open.remove(self)


def _line() -> str:
    return " | ".join(bar.text for bar in _open if bar.text)


def _draw() -> None:
    line = _line()
    print("\r" + line.ljust(Bar.length), end="", file=sys.stderr, flush=True)
    Bar.length = len(line)


def _write_line() -> None:
    print(_line(), file=sys.stderr, flush=True)
    Bar.shown = time.monotonic()


def _can_draw_over() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _text(label: str, total: int | None, steps: int, seconds: float) -> str:
    label = f"{label}: " if label else ""
    rate = steps / seconds if seconds > 0 else 0.0
    if not total:
        return f"{label}{steps} steps [{_clock(seconds)}, {rate:.3g}/s]"
    share = min(steps / total, 1.0)
    done = int(share * _WIDTH)
    left = _clock((total - steps) / rate) if rate else "?"
    bar = "#" * done + "." * (_WIDTH - done)
    return f"{label}{share:4.0%} [{bar}] {steps}/{total} [{_clock(seconds)}<{left}, {rate:.3g}/s]"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"
