"""Programs with effects that still run: who waits for whom, and waiting for them all."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from arrax.native.runtime import RuntimeFault
from arrax.xla.host_failures import interruption

_MAX_PENDING = 256  # beyond which the oldest are waited for


class Pending:
    """The runtime's tokens of programs with effects. Ordered effects have an order of their own in each thread."""

    def __init__(self) -> None:
        self.lock, self.tokens = threading.Lock(), deque[Any]()
        self.thread = threading.local()

    def wait_for_turn(self) -> None:
        """Wait until this thread's last program with ordered effects has run."""
        last = getattr(self.thread, "last", None)
        if last is not None:
            try:
                last.block_until_ready()
            except Exception:  # noqa: S110  (the program's own caller, or the barrier, is told)
                pass
            self.thread.last = None

    def add(self, token: Any, ordered: bool) -> None:
        """Note that a program was started."""
        if ordered:
            self.thread.last = token
        with self.lock:
            self.tokens.append(token)
            oldest = self.tokens.popleft() if len(self.tokens) > _MAX_PENDING else None
        if oldest is not None:
            oldest.block_until_ready()

    def wait_for_all(self) -> None:
        """Wait until all have run.

        Raises:
          RuntimeError: a function that one of them called on the host has failed.
        """
        while True:
            with self.lock:
                if not self.tokens:
                    return
                token = self.tokens.popleft()
            ended = None
            try:
                token.block_until_ready()
            except RuntimeFault as error:
                ended = interruption(error)
                if ended is None:
                    raise
            if ended is not None:
                raise ended


pending = Pending()
