"""Functions on the host that need their caller's thread, such as those that read from a keyboard.

The runtime calls functions on the host from threads of its own. A caller that waits for its program can run what they ask
for meanwhile: only there does Ctrl-C arrive, only there can a notebook be asked for input, and only there stand the frames
that led to the call.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

_PATIENCE = 0.5  # seconds that a function waits for a caller that has not come to wait yet
_callers: list[queue.SimpleQueue] = []
_running: list[int] = []  # the threads that run or wait for programs whose callers are needed
_changed = threading.Condition()


class _Request:
    """What a caller is asked to run."""

    def __init__(self, function: Callable[[], Any]):
        self.function, self.done = function, threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.function()
        except BaseException as error:  # it belongs to the thread that asks
            self.error = error
        finally:
            self.done.set()


class needed_caller:
    """Context manager: this thread runs a program whose functions on the host may ask for it."""

    def __enter__(self) -> None:
        with _changed:
            _running.append(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        with _changed:
            _running.remove(threading.get_ident())


def wait_and_serve(token: Any) -> None:
    """Wait for a program; run here what its functions on the host ask for."""
    requests: queue.SimpleQueue = queue.SimpleQueue()

    def wait() -> None:
        try:
            token.block_until_ready()
        except Exception:  # noqa: S110  (the caller asks again)
            pass
        requests.put(None)

    with _changed:
        _callers.append(requests)
        _changed.notify_all()
    try:
        threading.Thread(target=wait, daemon=True, name="arrax-wait").start()
        while (request := requests.get()) is not None:
            request.run()
    finally:
        with _changed:
            _callers.remove(requests)
    token.block_until_ready()


def in_caller(function: Callable[[], Any]) -> None:
    """Run a function in the thread of a caller, or here: where this is such a thread, or none comes to wait."""
    here = threading.get_ident()
    with _changed:
        if here in _running or not _running:
            requests = None
        else:
            _changed.wait_for(lambda: _callers, _PATIENCE)
            requests = _callers[-1] if _callers else None
    if requests is None:
        function()
        return
    request = _Request(function)
    requests.put(request)
    request.done.wait()
    if request.error is not None:
        raise request.error
