"""Pytrees, nested containers of values: taking them apart, putting them together, mapping over their leaves.

Which classes are containers stands in ``pytree_nodes``, key paths in ``pytree_paths``, prefixes in ``pytree_prefixes``.
A subtree shared by two places is two subtrees; there must be no cycles.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from arrax.core.pytree_mismatch import Mismatch, by_path, mismatches, shortened
from arrax.core.pytree_nodes import DictKey as DictKey
from arrax.core.pytree_nodes import FlattenedIndexKey as FlattenedIndexKey
from arrax.core.pytree_nodes import GetAttrKey as GetAttrKey
from arrax.core.pytree_nodes import Partial as Partial
from arrax.core.pytree_nodes import SequenceKey as SequenceKey
from arrax.core.pytree_nodes import default_registry
from arrax.core.pytree_nodes import flatten_one_level as flatten_one_level
from arrax.core.pytree_nodes import flatten_one_level_with_keys as flatten_one_level_with_keys
from arrax.core.pytree_nodes import is_tree_node as is_tree_node
from arrax.core.pytree_nodes import none_leaf_registry as none_leaf_registry
from arrax.core.pytree_nodes import register_dataclass as register_dataclass
from arrax.core.pytree_nodes import register_pytree_node as register_pytree_node
from arrax.core.pytree_nodes import register_pytree_node_class as register_pytree_node_class
from arrax.core.pytree_nodes import register_pytree_with_keys as register_pytree_with_keys
from arrax.core.pytree_nodes import register_pytree_with_keys_class as register_pytree_with_keys_class
from arrax.core.pytree_nodes import register_static as register_static
from arrax.core.pytree_nodes import static_ as static_
from arrax.core.pytree_recovery import flattening_error, lend_recursion, with_room_to_recover
from arrax.native.runtime import PyTreeDef as PyTreeDef
from arrax.native.runtime import pytree

T = TypeVar("T")
LeafPredicate = Callable[[Any], bool] | None


class Unspecified:
    """An argument that was not given, where None is a value like others."""

    def __repr__(self) -> str:
        return "<unspecified>"


UNSPECIFIED = Unspecified()

_flatten = with_room_to_recover(default_registry.flatten)
LEAF = default_registry.flatten(0)[1]
"""The treedef of a single leaf."""


def tree_flatten(tree: Any, is_leaf: LeafPredicate = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a pytree, from left to right, and its structure. Dictionaries are taken in the order of their keys.

    Args:
      tree: pytree.
      is_leaf: function of a subtree that says whether to take it for a leaf; it is asked before any subtree is opened.
    Returns: (list of leaves, treedef).
    Raises: RecursionError if the tree is deeper than Python's recursion limit or contains itself.
    Example: ``tree_flatten({"b": 1, "a": (2, 3)})`` is ``([2, 3, 1], PyTreeDef({'a': (*, *), 'b': *}))``.
    """
    try:
        return _flatten(tree, is_leaf)
    except Exception as error:
        lend_recursion()
        raise flattening_error(error, default_registry, tree, is_leaf)  # noqa: B904


def tree_leaves(tree: Any, is_leaf: LeafPredicate = None) -> list[Any]:
    """The leaves of a pytree, from left to right.

    Args:
      tree: pytree.
      is_leaf: function of a subtree that says whether to take it for a leaf.
    Returns: list of leaves.
    Example: ``tree_leaves([1, None, (2, [3])])`` is ``[1, 2, 3]``.
    """
    try:
        return _flatten(tree, is_leaf)[0]
    except Exception as error:
        lend_recursion()
        raise flattening_error(error, default_registry, tree, is_leaf)  # noqa: B904


def tree_structure(tree: Any, is_leaf: LeafPredicate = None) -> PyTreeDef:
    """The structure of a pytree: a hashable object, equal for trees that differ in leaves only.

    Args:
      tree: pytree.
      is_leaf: function of a subtree that says whether to take it for a leaf.
    Returns: treedef.
    Example: ``tree_structure([1, (2, None)])`` is ``PyTreeDef([*, (*, None)])``.
    """
    try:
        return _flatten(tree, is_leaf)[1]
    except Exception as error:
        lend_recursion()
        raise flattening_error(error, default_registry, tree, is_leaf)  # noqa: B904


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The pytree of a structure and its leaves: the inverse of :func:`tree_flatten`.

    Args:
      treedef: structure.
      leaves: iterable of as many leaves as the structure has.
    Returns: pytree.
    Raises: ValueError if there are too few or too many leaves.
    Example: ``tree_unflatten(tree_structure([0, (0,)]), [1, 2])`` is ``[1, (2,)]``.
    """
    if not isinstance(treedef, PyTreeDef):
        raise TypeError(
            f"tree_unflatten: the first argument is a treedef, the second one the leaves; got {type(treedef).__name__}"
        )
    return treedef.unflatten(leaves)


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: LeafPredicate = None) -> Any:
    """The pytree whose leaves are ``f`` of the leaves of one or several pytrees.

    Args:
      f: function of as many arguments as there are trees.
      tree: pytree, which gives the structure.
      *rest: pytrees of that structure, or with subtrees where ``tree`` has leaves: ``f`` is given these subtrees.
      is_leaf: function of a subtree of ``tree`` that says whether to take it for a leaf.
    Returns: pytree of the structure of ``tree``.
    Raises: ValueError, naming the place, if a tree of ``rest`` has another structure.
    Example: ``tree_map(lambda x, y: x + y, {"a": 1}, {"a": 10})`` is ``{'a': 11}``. Source: ``map``.
    """
    try:
        leaves, treedef = _flatten(tree, is_leaf)
    except Exception as error:
        lend_recursion()
        raise flattening_error(error, default_registry, tree, is_leaf)  # noqa: B904
    # No ``map``: where ``f`` raises StopIteration, as ``next`` does, its values would end there.
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in leaves])
    beside = columns("tree_map", treedef, tree, rest, by_path(is_leaf))
    return treedef.unflatten([f(*each) for each in zip(leaves, *beside, strict=True)])


def columns(
    function: str,
    treedef: PyTreeDef,
    tree: Any,
    rest: Sequence[Any],
    is_leaf: Callable[[tuple[Any, ...], Any], bool] | None,
) -> list[list[Any]]:
    """The subtrees of each tree of ``rest`` where ``tree`` has its leaves.

    Args:
      function: name of the public function, for messages.
      treedef: structure of ``tree``.
      tree: the first pytree.
      rest: the other ones.
      is_leaf: leaf predicate of ``tree``, of key path and subtree.
    Returns: list of lists.
    Raises: ValueError, naming the place, if a tree of ``rest`` has another structure.
    Example: ``columns("tree_map", tree_structure([0]), [0], [[1], [2]], None)`` is ``[[1], [2]]``.
    """
    found = []
    for number, other in enumerate(rest):
        try:
            found.append(treedef.flatten_up_to(other))
        except ValueError as error:
            mismatch = next(mismatches(tree, other, default_registry, is_leaf), None)
            if mismatch is None:
                raise error
            name = "the second tree" if number == 0 else f"tree number {number + 2}"
            raise _structure_error(function, name, mismatch, treedef, tree_structure(other)) from None
    return found


def _structure_error(
    function: str, name: str, mismatch: Mismatch, treedef: PyTreeDef, other_treedef: PyTreeDef
) -> ValueError:
    index = "".join(map(str, mismatch.path)) or "the root"
    return ValueError(
        f"{function}: the trees differ at {index}: {mismatch.describe('the first tree', name)}.\n"
        f"  the first tree: {shortened(str(treedef))}\n"
        f"  {name}: {shortened(str(other_treedef))}"
    )


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = UNSPECIFIED,
    is_leaf: LeafPredicate = None,
) -> Any:
    """Combine the leaves of a pytree, from left to right.

    Args:
      function: from the result so far and a leaf to the next result.
      tree: pytree.
      initializer: first result; if not given, the first leaf.
      is_leaf: function of a subtree that says whether to take it for a leaf.
    Returns: the last result.
    Raises: TypeError if there is neither a leaf nor an initializer.
    Example: ``tree_reduce(operator.add, [1, (2, 3)])`` is 6. Source: ``functools.reduce``.
    """
    start = () if initializer is UNSPECIFIED else (initializer,)
    return functools.reduce(function, tree_leaves(tree, is_leaf), *start)


def tree_reduce_associative(
    operation: Callable[[T, T], T],
    tree: Any,
    *,
    identity: T | Unspecified = UNSPECIFIED,
    is_leaf: LeafPredicate = None,
) -> T:
    """Combine the leaves of a pytree by halves, so that no chain of operations is longer than log2 of their number.

    Args:
      operation: associative function of two values.
      tree: pytree.
      identity: result for a tree without leaves.
      is_leaf: function of a subtree that says whether to take it for a leaf.
    Returns: the combination of all leaves, in their order.
    Raises: TypeError if there is neither a leaf nor an identity.
    Example: ``tree_reduce_associative(operator.add, list("abcd"))`` is ``("a" + "b") + ("c" + "d")``.
    """
    leaves = tree_leaves(tree, is_leaf)
    if leaves:
        return _combine(operation, leaves)
    if isinstance(identity, Unspecified):
        raise TypeError("tree_reduce_associative: the tree has no leaves, so an identity must be given")
    return identity


def _combine(operation: Callable[[T, T], T], leaves: list[T]) -> T:
    if len(leaves) == 1:
        return leaves[0]
    middle = len(leaves) // 2
    return operation(_combine(operation, leaves[:middle]), _combine(operation, leaves[middle:]))


def tree_all(tree: Any, *, is_leaf: LeafPredicate = None) -> bool:
    """Whether all leaves of a pytree are true.

    Args:
      tree: pytree.
      is_leaf: function of a subtree that says whether to take it for a leaf.
    Returns: bool; True if there are no leaves.
    Example: ``tree_all({"a": True, "b": [1, 0]})`` is False. Source: ``all``.
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Turn a tree of trees inside out.

    Args:
      outer_treedef: structure of the outer tree.
      inner_treedef: structure of each of the trees inside; None: that of the first one.
      pytree_to_transpose: pytree of the structure ``outer_treedef`` composed with ``inner_treedef``.
    Returns: pytree of the structure ``inner_treedef`` composed with ``outer_treedef``.
    Raises: TypeError if the tree has another structure; ValueError if the inner structure cannot be inferred.
    Example: ``tree_transpose(tree_structure([0, 0]), tree_structure((0, 0)), [(1, 2), (3, 4)])`` is ``([1, 3], [2, 4])``.
    """
    for name, given in (("outer_treedef", outer_treedef), ("inner_treedef", inner_treedef)):
        if not isinstance(given, PyTreeDef) and (name == "outer_treedef" or given is not None):
            raise TypeError(f"tree_transpose: {name} must be a treedef, got {type(given).__name__}")
    leaves, treedef = tree_flatten(pytree_to_transpose)
    inner = inner_treedef
    if inner is None:
        inner = _first_inner(outer_treedef, pytree_to_transpose)
    expected = outer_treedef.compose(inner)
    # Nodes of users' classes may keep a structure beside their leaves: then only how many leaves there are can tell.
    fits = treedef == expected or (treedef.num_leaves == expected.num_leaves and "CustomNode" in str(treedef))
    if not fits:
        raise TypeError(
            f"tree_transpose: the tree has the structure\n  {shortened(str(treedef))}\n"
            f"but by the given outer and inner treedefs it should have\n  {shortened(str(expected))}"
        )
    width = inner.num_leaves
    return inner.unflatten([outer_treedef.unflatten(leaves[i::width]) for i in range(width)])


def _first_inner(outer: PyTreeDef, tree: Any) -> PyTreeDef:
    if outer.num_leaves == 0:
        raise ValueError("tree_transpose: the outer structure has no leaves, so that inner_treedef must be given")
    try:
        return tree_structure(outer.flatten_up_to(tree)[0])
    except ValueError as error:
        raise TypeError(f"tree_transpose: the outer treedef {shortened(str(outer))} does not fit: {error}") from None


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure consists of one node: a leaf, or a container without children.

    Args:
      treedef: structure.
    Returns: bool.
    Example: ``treedef_is_leaf(tree_structure(1))`` is True.
    """
    return treedef.num_nodes == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of a structure's root.

    Args:
      treedef: structure.
    Returns: list of treedefs; ``[]`` for a leaf.
    Example: ``treedef_children(tree_structure([1, (2,)]))`` is ``[PyTreeDef(*), PyTreeDef((*,))]``.
    """
    return treedef.children()


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees.

    Args:
      treedefs: iterable of their structures.
    Returns: treedef.
    Raises: TypeError if an element is no treedef.
    Example: ``treedef_tuple([tree_structure(1), tree_structure([2])])`` is ``PyTreeDef((*, [*]))``.
    """
    found = list(treedefs)
    for index, treedef in enumerate(found):
        if not isinstance(treedef, PyTreeDef):
            raise TypeError(f"treedef_tuple: treedefs[{index}] must be a treedef, got {type(treedef).__name__}")
    return pytree.treedef_tuple(default_registry, found)


def all_leaves(iterable: Iterable[Any], is_leaf: LeafPredicate = None) -> bool:
    """Whether none of the elements is a container.

    Args:
      iterable: iterable of pytrees.
      is_leaf: function of an element that says whether to take it for a leaf.
    Returns: bool.
    Example: ``all_leaves([1, "a"])`` is True, ``all_leaves([1, [2]])`` False.
    """
    if is_leaf is None:
        return pytree.all_leaves(default_registry, iterable)
    return all(is_leaf(element) or default_registry.flatten_one_level(element) is None for element in iterable)


def build_tree(treedef: PyTreeDef, xs: Sequence[Any]) -> list[Any]:
    """The pytree of a structure and nested iterables of that structure: containers of any kind, leaves at their places.

    Args:
      treedef: structure.
      xs: iterable of the children of the root, each of which is such an iterable too or a leaf.
    Returns: pytree.
    Raises: ValueError if an iterable is too short or too long.
    Example: ``build_tree(tree_structure([1, {"a": 2}]), (5, [6]))`` is ``[5, {'a': 6}]``.
    """
    return treedef.unflatten(_leaves_of_iterables(treedef, xs))


def _leaves_of_iterables(treedef: PyTreeDef, xs: Any) -> list[Any]:
    if treedef == LEAF:
        return [xs]
    inner, parts = treedef.children(), list(xs)
    if len(inner) != len(parts):
        raise ValueError(f"build_tree: {shortened(str(treedef))} has {len(inner)} children, but got {len(parts)}")
    return functools.reduce(operator.iadd, map(_leaves_of_iterables, inner, parts), [])
