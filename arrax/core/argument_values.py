"""The leaves of arguments and results: values that have a type, arrays for objects that stand for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Tracer
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from arrax.core.types import AbstractValue, high_classes, pytype_aval_mappings, typeof

if TYPE_CHECKING:
    from arrax.core.function_info import FunctionInfo


def flatten_values(tree: Any) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a pytree and its structure; leaves with ``__jax_array__`` are what this gives."""
    leaves, structure = tree_flatten(tree)
    return [leaf if type(leaf) in pytype_aval_mappings else _stood_for(leaf) for leaf in leaves], structure


def _stood_for(value: Any) -> Any:
    """The array that an object with ``__jax_array__`` stands for; other values as they are."""
    if isinstance(value, Tracer) or type(value) in high_classes:
        return value
    convert = getattr(value, "__jax_array__", None)
    return value if convert is None or isinstance(getattr(value, "aval", None), AbstractValue) else convert()


def result_value(value: Any, tree: PyTreeDef, index: int, info: FunctionInfo) -> Any:
    """A leaf of what a recorded function returns; of objects with ``__jax_array__`` what this gives.

    Args:
      tree: the structure of the whole result. index: the number of the leaf.
      info: of the function, for messages.
    Raises:
      TypeError: the value has no type, naming the function and the place in its result.
    """
    if isinstance(value, Tracer):
        return value
    convert = getattr(value, "__jax_array__", None)
    if convert is not None:
        return convert()
    try:
        typeof(value)
    except TypeError:
        paths = tree_flatten_with_path(tree_unflatten(tree, range(tree.num_leaves)))[0]
        place = keystr(paths[index][0])
        raise TypeError(
            f"function {info.describe()} traced for {info.transformation} returned a value of type {type(value)}"
            f"{' at output component ' + place if place else ''}, which is not a valid array type"
        ) from None
    return value
