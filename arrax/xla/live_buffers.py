"""Which buffers of a compiled program are alive where it needs most memory: from the order in which its instructions run.

An estimate: the compiler lays buffers out more cleverly in places, and some platforms run instructions side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from arrax.xla.hlo_text import HloProgram, Instruction

# Their results have the memory of operands. Of loops, each turn works on the same buffers.
_ALIASES = frozenset(
    {"tuple", "get-tuple-element", "bitcast", "while", "optimization-barrier", "add-dependency", "all-reduce-done",
     "all-gather-done", "collective-permute-done", "copy-done", "async-done", "domain"}
)  # fmt: skip
_WITHOUT_MEMORY = frozenset({"parameter", "constant", "after-all", "partition-id", "replica-id"})


class Buffer(NamedTuple):
    """A buffer: the instruction that makes it, and its bytes."""

    maker: Instruction
    size: int


def buffers_at_peak(program: HloProgram) -> list[Buffer]:
    """The buffers that are alive where most bytes are, largest first: arguments, results and what is in between."""
    entry = program.computations.get(program.entry, [])
    arguments = [Buffer(one, one.size) for one in entry if one.opcode == "parameter" and one.size]
    live = [*arguments, *_Computations(program).peak(program.entry)]
    return sorted(live, key=lambda buffer: -buffer.size)


class _Computations:
    def __init__(self, program: HloProgram) -> None:
        self.program = program
        self.known: dict[str, list[Buffer]] = {}

    def peak(self, name: str) -> list[Buffer]:
        """What a computation has alive at its peak, besides its arguments."""
        found = self.known.get(name)
        if found is None:
            self.known[name] = []  # a computation does not call itself
            found = self.known[name] = self._peak(self.program.computations.get(name, []))
        return found

    def _peak(self, instructions: Sequence[Instruction]) -> list[Buffer]:
        owners = self._owners(instructions)
        last_use: dict[str, int] = {}
        for index, one in enumerate(instructions):
            for name in (*one.operands, one.name):
                for owner in owners.get(name, ()):
                    last_use[owner] = len(instructions) if one.root else index
        alive: dict[str, Buffer] = {}
        total, most, best = 0, -1, []
        ending: dict[int, list[str]] = {}
        for name, index in last_use.items():
            ending.setdefault(index, []).append(name)
        for index, one in enumerate(instructions):
            if owners[one.name] == (one.name,):
                alive[one.name] = Buffer(one, one.size)
                total += one.size
            inside = max((self.peak(called) for called in self._called(one)), key=_bytes_of, default=[])
            here = total + _bytes_of(inside)
            if here > most:
                most, best = here, [*alive.values(), *inside]
            for name in ending.get(index, ()):
                gone = alive.pop(name, None)
                total -= gone.size if gone is not None else 0
        return best

    def _called(self, one: Instruction) -> Sequence[str]:
        """The computations that an instruction runs with buffers of their own."""
        return one.called if one.opcode in ("while", "conditional", "call", "async-start") else ()

    def _owners(self, instructions: Sequence[Instruction]) -> dict[str, tuple[str, ...]]:
        """For each instruction those whose buffers hold its result: mostly itself."""
        owners: dict[str, tuple[str, ...]] = {}
        parts: dict[str, list[tuple[str, ...]]] = {}  # of tuples
        for one in instructions:
            if one.opcode in _WITHOUT_MEMORY:
                owners[one.name] = ()
            elif one.opcode == "tuple":
                parts[one.name] = [owners.get(name, ()) for name in one.operands]
                owners[one.name] = tuple(dict.fromkeys(owner for part in parts[one.name] for owner in part))
            elif one.opcode == "get-tuple-element" and one.operands[0] in parts:
                index = int(one.rest.partition("index=")[2].partition(",")[0] or 0)
                owners[one.name] = parts[one.operands[0]][index]
            elif one.opcode in _ALIASES or self._written_in_place(one) is not None:
                position = self._written_in_place(one) or 0
                source = one.operands[position] if position < len(one.operands) else ""
                owners[one.name] = owners.get(source, ())
                if source in parts:
                    parts[one.name] = parts[source]
            else:
                owners[one.name] = (one.name,)
        return owners

    def _written_in_place(self, one: Instruction) -> int | None:
        """The number of the operand that an instruction writes into; None where it has a buffer of its own."""
        if one.opcode == "dynamic-update-slice":
            return 0
        inner = self.program.computations.get(one.called[0], []) if one.opcode == "fusion" and one.called else []
        updated = next((each.operands[0] for each in inner if each.root and each.opcode == "dynamic-update-slice"), "")
        return next((each.number for each in inner if each.name == updated and each.type == one.type), None)


def _bytes_of(buffers: Sequence[Buffer]) -> int:
    return sum(buffer.size for buffer in buffers)
