"""Programs whose caller takes part: functions on the host ask for its thread, and Ctrl-C can end them.

The runtime calls functions on the host from threads of its own, and Python handles Ctrl-C only in the main thread, between
two steps of Python. So such a program is started by a thread of ours, while its caller waits in Python and runs what the
functions ask for: only there does Ctrl-C arrive, only there can a notebook be asked for input, and only there stand the
frames that led to the call.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")
_PATIENCE = 0.2  # seconds of waiting at once: a Ctrl-C that comes just before is heard after it


class _Request:
    """What a caller is asked to run."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function, self.done, self.left = function, threading.Event(), False
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.function()
        except BaseException as error:  # it belongs to the thread that asks
            self.error = error
        finally:
            self.done.set()

    def refuse(self) -> None:
        """Let whoever asks end as after Ctrl-C."""
        self.error = KeyboardInterrupt()
        self.done.set()

    def leave(self) -> None:
        """Let whoever asks run it."""
        self.left = True
        self.done.set()


class Caller:
    """A thread that waits for a program which it has called.

    Attributes:
      interrupted: whether Ctrl-C has come: the program is to end.
    """

    def __init__(self) -> None:
        self.requests: deque[_Request] = deque()
        self.interrupted = self.ended = False
        self.helper: threading.Thread | None = None

    def next_request(self) -> _Request | None:
        """What to run next; None at the end of the program."""
        with _changed:
            while not (self.requests or self.ended):
                _changed.wait(_PATIENCE)
            return self.requests.popleft() if self.requests else None


_callers: list[Caller] = []
_changed = threading.Condition()


def attended(run: Callable[[], R], can_stop: bool) -> R:
    """The result of a function that runs a program and waits for it, on another thread; this one serves it.

    Args:
      can_stop: whether the program ends soon after Ctrl-C (it looks at ``Caller.interrupted``), which is waited for then.
    """
    caller, results, errors = Caller(), deque[R](), deque[BaseException]()

    def work() -> None:
        try:
            results.append(run())
        except BaseException as error:  # raised where the program was called
            errors.append(error)
        finally:
            with _changed:
                caller.ended = True
                _changed.notify_all()

    caller.helper = threading.Thread(target=work, daemon=True, name="arrax-program")
    with _changed:
        _callers.append(caller)
    try:
        try:
            caller.helper.start()  # an interrupt may come while this still waits: the program may run by then
            _serve(caller)
        except KeyboardInterrupt:
            if not can_stop:
                raise
            caller.interrupted = True
            _serve(caller)  # the next Ctrl-C does not wait
    finally:
        with _changed:
            _callers.remove(caller)
            while caller.requests:  # an interrupt has come in between
                caller.requests.popleft().refuse()
    caller.helper.join()  # or Python's end might meet it in the runtime
    if errors:
        raise errors.pop()
    if caller.interrupted:  # what the program has given is not what was asked for
        raise KeyboardInterrupt
    return results.pop()


def _serve(caller: Caller) -> None:
    while (request := caller.next_request()) is not None:
        request.run()


def current_caller() -> Caller | None:
    """The caller of the program that calls this function on the host, as far as that is known."""
    here = threading.current_thread()
    with _changed:
        return next((caller for caller in _callers if caller.helper is here), _callers[-1] if _callers else None)


def in_caller(function: Callable[[], Any]) -> None:
    """Run a function in the thread of the program's caller; here if nobody waits for it."""
    request, caller = _Request(function), current_caller()
    with _changed:
        if caller in _callers:
            caller.requests.append(request)  # type: ignore[union-attr]  # it is not None there
            _changed.notify_all()
        else:
            request.leave()
    request.done.wait()
    if request.left:
        function()
    elif request.error is not None:
        raise request.error
