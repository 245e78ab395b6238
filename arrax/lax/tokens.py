"""Tokens, values without data that order effects; and the queues between host and device that they order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.effects import Effect
from arrax.core.interpreter import Primitive, Tracer
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import AbstractToken, ShapedArray, abstract_token, register_type, typeof
from arrax.interpreters.lowering import builder
from arrax.lax.operand_checks import checked_operand
from arrax.xla.annotations import Shape
from arrax.xla.arrays import ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext

queue_effect = Effect("queue")  # transfers are never left out


class Token:
    """A token of operations that ran one by one: what it stands for has happened."""

    __slots__ = ()
    aval = abstract_token

    def block_until_ready(self) -> Token:
        """The token itself."""
        return self


register_type(Token, lambda token: abstract_token)

create_token_p = Primitive("create_token")
create_token_p.type_rule = lambda: abstract_token
create_token_p.impl = Token
create_token_p.lower[None] = lambda ctx: [builder.op("create_token", abstract_token)]

after_all_p = Primitive("after_all")


def _after_all_type(*avals: Any) -> AbstractToken:
    for aval in avals:
        if aval is not abstract_token:
            raise TypeError(f"after_all requires tokens, got an argument of type {aval.str_short(True)}")
    return abstract_token


def _after_all(*tokens: Token) -> Token:
    for token in tokens:
        if type(token) is not Token:
            raise TypeError(f"after_all requires tokens, got {token!r}")
    return Token()


after_all_p.type_rule = _after_all_type
after_all_p.impl = _after_all
after_all_p.lower[None] = lambda ctx, *tokens: [builder.op("after_all", abstract_token, *tokens)]


def create_token(_: Any = None) -> Tracer | Token:
    """A token that waits for nothing.

    Example: ``lax.create_token()``. Source: StableHLO ``create_token``.
    """
    return create_token_p.bind()


def after_all(*operands: ArrayLike) -> Tracer | Token:
    """A token that waits for all of the given ones.

    Args:
      operands: tokens.
    Raises:
      TypeError: values that are no tokens.
    Example: ``lax.after_all(lax.create_token(), lax.create_token())``. Source: StableHLO ``after_all``.
    """
    return after_all_p.bind(*operands)


# ---- queues ---------------------------------------------------------------------------------------------------------

infeed_p = Primitive("infeed", multiple_results=True)


def _check_token(name: str, token: AbstractToken | ShapedArray) -> None:
    if token is not abstract_token:
        raise TypeError(f"{name} requires a token, got an argument of type {token.str_short(True)}")


def _infeed_type(token: AbstractToken | ShapedArray, *, shapes: Sequence[ShapedArray], partitions: Any) -> list[Any]:
    _check_token("infeed", token)
    return [*shapes, abstract_token]


infeed_p.type_rule = _infeed_type
infeed_p.effects_rule = lambda *avals, **params: frozenset({queue_effect})

outfeed_p = Primitive("outfeed")


def _outfeed_type(token: AbstractToken, *avals: ShapedArray, partitions: Any) -> AbstractToken:
    _check_token("outfeed", token)
    return abstract_token


outfeed_p.type_rule = _outfeed_type
outfeed_p.effects_rule = lambda *avals, **params: frozenset({queue_effect})


def _lower_infeed(ctx: LoweringContext, token: Value, *, shapes: Sequence[ShapedArray], partitions: Any) -> list[Value]:
    layouts = ", ".join(f"[{', '.join(str(axis) for axis in reversed(range(aval.ndim)))}]" for aval in shapes)
    attributes = {"infeed_config": builder.string(""), "layout": builder.attribute(f"[{layouts}]")}
    types = [builder.ir_type(aval) for aval in ctx.avals_out]
    return list(builder.operation("stablehlo.infeed", types, [token], attributes).results)


def _lower_outfeed(ctx: LoweringContext, token: Value, *values: Value, partitions: Any) -> list[Value]:
    attributes = {"outfeed_config": builder.string("")}
    types = [builder.ir_type(abstract_token)]
    return list(builder.operation("stablehlo.outfeed", types, [*values, token], attributes).results)


infeed_p.lower[None] = _lower_infeed
outfeed_p.lower[None] = _lower_outfeed


def infeed(token: Token, shape: Shape | None = None, partitions: Any = None) -> tuple[Any, Any]:
    """Take values from the queue that the host feeds.

    Args:
      token: what has to happen before.
      shape: pytree of what has a shape and a dtype.
      partitions: accepted, without effect.
    Returns: ``(values, token)``: a pytree like ``shape``, and a token that stands for the transfer.
    Example: ``lax.infeed(token, shape=arrax.ShapeDtypeStruct((3,), jnp.float32))``. Source: StableHLO ``infeed``.
    """
    leaves, tree = tree_flatten(() if shape is None else shape)
    for leaf in leaves:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise TypeError(f"infeed: shape must hold things with a shape and a dtype, got {leaf!r}")
    shapes = tuple(ShapedArray(leaf.shape, leaf.dtype) for leaf in leaves)
    *outs, token = infeed_p.bind(token, shapes=shapes, partitions=partitions)
    return tree_unflatten(tree, outs), token


def outfeed(token: Token, xs: Any, partitions: Any = None) -> Any:
    """Put values into the queue that the host empties.

    Args:
      token: what has to happen before.
      xs: pytree of arrays.
      partitions: accepted, without effect.
    Returns: a token that stands for the transfer.
    Example: ``lax.outfeed(token, x)``. Source: StableHLO ``outfeed``.
    """
    values = [checked_operand("outfeed", x) for x in tree_flatten(xs)[0]]
    if typeof(token) is not abstract_token:
        raise TypeError(f"outfeed requires a token, got a value of type {typeof(token).str_short(True)}")
    return outfeed_p.bind(token, *values, partitions=partitions)
