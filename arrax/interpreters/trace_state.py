"""What a program can know of the interpretation it runs in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arrax.core.interpreter import Interpreter, context, current_interpreters
from arrax.interpreters.ad.forward import JVP
from arrax.interpreters.ad.partial import Partial
from arrax.interpreters.batching import Batch
from arrax.interpreters.staging import Staging
from arrax.xla.arrays import ArrayLike


class OpaqueTraceState:
    """The interpretation that was current; equal to another if it is the same one."""

    __slots__ = ("_interpreter",)

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and other._interpreter is self._interpreter

    def __hash__(self) -> int:
        return id(self._interpreter)

    def __repr__(self) -> str:
        return f"OpaqueTraceState({self._interpreter.describe()})"


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """The interpretation that is current, to be compared with another.

    Args:
      convention: who compares, such as ``"flax"``; the answer is the same for all.
    Example: ``get_opaque_trace_state() == get_opaque_trace_state()`` is True.
    """
    return OpaqueTraceState(context.interpreter)


def find_top_trace(values: Sequence[ArrayLike] = ()) -> Interpreter:
    """The interpreter that gives operations on these values their meaning: the current one, whatever they are.

    Example: ``find_top_trace([1.0]).is_evaluation`` is True outside of transformations.
    """
    return context.interpreter


def trace_state_clean() -> bool:
    """Whether operations run at once, outside of any transformation.

    Example: ``trace_state_clean()`` is True outside of ``jit``, ``grad`` and ``vmap``.
    """
    return context.interpreter.is_evaluation


def under_jit() -> bool:
    """Whether operations are recorded as a program, as inside of ``jit``, rather than run.

    Example: ``jit(lambda v: log.append(arrax.extend.core.unsafe_am_i_under_a_jit_DO_NOT_USE()))(y); log`` is ``[True]``.
    """
    return any(isinstance(each, Staging) for each in current_interpreters())


def differentiates_first() -> bool:
    """Whether operations are differentiated before they are recorded, if they are."""
    interpreter = context.interpreter
    while not (interpreter.is_evaluation or isinstance(interpreter, Staging)):
        if isinstance(interpreter, JVP):
            return True
        interpreter = interpreter.parent
    return False


def transforms_at_once() -> bool:
    """Whether operations run at once, differentiated or mapped: in ``grad`` or ``vmap`` outside of ``jit``."""
    return not context.interpreter.is_evaluation and all(
        each.is_evaluation or type(each) in (JVP, Partial, Batch) for each in current_interpreters()
    )


def under_vmap() -> bool:
    """Whether operations are mapped over a batch axis, or named axes are in scope.

    Example: ``vmap(lambda v: log.append(arrax.extend.core.unsafe_am_i_under_a_vmap_DO_NOT_USE()) or v)(x); log`` is ``[True]``.
    """
    return bool(context.axes) or any(isinstance(each, Batch) for each in current_interpreters())


def named_axes_in_scope() -> list[Any]:
    """The names of the axes that collectives may name here, outermost first.

    Example: ``arrax.extend.core.unsafe_get_axis_names_DO_NOT_USE()`` is ``[]`` outside of ``vmap`` and ``shard_map``.
    """
    return [name for name, _ in context.axes]


def has_named_axes() -> bool:
    """Whether there are axes that collectives may name here.

    Example: ``arrax.extend.core.nonempty_axis_env_DO_NOT_USE()`` is False outside of ``vmap`` and ``shard_map``.
    """
    return bool(context.axes)
