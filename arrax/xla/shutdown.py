"""Leaving the process while daemon threads still compile or run.

A daemon thread that comes back from the runtime's C++ code while the interpreter is being torn down is ended by Python in
the middle of C++ frames, which aborts the process. So, when the interpreter exits, daemon threads that enter our code are
parked for good on a lock that nobody releases, and those inside are waited for. Other threads are never parked: Python
waits until they have ended before it comes to this, so they must go on.
"""

from __future__ import annotations

import atexit
import threading
import time

from arrax.core import config

_PATIENCE = 60.0  # seconds for compilations that are running


class Gate:
    """Counts the threads inside Python code that the C++ call path has called."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.inside, self.closing = 0, False
        self.depth = threading.local()
        self.never = threading.Lock()
        self.refusal = ""  # why nobody may enter

    def __enter__(self) -> None:
        if self.closing:
            self.park()
        if self.refusal:
            raise RuntimeError(self.refusal)
        self.depth.value = getattr(self.depth, "value", 0) + 1
        with self.condition:
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        self.depth.value -= 1
        with self.condition:
            self.inside -= 1
            if self.closing:
                self.condition.notify_all()
        if self.closing:
            self.park()

    def park(self, *_: object) -> None:
        """Stop this thread for good if it is a daemon thread."""
        if not _is_daemon(threading.current_thread()):
            return
        with self.condition:
            self.inside -= getattr(self.depth, "value", 0)
            self.condition.notify_all()
        self.never.acquire()

    def close(self) -> None:
        """Run when all other threads have ended: no daemon thread enters any more, and those inside are waited for."""
        if self.closing or not any(map(_is_daemon, threading.enumerate())):
            return
        self.never.acquire()
        self.closing = True
        config.post_hook.set_global(self.park)  # threads on the C++ path come by here
        with self.condition:
            self.condition.wait_for(lambda: self.inside <= 0, timeout=_PATIENCE)
        time.sleep(0.05)  # for threads between their last call and the next


def _is_daemon(thread: threading.Thread) -> bool:
    # Threads that Python did not start are the runtime's, which run callbacks: their programs are waited for.
    return thread.daemon and not isinstance(thread, threading._DummyThread)


gate = Gate()
atexit.register(gate.close)  # which runs after threading has joined what is no daemon
