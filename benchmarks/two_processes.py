"""What each of two processes measures for the group ``parallel``: run as a module, it prints seconds as JSON on its last line."""

import importlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CALLS, REPEATS = 20, 7


def measured(library: str) -> dict[str, float]:
    """Seconds by name, of two processes on this machine; the slower one counts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    started = [
        subprocess.Popen([sys.executable, "-m", "benchmarks.two_processes", library, address, str(number)],
                         stdout=subprocess.PIPE, text=True, cwd=Path(__file__).resolve().parent.parent)
        for number in range(2)
    ]  # fmt: skip
    found = [json.loads(process.communicate(timeout=300)[0].strip().splitlines()[-1]) for process in started]
    return {name: max(each[name] for each in found) for name in found[0]}


def best(run: Callable[[], Any]) -> float:
    """The shortest time of a call, in batches."""
    run()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(CALLS):
            run()
        times.append((time.perf_counter() - start) / CALLS)
    return min(times)


def main(library: str, address: str, number: str) -> None:
    """Join the other process, measure, and print."""
    start = time.perf_counter()
    lib = importlib.import_module(library)
    lib.distributed.initialize(address, 2, int(number))
    count = lib.device_count()
    mesh = lib.make_mesh((count,), ("x",), (lib.sharding.AxisType.Auto,))
    rows = lib.sharding.NamedSharding(mesh, lib.sharding.PartitionSpec("x"))
    x = lib.make_array_from_process_local_data(rows, np.ones((64, 64), np.float32))
    plus, total = lib.jit(lambda x: x + 1), lib.jit(lambda x: x.sum())
    total(x).block_until_ready()
    found = {"start": time.perf_counter() - start}
    found["call"] = best(lambda: plus(x).block_until_ready())
    found["sum"] = best(lambda: total(x).block_until_ready())
    lib.distributed.shutdown()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
