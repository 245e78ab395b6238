"""The processors that this process runs on."""

from __future__ import annotations

import functools
import os
import platform


def usable_processors() -> int:
    """How many processors this process may use: the compiler divides loops into as many parts."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def instruction_sets() -> str:
    """What the operating system says of the processors' instructions, or what kind of processor they are."""
    try:
        with open("/proc/cpuinfo") as info:
            return next((line for line in info if line.startswith(("flags", "Features"))), "")
    except OSError:
        return platform.processor()
