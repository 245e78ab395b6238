"""Every Python block of the documentation runs, page by page, the blocks of a page in one namespace.

A block of output below one is what that prints. Links lead somewhere, and pages say where to go next.
"""

import re

import pytest

from arrax import errors
from arrax.core.errors import ErrorWithPage
from benchmarks import plot_numpy
from docs import pages, reference, settings_table

DOCS = pages.FOLDER
ROOT = pages.ROOT
PAGES = sorted(page.name for page in DOCS.glob("*.md"))
API = {f"{name}.md" for name in (*reference.MODULES, "index", "changelog")}  # written when the site is built
TEXTS = {page: (DOCS / page).read_text() for page in PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages write files
    monkeypatch.setenv("MPLBACKEND", "Agg")
    (pages.run if pages.ALONE in TEXTS[page] else lambda path, folder: pages.check(path))(DOCS / page, tmp_path)
    assert all((tmp_path / name).exists() for name in pages.figures_of(TEXTS[page]))


def test_the_program_of_the_readme_prints_what_it_shows():
    pages.check(ROOT / "README.md")


def test_the_readme_has_the_means_of_the_benchmarks():
    table = plot_numpy.table((ROOT / "benchmarks" / "RESULTS.md").read_text())
    assert table.count("\n") > 10 and table in (ROOT / "README.md").read_text(), "run make plot-numpy"


def test_every_block_of_output_stands_below_what_prints_it():
    for page, text in TEXTS.items():
        shown = sum(block.output is not None for block in pages.blocks(text))
        assert shown == text.count("```output\n"), page


DRAWING = """
```python
print(1 + 1)
open("two.svg", "w").write("two")
```

```output
```

```python needs=no_such_package
print(3)
```

```output
3
```

![two](figures/two.svg)
"""


def test_a_page_is_filled_with_what_it_prints_and_drawn_when_it_has_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page, drawn = tmp_path / "drawing.md", tmp_path / "figures" / "two.svg"
    page.write_text(DRAWING)
    with pytest.raises(AssertionError, match="prints\n2\n"):
        pages.check(page)
    pages.write(page)
    assert page.read_text() == DRAWING.replace("```output\n```", "```output\n2\n```")
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    monkeypatch.setattr(pages, "FIGURES", drawn.parent)
    for _ in range(2):
        pages.draw()
        assert drawn.read_text() == "two"
        monkeypatch.setattr(pages, "run", None)  # nothing is left to do


@pytest.mark.parametrize(
    "printed, shown, same",
    [
        ("[0.8414710 1.]\n", "[0.8414709 1.]\n", True),
        ("[ 1.  -2.5]", "[1. -2.5]", True),
        ("1e-09", "-0.", True),
        ("0.85", "0.84", False),
        ("3 steps", "4 steps", False),
        ("f32[3]", "f32[4]", False),
        ("1. 2.", "1.", False),
    ],
)
def test_what_is_shown_may_differ_in_spaces_and_last_digits_only(printed, shown, same):
    assert pages.agrees(printed, shown) == same


def anchors(text):
    """Names of a page's headings, as GitHub and the site make them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*(f"docs/{page}" for page in PAGES), "README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", (ROOT / page).read_text(), flags=re.S | re.M)
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text):
        target = (ROOT / page).parent / link if link else ROOT / page
        if link.startswith("figures/"):
            continue  # drawn by the page, as tested above
        if link.startswith("api/"):
            assert link.removeprefix("api/") in API, (page, link)
            continue
        assert target.exists(), (page, link)
        assert not anchor or anchor in anchors(target.read_text()), (page, link, anchor)


def test_the_spelling_is_british_with_ize():
    other = r"\b(\w*(?:optimi|minimi|maximi|vectori|lineari|initiali|normali|reali|generali)s(?:e|ed|es|ing|ation|ers?)|colors?|neighbors?|behaviors?|favors?)\b"
    for page, text in TEXTS.items():
        prose = re.sub(r"^```.*?^```|`[^`]*`", "", text, flags=re.S | re.M)
        assert not re.findall(other, prose, re.I), page


def test_tutorials_and_guides_end_with_where_to_go_next():
    chapters = re.split(r"^## ", TEXTS["index.md"], flags=re.M)[1:]
    for chapter in chapters[:-1]:  # all but the reference
        for page in re.findall(r"\]\((\w+\.md)\)", chapter):
            assert re.findall(r"^## (.+)$", TEXTS[page], re.M)[-1] == "Where to go next", page


def test_the_index_lists_every_page():
    assert all(f"({page})" in TEXTS["index.md"] for page in PAGES if page != "index.md")


def test_the_table_of_settings_is_the_one_that_is_written():
    assert settings_table.table() in TEXTS["configuration.md"], "run python -m docs.settings_table"


def test_the_errors_page_has_a_section_for_every_class():
    sections = set(re.findall(r"^## (.+)$", TEXTS["errors.md"], re.M))
    classes = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
    assert classes.keys() <= sections, classes.keys() - sections
    with_page = {name for name, value in classes.items() if issubclass(value, ErrorWithPage)}
    assert classes.keys() - with_page == {
        "JaxRuntimeError",
        "JaxStackTraceBeforeTransformation",
    }  # the runtime's; a cause
