"""Types and operations that a library defines above those of arrays (``jax.experimental.hijax``), as far as arrax has them.

Programs that are traced hold arrays only. A function of such values is traced as one of the arrays of which they consist
(``transforms.high_arguments``); inside, values are objects whose arrays are traced, and their operations change these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from arrax.core.effects import control_flow_allowed_effects as control_flow_allowed_effects
from arrax.core.interpreter import Primitive
from arrax.core.program import ClosedJaxpr, any_equation
from arrax.core.types import AbstractValue, high_classes


class HiType(AbstractValue):
    """The type of values that consist of arrays: ``lo_ty`` gives their types, ``lower_val`` and ``raise_val`` convert."""

    is_high = True
    has_qdd = False


class MutableHiType(AbstractValue):
    """The type of values that change."""

    is_high = has_qdd = True


class AvalQDD(NamedTuple):
    """A type and the state that a value of it has now."""

    aval: Any
    qdd: Any


class AvalMutableQDD(NamedTuple):
    """A type and where the state of a value of it is kept."""

    aval: Any
    mutable_qdd: Any


class aval_method(NamedTuple):
    """A method that values have by their type."""

    fun: Callable[..., Any]


class aval_property(NamedTuple):
    """A property that values have by their type."""

    fget: Callable[..., Any]


def is_high(aval: Any) -> bool:
    """Whether a type is one of those above arrays."""
    return isinstance(aval, AvalQDD) or getattr(aval, "is_high", False) is True


# Marks operands of operations that stand in a program without their rules.
inner_operation_p = Primitive("in_hi_primitive")


def holds_high(program: ClosedJaxpr) -> bool:
    """Whether there are operations in a program that stand for one on values of high types."""

    def found() -> bool:
        return any_equation(program, lambda eqn: eqn.primitive is inner_operation_p)

    return bool(program.memo("holds high", found))


class HighHooks:
    """What tracing asks of values of high types among arguments; filled when a library registers such a type.

    Attributes:
      call: the call of a jitted function with such arguments: ``(jitted, split, leaves, tree, avals)``.
      jitted: the function of arrays that stands for it, and that function jitted, from the same.
      form: the class of such functions of arrays.
      shape: the types of its results, without a call: ``(function, split, leaves, tree, avals)``.
      program: the program, and these types, from the same.
      lowered, lowered_results, raised: trees with what stands for such values, and back (``interpreters.high_contents``).
    """

    __slots__ = ("call", "form", "jitted", "lowered", "lowered_results", "program", "raised", "shape")
    call: Callable[..., Any]
    form: type
    jitted: Callable[..., tuple[Any, Callable[..., Any]]]
    program: Callable[..., tuple[Any, Any]]
    shape: Callable[..., Any]
    lowered: Callable[[Any], Any]
    lowered_results: Callable[[Any], Any]
    raised: Callable[[Any], Any]


high_hooks = HighHooks()


def lowered(values: Any) -> Any:
    """A tree that control flow is given, with what stands for values of high types."""
    return high_hooks.lowered(values) if high_classes else values


def lowered_results(values: Any) -> Any:
    """A tree that a recorded function returns, with what stands for values of high types."""
    return high_hooks.lowered_results(values) if high_classes else values


def raised(values: Any) -> Any:
    """A tree with the values of high types that stand in it."""
    return high_hooks.raised(values) if high_classes else values
