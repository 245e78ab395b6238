"""Where two pytrees that should fit together differ, and how to say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from arrax.dtypes.wording import shown
from arrax.native.runtime import PyTreeDef, pytree

LONGEST_TEXT = 240  # characters of a structure in a message


class Opened(NamedTuple):
    """One level of a pytree: the container's type, what distinguishes containers of that type, and the children."""

    type: type
    aux: Any
    children: Sequence[Any]

    def describe(self) -> str:
        """``a list of length 2``, ``a dict with the keys ['a', 'b']``."""
        if self.type is type(None):
            return "None"
        if self.type in (list, tuple):
            return f"a {self.type.__name__} of length {len(self.children)}"
        if self.type is dict:
            return f"a dict with the keys {shortened(list(self.aux))}"
        name = f"a node of class {self.type.__name__}"
        return name if self.aux is None else f"{name} with the static data {shortened(self.aux)}"


class Mismatch(NamedTuple):
    """A place where a prefix does not fit the pytree that it should be a prefix of."""

    path: tuple[Any, ...]
    prefix: Opened
    full: Opened | None  # None for a leaf
    leaf: str  # what to call that leaf

    def describe(self, prefix: str = "the first tree", full: str = "the second") -> str:
        """``the first tree has a list of length 2, where the second has a tuple of length 2``."""
        found = self.leaf if self.full is None else self.full.describe()
        wanted = self.prefix.describe()
        if found == wanted and self.full is not None:  # two classes of one name, or aux data of one repr, or lengths
            wanted, found = f"{wanted} {self._detail(self.prefix)}", f"{found} {self._detail(self.full)}"
        return f"{prefix} has {wanted}, where {full} has {found}{self._keys()}"

    def _detail(self, node: Opened) -> str:
        count = len(node.children)
        return f"({node.type.__module__}.{node.type.__qualname__}, {count} {'child' if count == 1 else 'children'})"

    def _keys(self) -> str:
        if self.full is None or not self.prefix.type is self.full.type is dict:
            return ""
        ours, theirs = list(self.prefix.aux), list(self.full.aux)
        only_ours = [key for key in ours if key not in theirs]
        only_theirs = [key for key in theirs if key not in ours]
        parts = [f"only the former has {shortened(only_ours)}"] if only_ours else []
        parts += [f"only the latter has {shortened(only_theirs)}"] if only_theirs else []
        return f" ({', '.join(parts)})" if parts else ""


def shortened(value: Any) -> str:
    """The representation of a value, or a text, its middle left out if it is long."""
    text = value if isinstance(value, str) else shown(value)
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]} ... {text[-half:]}"


def mismatches(
    prefix: Any,
    full: Any,
    registry: pytree.PyTreeRegistry,
    is_leaf: Callable[[tuple[Any, ...], Any], bool] | None = None,
    full_is_treedef: bool = False,
) -> Iterator[Mismatch]:
    """The places where ``prefix`` is not a tree prefix of ``full``, from left to right.

    Args:
      prefix: pytree whose leaves may stand for whole subtrees.
      full: pytree, or a PyTreeDef.
      registry: the registry in which ``prefix`` is opened, and ``full`` if it is a pytree.
      is_leaf: leaf predicate for ``prefix``, of key path and subtree.
      full_is_treedef: whether ``full`` is a PyTreeDef (which may also be a leaf of a pytree).
    Returns: iterator of mismatches; nothing below a mismatch is looked at.
    """
    pending: list[tuple[tuple[Any, ...], Any, Any]] = [((), prefix, full)]
    while pending:
        path, node, other = pending.pop()
        if is_leaf is not None and is_leaf(path, node):
            continue
        ours = open_tree(registry, node)
        if ours is None:
            continue
        theirs = open_treedef(other) if full_is_treedef else open_tree(registry, other)
        if theirs is None or not _fit(ours, theirs):
            leaf = "a leaf" if full_is_treedef else f"a leaf of type {type(other).__name__}"
            yield Mismatch(path, ours, theirs, leaf)
        else:
            below = zip(child_keys(registry, node), ours.children, theirs.children, strict=True)
            pending += [((*path, key), a, b) for key, a, b in reversed(list(below))]


def different_structures(first: str, one: PyTreeDef, second: str, other: PyTreeDef) -> str:
    """Where two structures differ first, as ``first[0] is a leaf, second[0] a tuple of length 2.``; empty if they do not."""
    pending = [("", one, other)]
    while pending:
        path, mine, yours = pending.pop()
        ours, theirs = open_treedef(mine), open_treedef(yours)
        if ours is None and theirs is None:
            continue
        if ours is None or theirs is None or not _fit(ours, theirs):
            found, wanted = ("a leaf" if node is None else node.describe() for node in (ours, theirs))
            return f"{first}{path} is {found}, {second}{path} {wanted}."
        keys = list(ours.aux) if ours.type is dict else range(len(ours.children))
        pending += reversed(
            [(f"{path}[{k!r}]", *pair) for k, *pair in zip(keys, ours.children, theirs.children, strict=True)]
        )
    return ""


def by_path(is_leaf: Callable[[Any], bool] | None) -> Callable[[tuple[Any, ...], Any], bool] | None:
    """A leaf predicate of a subtree as one of key path and subtree."""
    return None if is_leaf is None else lambda _, node: is_leaf(node)


def _fit(ours: Opened, theirs: Opened) -> bool:
    same_kind = ours.type is theirs.type and len(ours.children) == len(theirs.children)
    return same_kind and (ours.aux is theirs.aux or bool(ours.aux == theirs.aux))


def open_tree(registry: pytree.PyTreeRegistry, tree: Any) -> Opened | None:
    """One level of a pytree, or None for a leaf."""
    level = registry.flatten_one_level(tree)
    return None if level is None else _opened(type(tree), level[1], list(level[0]))


def open_treedef(treedef: PyTreeDef) -> Opened | None:
    """One level of a treedef, whose children are treedefs; or None for a leaf."""
    data = treedef.node_data()
    return None if data is None else _opened(data[0], data[1], treedef.children())


def _opened(kind: type, aux: Any, children: Sequence[Any]) -> Opened:
    if kind is dict:
        return Opened(kind, tuple(aux), children)  # jaxlib gives now a list of keys, now a tuple
    if is_namedtuple(kind):
        return Opened(kind, None, children)  # and the class of a named tuple, or None
    return Opened(kind, aux, children)


def is_namedtuple(kind: type) -> bool:
    """Whether a class is a named tuple's, which the registry opens without being told."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def child_keys(registry: pytree.PyTreeRegistry, node: Any) -> list[Any]:
    """The keys of a container's children, one level down."""
    if is_namedtuple(type(node)) and registry.flatten_one_level(node)[1] is type(node):
        return [pytree.GetAttrKey(field) for field in node._fields]  # jaxlib names the first field for all of them
    return [key for key, _ in registry.flatten_one_level_with_keys(node)[0]]
