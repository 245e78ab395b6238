"""Leaving the process while daemon threads still compile or run.

A daemon thread that comes back from the runtime's C++ code while the interpreter is being torn down is ended by Python in
the middle of C++ frames, which aborts the process. So, when the interpreter exits, daemon threads that enter our code are
parked for good on a lock that nobody releases. Those inside are waited for, and those that import a module of ours, as the
first use of a name does. Other threads are never parked: Python waits until they have ended before it comes to this, so they
must go on.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from types import FrameType

from arrax.core import config

_PATIENCE = 60.0  # seconds for compilations that are running
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
_PACKAGE = __name__.partition(".")[0]
_INTERLUDE = 0.25  # seconds for threads between their last call and the next


class Gate:
    """Knows the threads inside Python code that the C++ call path has called.

    Each thread notes its own calls, and no lock is held meanwhile: an interrupt (Ctrl-C) may come between any two steps, in
    the main thread, and a lock that it leaves held would stop all other threads. Notes that it leaves don't matter, since
    the main thread is the one that closes the gate.
    """

    def __init__(self) -> None:
        self.inside: dict[int, int] = {}  # thread: how many calls deep
        self.seen: set[int] = set()  # threads that have been inside, and are not parked
        self.closing = False
        self.never = threading.Lock()
        self.refusal = ""  # why nobody may enter

    def __enter__(self) -> None:
        if self.refusal:
            raise RuntimeError(self.refusal)
        thread = threading.get_ident()
        self.inside[thread] = self.inside.get(thread, 0) + 1
        self.seen.add(thread)
        if self.closing:
            self.park()

    def __exit__(self, *_: object) -> None:
        thread = threading.get_ident()
        deep = self.inside.get(thread, 1) - 1
        if deep > 0:
            self.inside[thread] = deep
        else:
            self.inside.pop(thread, None)
        if self.closing:
            self.park()

    def park(self, *_: object) -> None:
        """Stop this thread for good if it is a daemon thread."""
        if not _is_daemon(threading.current_thread()):
            return
        self.inside.pop(threading.get_ident(), None)
        self.seen.discard(threading.get_ident())
        self.never.acquire()

    def close(self) -> None:
        """Run when all other threads have ended: no daemon thread enters any more, and those inside are waited for."""
        if self.closing or not any(map(_is_daemon, threading.enumerate())):
            return
        self.never.acquire()
        self.closing = True
        config.post_hook.set_global(self.park)  # threads on the C++ path come by here
        own, end = threading.get_ident(), time.monotonic() + _PATIENCE
        while (set(self.inside) - {own} or self._importing()) and time.monotonic() < end:
            time.sleep(0.002)
        end = time.monotonic() + _INTERLUDE
        while self.seen.intersection(_daemon_threads()) and time.monotonic() < end:
            time.sleep(0.002)

    def _importing(self) -> bool:
        """Whether daemon threads import modules of ours; they may enter afterwards."""
        frames = sys._current_frames()
        threads = [thread for thread in _daemon_threads() if thread in frames and _imports(frames[thread])]
        self.seen.update(threads)
        return bool(threads)


def _daemon_threads() -> list[int]:
    return [thread.ident for thread in threading.enumerate() if thread.ident is not None and _is_daemon(thread)]


def _imports(frame: FrameType | None) -> bool:
    """Whether an import of or by this package is under way in the calls that a frame is in."""
    importing = ours = False
    while frame is not None and not (importing and ours):
        importing = importing or frame.f_code.co_filename == _IMPORT_SYSTEM
        ours = ours or str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE
        frame = frame.f_back
    return importing and ours


def _is_daemon(thread: threading.Thread) -> bool:
    # Threads that Python did not start are the runtime's, which run callbacks: their programs are waited for.
    return thread.daemon and not isinstance(thread, threading._DummyThread)


gate = Gate()
atexit.register(gate.close)  # which runs after threading has joined what is no daemon
