"""Imports go downward, in no circle, at the top of files, and only one package names jaxlib."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "arrax"

# Lowest first. A package may import from its own layer and from those before. What has no layer is public names only:
# it may import from every package, and no package imports from it.
LAYERS = [
    {"native"},
    {"dtypes"},
    {"core"},
    {"xla"},
    {"interpreters"},
    {"lax"},
    {"transforms"},
    {"numpy_api"},
    {"numpy"},  # the public names, which the libraries above are written with
    {"random"},
    {"nn", "scipy", "image", "ops"},
    {"experimental", "example_libraries", "extend"},
]
LAYER_OF = {package: layer for layer, packages in enumerate(LAYERS) for package in packages}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
IMPORTING_CALLS = {"import_module", "__import__"}


@dataclass(frozen=True)
class Import:
    """One imported name, where it stands, and whether only a call runs it."""

    target: str
    line: int
    late: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_imports(tree: ast.Module, package: str) -> list[Import]:
    """Every import of a module that runs, relative ones resolved against the package that the module is in."""
    return list(_imports_in(tree, package, late=False, excused=False))


def _imports_in(node: ast.AST, package: str, late: bool, excused: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        yield from (Import(target, child.lineno, late and not excused) for target in _targets(child, package))
        if _is_for_type_checkers(child):
            for statement in child.orelse:
                yield from _imports_in(ast.Module([statement], []), package, late, excused)
            continue
        lazy_names = isinstance(node, ast.Module) and getattr(child, "name", None) == "__getattr__"
        yield from _imports_in(child, package, late or isinstance(child, FUNCTIONS), excused or lazy_names)


def _targets(node: ast.AST, package: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        source = [node.module] if node.module else []
        if node.level:
            parts = package.split(".")
            source = parts[: len(parts) - node.level + 1] + source
        return [".".join([*source, alias.name]) for alias in node.names]
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name in IMPORTING_CALLS and isinstance(node.args[0].value, str):
            return [node.args[0].value]
    return []


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def package_of(module: str) -> str:
    return (module.split(".") + [""])[1]


def owner_of(target: str, modules: set[str]) -> str | None:
    """The module of ours that an imported name stands for or lies in; None if it is not ours."""
    while target and target not in modules:
        target = target.rpartition(".")[0]
    return target or None


def is_upward(importer: str, imported: str) -> bool:
    """Whether a module may not import another because that one is on a higher layer or a public module."""
    here, there = LAYER_OF.get(package_of(importer)), LAYER_OF.get(package_of(imported))
    if here is None:
        return False
    return there is None or there > here


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """A shortest circle through each module that lies on one, each circle once."""
    found = {}
    for start in graph:
        paths, seen = [[start]], {start}
        while paths:
            path = paths.pop(0)
            if start in graph[path[-1]]:
                found.setdefault(frozenset(path), path)
                break
            onward = sorted(graph[path[-1]] - seen)
            seen.update(onward)
            paths += [[*path, module] for module in onward]
    return sorted(found.values())


@pytest.fixture(scope="module")
def trees():
    return {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in sorted(PACKAGE.rglob("*.py"))}


@pytest.fixture(scope="module")
def imports(trees):
    """{module: its imports}."""
    return {
        module_name(path): read_imports(
            tree, module_name(path) if path.name == "__init__.py" else module_name(path.parent)
        )
        for path, tree in trees.items()
    }


@pytest.fixture(scope="module")
def graph(imports):
    """{module: modules of ours that it imports}, itself left out."""
    modules = set(imports)
    return {
        module: {owner_of(entry.target, modules) for entry in entries} - {None, module}
        for module, entries in imports.items()
    }


def test_imports_go_downward(graph):
    assert [f"{a} imports {b}" for a in sorted(graph) for b in sorted(graph[a]) if is_upward(a, b)] == []


def test_imports_form_no_circle(graph):
    assert [" -> ".join([*circle, circle[0]]) for circle in circles(graph)] == []


def test_imports_stand_at_the_top_of_files(imports):
    late = [
        (f"{module}:{entry.line}", entry.target)
        for module in sorted(imports)
        for entry in imports[module]
        if entry.late
    ]
    # Libraries that few programs need and that are slow to import wait for their first use.
    assert [target for _, target in late if target not in ("opt_einsum", "importlib.metadata", "scipy")] == [], late


def test_only_native_names_jaxlib(trees, imports):
    foreign = {module for module in imports if package_of(module) != "native"}
    named = [module for module in foreign for entry in imports[module] if entry.target.split(".")[0] == "jaxlib"]
    used = [
        module_name(path)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == "jaxlib" and module_name(path) in foreign
    ]
    assert sorted({*named, *used}) == []


# The reader itself


def targets_of(source, package="arrax.lax"):
    return [(entry.target, entry.late) for entry in read_imports(ast.parse(source), package)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import arrax.core.types", [("arrax.core.types", False)]),
        ("from arrax.core import types, trees", [("arrax.core.types", False), ("arrax.core.trees", False)]),
        ("from . import slicing", [("arrax.lax.slicing", False)]),
        ("from ..core import types", [("arrax.core.types", False)]),
        ("def f():\n  import numpy", [("numpy", True)]),
        ("class A:\n  def f(self):\n    from arrax import lax", [("arrax.lax", True)]),
        ("def f():\n  importlib.import_module('arrax.nn')", [("arrax.nn", True)]),
        ("f = lambda: __import__('jaxlib.lapack')", [("jaxlib.lapack", True)]),
        ("def __getattr__(name):\n  import arrax.scipy", [("arrax.scipy", False)]),
        ("class A:\n  def __getattr__(self, name):\n    import arrax.scipy", [("arrax.scipy", True)]),
        ("try:\n  import cloudpickle\nexcept ImportError:\n  pass", [("cloudpickle", False)]),
        ("if TYPE_CHECKING:\n  import arrax.nn\nelse:\n  import arrax.core", [("arrax.core", False)]),
    ],
)
def test_the_reader_sees_every_import(source, expected):
    assert targets_of(source) == expected


@pytest.mark.parametrize(
    ("importer", "imported", "upward"),
    [
        ("arrax.lax.slicing", "arrax.core.types", False),
        ("arrax.lax.slicing", "arrax.lax.arithmetic", False),
        ("arrax.core.types", "arrax.lax", True),
        ("arrax.native.hlo", "arrax.dtypes", True),
        ("arrax.numpy_api.sorting", "arrax.random.keys", True),
        ("arrax.nn.layers", "arrax.scipy.special", False),
        ("arrax.nn.layers", "arrax.numpy", False),
        ("arrax.numpy_api.sorting", "arrax.numpy", True),
        ("arrax.nn.layers", "arrax", True),
        ("arrax.tree", "arrax.experimental.jet", False),
        ("arrax", "arrax.tree_util", False),
    ],
)
def test_the_layers_are_told_apart(importer, imported, upward):
    assert is_upward(importer, imported) is upward


def test_circles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a", "e2"}, "e2": {"e"}}
    assert circles(graph) == [["b", "c"], ["e", "e2"]]
