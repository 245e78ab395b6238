"""Lowering rules that users write, which make operations without ``builder``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from arrax import native
from arrax.core.calls import is_internal
from arrax.core.interpreter import Primitive


def register_lowering(prim: Primitive, rule: Callable[..., Any], platform: str | None = None) -> Callable[..., Any]:
    """Set the lowering rule of a primitive, for all platforms or one; returns it.

    Args:
      prim: the primitive.
      rule: ``rule(context, *values, **params)`` that returns a list of MLIR values.
    """
    code = getattr(rule, "__code__", None)
    prim.lower[platform] = rule if code is not None and is_internal(code.co_filename) else _noting(rule)
    return rule


def _noting(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule, whose operations are then noted, so that they get locations."""

    @functools.wraps(rule)
    def noting(ctx: Any, *values: Any, **params: Any) -> Any:
        block = native.mlir.ir.InsertionPoint.current.block
        before = len(block.operations)
        out = rule(ctx, *values, **params)
        for operation in list(block.operations)[before:]:
            ctx.module_context.locations.record.append(operation)
        return out

    return noting
