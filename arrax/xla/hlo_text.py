"""Compiled programs, read from the compiler's text: instructions, the computations that they call, the lines they come from."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

_BITS = {"pred": 8, "bf16": 16, "c64": 64, "c128": 128, "token": 0, "opaque": 0}
_HOST_MEMORY = "S(5)"  # in a layout
_HEADER = re.compile(r"^(ENTRY )?%?([\w.-]+) \(.*\) -> .* \{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.-]+) = (.*)$")
_ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,]*)\]")
_CALLED = re.compile(r"\b(?:calls|to_apply|condition|body|branch_computations|\w+_computation)=(\{[^}]*\}|%?[\w.-]+)")
_ALIAS = re.compile(r"\{([\d, ]*)\}: \((\d+), \{[\d, ]*\}")
_NAMED = re.compile(r"%([\w.-]+)")


class Instruction(NamedTuple):
    """An instruction of a compiled program.

    Attributes:
      name, opcode: such as ``"add.3"`` and ``"add"``. type: the type of its result, as text; ``size`` in bytes.
      operands: names of instructions. called: names of computations. root: whether it gives the computation's result.
      op_name: the scopes and transformations that it comes from, and the operation. line: ``"file.py:3 (f)"``, or "".
      number: of a parameter. on_host: whether the result is in the host's memory, as seen from a device. rest: its other attributes, as text.
    """

    name: str
    opcode: str
    type: str
    size: int
    operands: tuple[str, ...]
    called: tuple[str, ...]
    root: bool
    op_name: str
    line: str
    number: int | None
    on_host: bool
    rest: str


class HloProgram(NamedTuple):
    """A compiled program.

    Attributes:
      computations: instructions by the name of what holds them, in the order in which they run. entry: the first's name.
      aliases: which result has the memory of which parameter: (place of the result, number of the parameter).
      donors: numbers of the parameters whose memory may be used.
    """

    name: str
    computations: dict[str, list[Instruction]]
    entry: str
    aliases: tuple[tuple[str, int], ...]
    donors: tuple[int, ...]

    def instructions(self) -> Iterator[Instruction]:
        """All instructions, those of fused computations too."""
        for computation in self.computations.values():
            yield from computation


def read_hlo(text: str) -> HloProgram:
    """The program of the compiler's text of a module."""
    lines = text.split("\n")
    header = lines[0] if lines else ""
    frames = _frames(lines)
    computations: dict[str, list[Instruction]] = {}
    entry, current = "", None
    for line in lines[1:]:
        found = _HEADER.match(line)
        if found:
            current = computations[found[2]] = []
            entry = found[2] if found[1] else entry
        elif line.startswith("}"):
            current = None
        elif current is not None:
            instruction = _instruction(line, frames)
            if instruction is not None:
                current.append(instruction)
    aliases = tuple((index, int(number)) for index, number in _ALIAS.findall(_attribute(header, "input_output_alias")))
    donors = tuple(int(number) for number in re.findall(r"\((\d+),", _attribute(header, "buffer_donor")))
    return HloProgram(header.removeprefix("HloModule ").split(",")[0], computations, entry, aliases, donors)


def size_of_type(text: str) -> int:
    """The bytes of a type such as ``"(f32[3,2]{1,0}, s32[])"``."""
    total = 0
    for element, shape in _ARRAY.findall(text):
        digits = re.search(r"\d+", element)
        bits = _BITS.get(element, int(digits[0]) if digits else 0)
        total += math.ceil(bits * math.prod(int(n) for n in shape.split(",") if n) / 8)
    return total


def _attribute(header: str, name: str) -> str:
    """The text in braces of an attribute of the module."""
    start = header.find(f"{name}={{")
    return "" if start < 0 else _balanced(header, start + len(name) + 1)[0]


def _balanced(text: str, start: int) -> tuple[str, int]:
    """The text in the bracket that opens at ``start``, and where it ends."""
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] in "([{") - (text[index] in ")]}")
        if depth == 0:
            return text[start + 1 : index], index + 1
    return text[start + 1 :], len(text)


def _instruction(line: str, frames: dict[int, str]) -> Instruction | None:
    found = _INSTRUCTION.match(line)
    if found is None:
        return None
    root, name, rest = found.groups()
    end = _balanced(rest, 0)[1] if rest.startswith("(") else rest.find(" ")
    on_host = _HOST_MEMORY in rest[:end]
    type_text, rest = re.sub(r"/\*.*?\*/|\{[^}]*\}", "", rest[:end]), rest[end:].lstrip()
    opcode, bracket, _ = rest.partition("(")
    if not bracket:
        return None
    inner, end = _balanced(rest, len(opcode))
    rest = rest[end:].lstrip(", ")
    operands = () if opcode in ("parameter", "constant") else tuple(_NAMED.findall(inner))
    named = re.search(r'op_name="((?:[^"\\]|\\.)*)"', rest)
    frame = re.search(r"stack_frame_id=(\d+)", rest)
    called = tuple(one for group in _CALLED.findall(rest) for one in re.findall(r"[\w.-]+", group))
    return Instruction(
        name, opcode, type_text, size_of_type(type_text), operands, called, bool(root), re.sub(r"\\(.)", r"\1", named[1]) if named else "",
        frames.get(int(frame[1]), "") if frame else "", int(inner) if opcode == "parameter" else None, on_host,
        rest,
    )  # fmt: skip


def _frames(lines: list[str]) -> dict[int, str]:
    """``file.py:3 (f)`` of each stack frame, from the tables in front of the program."""
    tables: dict[str, dict[int, str]] = {}
    current: dict[int, str] | None = None
    for line in lines[1:]:
        if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            current = tables[line] = {}
        elif not line or current is None:
            current = None
        else:
            number, _, rest = line.partition(" ")
            current[int(number)] = rest
    files, functions = tables.get("FileNames", {}), tables.get("FunctionNames", {})

    def place(location: str) -> str:
        fields = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", location)}
        file = files.get(fields.get("file_name_id", 0), "").strip('"')
        function = functions.get(fields.get("function_name_id", 0), "").strip('"').rpartition(".")[2]
        return f"{file}:{fields.get('line', 0)} ({function})" if file else ""

    locations = {number: place(text) for number, text in tables.get("FileLocations", {}).items()}
    frames = {}
    for frame, text in tables.get("StackFrames", {}).items():
        location = re.search(r"file_location_id=(\d+)", text)
        frames[frame] = locations.get(int(location[1]), "") if location else ""
    return frames
