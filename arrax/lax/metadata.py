"""Metadata of operations: texts that a compiler is told of them, which change no value."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax import native
from arrax.core.interpreter import Primitive, context
from arrax.core.name_stacks import Metadata, metadata_text
from arrax.core.pytrees import tree_map
from arrax.core.types import typeof
from arrax.interpreters.lowering import builder

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.xla.annotations import Tree

xla_metadata_value_p = Primitive("xla_metadata_value")


def _tell_maker(ctx: LoweringContext, x: Value, *, xla_metadata_kvs: tuple[tuple[str, Any], ...]) -> list[Value]:
    """The operation that makes a value is told; an argument of the program has none."""
    if not isinstance(x.owner, native.mlir.ir.Block):
        builder.add_metadata(x.owner, {name: metadata_text(value) for name, value in xla_metadata_kvs})
    return [x]


def _jvp(primals: Sequence[Any], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    return xla_metadata_value_p.bind(*primals, **params), tangents[0]


xla_metadata_value_p.type_rule = lambda aval, xla_metadata_kvs: aval
xla_metadata_value_p.impl = lambda x, xla_metadata_kvs: x
xla_metadata_value_p.lower[None] = _tell_maker
xla_metadata_value_p.jvp = _jvp
xla_metadata_value_p.batch = lambda values, dims, **params: (xla_metadata_value_p.bind(*values, **params), dims[0])


class MetadataScope(contextlib.ContextDecorator):
    """The operations of a block, or of a function, carry metadata."""

    def __init__(self, entries: dict[str, Any]) -> None:
        self.metadata, self.previous = Metadata(entries), list[Any]()

    def __enter__(self) -> None:
        self.previous.append(context.scopes)
        context.scopes = (*context.scopes, self.metadata)

    def __exit__(self, *exception: object) -> None:
        context.scopes = self.previous.pop()


def set_xla_metadata(x: Tree | None = None, **kwargs: Any) -> Tree | MetadataScope:
    """Tell the compiler something of operations, which stands with them in the text of a program.

    Args:
      x: arrays whose operations are told, in compiled functions; without it the operations of a block or of a function are.
      kwargs: texts, numbers and flags by names.
    Returns: ``x``; without it a context manager that is a decorator, too.
    Raises: TypeError, if ``x`` is not an array or pytree of arrays.
    Example: ``'label = "a"' in jit(set_xla_metadata(label='a')(jnp.sin)).lower(x).as_text()`` is True.
    """
    if x is None:
        return MetadataScope(kwargs)
    entries = tuple(sorted(kwargs.items()))

    def tell(leaf: Any) -> Any:
        typeof(leaf)
        return xla_metadata_value_p.bind(leaf, xla_metadata_kvs=entries) if entries else leaf

    return tree_map(tell, x)
