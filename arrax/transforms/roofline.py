"""How fast a device computes and moves data at best, measured once, and what a program would take at that pace."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from arrax.core.interpreter import Context, current
from arrax.lax.arithmetic import add
from arrax.lax.contractions import dot
from arrax.lax.placement import device_put
from arrax.native import runtime
from arrax.transforms.jit import jit
from arrax.transforms.waiting import block_until_ready
from arrax.xla.arrays import Array

_SECONDS, _REPEATS = 0.05, 20
_SIZES = {"cpu": (1024, 1 << 24)}  # rows of matrices, and numbers to move; larger ones elsewhere
_LARGE = (4096, 1 << 27)


class Pace(NamedTuple):
    """What a device does at best: operations on floating-point numbers, and bytes read or written, a second."""

    flops_per_second: float
    bytes_per_second: float


class Roofline(NamedTuple):
    """The least time that a program can take: its operations and its bytes at the device's best pace, whichever is longer.

    Attributes:
      seconds: that time. bound: ``"computing"`` or ``"memory"``. pace: of all devices of the program.
    """

    seconds: float
    bound: str
    pace: Pace


def roofline(flops: float, moved: float, device: runtime.Device, count: int = 1) -> Roofline:
    """The roofline of a program on ``count`` devices such as ``device``; those on the CPU share its pace."""
    one = pace_of(device)
    count = 1 if device.platform == "cpu" else count
    pace = Pace(one.flops_per_second * count, one.bytes_per_second * count)
    times = {"computing": flops / pace.flops_per_second, "memory": moved / pace.bytes_per_second}
    bound = max(times, key=times.__getitem__)
    return Roofline(times[bound], bound, pace)


@functools.lru_cache(16)
def pace_of(device: runtime.Device) -> Pace:
    """The pace of a device, measured: products of matrices of float32, and a sum over large arrays."""
    rows, length = _SIZES.get(device.platform, _LARGE)
    with current(Context.interpreter):
        matrix = device_put(np.ones((rows, rows), np.float32), device)
        array = device_put(np.ones(length, np.float32), device)
        product = _best(jit(dot), matrix, matrix)
        moving = _best(jit(_moved), array)
    return Pace(2.0 * rows**3 / product, 2.0 * array.nbytes / moving)


def _moved(x: Any) -> Array:
    return add(x, np.float32(1))


def _best(function: Callable[..., Any], *args: Any) -> float:
    """The shortest time of some calls, which go on for a short while."""
    block_until_ready(function(*args))
    times: list[float] = []
    while len(times) < 3 or (sum(times) < _SECONDS and len(times) < _REPEATS):
        start = time.perf_counter()
        block_until_ready(function(*args))
        times.append(time.perf_counter() - start)
    return min(times)
