"""Every Python block of the documentation runs, page by page, the blocks of a page in one namespace.

A block of output below one is what that prints.
"""

import contextlib
import io
import pathlib
import re

import pytest

from arrax import errors
from arrax.core import config

DOCS = pathlib.Path(__file__).parent.parent / "docs"
PAGES = sorted(page.name for page in DOCS.glob("*.md"))


def blocks(page):
    """(line, code, what it prints or None) of each Python block."""
    text = (DOCS / page).read_text()
    for match in re.finditer(r"```python\n(.*?)```(?:\n\n```output\n(.*?)```)?", text, re.S):
        yield text[: match.start()].count("\n") + 2, match.group(1), match.group(2)


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run(page):
    namespace = {"__name__": "docs"}
    for line, code, output in blocks(page):
        with contextlib.redirect_stdout(io.StringIO()) if output is not None else contextlib.nullcontext() as printed:
            exec(compile("\n" * (line - 1) + code, str(DOCS / page), "exec"), namespace)
        assert output is None or printed.getvalue() == output


def test_every_block_of_output_stands_below_what_prints_it():
    for page in PAGES:
        shown = sum(output is not None for _, _, output in blocks(page))
        assert shown == (DOCS / page).read_text().count("```output\n"), page


def test_the_index_lists_every_page():
    index = (DOCS / "index.md").read_text()
    assert all(f"({page})" in index for page in PAGES if page != "index.md")


def test_the_configuration_page_lists_every_option_with_its_default():
    page = (DOCS / "configuration.md").read_text()
    for name, option in config._options.items():
        default = "" if option.default is None else f"`{option.default}`"
        assert f"| `{name}`{'*' if option.in_key else ''} | {default} | {option.doc} |" in page, name


def test_the_errors_page_has_a_section_for_every_class():
    titles = re.findall(r"^## (.+)$", (DOCS / "errors.md").read_text(), re.M)
    sections = {name for title in titles for name in title.split(", ")}
    classes = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert classes <= sections, classes - sections
