"""Results as text for the terminal and as Markdown for the repository."""

import math
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

SETTLED = 1.05  # the second shortest time by the shortest, up to which more rounds would not say much else


@dataclass
class Times:
    """A side's best time for a case and the second best, or why there are none."""

    seconds: float = math.inf
    second: float = math.inf
    error: str = ""

    def add(self, seconds: float) -> None:
        """Take a round into account."""
        self.seconds, self.second = sorted((self.seconds, self.second, seconds))[:2]

    @property
    def is_settled(self) -> bool:
        """Whether two rounds took nearly the shortest time, so that it does not hang on a chance of the machine."""
        return bool(self.error) or self.second <= SETTLED * self.seconds

    def __str__(self) -> str:
        return "failed" if self.error or math.isinf(self.seconds) else format_time(self.seconds)


@dataclass
class Row:
    """A case on both sides."""

    name: str
    ours: Times = field(default_factory=Times)
    reference: Times = field(default_factory=Times)
    host: Times = field(default_factory=Times)

    @property
    def ratio(self) -> float | None:
        """Our time by the reference's, if there are both."""
        return quotient(self.ours, self.reference)

    @property
    def host_ratio(self) -> float | None:
        """Our time by the host library's, if there are both."""
        return quotient(self.ours, self.host)

    @property
    def is_slower(self) -> bool:
        """Whether we take longer than another side, by more than a tenth."""
        return any(ratio is not None and ratio > 1.1 for ratio in (self.ratio, self.host_ratio))

    @property
    def errors(self) -> str:
        """Why a side has no time."""
        sides = (("arrax", self.ours), ("reference", self.reference), ("host", self.host))
        return "; ".join(f"{side}: {times.error}" for side, times in sides if times.error)


def quotient(ours: Times, other: Times) -> float | None:
    """One time by the other, if there are both."""
    if ours.error or other.error or math.isinf(ours.seconds + other.seconds):
        return None
    return ours.seconds / other.seconds


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean of some numbers."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


@dataclass
class Group:
    """A group's cases, what it is about, and the host library that runs beside, if any."""

    name: str
    about: str
    rows: list[Row]
    host: str = ""
    reasons: dict[str, str] = field(default_factory=dict)  # of cases that take longer than another side: why

    @property
    def summary(self) -> str:
        """The geometric mean of the ratios, how many cases it is of, how many failed."""
        ratios = [row.ratio for row in self.rows if row.ratio is not None]
        mean = f"{geometric_mean(ratios):.2f}" if ratios else "none"
        failed = [f"{count} failed on {side}" for side, count in self._failures() if count]
        return ", ".join(
            [
                f"geometric mean {mean} over {len(ratios)} of {len(self.rows)} cases",
                *failed, *self._by_kind(), *self._beside_host(),
            ]
        )  # fmt: skip

    def _by_kind(self) -> list[str]:
        """The means of each kind of case, where names end in one of a few."""
        kinds: dict[str, list[float]] = {}
        for row in self.rows:
            name, _, kind = row.name.rpartition(", ")
            if name and row.ratio is not None:
                kinds.setdefault(kind, []).append(row.ratio)
        if len(kinds) != 2 or sum(map(len, kinds.values())) != sum(row.ratio is not None for row in self.rows):
            return []
        return [
            f"{kind} {geometric_mean(ratios):.2f} ({sum(ratio > 1.1 for ratio in ratios)} above 1.1)"
            for kind, ratios in kinds.items()
        ]

    def _beside_host(self) -> list[str]:
        ratios = [row.host_ratio for row in self.rows if row.host_ratio is not None]
        if not ratios:
            return []
        return [f"by {self.host} {geometric_mean(ratios):.2f}, {sum(r > 1.2 for r in ratios)} above 1.2"]

    def _failures(self) -> list[tuple[str, int]]:
        return [
            ("arrax", sum(bool(row.ours.error) for row in self.rows)),
            ("the reference", sum(bool(row.reference.error) for row in self.rows)),
        ]


def format_time(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def format_ratio(ratio: float | None) -> str:
    """Two decimals, or a dash."""
    return "-" if ratio is None else f"{ratio:.2f}"


def text_row(row: Row) -> str:
    """A case as a line of the terminal's table."""
    line = f"  {row.name:<52} {row.ours!s:>10} {row.reference!s:>10} {format_ratio(row.ratio):>7}"
    if row.host_ratio is not None:
        line += f" {row.host!s:>10} {format_ratio(row.host_ratio):>7}"
    return f"{line}  {row.errors}" if row.errors else line


def text_heading(group: Group) -> str:
    """The lines above a group's table."""
    beside = f" {group.host:>10} {'ratio':>7}" if group.host else ""
    return f"\n{group.name}: {group.about}\n  {'':<52} {'arrax':>10} {'reference':>10} {'ratio':>7}{beside}"


_SUMMARY = "Summary: "
_HEAD = """# Results

Shortest times of the rounds; a ratio below 1 says that arrax takes less time. What is measured: README.md.

| group | ratio |
|---|---|
"""


def section(group: Group, versions: dict[str, dict[str, str]], command: str) -> str:
    """A group's part of the file of results: when, where and how, and a table."""
    found = (f"{side}: {', '.join(f'{name} {v}' for name, v in names.items())}" for side, names in versions.items())
    head, rule = (f" {group.host} | ratio |", "--:|--:|") if group.host else ("", "")
    lines = [
        f"## {group.name}",
        "",
        group.about,
        "",
        f"{_SUMMARY}{group.summary}",
        "",
        f"{date.today().isoformat()}, {machine()}; {'; '.join(found)}; `{command}`",
        "",
        f"| case | arrax | reference | ratio |{head}",
        f"|---|--:|--:|--:|{rule}",
        *(markdown_row(row, bool(group.host)) for row in group.rows),
        *(f"\n`{row.name}`: {row.errors}" for row in group.rows if row.errors),
        *(
            f"\n`{row.name}`: {group.reasons[row.name]}"
            for row in group.rows
            if row.name in group.reasons and row.is_slower
        ),
    ]
    return "\n".join(lines) + "\n"


def merged(text: str, sections: dict[str, str]) -> str:
    """The file of results with the sections of some groups replaced or added, and the table at its top made anew."""
    parts = {part.split("\n", 1)[0]: f"## {part.rstrip()}\n" for part in text.split("\n## ")[1:]}
    parts |= sections
    summaries = [f"| {name} | {part.split(_SUMMARY, 1)[1].splitlines()[0]} |\n" for name, part in sorted(parts.items())]
    return _HEAD + "".join(summaries) + "\n" + "\n".join(part for _, part in sorted(parts.items()))


def markdown_row(row: Row, with_host: bool) -> str:
    """A case as a line of the file's table."""
    name = row.name.replace("|", "\\|")
    line = f"| {name} | {row.ours} | {row.reference} | {format_ratio(row.ratio)} |"
    return f"{line} {row.host} | {format_ratio(row.host_ratio)} |" if with_host else line


def machine() -> str:
    """Processor, cores, memory, system."""
    model, memory = platform.processor() or platform.machine(), ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = named[0] if named else model
        memory = f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    return f"{model}, {os.cpu_count()} cores{memory}, {platform.system()} {platform.machine()}"
