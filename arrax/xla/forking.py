"""Forks of a process that uses the runtime: its threads stay behind, so programs in the child would wait for them for ever.

The parent is warned, and the child gets an error where it would run a program. Arrays can still be read there, by NumPy.
"""

from __future__ import annotations

import os

from arrax.core import config
from arrax.dtypes.canonical import warn_user
from arrax.xla import startup
from arrax.xla.draining import drain
from arrax.xla.shutdown import gate

_ADVICE = "start processes with multiprocessing's methods 'spawn' or 'forkserver', or fork before arrax is first used"


def _warn() -> None:
    if startup.is_started():
        warn_user(
            f"os.fork() in a process that has used arrax: the child cannot run programs of arrax. Instead {_ADVICE}.",
            RuntimeWarning,
        )


def _close() -> None:
    if startup.is_started():
        drain.devices.clear()
        gate.refusal = f"arrax cannot run programs in a process forked from one that has used it: {_ADVICE}."
        config.forked.set_global(True)  # so that no call stays on the C++ path


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_warn, after_in_child=_close)
