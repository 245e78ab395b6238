"""Functions of pytrees, under short names: ``tree.map`` is ``tree_util.tree_map``."""

from arrax.core.pytree_nodes import static_ as static
from arrax.core.pytree_paths import tree_flatten_with_path as flatten_with_path
from arrax.core.pytree_paths import tree_leaves_with_path as leaves_with_path
from arrax.core.pytree_paths import tree_map_with_path as map_with_path
from arrax.core.pytree_prefixes import tree_broadcast as broadcast
from arrax.core.pytrees import tree_all as all
from arrax.core.pytrees import tree_flatten as flatten
from arrax.core.pytrees import tree_leaves as leaves
from arrax.core.pytrees import tree_map as map
from arrax.core.pytrees import tree_reduce as reduce
from arrax.core.pytrees import tree_reduce_associative as reduce_associative
from arrax.core.pytrees import tree_structure as structure
from arrax.core.pytrees import tree_transpose as transpose
from arrax.core.pytrees import tree_unflatten as unflatten
from arrax.core.tracebacks import bound_names as _bound_names

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

_bound_names(__name__)
