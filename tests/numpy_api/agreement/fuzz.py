"""Goes on drawing expressions and comparing them with NumPy: ``python -m tests.numpy_api.agreement.fuzz --minutes 60``.

Each disagreement is printed with the line that reproduces it.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

import arrax
from tests.numpy_api.agreement.checking import FAMILIES, disagreements


def compare(family: str, x64: bool, seed: int) -> int:
    """Print the disagreements of one draw; returns their number."""
    again = f"python -m tests.numpy_api.agreement.fuzz --family {family} --seed {seed}" + " --x64" * x64
    number = 0
    with arrax.enable_x64(x64):
        for report in disagreements(family, x64, seed):
            number += 1
            print(f"{report}\n  again: {again}", flush=True)
    return number


def fuzz(minutes: float) -> int:
    """Draw for so long, with seeds that never came before; returns the number of disagreements."""
    end, seed, found, rounds = time.monotonic() + 60 * minutes, random.randrange(1 << 48), 0, 0
    while time.monotonic() < end:
        for family in FAMILIES:
            for x64 in (False, True):
                if time.monotonic() < end:
                    found += compare(family, x64, seed)
        arrax.clear_caches()  # the programs never come again
        seed, rounds = seed + 1, rounds + 1
        print(f"{rounds} rounds, {found} disagreements", flush=True)
    return found


def main() -> int:
    """Run one draw, or many for some time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1, help="for how long to draw")
    parser.add_argument("--family", choices=list(FAMILIES), help="only this draw of this family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--x64", action="store_true", help="with 64-bit dtypes")
    chosen = parser.parse_args()
    found = compare(chosen.family, chosen.x64, chosen.seed) if chosen.family else fuzz(chosen.minutes)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
