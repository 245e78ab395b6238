"""How the site is built: ``make docs``."""

import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from docutils import nodes  # noqa: E402
from sphinx import addnodes  # noqa: E402

import arrax  # noqa: E402
from docs import pages, reference  # noqa: E402

project = "arrax"
author = copyright = "arrax developers"
version = release = arrax.__version__

extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "fieldlist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

# The pages of other projects that names of theirs lead to are asked for only if the environment says that there is a network.
if os.environ.get("ARRAX_DOCS_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
    }

# Sections "Source" name functions of NumPy and SciPy, which are links where intersphinx knows them.
nitpick_ignore_regex = [("py:obj", r"(numpy|scipy)\..+")]

# The types of annotations that are links. All others stay text: some are no public names, and a search by the last part of a
# name would take a type variable ``T`` for the transpose of an array.
LINKED_TYPES = {
    "Array": "arrax.Array", "ArrayLike": "arrax.typing.ArrayLike", "DTypeLike": "arrax.typing.DTypeLike", "Mesh": "arrax.sharding.Mesh",
    "PartitionSpec": "arrax.sharding.PartitionSpec", "Sharding": "arrax.sharding.Sharding", "ShapeDtypeStruct": "arrax.ShapeDtypeStruct",
    "ClosedJaxpr": "arrax.core.ClosedJaxpr", "Jaxpr": "arrax.core.Jaxpr", "PyTreeDef": "arrax.tree_util.PyTreeDef",
}  # fmt: skip

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_title = f"arrax {version}"
python_maximum_signature_line_length = 88
toc_object_entries = False  # a page begins with a table of its names; hundreds of entries beside it make the build slow
copybutton_exclude = ".linenos, .gp, .go"


def write_reference(app: object) -> None:
    """Before the pages are read: those of the public modules, and the change log."""
    reference.write_pages(
        HERE / "api", {"changelog": (HERE.parent / "CHANGELOG.md").read_text().replace("](docs/", "](../")}
    )


def draw_figures(app: object) -> None:
    """Before the pages are read: the pictures that they draw."""
    pages.draw()


def add_contents(app: object, name: str, source: list[str]) -> None:
    """The tables of the first page say what is in the site; in Markdown without directives, so that it reads well everywhere."""
    if name != "index":
        return
    for title, section in re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", source[0], re.M | re.S):
        pages = re.findall(r"^\| \[.*?\]\((\w+)\.md\)", section, re.M) + (
            ["api/index", "api/changelog"] if title == "Reference" else []
        )
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""])


def name_links_by_titles(app: object, name: str, source: list[str]) -> None:
    """Links that read as the name of a file, which is best where the files are read, have the title of the page on the site."""
    source[0] = re.sub(r"(?<!!)\[[\w./]+\.md\]\(", "[](", source[0])


def read_contents_always(*_: object) -> list[str]:
    """The first page's contents depend on this file, too."""
    return ["index"]


def link_annotations(app: object, page: nodes.document) -> None:
    """Links of annotations lead to the types above."""
    for link in list(page.findall(addnodes.pending_xref)):
        if link.get("refdomain") == "py" and "refdoc" not in link:  # which links in texts have
            target = LINKED_TYPES.get(link["reftarget"])
            if target is None:
                link.replace_self(link.children)
            else:
                link["reftarget"] = target
                del link["refspecific"]  # the name is whole


def setup(app: object) -> None:
    """Called by sphinx."""
    app.connect("builder-inited", write_reference)  # type: ignore[attr-defined]
    app.connect("builder-inited", draw_figures)  # type: ignore[attr-defined]
    app.connect("source-read", add_contents)  # type: ignore[attr-defined]
    app.connect("source-read", name_links_by_titles)  # type: ignore[attr-defined]
    app.connect("env-get-outdated", read_contents_always)  # type: ignore[attr-defined]
    app.connect("doctree-read", link_annotations)  # type: ignore[attr-defined]
