"""Descriptions of arguments whose shapes have symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.symbolic_shapes import SymbolicScope, scope_for, symbolic_shape
from arrax.core.types import typeof
from arrax.transforms.inspection import ShapeDtypeStruct, shaped_type


def symbolic_args_specs(
    args: Any, shapes_specs: Any, constraints: Sequence[str] = (), scope: SymbolicScope | None = None
) -> Any:
    """Descriptions like some arguments, with shapes in which names are symbols.

    Args:
      args: pytree of arrays, or of anything with shapes and dtypes.
      shapes_specs: texts for ``symbolic_shape``, or None for the shape as it is: a tree prefix of ``args``, a list
        for a tuple, too.
      constraints: what is assumed of the symbols, such as ``"a >= 4"``.
      scope: where the symbols belong; by default a new one, which all of them have in common.
    Returns: pytree like ``args``, of ShapeDtypeStructs.
    Raises:
      ValueError: texts that cannot be read, or that do not fit the arguments.
    Example: ``arrax.export.symbolic_args_specs((x, y), ('n', None))[0].dtype == x.dtype`` is True.
    """
    leaves, tree = tree_flatten(args)
    if isinstance(shapes_specs, list) and isinstance(args, tuple):
        shapes_specs = tuple(shapes_specs)
    specs = named_broadcast_prefix("shapes_specs", shapes_specs, args, lambda each: each is None)
    common = scope_for(constraints, scope)
    found = []
    for leaf, spec in zip(leaves, specs, strict=True):
        aval = shaped_type(leaf) if hasattr(leaf, "shape") else typeof(leaf)
        found.append(ShapeDtypeStruct(symbolic_shape(spec, like=aval.shape, scope=common), aval.dtype))
    return tree_unflatten(tree, found)
