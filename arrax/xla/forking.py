"""Forks of a process that uses the runtime: its threads stay behind, so programs in the child would wait for them for ever.

The parent is warned, and the child gets an error where it would run a program. Arrays can still be read there, by NumPy;
those whose programs were running are deleted there, since they never come.
"""

from __future__ import annotations

import os
from typing import Any

from arrax.core import config
from arrax.dtypes.canonical import warn_user
from arrax.xla import startup
from arrax.xla.draining import drain
from arrax.xla.shutdown import gate

_ADVICE = "start processes with multiprocessing's methods 'spawn' or 'forkserver', or fork before arrax is first used"
_running: list[Any] = []  # arrays that are not there yet while the process forks


def _before() -> None:
    startup.lock.acquire()  # a thread that starts the runtime is waited for: the child would find it half started
    if not startup.is_started():
        return
    _running[:] = startup.running_arrays()
    warn_user(
        f"os.fork() in a process that has used arrax: the child cannot run programs of arrax. Instead {_ADVICE}.",
        RuntimeWarning,
    )


def _in_parent() -> None:
    _running.clear()
    startup.lock.release()


def _in_child() -> None:
    startup.lock.release()
    if not startup.is_started():
        return
    drain.devices.clear()
    gate.refusal = f"arrax cannot run programs in a process forked from one that has used it: {_ADVICE}."
    config.forked.set_global(True)  # so that no call stays on the C++ path
    for array in _running:
        array.delete()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
