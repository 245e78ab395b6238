"""Reshapes on the CPU that the compiler is to keep out of the loops before them.

Where it puts both into one loop, it runs over the places of the result, and divides them by the lengths of axes to find those of
the operand. Such loops have no vectors; a pass over memory of their own takes a tenth of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.host_calls import native_or
from arrax.interpreters.lowering.module import cached_lower_fun

_LEAST_ELEMENTS = 1 << 14
_SHORT = 32  # for loops over an axis to have vectors
_CHAIN = 64  # operations that are looked at

# Their elements come from other places, or depend on their place.
_BY_PLACE = frozenset(
    f"stablehlo.{name}"
    for name in ("iota", "slice", "pad", "concatenate", "transpose", "reverse", "dynamic_slice", "gather")
)
# Not computed in the loops of what follows.
_IN_MEMORY = frozenset(
    f"stablehlo.{name}"
    for name in (
        "constant", "dot_general", "convolution", "custom_call", "reduce", "reduce_window", "sort", "scatter", "while", "case",
        "fft", "triangular_solve", "cholesky", "select_and_scatter", "dynamic_update_slice", "rng_bit_generator",
    )
)  # fmt: skip


def keep_apart(primitive: Any, reshape: Callable[..., Any]) -> None:
    """Let programs on the CPU keep reshapes apart from costly loops; ``reshape`` is the primitive's function of an array."""
    general = primitive.lower[None]
    apart = cached_lower_fun(reshape, "reshape_apart", apart=True)

    def rule(ctx: Any, x: Any, **params: Any) -> list[Any] | None:
        before, after = (
            [length for length in aval.shape if length != 1] for aval in (ctx.avals_in[0], ctx.avals_out[0])
        )
        if before == after or ctx.avals_in[0].size < _LEAST_ELEMENTS or builder.source(x) is None:
            return None
        shortened = after[-1] < min(_SHORT, before[-1])
        if len(before) == 1 and not shortened:  # places of one axis take no division
            return None
        return list(apart(ctx, x, **params)) if _is_computed(x, ctx.module_context, shortened) else None

    primitive.lower["cpu"] = native_or(general, rule)


def _is_computed(x: Any, module: Any, anyhow: bool) -> bool:
    """Whether a value is computed from other places of arrays in memory, or ``anyhow``."""
    waiting, seen = [x], 0
    while waiting and seen < _CHAIN:
        operation, seen = builder.source(waiting.pop()), seen + 1
        if operation is None or operation.name in _IN_MEMORY:
            continue
        if operation.name == "func.call":
            if "mhlo.frontend_attributes" in operation.attributes:  # itself apart
                continue
            if anyhow or any(map(_moves, _body(module, operation))):
                return True
        elif anyhow and operation.name != "stablehlo.reshape" or _moves(operation):
            return True
        waiting.extend(operation.operands)
    return False


def _moves(operation: Any) -> bool:
    """Whether the elements of a result come from elsewhere."""
    if operation.name == "stablehlo.broadcast_in_dim":
        before, after = (value.type.shape for value in (operation.operands[0], operation.results[0]))
        return any(length != 1 for length in before) and math.prod(before) != math.prod(after)
    return operation.name in _BY_PLACE


def _body(module: Any, call: Any) -> Any:
    """The operations of the function that is called."""
    name = str(call.attributes["callee"]).removeprefix("@")
    for function in module.module.body.operations:
        if str(function.attributes["sym_name"]).strip('"') == name:
            return function.regions[0].blocks[0].operations
    return ()
