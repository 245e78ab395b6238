"""The reference has an entry for every public name, and links lead somewhere."""

import importlib
import pathlib
import re
from types import FunctionType, ModuleType

import pytest

from docs import reference, related

ROOT = pathlib.Path(__file__).parent.parent
# Public modules without a page: packages that hold only modules, scalars (which arrax.numpy has) and what stands there for programs
# that name internals.
WITHOUT_PAGE = {
    "arrax.dtypes.scalars", "arrax.example_libraries", "arrax.experimental.array_serialization", "arrax.experimental.compilation_cache",
    "arrax.extend", "arrax.extend.interpreters", "arrax.extend.mlir.dialects", "arrax.extend.mlir.ir", "arrax.extend.mlir.passmanager", "arrax.interpreters",
    "arrax.lib", "arrax.lib.xla_client", "arrax.scipy", "arrax.scipy.cluster", "arrax.scipy.sparse", "arrax.scipy.spatial",
}  # fmt: skip
# Modules that bind public names only, so that dir tells these.
MODULES = (
    "arrax", "arrax.numpy", "arrax.numpy.linalg", "arrax.numpy.fft", "arrax.lax", "arrax.random", "arrax.nn", "arrax.tree",
    "arrax.tree_util", "arrax.sharding", "arrax.debug", "arrax.profiler", "arrax.monitoring", "arrax.errors", "arrax.scipy.linalg",
    "arrax.scipy.signal", "arrax.scipy.special", "arrax.scipy.stats", "arrax.experimental.checkify",
)  # fmt: skip


@pytest.fixture(scope="module")
def places():
    return reference.documented_at()


@pytest.fixture(scope="module")
def pages(places):
    return {name: reference.page(name, places) for name in reference.MODULES}


def entries(page):
    return re.findall(r"^:{3,4}\{py:(?:function|class|data)\} (\w+)", page, re.M)


def test_every_public_module_has_a_page():
    found = {"arrax", *reference.public_modules()}
    assert found - WITHOUT_PAGE <= {*reference.MODULES}
    assert not WITHOUT_PAGE & {*reference.MODULES}
    assert len(reference.MODULES) == len({*reference.MODULES})


@pytest.mark.parametrize("name", MODULES)
def test_every_name_that_dir_tells_has_an_entry(name, pages):
    module = importlib.import_module(name)
    names = {one for one in dir(module) if not one.startswith("_")}
    names = {one for one in names if not isinstance(getattr(module, one), ModuleType)}
    assert names == {*entries(pages[name])}


def test_an_entry_stands_once_and_is_listed_at_the_top(pages):
    for name, page in pages.items():
        listed = re.findall(rf"^\| \{{py:obj\}}`(\w+) <{re.escape(name)}\.\w+>` \|", page, re.M)
        assert listed == entries(page) == sorted({*listed}), name


def test_another_name_of_a_value_leads_to_its_entry(pages):
    entry = pages["arrax.numpy"].split("{py:function} abs\n")[1].split(":::")[0]
    assert entry.strip() == "The same as {py:obj}`arrax.numpy.absolute`."


def test_every_link_to_an_entry_has_one(pages):
    there = {f"{name}.{entry}" for name, page in pages.items() for entry in entries(page)}
    linked = {name for page in pages.values() for name in re.findall(r"The same as \{py:obj\}`(.+?)`", page)}
    assert linked and linked <= there


def test_functions_and_classes_of_this_package_say_what_they_are():
    silent = set()
    for name in reference.MODULES:
        module = importlib.import_module(name)
        for one in reference.public_names(module):
            value = getattr(module, one)
            ours = str(getattr(value, "__module__", "")).startswith("arrax")
            if (
                ours
                and hasattr(value, "__name__")
                and not reference.summary(reference.documentation(f"{name}.{one}", value))
            ):
                silent.add(f"{name}.{one}")
    assert not silent


def described(x: int, shape: "tuple[int, ...]" = (), *, key=print, _private=0) -> "list[int]":
    """Numbers * of a kind_of [x].

    Args:
      x: a number, as in ``x_1 * 2``,
        or more.
      shape, key: further ones.
    Returns: a list. Raises: ValueError where x < 0.
    Example: ``described(1)`` is ``[1]``. Source: ``numpy.ones``.
    """


def test_an_entry_has_the_signature_and_all_sections():
    assert reference.entry("described", described, reference.docstring(described)) == "\n\n".join(
        [
            ":::{py:function} described(x: int, shape: tuple[int, ...] = (), *, key=print) -> list[int]",
            r"Numbers \* of a kind\_of \[x\].",
            ":Arguments:\n  - `x`: a number, as in ``x_1 * 2``, or more.\n  - `shape, key`: further ones.",
            ":Returns:\n  a list.",
            ":Raises:\n  ValueError where x \\< 0.",
            ":Example:\n  ``described(1)`` is ``[1]``.",
            ":Source:\n  {py:obj}`numpy.ones`.",
            ":::",
        ]
    )


def test_related_names_are_public_and_nearly_every_function_has_some():
    assert not [name for name in related.named() if not related.exists(name)]
    functions, without = 0, []
    for module_name in reference.MODULES:
        if module_name.startswith("arrax.experimental.array_api"):  # its names are those of arrax.numpy
            continue
        module = importlib.import_module(module_name)
        places = [f"{module_name}.{name}" for name in reference.public_names(module) if not name.endswith("_p")]
        for place in places:
            if callable(getattr(module, place.rpartition(".")[2])):
                functions += 1
                without += [] if related.see_also(place, places) else [place]
    assert len(without) <= 0.05 * functions, without


def test_an_entry_links_to_related_names():
    text = reference.page("arrax.numpy", reference.documented_at())
    entry = text[text.index("{py:function} cumsum(") :]
    seen = entry[entry.index(":See also:") : entry.index("\n:::")]
    assert "{py:obj}`lax.cumsum <arrax.lax.cumsum>`" in seen
    assert "{py:obj}`nancumsum <arrax.numpy.nancumsum>`" in seen


def test_pages_that_did_not_change_are_not_written_again(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "MODULES", ("arrax.ops", "arrax.tree"))
    reference.write_pages(tmp_path)
    (tmp_path / "gone.md").write_text("of a module that is no more")
    (tmp_path / "arrax.tree.md").write_text("old")
    before = (tmp_path / "arrax.ops.md").stat().st_mtime_ns
    reference.write_pages(tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["arrax.ops", "arrax.tree", "index"]
    assert (tmp_path / "arrax.ops.md").stat().st_mtime_ns == before
    assert (tmp_path / "arrax.tree.md").read_text() != "old"


def headings(path):
    return re.findall(r"^#+ (.+)$", path.read_text(), re.M)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_pages_and_sections_that_messages_name_are_there():
    sources = "\n".join(path.read_text() for path in (ROOT / "arrax").rglob("*.py"))
    named = re.findall(r"\bdocs/(\w+\.md)", sources)
    assert "errors.md" in named and all((ROOT / "docs" / page).is_file() for page in named)
    for page, section in re.findall(r"(\w+)\.html#([\w\-]+)", sources):
        assert section in map(anchor, headings(ROOT / "docs" / f"{page}.md")), (page, section)
    for page, section in re.findall(r"docs/(\w+\.md), section (\w+)", sources):
        assert section in headings(ROOT / "docs" / page), (page, section)


def test_functions_know_themselves_by_a_public_name():
    known: dict[object, set[str]] = {}
    for module in map(importlib.import_module, reference.MODULES):
        for name in reference.public_names(module):
            value = getattr(module, name)
            if isinstance(value, FunctionType) and value.__module__.startswith("arrax"):
                known.setdefault(value, set()).add(name)
    assert not {name for value, names in known.items() for name in {value.__name__} - names}  # messages begin with it
