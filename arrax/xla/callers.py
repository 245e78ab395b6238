"""Functions on the host that need their caller's thread, such as those that read from a keyboard.

The runtime calls functions on the host from threads of its own. A caller that waits for its program can run what they ask
for meanwhile: only there does Ctrl-C arrive, only there can a notebook be asked for input, and only there stand the frames
that led to the call.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any


class _Request:
    """What a caller is asked to run."""

    def __init__(self, function: Callable[[], Any]):
        self.function, self.done, self.left = function, threading.Event(), False
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.function()
        except BaseException as error:  # it belongs to the thread that asks
            self.error = error
        finally:
            self.done.set()

    def leave(self) -> None:
        """Let whoever asks run it."""
        self.left = True
        self.done.set()


_PATIENCE = 0.5  # seconds that a function waits for a caller that has not come to wait yet
_callers: list[deque[_Request | None]] = []  # what each waiting caller is to run; None: its program has ended
_running: list[int] = []  # the threads that run or wait for programs whose callers are needed
_changed = threading.Condition()


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
    requests: deque[_Request | None] = deque()

    def wait() -> None:
        try:
            token.block_until_ready()
        except Exception:  # noqa: S110  (the caller asks again)
            pass
        with _changed:
            requests.append(None)
            _changed.notify_all()

    with _changed:
        _callers.append(requests)
        _changed.notify_all()
    try:
        threading.Thread(target=wait, daemon=True, name="arrax-wait").start()
        while (request := _next(requests)) is not None:
            request.run()
    finally:
        with _changed:
            _callers.remove(requests)
            for request in filter(None, requests):  # an interrupt has come in between
                request.leave()
    token.block_until_ready()


def _next(requests: deque) -> _Request | None:
    with _changed:
        _changed.wait_for(lambda: requests)
        return requests.popleft()


def in_caller(function: Callable[[], Any]) -> None:
    """Run a function in the thread of a caller, or here: where this is such a thread, or none comes to wait."""
    request = _Request(function)
    with _changed:
        elsewhere = bool(_running) and threading.get_ident() not in _running
        if elsewhere and _changed.wait_for(lambda: _callers, _PATIENCE):
            _callers[-1].append(request)
            _changed.notify_all()
        else:
            request.leave()
    request.done.wait()
    if request.left:
        function()
    elif request.error is not None:
        raise request.error
