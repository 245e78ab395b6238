"""What a compiled program costs with all turns of its loops: the compiler's own estimate counts one turn of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from arrax.native import runtime
from arrax.xla.hlo_text import HloProgram, Instruction

_COUNTED = ("flops", "transcendentals", "bytes accessed")


class TurnedCosts(NamedTuple):
    """Costs of a program.

    Attributes:
      costs: ``"flops"``, ``"transcendentals"`` and ``"bytes accessed"``.
      uncounted: how many loops count as one turn, because nobody knows how many they take.
    """

    costs: Mapping[str, float]
    uncounted: int


def turns_of(one: Instruction) -> int | None:
    """How many turns a loop takes, where the compiler knows."""
    found = re.search(r'known_trip_count":\{"n":"(\d+)"', one.rest)
    return int(found[1]) if found else None


def costs_with_turns(program: HloProgram, text: str, client: runtime.Client, once: Mapping[str, float]) -> TurnedCosts:
    """The costs of a program with all turns of its loops.

    Args:
      text: the program's.
      once: the costs of the whole program, one turn of each loop.
    """
    counting = _Counting(program, text, client)
    more = counting.repeated(program.entry)
    return TurnedCosts({name: max(0.0, once.get(name, 0.0)) + more[name] for name in _COUNTED}, len(counting.uncounted))


class _Counting:
    def __init__(self, program: HloProgram, text: str, client: runtime.Client) -> None:
        self.program, self.lines, self.client = program, text.split("\n"), client
        self.uncounted: set[str] = set()

    def repeated(self, name: str) -> dict[str, float]:
        """What the loops in a computation cost besides their first turns."""
        total = dict.fromkeys(_COUNTED, 0.0)
        for loop in self.loops(name):
            body = re.search(r"\bbody=%?([\w.-]+)", loop.rest)
            if body is None:
                continue
            turns, inside, costs = turns_of(loop), self.repeated(body[1]), self.once(body[1])
            if turns is None or costs is None:
                self.uncounted.add(loop.name)
                turns = 1
            for cost in _COUNTED:
                total[cost] += (turns - 1) * (costs or {}).get(cost, 0.0) + turns * inside[cost]
        return total

    def loops(self, name: str) -> Iterator[Instruction]:
        """The loops that a computation runs, besides those inside of loops."""
        for one in self.program.computations.get(name, []):
            if one.opcode == "while":
                yield one
            elif one.opcode in ("call", "conditional", "fusion"):
                for called in one.called:
                    yield from self.loops(called)

    def once(self, name: str) -> Mapping[str, float] | None:
        """The compiler's estimate of a computation alone, as the program of a module; None where it cannot be had."""
        header = re.compile(rf"(ENTRY )?(%?{re.escape(name)} \(.*)")
        lines = [re.sub(r"^(HloModule [\w.-]+).*", r"\1", self.lines[0])]
        for line in self.lines[1:]:
            found = header.match(line)
            lines.append(f"ENTRY {found[2]}" if found else line.removeprefix("ENTRY "))
        try:
            module = runtime.hlo_module_from_text("\n".join(lines))
            found_costs: Mapping[str, float] = runtime.hlo_module_cost_analysis(self.client, module)
        except (ValueError, runtime.RuntimeFault):
            return None
        return found_costs
