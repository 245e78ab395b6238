"""From which sizes on the CPU's own forms pay on this machine: `python -m benchmarks.calibrate`.

For each threshold of ``arrax.lax.cpu.thresholds``: a program with and without the form at growing sizes, and where they cross.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core import config
from arrax.lax.cpu import thresholds
from benchmarks.case import Repeated

SIZES = [4**k for k in range(4, 10)]
RNG = np.random.default_rng(0)


class Crossing(NamedTuple):
    """A threshold and what it decides between.

    Args:
      name: of the threshold.
      program: what is timed.
      operand: makes the operand of a size.
    """

    name: str
    program: Callable[[Any], Any]
    operand: Callable[[int], np.ndarray]


def floats(size: int) -> np.ndarray:
    """Normally distributed numbers."""
    return RNG.standard_normal(size).astype(np.float32)


def integers(size: int) -> np.ndarray:
    """Integers from 0 to 999."""
    return RNG.integers(0, 1000, size).astype(np.int32)


def crossings() -> Iterator[Crossing]:
    """What is measured."""
    yield Crossing("SORT_MIN_SIZE", jnp.sort, floats)
    yield Crossing("ORDER_STATISTICS_SIZE", jnp.median, floats)
    yield Crossing("TOP_K_MIN_SIZE", lambda x: lax.top_k(x, x.size // 4)[0], floats)
    yield Crossing("REDUCE_MIN_SIZE", jnp.argmax, floats)
    yield Crossing("REDUCE_MIN_SIZE", jnp.sum, integers)
    yield Crossing("REDUCE_MIN_SIZE", lambda x: jnp.any(x > 998), integers)
    yield Crossing("REDUCE_MIN_INT_LENGTH", lambda x: jnp.max(x.reshape(16, -1), 1), integers)
    yield Crossing("REDUCE_MIN_WIDTH", lambda x: jnp.max(x.reshape(64, -1), 0), integers)
    yield Crossing("FLAGS_MIN_SIZE", lambda x: jnp.nonzero(x > 900, size=64)[0], integers)
    yield Crossing("JOIN_MIN_SIZE", lambda x: jnp.roll(x.reshape(16, -1), 7, 1), floats)


def seconds(crossing: Crossing, size: int, with_form: bool) -> float:
    """What a call takes."""
    operand = jnp.asarray(crossing.operand(size))
    with config.cpu_kernels(with_form):
        compiled = arrax.jit(lambda x: crossing.program(x)).lower(operand).compile()
    return Repeated("", lambda: compiled(operand)).best_time(lambda out: out.block_until_ready())


def main() -> None:
    """Measure and print."""
    config.enable_compilation_cache.set_global(False)
    settings = {name: value for name, value in vars(thresholds).items() if name.isupper()}
    for name in settings:
        if "_MIN_" in name:
            setattr(thresholds, name, 1)
    print(f"{'threshold':<24}{'now':>8}  {'crosses at':>10}   time with the form by the time without, per size")
    for crossing in crossings():
        ratios = [seconds(crossing, size, True) / seconds(crossing, size, False) for size in SIZES]
        first = next((size for n, size in enumerate(SIZES) if all(ratio < 1 for ratio in ratios[n:])), None)
        shown = "  ".join(f"{size}: {ratio:.2f}" for size, ratio in zip(SIZES, ratios, strict=True))
        print(f"{crossing.name:<24}{settings[crossing.name]:>8}  {first or 'never':>10}   {shown}", flush=True)


if __name__ == "__main__":
    main()
