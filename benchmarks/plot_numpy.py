"""Put the results into the README: draw those of the group ``numpy``, write the table of all groups (`python -m benchmarks.plot_numpy`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

ROOT = Path(__file__).resolve().parent
IMAGE = ROOT.parent / "docs" / "numpy_speed.png"
README = ROOT.parent / "README.md"
ABOUT = {  # groups, in the README's order
    "programs": "whole programs: training steps, science; first call and steady",
    "scripts": "whole scripts in fresh processes: imports, parameters, training or simulation",
    "cold_start": "a fresh process until the first result",
    "staging": "tracing, lowering, compiling",
    "call_overhead": "calls of compiled functions that do next to nothing",
    "runtime": "compiled functions at work",
    "eager": "single operations on small arrays",
    "transforms": "transformations of functions that are new at each call",
    "random": "random numbers",
    "parallel": "eight virtual devices, two processes",
    "numpy": "compiled functions of a million numbers",
    "numpy_computed": "the same of numbers computed just before",
}
_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
_OURS, _REFERENCE, _HOST = "#1b6ca8", "#b9b9b9", "#444444"
_NAMED = 14  # how many cases are named


class Times(NamedTuple):
    """Seconds that a case takes on the three sides."""

    name: str
    ours: float
    reference: float
    host: float


def seconds(text: str) -> float:
    """The number that a time of the table stands for; NaN where a side failed."""
    value, _, unit = text.partition(" ")
    return float(value) * _UNITS[unit] if unit else float("nan")


def read_section(text: str) -> tuple[list[Times], str]:
    """The cases of the group ``numpy``, and when and where they were timed."""
    section = text.split("\n## numpy\n", 1)[1].split("\n## ", 1)[0]
    rows = [
        Times(cells[0], *(seconds(cells[i]) for i in (1, 2, 4)))
        for line in section.splitlines()
        if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 6 and re.match(r"\d", cells[1])
    ]
    where = next(line for line in section.splitlines() if re.match(r"\d{4}-\d\d-\d\d", line))
    date, model = where.split(", ")[:2]
    cores = re.search(r"\d+ cores", where)
    return rows, f"{model}, {cores[0] if cores else ''}, {date}"


def draw(rows: list[Times], where: str, image: Path) -> None:
    """Speed against the host library, from the slowest case to the fastest; some of them are named."""
    rows = sorted(rows, key=lambda row: row.host / row.ours)
    figure, axes = pyplot.subplots(figsize=(8.5, 3.6), layout="constrained")
    axes.axhline(1, color=_HOST, linewidth=1)
    axes.scatter(range(len(rows)), [r.host / r.reference for r in rows], s=9, color=_REFERENCE, label="JAX 0.10.2")
    axes.scatter(range(len(rows)), [r.host / r.ours for r in rows], s=11, color=_OURS, label="arrax")
    for number in range(2, len(rows), len(rows) // _NAMED):
        row = rows[number]
        axes.annotate(
            row.name, (number, row.host / row.ours), (0, 14), textcoords="offset points", fontsize=7, rotation=40,
            arrowprops={"arrowstyle": "-", "color": _REFERENCE, "linewidth": 0.6},
        )  # fmt: skip
    axes.set(yscale="log", ylabel="times as fast as NumPy and SciPy", xticks=[], xlabel=f"{len(rows)} functions")
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="lower right", frameon=False, fontsize=8)
    axes.set_title(f"Compiled functions of a million numbers, {where}", fontsize=9, loc="left")
    figure.savefig(image, dpi=130)


def table(results: str) -> str:
    """The README's table: arrax's times by those of the reference, as geometric means."""
    means = dict(re.findall(r"^\| (\w+) \| geometric mean ([\d.]+)", results, re.M))
    rows = [f"| `{group}` | {about} | {means[group]} |" for group, about in ABOUT.items() if group in means]
    return "\n".join(["| group | what is timed | arrax / JAX |", "|---|---|--:|", *rows]) + "\n"


def main() -> None:
    """Read the results, write the image and the table."""
    results = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    draw(*read_section(results), IMAGE)
    text = README.read_text(encoding="utf-8")
    README.write_text(
        re.sub(r"^\| group \|.*?(?=^$)", lambda _: table(results), text, flags=re.M | re.S), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
