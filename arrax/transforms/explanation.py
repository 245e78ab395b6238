"""What ``debug.explain`` gives: all that is known of a compiled function, as an object, a dictionary and a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from arrax.core.text_styles import Paint, Report

_SHOWN_ARGUMENTS = 6
_UNITS = ("", "k", "M", "G", "T", "P")


@dataclass(frozen=True)
class Times:
    """Seconds that each stage took. ``traced`` is False where the trace was found; ``compiled_by`` says who made the code:
    ``"compiler"``, or ``"memory"`` or ``"disk"`` where it was found. ``run`` is None where nothing was run.
    """

    trace: float
    lower: float
    compile: float
    traced: bool
    compiled_by: str
    run: float | None = None


@dataclass(frozen=True)
class Work:
    """What a call does, by the compiler's estimate, and the least seconds that this takes at the device's best pace.

    ``bound`` says by what: ``"computing"`` or ``"memory"``. Loops count with all their turns, but for ``uncounted_loops``, whose
    number is known only when they run: these count as one turn.
    """

    flops: float
    transcendentals: float
    bytes_accessed: float
    least_seconds: float
    bound: str
    peak_flops_per_second: float
    peak_bytes_per_second: float
    uncounted_loops: int = 0


@dataclass(frozen=True)
class Memory:
    """Bytes on each device: at most, of arguments, of results, in between, and of results in the place of arguments."""

    peak: int
    arguments: int
    results: int
    temporaries: int
    aliased: int


@dataclass(frozen=True)
class Place:
    """A value of the compiled program: what it is, its bytes, the operation that makes it, and the user's line."""

    what: str
    type: str
    bytes: int
    operation: str
    line: str


@dataclass(frozen=True)
class Donation:
    """A donated argument. ``result`` is the number of the result that has its memory, None where none has."""

    argument: str
    type: str
    bytes: int
    result: int | None


@dataclass(frozen=True, repr=False)
class Explanation(Report):
    """All that is known of a function compiled for some arguments; ``print`` it, or take its fields or ``to_dict()``.

    Attributes:
      function, arguments, platform, devices: what was compiled, with the types of its arguments by name, and for what.
      times, work, memory: see these classes.
      largest: the largest values that are alive where most memory is needed, by an estimate.
      donations: donated arguments.
      constants: arrays of more than a megabyte that the function closes over, or that the program holds.
      host_calls: Python functions that the program calls.
      transfers: values that the program moves between a device and the host, besides arguments and results.
      collectives: communication between devices, with the bytes that each gets.
      equations, instructions, fusions: how many there are before and after compilation.
    Example: ``explained = arrax.debug.explain(jnp.sin)(x); explained.equations`` is 1.
    """

    function: str
    arguments: dict[str, str]
    platform: str
    devices: int
    times: Times
    work: Work
    memory: Memory
    largest: tuple[Place, ...]
    donations: tuple[Donation, ...]
    constants: tuple[Place, ...]
    host_calls: tuple[Place, ...]
    transfers: tuple[Place, ...]
    collectives: tuple[Place, ...]
    equations: int
    instructions: int
    fusions: int

    def to_dict(self) -> dict[str, Any]:
        """The fields as dictionaries, lists, texts and numbers, as ``json`` takes them."""
        return {key: [*value] if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    def text(self, paint: Paint) -> str:
        """The report as text."""
        lines = [paint(self.title(), "bold")]
        for heading, entries in self.sections():
            for number, entry in enumerate(entries):
                shown = heading if number == 0 else ""
                lines.append(f"  {paint(f'{shown:<12}', 'cyan')}{paint(entry, '')}")
        return "\n".join(lines)

    def title(self) -> str:
        """The function, its arguments, and where it runs."""
        named = [f"{name}: {text}" for name, text in self.arguments.items()]
        left_out = len(named) - _SHOWN_ARGUMENTS
        arguments = ", ".join([*named[:_SHOWN_ARGUMENTS], *([f"… {left_out} more"] if left_out > 0 else [])])
        where = self.platform if self.devices == 1 else f"{self.devices} devices of platform {self.platform}"
        return f"{self.function}({arguments}) on {where}"

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """Headings, and the lines below them."""
        yield "time", list(self._time_lines())
        yield "work", list(self._work_lines())
        yield "memory", list(self._memory_lines())
        yield (
            "program",
            [
                f"{self.equations} equations, {self.instructions} instructions of the compiler, {self.fusions} of them fusions"
            ],
        )
        if self.donations:
            yield (
                "donated",
                [f"{bytes_text(one.bytes):>9}  {one.argument}: {one.type}, {_fate(one)}" for one in self.donations],
            )
        for heading, places in (
            ("constants", self.constants),
            ("host calls", self.host_calls),
            ("transfers", self.transfers),
            ("collectives", self.collectives),
        ):
            if places:
                yield heading, list(_place_lines(places))

    def _time_lines(self) -> Iterator[str]:
        times = self.times
        source = {"compiler": "", "memory": " (found in memory)", "disk": " (found on disk)"}[times.compiled_by]
        trace = seconds_text(times.trace) if times.traced else "done before"
        yield f"trace {trace}, lower {seconds_text(times.lower)}, compile {seconds_text(times.compile)}{source}"
        if times.run is not None:
            share = self.work.least_seconds / times.run if times.run else 0.0
            cached = share > 1 and self.work.bound == "memory"
            pace = "faster than memory: from caches" if cached else f"{min(share, 1):.0%} of the best pace"
            yield f"run {seconds_text(times.run)}, {pace}"

    def _work_lines(self) -> Iterator[str]:
        work = self.work
        yield f"{_scaled(work.flops)} operations on numbers, {bytes_text(work.bytes_accessed)} read and written"
        if work.uncounted_loops:
            loops = "a loop" if work.uncounted_loops == 1 else f"each of {work.uncounted_loops} loops"
            yield f"with one turn of {loops} whose number of turns nobody knows before"
        yield (
            f"at least {seconds_text(work.least_seconds)} here, bound by {work.bound} (at best "
            f"{_scaled(work.peak_flops_per_second)} operations and {bytes_text(work.peak_bytes_per_second)} a second)"
        )

    def _memory_lines(self) -> Iterator[str]:
        memory = self.memory
        parts = [f"arguments {bytes_text(memory.arguments)}", f"results {bytes_text(memory.results)}"]
        parts.append(f"in between {bytes_text(memory.temporaries)}")
        if memory.aliased:
            parts.append(f"results in arguments' place {bytes_text(memory.aliased)}")
        yield f"{bytes_text(memory.peak)} at most: {', '.join(parts)}"
        yield from _place_lines(self.largest)


def _fate(donation: Donation) -> str:
    return "which no result is like" if donation.result is None else f"whose memory is result {donation.result}'s"


def _place_lines(places: Sequence[Place]) -> Iterator[str]:
    for one in places:
        parts = [part for part in (one.what, one.type, one.operation, one.line) if part]
        yield f"{bytes_text(one.bytes) if one.bytes else '':>9}  {'  '.join(dict.fromkeys(parts))}"


def _scaled(value: float) -> str:
    power = 0
    while value >= 999.5 and power < len(_UNITS) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.3g}{' ' if _UNITS[power] else ''}{_UNITS[power]}"


def bytes_text(value: float) -> str:
    """A number of bytes to read: ``1.57 MB``."""
    text = _scaled(value)
    return f"{text}B" if " " in text else f"{text} B"


def seconds_text(seconds: float) -> str:
    """A time to read: ``12.3 ms``."""
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"
