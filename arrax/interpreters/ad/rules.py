"""Ways to write derivative rules of a primitive of one's own: linear, bilinear, one function per operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero, instantiate, slots
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent
    from arrax.xla.arrays import Array, ArrayLike


def instantiate_zeros(tangent: Any) -> Any:
    """An array for a tangent that may be a symbolic Zero."""
    return instantiate(tangent)


def add_tangents(x: Array | Zero, y: Any) -> Any:
    """The sum of two tangents, either of which may be a symbolic Zero."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else slots.add(x, y)


def defjvp(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """Set one derivative per operand, ``rule(tangent, *operands, **params)``; None where it is zero."""
    defjvp2(primitive, *[rule and _without_answer(rule) for rule in rules])


def _without_answer(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tangent, answer, *operands, **params: rule(tangent, *operands, **params)


def defjvp2(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """Set one derivative per operand, ``rule(tangent, answer, *operands, **params)``."""

    def jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
        answer = primitive.bind(*primals, **params)
        total: Any = Zero.of(answer)
        for rule, tangent in zip(rules, tangents, strict=True):
            if rule is not None and type(tangent) is not Zero:
                total = add_tangents(total, rule(tangent, answer, *primals, **params))
        return answer, total

    primitive.jvp = jvp


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """A primitive that is linear in all operands, with its transpose ``(cotangent, *operands, **params)``."""

    def jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
        answer = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            return answer, [Zero.of(a) for a in answer] if primitive.multiple_results else Zero.of(answer)
        return answer, primitive.bind(*map(instantiate, tangents), **params)

    def rule(ct: Any, *operands: Any, **params: Any) -> list[Any]:
        if type(ct) is Zero:
            return [Zero(x.aval.to_tangent_aval()) if is_undefined_primal(x) else None for x in operands]
        return transpose_rule(ct, *operands, **params)

    primitive.jvp, primitive.transpose = jvp, rule


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Like ``deflinear2``, with a transpose ``(cotangent, **params)``."""
    deflinear2(primitive, lambda ct, *operands, **params: transpose_rule(ct, **params))


def defbilinear(prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]) -> None:
    """A primitive linear in each of two operands.

    Args:
      lhs_rule: cotangent of the first operand, ``(cotangent, first, second, **params)``.
      rhs_rule: cotangent of the second operand.
    """
    defjvp(
        prim,
        lambda t, x, y, **params: prim.bind(t, y, **params),
        lambda t, x, y, **params: prim.bind(x, t, **params),
    )

    def transpose(ct: Any, x: Array | UndefinedPrimal, y: Array | UndefinedPrimal, **params: Any) -> list[Any]:
        if type(ct) is Zero:
            return [None, None]
        if is_undefined_primal(x):
            return [lhs_rule(ct, x, y, **params), None]
        return [None, rhs_rule(ct, x, y, **params)]

    prim.transpose = transpose


def zeros_like_aval(aval: ShapedArray) -> Any:
    """Zeros of a type."""
    return slots.zeros(aval)
