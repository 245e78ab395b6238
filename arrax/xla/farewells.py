"""Leaving the coordination service in order.

The runtime ends a process that loses the service before it has left it, and one that joins again before the service has ended
meets the old one. So process 0 keeps a port open at which the others report that they have left, and closes their connections
once the service has ended.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator


class Farewells:
    """The side of process 0.

    Attributes:
      port: where the others report.
    """

    def __init__(self) -> None:
        self.listener = socket.create_server(("", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]

    @contextlib.contextmanager
    def awaited(self, count: int, seconds: float) -> Iterator[None]:
        """Context manager: begins when so many have left, or after a time; at its end they are told that they may go on."""
        end = time.monotonic() + seconds
        connections: list[socket.socket] = []
        try:
            with contextlib.suppress(OSError):
                while len(connections) < count:
                    self.listener.settimeout(max(end - time.monotonic(), 0.001))
                    connections.append(self.listener.accept()[0])
            yield
        finally:
            for each in (*connections, self.listener):
                each.close()


def say_farewell(host: str, port: int, seconds: float) -> None:
    """The side of the others: report that this process has left, and wait until the service has ended."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection((host.strip("[]"), port), timeout=seconds) as connection,
    ):
        connection.recv(1)
