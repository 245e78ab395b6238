"""Run the array API standard's conformance suite on arrax.numpy: ``python -m tests.conformance.suite`` (``make conformance``).

The suite is not part of this repository: it is taken from the checkout that ARRAY_API_TESTS names, or cloned once into
``.conformance``. Only tests that change arrays in place may fail: ``known_failures.txt`` lists them.
"""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
ORIGIN = "https://github.com/data-apis/array-api-tests"
COMMIT = "55fcc60"  # the suite changes; a newer one is a checkout away (ARRAY_API_TESTS=...)
SETTINGS = {
    "ARRAX_ENABLE_X64": "1",
    "ARRAY_API_TESTS_MODULE": "arrax.numpy",
    "ARRAY_API_TESTS_VERSION": "2025.12",
}


def find_suite() -> Path:
    """The folder of the suite, cloned if need be."""
    given = os.environ.get("ARRAY_API_TESTS")
    if given:
        return Path(given).resolve()
    folder = REPOSITORY / ".conformance" / "array-api-tests"
    if not (folder / "array-api" / "src").is_dir():
        folder.parent.mkdir(exist_ok=True)
        git = ["git", "-C", str(folder)]
        if not folder.is_dir():
            subprocess.run(["git", "clone", "--quiet", ORIGIN, str(folder)], check=True)
        subprocess.run([*git, "checkout", "--quiet", COMMIT], check=True)
        subprocess.run([*git, "submodule", "--quiet", "update", "--init"], check=True)
    return folder


def run(suite: Path, report: Path, options: list[str]) -> None:
    """Run the suite; its outcome lies in a JUnit report."""
    environment = {**SETTINGS, **os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    pytest = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "--tb=short", "-p", "no:cacheprovider"]
    subprocess.run([*pytest, f"--junitxml={report}", *options], cwd=suite, env=environment, check=False)


def outcomes(report: Path) -> dict[str, list[str]]:
    """The names of the tests that passed, failed and were skipped."""
    found: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}
    for case in xml.parse(report).iter("testcase"):
        where = case.get("classname", "").removeprefix("array_api_tests.").replace(".", "::")
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[outcome].append(f"{where}::{case.get('name')}".removeprefix("::"))
    return found


def read_known_failures() -> set[str]:
    """The tests that are expected to fail."""
    lines = (HERE / "known_failures.txt").read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def judge(found: dict[str, list[str]], known: set[str], complete: bool) -> list[str]:
    """What is wrong with an outcome: one line each, none if all is well.

    Args:
      complete: the whole suite was run, so that a known failure which did not fail is worth a word.
    """
    complaints = [f"regression: {name}" for name in found["failed"] if name not in known]
    if not found["passed"]:
        complaints.append("no test passed: was the suite found?")
    if complete:
        complaints += [
            f"no longer fails, take it off the list: {name}" for name in sorted(known - set(found["failed"]))
        ]
    return complaints


def main(options: list[str]) -> int:
    """Run, count, compare."""
    suite = find_suite()
    if not (suite / "array_api_tests").is_dir():
        print(f"{suite} is no checkout of {ORIGIN}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        run(suite, report, options)
        if not report.is_file():
            print("the suite did not run to its end", file=sys.stderr)
            return 2
        found = outcomes(report)
    complaints = judge(found, read_known_failures(), complete="-k" not in options)
    print(", ".join(f"{len(names)} {outcome}" for outcome, names in found.items()))
    print(*complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
