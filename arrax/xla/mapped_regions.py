"""A process's mapped regions of memory: compiled programs are forgotten before the kernel allows no more of them.

Linux gives a process some 65,000 regions (``vm.max_map_count``), and an executable for the CPU takes three or more. Where none
is left, the compiler ends the process.
"""

from __future__ import annotations

import logging
import threading

from arrax.core.caches import clear_caches

logger = logging.getLogger("arrax")
_SHARE = 0.75  # of the regions; the others are for the compiler, buffers, and other libraries
_OF_A_LARGE_PROGRAM = 128


def regions() -> int:
    """How many regions are mapped now."""
    with open("/proc/self/maps", "rb") as lines:
        return lines.read().count(b"\n")


def allowed() -> int | None:
    """How many there may be, None where the system does not say."""
    try:
        with open("/proc/sys/vm/max_map_count") as text:
            return int(text.read())
    except (OSError, ValueError):
        return None


class Watch:
    """Looks at the regions now and then: more often the fewer are left, since to count them takes some milliseconds."""

    def __init__(self, most: int | None) -> None:
        self.most, self.lock = most, threading.Lock()
        self.until = 0 if most is None else self._programs_that_fit(int(_SHARE * most))

    @staticmethod
    def _programs_that_fit(free: int) -> int:
        return max(free // _OF_A_LARGE_PROGRAM, 16)

    def executable_made(self) -> None:
        """Forget all compiled programs if there is hardly room for further ones; called after one was made or loaded."""
        if self.most is None:
            return
        with self.lock:
            self.until -= 1
            if self.until > 0:
                return
            there = regions()
            free = int(_SHARE * self.most) - there
            self.until = self._programs_that_fit(free)
        if free < 0:
            logger.info("compiled programs are forgotten: the process has %d of %d mapped regions", there, self.most)
            clear_caches()


watch = Watch(allowed())
