"""The pages as programs: their Python blocks, what these print, and the pictures that they draw.

``python -m docs.pages five_minutes.md`` runs a page and writes what its blocks print into the blocks of output below them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = ROOT / "docs"
FIGURES = FOLDER / "figures"  # what the pages draw, when the site is built
ALONE = "<!-- runs in a process of its own -->"  # stands in pages that must come before the first use of the runtime

_BLOCK = re.compile(r"```python(?: needs=(\w+))?\n(.*?)```(?:\n\n```output\n(.*?)```)?", re.S)
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?\d+e[-+]?\d+")


class Block(NamedTuple):
    """A Python block: the line it begins at, its code, what it is said to print if that is shown, and whether it can run here."""

    line: int
    code: str
    output: str | None
    runs: bool


def blocks(text: str) -> Iterator[Block]:
    """The Python blocks of a page's text."""
    for match in _BLOCK.finditer(text):
        needed, code, output = match.groups()
        runs = needed is None or importlib.util.find_spec(needed) is not None
        yield Block(text[: match.start()].count("\n") + 2, code, output, runs)


def outputs(path: pathlib.Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page that can run here, in one namespace and in the current folder.

    Yields:
      Each block with what it printed, if that is shown; one that cannot run, with what it is said to print.
    """
    namespace: dict[str, Any] = {"__name__": "docs"}
    for block in blocks(path.read_text()):
        if not block.runs:
            yield block, block.output or ""
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed) if block.output is not None else contextlib.nullcontext():
            exec(compile("\n" * (block.line - 1) + block.code, str(path), "exec"), namespace)
        yield block, printed.getvalue()


def agrees(printed: str, shown: str) -> bool:
    """Whether a page shows what was printed: spaces may differ, and the last digits of fractions, which differ among machines."""
    printed, shown = (re.sub(r"(?<=[\[(]) ", "", re.sub(r"\s+", " ", text)).strip() for text in (printed, shown))
    if _NUMBER.sub("0.", printed) != _NUMBER.sub("0.", shown):
        return False
    pairs = zip(_NUMBER.findall(printed), _NUMBER.findall(shown), strict=True)
    return all(math.isclose(float(one), float(other), rel_tol=1e-4, abs_tol=2e-6) for one, other in pairs)


def check(path: pathlib.Path) -> None:
    """Run a page.

    Raises:
      AssertionError: a block prints something else than is shown.
    """
    for block, printed in outputs(path):
        if block.output is not None and not agrees(printed, block.output):
            raise AssertionError(
                f"{path.name}, line {block.line}: the block prints\n{printed}\nand not\n{block.output}"
            )


def run(path: pathlib.Path, folder: pathlib.Path, how: str = "check") -> None:
    """Run a page in a folder, in a process of its own. ``how`` is ``"check"`` or ``"write"``, as of the command line."""
    about = dict(os.environ, PYTHONPATH=str(ROOT), MPLBACKEND="Agg")
    about.pop("XLA_FLAGS", None)  # pages choose how many devices they have
    done = subprocess.run(
        [sys.executable, "-m", "docs.pages", how, str(path)], cwd=folder, env=about, capture_output=True, text=True
    )
    if done.returncode:
        raise AssertionError(f"{path.name}:\n{done.stdout}{done.stderr}")


def write(path: pathlib.Path) -> None:
    """Run a page and write what its blocks print into it."""
    printed = [text if block.output is not None else None for block, text in outputs(path)]
    texts = iter(printed)

    def shown(match: re.Match[str]) -> str:
        text = next(texts)
        return match.group(0) if text is None else f"{match.group(0).split('```output')[0]}```output\n{text}```"

    path.write_text(_BLOCK.sub(shown, path.read_text()))


def figures_of(text: str) -> list[str]:
    """The names of the files that a page draws and shows."""
    return re.findall(r"\]\(figures/([\w.]+)\)", text)


def draw() -> None:
    """Draw the pictures of all pages that have changed since theirs were drawn."""
    FIGURES.mkdir(exist_ok=True)
    for path in sorted(FOLDER.glob("*.md")):
        drawn = [FIGURES / name for name in figures_of(path.read_text())]
        if all(figure.exists() and figure.stat().st_mtime >= path.stat().st_mtime for figure in drawn):
            continue
        with tempfile.TemporaryDirectory() as folder:
            run(path, pathlib.Path(folder))
            for figure in drawn:
                figure.write_bytes((pathlib.Path(folder) / figure.name).read_bytes())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check", name]:
            check(pathlib.Path(name))
        case ["write", name]:
            write(pathlib.Path(name))
        case names:
            with tempfile.TemporaryDirectory() as place:
                for each in names:
                    run(FOLDER / pathlib.Path(each).name, pathlib.Path(place), "write")
