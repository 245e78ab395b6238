"""Time one program: ``python -m benchmarks.programs.run_program LIBRARY NAME``.

Prints the most memory that the process has had, and the seconds of the first call and of the shortest later one.
"""

from __future__ import annotations

import importlib
import resource
import sys
import time

from benchmarks.programs.catalogue import PROGRAMS

STEADY_SECONDS, MIN_CALLS, MAX_CALLS = 0.4, 5, 200


def main() -> None:
    """Run the program that the command line names."""
    library, name = sys.argv[1:]
    lib, jnp = importlib.import_module(library), importlib.import_module(f"{library}.numpy")
    for part in ("nn", "ops"):  # the start of the library is timed elsewhere
        importlib.import_module(f"{library}.{part}")
    lib.jit(lambda x: x + 1)(jnp.ones(3)).block_until_ready()
    run, args = PROGRAMS[name].make(lib, jnp)
    lib.block_until_ready(args)
    start = time.perf_counter()
    lib.block_until_ready(run(*args))
    first = time.perf_counter() - start
    times: list[float] = []
    while len(times) < MIN_CALLS or (sum(times) < STEADY_SECONDS and len(times) < MAX_CALLS):
        start = time.perf_counter()
        lib.block_until_ready(run(*args))
        times.append(time.perf_counter() - start)
    print("megabytes", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    print("seconds", first, min(times))


if __name__ == "__main__":
    main()
