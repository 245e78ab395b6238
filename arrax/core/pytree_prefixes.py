"""Tree prefixes: pytrees whose leaves stand for whole subtrees of another pytree, such as ``in_axes``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arrax.core.pytree_mismatch import Mismatch, by_path, mismatches, open_tree, open_treedef
from arrax.core.pytree_nodes import default_registry, none_leaf_registry
from arrax.core.pytrees import LeafPredicate, PyTreeDef, tree_flatten, tree_structure

WRAP_IN_TUPLE = "it may be that a tuple, one entry for each argument, was forgotten around it"


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: LeafPredicate = None) -> list[Any]:
    """The leaves of a tree prefix, each as often as the subtree it stands for has leaves.

    Args:
      prefix_tree: pytree; None is a node without leaves in it, as everywhere, unless ``is_leaf`` says otherwise.
      full_tree: pytree of which it is a prefix.
      is_leaf: function of a subtree of ``prefix_tree`` that says whether to take it for a leaf.
    Returns: list of as many elements as ``full_tree`` has leaves.
    Raises: ValueError, naming all places where they do not fit.
    Example: ``broadcast_prefix([1, 2], [(0, 0), 0])`` is ``[1, 1, 2]``.
    """
    return named_broadcast_prefix("prefix_tree", prefix_tree, full_tree, is_leaf)


def named_broadcast_prefix(name: str, prefix_tree: Any, full_tree: Any, is_leaf: LeafPredicate = None) -> list[Any]:
    """As ``broadcast_prefix``, for a prefix that the user knows by another name.

    Args:
      name: what the user calls the prefix, for messages; such as ``device_put device``.
    """
    leaves, treedef = tree_flatten(prefix_tree, is_leaf)
    try:
        subtrees = treedef.flatten_up_to(full_tree)
    except ValueError:
        found = mismatches(prefix_tree, full_tree, default_registry, by_path(is_leaf))
        raise _not_a_prefix(name, list(found), False) from None
    return [leaf for leaf, tree in zip(leaves, subtrees, strict=True) for _ in range(tree_structure(tree).num_leaves)]


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: LeafPredicate = None) -> Any:
    """A tree prefix, spread out to the structure of the tree of which it is a prefix.

    Args:
      prefix_tree: pytree.
      full_tree: pytree of which it is a prefix.
      is_leaf: function of a subtree of ``prefix_tree`` that says whether to take it for a leaf.
    Returns: pytree of the structure of ``full_tree`` with the leaves of ``prefix_tree``.
    Raises: ValueError, naming all places where they do not fit.
    Example: ``tree_broadcast([1, 2], [(0, 0), 0])`` is ``[(1, 1), 2]``.
    """
    leaves = named_broadcast_prefix("tree.broadcast prefix_tree", prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree).unflatten(leaves)


def prefix_errors(prefix_tree: Any, full_tree: Any, is_leaf: LeafPredicate = None) -> list[Callable[[str], ValueError]]:
    """All the reasons why one pytree is not a tree prefix of another.

    Args:
      prefix_tree: pytree.
      full_tree: pytree.
      is_leaf: function of a subtree of ``prefix_tree`` that says whether to take it for a leaf.
    Returns: list of functions that take the name of the prefix and make an exception whose message gives the place;
      ``[]`` if it is a prefix.
    Example: ``prefix_errors({"a": []}, {"a": ()})[0]("in_axes")`` is ``ValueError("in_axes['a'] does not fit: it has a
      list of length 0, where the value has a tuple of length 0")``.
    """
    return [_explainer(mismatch) for mismatch in mismatches(prefix_tree, full_tree, default_registry, by_path(is_leaf))]


def _explainer(mismatch: Mismatch) -> Callable[[str], ValueError]:
    return lambda name: ValueError(_explanation(name, mismatch))


def _explanation(name: str, mismatch: Mismatch) -> str:
    return f"{name}{''.join(map(str, mismatch.path))} does not fit: {mismatch.describe('it', 'the value')}"


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any, *, tupled_args: bool = False) -> list[Any]:
    """The leaves of a tree prefix in which None is a leaf, each as often as the subtree it stands for has leaves.

    No node is rebuilt for it, so that classes need not cope with strange children.

    Args:
      name: what the user calls the prefix, for messages; such as ``vmap in_axes``.
      treedef: structure of which ``axis_tree`` is a prefix.
      axis_tree: pytree of axes, shardings or the like, and None.
      tupled_args: whether ``treedef`` is that of a tuple of arguments, so that the message may say so.
    Returns: list of as many elements as ``treedef`` has leaves.
    Raises: ValueError, naming all places where they do not fit.
    Example: ``flatten_axes("in_axes", tree_structure((1, [2, 3])), (None, 0))`` is ``[None, 0, 0]``.
    """
    axes: list[Any] = []
    if _append_axes(axis_tree, treedef, axes):
        return axes
    found = mismatches(axis_tree, treedef, none_leaf_registry, full_is_treedef=True)
    raise _not_a_prefix(name, list(found), tupled_args)


def _append_axes(axis: Any, treedef: PyTreeDef, axes: list[Any]) -> bool:
    """Append the axes of one subtree; False if they do not fit."""
    node = open_tree(none_leaf_registry, axis)
    if node is None:
        axes += [axis] * treedef.num_leaves
        return True
    below = open_treedef(treedef)
    if below is None or node.type is not below.type or len(node.children) != len(below.children):
        return False
    return bool(node.aux == below.aux) and all(
        map(_append_axes, node.children, below.children, [axes] * len(node.children))
    )


def _not_a_prefix(name: str, found: list[Mismatch], tupled_args: bool) -> ValueError:
    hint = f"; {WRAP_IN_TUPLE}" if tupled_args and any(not mismatch.path for mismatch in found) else ""
    reasons = "".join(f"\n  {_explanation(name, mismatch)}" for mismatch in found)
    return ValueError(f"{name} must be a tree prefix of the corresponding value{hint}:{reasons}")
