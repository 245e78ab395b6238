"""A kernel that waits: with it the exiting interpreter finds out that no other program runs (see ``xla.draining``)."""

from __future__ import annotations

import threading
import time

_PATIENCE = 5.0  # seconds without any progress


class Pause:
    """What the exiting thread and the waiting kernel know of each other."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.last_step = time.monotonic()
        self.began_elsewhere = False

    def begin(self) -> None:
        """Let kernels wait from now on."""
        self.over.clear()
        self.began_elsewhere = False
        self.step()

    def step(self) -> None:
        """Something has moved on."""
        self.last_step = time.monotonic()

    def hold(self) -> None:
        """Wait, on a thread of the runtime, until it is over or nothing moves any more."""
        if threading.current_thread() is threading.main_thread():
            return
        self.began_elsewhere = True
        while not self.over.wait(0.05):
            if time.monotonic() - self.last_step > _PATIENCE:
                self.over.set()


pause = Pause()
pause.over.set()
