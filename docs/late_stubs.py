"""Writes what type checkers read of names that load late: ``python -m docs.late_stubs``, after such a name is added."""

import ast
import importlib
import pathlib
import pkgutil

import arrax

PACKAGE = pathlib.Path(arrax.__path__[0])
HEAD = '"""The names of {package} that load late, as type checkers see them; written by ``python -m docs.late_stubs``."""\n\n'


def tables(path: pathlib.Path) -> tuple[dict[str, str], list[str], dict[str, str]]:
    """What a public module gives to ``late_names``: {name: module}, its submodules, {alias: name}."""
    homes: dict[str, str] = {}
    submodules: list[str] = []
    aliases: dict[str, str] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Dict) and all(str(getattr(key, "value", "")).startswith("arrax.") for key in node.keys):
            homes |= {name: home for home, names in ast.literal_eval(node).items() for name in names}
        if isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("late_names"):
            given = {word.arg: ast.literal_eval(word.value) for word in node.keywords}
            submodules, aliases = [*submodules, *given.get("submodules", ())], aliases | given.get("aliases", {})
    return homes, submodules, aliases


def stub(package: str) -> str:
    """The text of the stub beside a public module."""
    module = importlib.import_module(package)
    homes, submodules, aliases = tables(pathlib.Path(module.__file__ or ""))
    if package == "arrax":
        submodules = sorted({found.name for found in pkgutil.iter_modules(arrax.__path__)} & {*arrax._MODULES})
    lines = [f"from {home} import {name} as {name}" for name, home in homes.items()]
    lines += [f"from {homes[name]} import {name} as {alias}" for alias, name in aliases.items()]
    lines += [f"from {package} import {name} as {name}" for name in submodules]
    return HEAD.format(package=package) + "\n".join(sorted(lines)) + "\n"


def path_of(package: str) -> pathlib.Path:
    """Where the stub of a public module lies."""
    return PACKAGE.joinpath(*package.split(".")[1:], "late.pyi")


PACKAGES = ("arrax", "arrax.lax", "arrax.numpy")

if __name__ == "__main__":
    for public_module in PACKAGES:
        path_of(public_module).write_text(stub(public_module))
