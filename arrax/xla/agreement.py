"""Programs and values of several processes: each learns that the others run the same program, put the same value.

Devices of different processes that communicate in different programs would wait for each other for ever, or exchange what is not
meant for each other. What must be the same is the communication of the n-th program, in order: that is compared.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

logger = logging.getLogger("arrax")
_COMMUNICATION = re.compile(
    r"= ([^=]*?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|collective-broadcast|"
    r"ragged-all-to-all)(?:-start)?\("
)
_STEP = 10_000  # milliseconds to wait before the log says for whom
_counts: dict[tuple[Any, ...], int] = {}  # of exchanges so far, by connection, what they are about, and processes


def agree(client: Any, process: int, executable: Any, name: str, devices: Sequence[Any]) -> None:
    """Wait until all processes of a program are about to run it for the first time.

    Args:
      client: this process's connection to the coordination service. process: its number.
    Raises:
      RuntimeError: another process is about to run a program that communicates otherwise.
    """
    processes = _processes(devices)
    if client is None or len(processes) == 1:
        return
    text = executable.hlo_modules()[0].to_string()
    communication = [f"{kind} of {shape}" for shape, kind in _COMMUNICATION.findall(text)]
    if not communication:
        return
    digest = hashlib.sha256("\n".join(communication).encode()).hexdigest()[:16]
    shown = ", ".join(communication[:3]) + (f" and {len(communication) - 3} more" if len(communication) > 3 else "")
    for other, found in _exchanged(client, process, processes, "programs", f"{digest} {name} ({shown})", name):
        if not found.startswith(digest):
            raise RuntimeError(
                f"Processes are about to run different programs, whose devices would wait for each other for ever: process "
                f"{process} {name} ({shown}), process {other} {found.partition(' ')[2]}. All processes must run the same "
                "programs over the devices of several processes, in the same order."
            )


def same_value(client: Any, process: int, value: np.ndarray, devices: Sequence[Any]) -> None:
    """Wait until all processes are about to put the same value on devices of theirs.

    Raises:
      AssertionError: another process has another value.
    """
    processes = _processes(devices)
    if client is None or len(processes) == 1:
        return
    kind = f"{value.dtype}{list(value.shape)}"
    digest = hashlib.sha256(kind.encode() + np.ascontiguousarray(value).tobytes()).hexdigest()
    for other, found in _exchanged(client, process, processes, "values", f"{digest} {kind}", "device_put"):
        if not found.startswith(digest):
            raise AssertionError(
                f"device_put to the devices of several processes: each of them must have the same value, but process {process} has "
                f"a {kind} and process {other} another {found.partition(' ')[2]}. Arrays of different parts are made by "
                "make_array_from_process_local_data."
            )


def _processes(devices: Sequence[Any]) -> list[int]:
    return sorted({device.process_index for device in devices})


def _exchanged(
    client: Any, process: int, processes: Sequence[int], about: str, text: str, name: str
) -> list[tuple[int, str]]:
    """What each process says at its n-th exchange. Who has read all of it knows that all have read what was said before."""
    place = (client, about, *processes)
    number = _counts[place] = _counts.get(place, 0) + 1
    group = f"arrax/{about}/{'_'.join(map(str, processes))}"
    client.key_value_set(f"{group}/{number}/{process}", text)
    found = [(other, _of_process(client, f"{group}/{number}/{other}", name, other)) for other in processes]
    if number > 1:
        client.key_value_delete(f"{group}/{number - 1}/{process}")
    return found


def _of_process(client: Any, key: str, name: str, other: int) -> str:
    while True:
        try:
            return client.blocking_key_value_get(key, _STEP)
        except Exception as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
        logger.warning("%s waits for process %d, which has not come to run it", name, other)
