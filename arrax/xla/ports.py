"""Whether somebody listens at a network address: what the runtime's own connections find out only by waiting."""

from __future__ import annotations

import errno
import socket
import time

_LONGEST_PAUSE = 0.1


def listens(address: str) -> bool:
    """Whether a connection to ``host:port`` is accepted."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def check_free(address: str) -> None:
    """Refuse an address of this machine at which somebody listens: the runtime may crash on it, or share it.

    Raises:
      OSError: it is in use, or is no address of this machine.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if family == socket.AF_INET6 and not socket.has_dualstack_ipv6():
        return  # which the runtime settles by itself
    both = family == socket.AF_INET6 and host == "::"
    try:
        socket.create_server((host, int(port)), family=family, dualstack_ipv6=both).close()
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES):
            raise


def wait_for_listener(address: str, seconds: float) -> bool:
    """Wait until somebody listens at an address; False if nobody does for so many seconds."""
    end, pause = time.monotonic() + seconds, 0.001
    while not listens(address):
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return True
