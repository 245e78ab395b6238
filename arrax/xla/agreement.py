"""Programs of several processes: before its first run each process learns that the others run the same one.

Devices of different processes that communicate in different programs would wait for each other for ever, or exchange what is not
meant for each other. What must be the same is the communication of the n-th program, in order: that is compared.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from typing import Any

logger = logging.getLogger("arrax")
_COMMUNICATION = re.compile(
    r"= ([^=]*?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|collective-broadcast|"
    r"ragged-all-to-all)(?:-start)?\("
)
_STEP = 10_000  # milliseconds to wait before the log says for whom
_counts: dict[tuple[Any, ...], int] = {}  # of first runs so far, by connection and processes


def agree(client: Any, process: int, executable: Any, name: str, devices: Sequence[Any]) -> None:
    """Wait until all processes of a program are about to run it for the first time.

    Args:
      client: this process's connection to the coordination service. process: its number.
    Raises:
      RuntimeError: another process is about to run a program that communicates otherwise.
    """
    processes = sorted({device.process_index for device in devices})
    if client is None or len(processes) == 1:
        return
    text = executable.hlo_modules()[0].to_string()
    communication = [f"{kind} of {shape}" for shape, kind in _COMMUNICATION.findall(text)]
    if not communication:
        return
    place = (client, *processes)
    number = _counts[place] = _counts.get(place, 0) + 1
    digest = hashlib.sha256("\n".join(communication).encode()).hexdigest()[:16]
    shown = ", ".join(communication[:3]) + (f" and {len(communication) - 3} more" if len(communication) > 3 else "")
    group = "_".join(map(str, processes))
    client.key_value_set(f"arrax/programs/{group}/{number}/{process}", f"{digest} {name} ({shown})")
    for other in processes:
        found = _of_process(client, f"arrax/programs/{group}/{number}/{other}", name, other)
        if not found.startswith(digest):
            raise RuntimeError(
                f"Processes are about to run different programs, whose devices would wait for each other for ever: process "
                f"{process} {name} ({shown}), process {other} {found.partition(' ')[2]}. All processes must run the same "
                "programs over the devices of several processes, in the same order."
            )


def _of_process(client: Any, key: str, name: str, other: int) -> str:
    while True:
        try:
            return client.blocking_key_value_get(key, _STEP)
        except Exception as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
        logger.warning("%s waits for process %d, which has not come to run it", name, other)
