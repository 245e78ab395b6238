"""How accurate an elementary function has to be: a mode or a tolerance, handed on to the compiler."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from arrax.core.interpreter import Primitive, context
from arrax.interpreters.lowering import builder
from arrax.lax.complex_values import by_parts, corrected
from arrax.lax.families import elementwise, public
from arrax.lax.operand_checks import checked_operand
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.native.mlir import ir


class AccuracyMode(enum.Enum):
    """Which implementation of an elementary function the compiler picks.

    Example: ``lax.sin(x, accuracy=lax.AccuracyMode.DEFAULT)`` is ``jnp.sin(x)``.
    """

    HIGHEST = 1
    DEFAULT = 2


@dataclass(frozen=True)
class Tolerance:
    """The error that an elementary function may have; the compiler picks the fastest implementation within it.

    Args:
      atol: absolute error.
      rtol: relative error.
      ulps: error in units of the last place.
    Raises:
      ValueError: a negative bound.
    Example: ``lax.exp(x, accuracy=lax.Tolerance(rtol=1e-3))``.
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if min(self.atol, self.rtol, self.ulps) < 0:
            raise ValueError(f"a Tolerance cannot be negative, got {self}")


Accuracy = Tolerance | AccuracyMode


def accuracy_attribute(accuracy: Accuracy) -> ir.Attribute:
    """The attribute ``result_accuracy`` of StableHLO's elementary functions."""
    if isinstance(accuracy, AccuracyMode):
        fields = f"mode = #stablehlo.result_accuracy_mode<{accuracy.name}>"
    else:
        bounds = [("atol", float(accuracy.atol)), ("rtol", float(accuracy.rtol)), ("ulps", int(accuracy.ulps))]
        given = "".join(f"{name} = {bound!r}, " for name, bound in bounds if bound)
        fields = f"{given}mode = #stablehlo.result_accuracy_mode<TOLERANCE>"
    return builder.attribute(f"#stablehlo.result_accuracy<{fields}>")


def _check(name: str, accuracy: float | AccuracyMode | Tolerance) -> dict[str, Any]:
    if not isinstance(accuracy, Accuracy):
        raise TypeError(f"{name}: accuracy must be a Tolerance, an AccuracyMode or None, got {accuracy!r}")
    return {"accuracy": accuracy}


def _lower(hlo_name: str) -> Any:
    full = f"stablehlo.{hlo_name}"

    def rule(ctx: LoweringContext, x: Value, accuracy: Accuracy | None = None) -> list[Any]:
        attributes = None if accuracy is None else {"result_accuracy": accuracy_attribute(accuracy)}
        return [builder.operation(full, [builder.ir_type(ctx.avals_out[0])], [x], attributes).results[0]]

    return rule


class AccurateUnary(Protocol):
    """The public function of an operation on one array that takes an accuracy."""

    primitive: Primitive
    __name__: str

    def __call__(self, x: ArrayLike, *, accuracy: Accuracy | None = None) -> Array: ...


def unary_with_accuracy(
    name: str,
    accepts: frozenset,
    lower: Any,
    *,
    jvp: Any,
    doc: str,
    limits: Any = None,
    parts: Any = None,
    rounding: Any = None,
    cost: float | None = None,
) -> AccurateUnary:
    """A unary elementwise operation whose public function takes ``accuracy``.

    Args:
      lower: name of the StableHLO operation, or a lowering rule, which is told nothing of the accuracy.
      jvp: ``f(x, answer, tangent)``.
      limits: what puts complex answers right, as of ``corrected``.
      parts: the formula for complex numbers, as of ``by_parts``.
      rounding, cost: the primitive's slots.
    """
    rule = _lower(lower) if isinstance(lower, str) else (lambda ctx, x, accuracy=None: lower(ctx, x))
    rule = corrected(rule, limits) if limits is not None else rule if parts is None else by_parts(rule, parts)
    primitive = elementwise(
        name, [accepts], rule, jvp=[lambda x, ans, t, accuracy=None: jvp(x, ans, t)], rounding=rounding, cost=cost
    )

    def function(x: ArrayLike, *, accuracy: Accuracy | None = None) -> Array:
        params = {} if accuracy is None else _check(name, accuracy)
        return context.interpreter.process(primitive, (checked_operand(name, x),), params)

    documented = public(function, primitive, name, doc, "x", accepts)
    documented.__doc__ = f"{documented.__doc__}\nThe keyword ``accuracy`` takes a ``Tolerance`` or an ``AccuracyMode``."
    return documented
