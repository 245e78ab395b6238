"""Key paths: where in a pytree a leaf stands, as a tuple of keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from arrax.core.pytree_mismatch import by_path
from arrax.core.pytree_nodes import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, default_registry
from arrax.core.pytree_recovery import flattening_error, lend_recursion, with_room_to_recover
from arrax.core.pytrees import PyTreeDef, columns

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
"""A key: DictKey, SequenceKey, GetAttrKey, FlattenedIndexKey, or whatever hashable object a class of nodes names."""
KeyPath = tuple[KeyEntry, ...]
"""The keys that lead from the root of a pytree to a node. ``()`` is the root."""

LeafOrPathPredicate = Callable[..., bool] | None

_flatten_with_path = with_room_to_recover(default_registry.flatten_with_path)


def keystr(keys: KeyPath[Any], *, simple: bool = False, separator: str = "") -> str:
    """A key path in words, as Python would write the access.

    Args:
      keys: key path.
      simple: write the bare keys, without brackets, quotes and dots.
      separator: what stands between two keys.
    Returns: text; ``''`` for the root.
    Example: ``keystr((DictKey("a"), SequenceKey(0)))`` is ``"['a'][0]"``, and ``"a/0"`` with ``simple=True,
      separator="/"``.
    """
    return separator.join(map(_bare if simple else str, keys))


def _bare(key: Any) -> str:
    match key:
        case SequenceKey():
            return str(key.idx)
        case DictKey() | FlattenedIndexKey():
            return str(key.key)
        case GetAttrKey():
            return key.name
        case _:
            return str(key)


def tree_flatten_with_path(
    tree: Any, is_leaf: LeafOrPathPredicate = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath[Any], Any]], PyTreeDef]:
    """The leaves of a pytree, each with its key path, and its structure.

    Args:
      tree: pytree.
      is_leaf: function of a subtree that says whether to take it for a leaf.
      is_leaf_takes_path: whether ``is_leaf`` is called with key path and subtree.
    Returns: (list of (key path, leaf) pairs, treedef).
    Raises: RecursionError if the tree is deeper than Python's recursion limit or contains itself.
    Example: ``tree_flatten_with_path([5])`` is ``([((SequenceKey(idx=0),), 5)], PyTreeDef([*]))``.
    """
    predicate = is_leaf if is_leaf_takes_path else by_path(is_leaf)
    try:
        return _flatten_with_path(tree, predicate)
    except Exception as error:
        lend_recursion()
        raise flattening_error(error, default_registry, tree, predicate, takes_path=True)  # noqa: B904


def tree_leaves_with_path(
    tree: Any, is_leaf: LeafOrPathPredicate = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath[Any], Any]]:
    """The leaves of a pytree, each with its key path.

    Args:
      tree: pytree.
      is_leaf: function of a subtree that says whether to take it for a leaf.
      is_leaf_takes_path: whether ``is_leaf`` is called with key path and subtree.
    Returns: list of (key path, leaf) pairs.
    Example: ``tree_leaves_with_path({"a": 1})`` is ``[((DictKey(key='a'),), 1)]``.
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: LeafOrPathPredicate = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """The pytree whose leaves are ``f`` of the key path and the leaves of one or several pytrees.

    Args:
      f: function of a key path and as many leaves as there are trees.
      tree: pytree, which gives the structure.
      *rest: pytrees of that structure, or with subtrees where ``tree`` has leaves.
      is_leaf: function of a subtree of ``tree`` that says whether to take it for a leaf.
      is_leaf_takes_path: whether ``is_leaf`` is called with key path and subtree.
    Returns: pytree of the structure of ``tree``.
    Raises: ValueError, naming the place, if a tree of ``rest`` has another structure.
    Example: ``tree_map_with_path(lambda path, x: keystr(path) + str(x), {"a": 1})`` is ``{'a': "['a']1"}``.
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths, leaves = zip(*pairs, strict=True) if pairs else ((), ())
    predicate = is_leaf if is_leaf_takes_path else by_path(is_leaf)
    beside = columns("tree_map_with_path", treedef, tree, rest, predicate)
    return treedef.unflatten([f(*each) for each in zip(paths, leaves, *beside, strict=True)])  # see ``tree_map``


def generate_key_paths(tree: Any) -> list[KeyPath[Any]]:
    """The key paths of the leaves of a pytree, from left to right.

    Args:
      tree: pytree.
    Returns: list of key paths.
    Example: ``[keystr(path) for path in generate_key_paths({"a": [1, 2]})]`` is ``["['a'][0]", "['a'][1]"]``.
    """
    return [path for path, _ in tree_leaves_with_path(tree)]
