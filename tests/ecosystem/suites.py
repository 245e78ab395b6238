"""Run the tests of libraries with arrax in the place of JAX, and with JAX: ``python -m tests.ecosystem.suites`` (``make ecosystem``).

The libraries are no part of this repository: their tests are taken from the checkouts that ECOSYSTEM names (a folder with
one of each library, by its name), or cloned once into ``.ecosystem``. What passes with JAX and fails with arrax is a defect
of arrax, but for the tests that ``libraries.py`` says cannot pass, and why.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

from tests.ecosystem.libraries import LIBRARIES, Library

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FOLDER = REPOSITORY / ".ecosystem"
Outcomes = dict[str, str]  # from names of tests to "passed", "failed", "skipped"


def find_checkout(name: str, library: Library) -> Path:
    """The folder of a library's tests, cloned if need be. Parts of one library, such as ``flax.nnx``, share it."""
    name = name.partition(".")[0]
    given = os.environ.get("ECOSYSTEM")
    if given:
        return Path(given).resolve() / name
    folder = FOLDER / name
    if not folder.is_dir():
        folder.parent.mkdir(exist_ok=True)
        clone = ["git", "clone", "--quiet", "--depth=1", f"--branch={library.tag}", library.origin, str(folder)]
        subprocess.run(clone, check=True)
    return folder


def processes(library: Library, checkout: Path) -> list[tuple[str, ...]]:
    """The arguments of pytest in each process."""
    if not library.each_file:
        return list(library.runs)
    return [
        (str(file.relative_to(checkout)), *options)
        for folder, *options in library.runs
        for file in sorted((checkout / folder).glob("**/test_*.py"))
    ]


def run(name: str, python: str, served: bool, reports: Path, workers: int, limit: int) -> tuple[Outcomes, float]:
    """The outcomes of a library's tests, and how many seconds they took.

    Args:
      python: interpreter of the environment to run them in.
      served: whether arrax serves the name jax.
      reports: folder of what the processes report and print.
      workers: how many processes share the tests.
      limit: seconds that one test may take.
    """
    library = LIBRARIES[name]
    checkout = find_checkout(name, library)
    paths = [str(REPOSITORY)] * served + [str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", **library.environment, "PYTHONPATH": os.pathsep.join(paths)}
    pytest = [python, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", f"--timeout={limit}"]
    pytest += ["-p", "arrax.as_jax.pytest_plugin"] * served + ["-n", str(workers)]
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    start = time.perf_counter()
    for number, arguments in enumerate(processes(library, checkout)):
        with (reports / f"{number}.log").open("w") as output:
            subprocess.run(
                [*pytest, f"--junitxml={reports / str(number)}.xml", *arguments], cwd=checkout, env=environment,
                check=False, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
    took = time.perf_counter() - start
    (reports / "seconds").write_text(f"{took:.0f}")
    return read(reports), took


def read(reports: Path) -> Outcomes:
    """The outcomes in all reports of a run."""
    return {test: outcome for file in sorted(reports.glob("*.xml")) for test, outcome in outcomes(file).items()}


def outcomes(report: Path) -> Outcomes:
    """The outcome of each test in a JUnit report."""
    found: Outcomes = {}
    for case in xml.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{case.get('classname')}::{case.get('name')}"] = outcome
    return found


def judge(ours: Outcomes, reference: Outcomes, known: dict[str, str]) -> list[str]:
    """What is wrong with outcomes: one line each, none if all is well."""
    complaints = []
    for test, outcome in sorted(reference.items()):
        got = ours.get(test, "missing")
        if outcome == "passed" and got != "passed" and test not in known:
            complaints.append(f"passes with JAX, {got} with arrax: {test}")
        if got == "passed" and test in known:
            complaints.append(f"passes: take it off the list: {test}")
    if "passed" not in reference.values():
        complaints.append("no test passes with JAX: was the library found?")
    return complaints


def row(name: str, ours: Outcomes, reference: Outcomes, took: float, reference_took: float) -> str:
    """A line of the table of counts."""
    here, there = Counter(ours.values()), Counter(reference.values())
    lost = sum(outcome == "passed" and ours.get(test) != "passed" for test, outcome in reference.items())
    return (
        f"| {name} {LIBRARIES[name].tag} | {here['passed']} | {here['failed']} | {took:.0f} s "
        f"| {there['passed']} | {there['failed']} | {reference_took:.0f} s | {lost} |"
    )


HEADER = """| library | passed | failed | took | with JAX: passed | failed | took | only with JAX |
|---|--:|--:|--:|--:|--:|--:|--:|"""


def main(arguments: list[str]) -> int:
    """Run, count, compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.ecosystem.suites")
    parser.add_argument("libraries", nargs="*", help=f"of {', '.join(LIBRARIES)}; all if none is named")
    parser.add_argument("--reference", required=True, help="interpreter of an environment with JAX and the libraries")
    parser.add_argument(
        "--again", action="store_true", help="run with JAX again, even if its outcomes are in .ecosystem"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes that share the tests of a library")
    parser.add_argument("--limit", type=int, default=300, help="seconds that one test may take")
    options = parser.parse_args(arguments)
    names = options.libraries or list(LIBRARIES)
    unknown = sorted({*names} - {*LIBRARIES})
    if unknown:
        parser.error(f"no library of this name: {', '.join(unknown)}; there are {', '.join(LIBRARIES)}")
    complaints: list[str] = []
    print(HEADER, flush=True)
    for name in names:
        reports = FOLDER / "reports" / f"{name}-{LIBRARIES[name].tag}"
        finished = reports / "jax" / "seconds"
        if finished.is_file() and not options.again:
            reference, reference_took = read(finished.parent), float(finished.read_text())
        else:
            reference, reference_took = run(
                name, str(Path(options.reference).absolute()), False, finished.parent, options.workers, options.limit
            )
        ours, took = run(name, sys.executable, True, reports / "arrax", options.workers, options.limit)
        print(row(name, ours, reference, took, reference_took), flush=True)
        complaints += [f"{name}: {line}" for line in judge(ours, reference, LIBRARIES[name].known)]
    print(*complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
