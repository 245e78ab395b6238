"""The leaves of arguments: values that have a type, arrays for objects that stand for them."""

from __future__ import annotations

from typing import Any

from arrax.core.interpreter import Tracer
from arrax.core.pytrees import PyTreeDef, tree_flatten
from arrax.core.types import AbstractValue, high_classes, pytype_aval_mappings


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
