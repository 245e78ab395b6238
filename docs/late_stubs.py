"""Writes what type checkers read of names that load late: ``python -m docs.late_stubs``, after such a name is added."""

import ast
import pathlib
import re

import arrax

PACKAGE = pathlib.Path(arrax.__path__[0])
HEAD = '"""The names of {package} that load late, as type checkers see them; written by ``python -m docs.late_stubs``."""\n\n'


def tables(path: pathlib.Path) -> tuple[list[tuple[str, str, str]], list[str]]:
    """What a public module gives to ``late_names``: module, own and public name of each entry; its submodules."""
    entries: list[tuple[str, str, str]] = []
    submodules: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Dict) and all(str(getattr(key, "value", "")).startswith("arrax.") for key in node.keys):
            for home, names in ast.literal_eval(node).items():
                for own, _, public in (name.partition(" as ") for name in names):
                    entries.append((home, own, public or own))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("late_names"):
            submodules += [name for word in node.keywords for name in ast.literal_eval(word.value)]
    return entries, submodules


def stub(package: str) -> str:
    """The text of the stub beside a public module."""
    entries, submodules = tables(path_of(package).with_name("__init__.py"))
    entries += [(package, name, name) for name in submodules]
    # Checkers take an imported name as public only under its own name.
    renamed = {f"{public} = _{own}\n" for _, own, public in entries if own != public}
    names = {(home, own, own if own == public else f"_{own}") for home, own, public in entries}
    names_in_order = sorted(names, key=lambda entry: (entry[0], _by_numbers(entry[1]), entry[2]))
    imports = [f"from {home} import {own} as {name}\n" for home, own, name in names_in_order]
    return HEAD.format(package=package) + "\n".join("".join(part) for part in (imports, sorted(renamed)) if part)


def _by_numbers(name: str) -> list[str | int]:
    """A key for sorting: ``complex64`` before ``complex128``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def path_of(package: str) -> pathlib.Path:
    """Where the stub of a public module lies."""
    return PACKAGE.joinpath(*package.split(".")[1:], "late.pyi")


PACKAGES = ("arrax", "arrax.lax", "arrax.numpy")

if __name__ == "__main__":
    for public_module in PACKAGES:
        path_of(public_module).write_text(stub(public_module))
