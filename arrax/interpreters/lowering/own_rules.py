"""Lowering rules that users write, which make operations without ``builder``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arrax import native
from arrax.core import config
from arrax.core.calls import is_internal
from arrax.core.interpreter import Primitive
from arrax.interpreters.lowering.contexts import LoweringContext, TokenSet
from arrax.interpreters.ordering import operation_with_token

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value


def register_lowering(
    prim: Primitive, rule: Callable[..., Any], platform: str | None = None, inline: bool = True, cacheable: bool = True
) -> Callable[..., Any]:
    """Set the lowering rule of a primitive, for all platforms or one; returns it.

    Args:
      prim: the primitive.
      rule: ``rule(context, *values, **params)`` that returns a list of MLIR values.
      platform: such as ``"cpu"``, by default all.
      inline, cacheable: accepted; a rule runs for each operation, in the function that the operation is in.
    Raises:
      NotImplementedError: a platform that is not known.
    """
    if platform is not None and not config.is_platform(platform):
        known = ", ".join(sorted(config.known_platforms()))
        raise NotImplementedError(f"register_lowering: platform must be one of {known}, got {platform!r}, for {prim}")
    code = getattr(rule, "__code__", None)
    if code is not None and is_internal(code.co_filename):
        prim.lower[platform] = rule
        return rule
    prim.lower[platform] = _noting(_in_order(rule))
    if prim.with_token is None:
        prim.with_token = operation_with_token
    return rule


def _in_order(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of an operation that may have ordered effects: it finds its token in the context, and puts another one there."""

    @functools.wraps(rule)
    def ordered(ctx: LoweringContext, *values: Value, **params: Any) -> Any:
        effects = [effect for effect in ctx.eqn.effects if effect.ordered] if ctx.eqn is not None else []
        if not effects:
            return rule(ctx, *values, **params)
        own = ctx.replace(
            avals_in=ctx.avals_in[1:], avals_out=ctx.avals_out[1:], tokens=TokenSet(dict.fromkeys(effects, values[0]))
        )
        out = rule(own, *values[1:], **params)
        # There is one order of all effects: those that the rule says nothing of come where they did.
        after = [token for _, token in own.tokens_out.items() if token is not values[0]]
        return [*after[:1], *out] if after else [values[0], *out]

    return ordered


def _noting(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule, whose operations are then noted, so that they get locations."""

    @functools.wraps(rule)
    def noting(ctx: LoweringContext, *values: Value, **params: Any) -> Any:
        native.mlir.import_classes()
        block = native.mlir.ir.InsertionPoint.current.block
        before = len(block.operations)
        out = rule(ctx, *values, **params)
        for operation in list(block.operations)[before:]:
            ctx.module_context.locations.record.append(operation)
        return out

    return noting
