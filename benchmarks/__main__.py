"""Run groups of cases on arrax and on the reference in turn, and print both times and their ratio."""

import argparse
import importlib
import os
import shlex
import sys
from pathlib import Path

from benchmarks.report import Group, Row, Times, merged, section, text_heading, text_row
from benchmarks.side import CaseFailed, Side

GROUPS = (
    "cold_start", "scripts", "programs", "eager", "transforms", "staging", "call_overhead", "runtime", "numpy",
    "numpy_computed", "scipy", "random", "parallel",
)  # fmt: skip
RESULTS = Path(__file__).resolve().parent / "RESULTS.md"


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="group", help=f"any of: {', '.join(GROUPS)} (default: all)")
    parser.add_argument("--reference", required=True, metavar="PYTHON", help="an interpreter that has jax 0.10.2")
    parser.add_argument("--rounds", type=int, default=3, help="how often each case runs at least (default: 3)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases with this text in their name")
    parser.add_argument("--write", action="store_true", help="write benchmarks/RESULTS.md")
    # To try the benchmarks themselves: another library in arrax's place, run by the reference's interpreter.
    parser.add_argument("--library", default="arrax", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = sorted(set(options.groups) - set(GROUPS))
    if unknown:
        parser.error(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    return options


def sides_of(group: str, options: argparse.Namespace) -> tuple[Side, Side]:
    """arrax on this interpreter, the reference on its own."""
    environment = getattr(importlib.import_module(f"benchmarks.{group}"), "ENVIRONMENT", {})
    python = sys.executable if options.library == "arrax" else options.reference
    return Side(python, options.library, group, environment), Side(options.reference, "jax", group, environment)


def host_side(group: str) -> Side | None:
    """The library that runs on the host beside the two, where a group has one."""
    library = getattr(importlib.import_module(f"benchmarks.{group}"), "HOST_LIBRARY", "")
    return Side(sys.executable, library, group, {}) if library else None


def case_names(sides: tuple[Side, Side], only: str) -> list[str]:
    """The cases, as the side says that can."""
    failures = []
    for side in sides:
        try:
            return [name for name in side.ask(ask="names") if only in name]
        except CaseFailed as error:
            failures.append(f"{side.library}: {error}")
    raise SystemExit("neither side can say its cases: " + "; ".join(failures))


def time_case(side: Side, name: str, times: Times) -> None:
    """One round of a case on a side. A side that has failed is not asked again."""
    if not times.error:
        try:
            times.add(side.ask(ask="time", case=name))
        except CaseFailed as error:
            times.error = str(error)


def run_group(name: str, options: argparse.Namespace) -> tuple[Group, dict[str, dict[str, str]]]:
    """A group's results, printed as they come, and the versions of both sides."""
    module = importlib.import_module(f"benchmarks.{name}")
    about = (module.__doc__ or "").splitlines()[0]
    ours, reference = sides = sides_of(name, options)
    host = host_side(name)
    try:
        versions = {side: asked.ask(ask="versions") for side, asked in (("arrax", ours), ("reference", reference))}
        host_name = host.library if host else ""
        rows = [Row(case) for case in case_names(sides, options.only)]
        group = Group(name, about, rows, host_name, getattr(module, "REASONS", {}))
        print(text_heading(group), flush=True)
        for row in group.rows:
            for round_number in range(2 * options.rounds):
                turn = [(ours, row.ours), (reference, row.reference), *([(host, row.host)] if host else [])]
                for side, times in turn if round_number % 2 == 0 else turn[::-1]:
                    time_case(side, row.name, times)
                if round_number + 1 >= options.rounds and all(times.is_settled for _, times in turn):
                    break
            print(text_row(row), flush=True)
    finally:
        ours.close()
        reference.close()
        if host:
            host.close()
    print(f"  {group.summary}", flush=True)
    return group, versions


def command_line(options: argparse.Namespace) -> str:
    """The command as another machine would give it."""
    python = "PYTHON" if os.path.isabs(options.reference) else options.reference
    only = ["--only", options.only] if options.only else []
    given = [*options.groups, "--reference", python, "--rounds", str(options.rounds), *only, "--write"]
    return shlex.join(["python", "-m", "benchmarks", *given])


def main() -> None:
    """Run, print, and write if asked to."""
    options = parse_options()
    groups = []
    for name in options.groups or GROUPS:
        group, versions = run_group(name, options)
        groups.append(group)
        if options.write:
            before = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
            command = command_line(argparse.Namespace(**{**vars(options), "groups": [name]}))
            RESULTS.write_text(merged(before, {name: section(group, versions, command)}), encoding="utf-8")
    print("\n" + "\n".join(f"{group.name:<16} {group.summary}" for group in groups))


if __name__ == "__main__":
    main()
