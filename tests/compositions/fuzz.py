"""Goes on drawing programs and checking each against itself: ``python -m tests.compositions.fuzz --minutes 60``.

Each fault is printed with a simpler program that shows it, to be kept in ``compositions_test.py``.
"""

import argparse
import random
import sys
import time
import warnings

import arrax
from tests.compositions.checking import fault, shrunk
from tests.compositions.programs import drawn


def check(seed):
    """Print the fault of a seed's program, if it has one; returns whether it does."""
    program, dtype = drawn(seed)
    if fault(program, dtype) is None:
        return False
    simple = shrunk(program, dtype)
    print(f"seed {seed}, {dtype}: {fault(simple, dtype)}\n  {simple!r}", flush=True)
    return True


def main():
    """Check one seed, or many for some time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1, help="for how long to draw")
    parser.add_argument("--seed", type=int, help="only this one")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.seed is not None:
        return int(check(chosen.seed))
    end, seed, count, found = time.monotonic() + 60 * chosen.minutes, random.randrange(1 << 48), 0, 0
    while time.monotonic() < end:
        found += check(seed + count)
        count += 1
        if count % 100 == 0:
            arrax.clear_caches()  # the programs never come again
            print(f"{count} programs, {found} with faults", flush=True)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
