"""Where operations come from, for libraries that interpret programs: the line and the scopes that they are recorded with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from arrax.core.calls import is_internal
from arrax.core.errors import blame_line, frame_text, user_frames
from arrax.core.functions import function_place
from arrax.core.interpreter import context
from arrax.core.name_stacks import Names, NameStack
from arrax.core.program import SourceInfo, no_source
from arrax.native import runtime

Traceback = runtime.Traceback
R = TypeVar("R")


def current() -> SourceInfo:
    """Where an operation that is applied now comes from.

    Example: ``arrax.extend.source_info_util.current().name_stack`` is ``()`` outside of named scopes.
    """
    return SourceInfo(context.source or Traceback.get_traceback(), context.scopes)


def new_source_info() -> SourceInfo:
    """Where nothing comes from.

    Example: ``arrax.extend.source_info_util.summarize(arrax.extend.source_info_util.new_source_info())`` is ``''``.
    """
    return no_source


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """The user's innermost lines of a place, as text.

    Args:
      source_info: of an equation.
      num_frames: how many lines.
    Returns: ``file:line (function)`` for each, in lines.
    Example: ``program = make_jaxpr(jnp.sin)(y); arrax.extend.source_info_util.summarize(program.eqns[0].source_info)``.
    """
    return "\n".join(map(frame_text, user_frames(source_info.traceback, num_frames)))


def new_name_stack(name: str = "") -> NameStack:
    """A stack of one name, or of none.

    Example: ``str(arrax.extend.source_info_util.new_name_stack('layer'))`` is ``'layer'``.
    """
    return NameStack((name,) if name else ())


def current_name_stack() -> NameStack:
    """The scopes and transformations around what is traced now.

    Example: ``with arrax.named_scope('layer'): log.append(str(arrax.extend.source_info_util.current_name_stack()))``.
    """
    return NameStack(context.scopes)


@contextmanager
def _in_scopes(names: Names) -> Iterator[NameStack]:
    outside, context.scopes = context.scopes, names
    try:
        yield NameStack(names)
    finally:
        context.scopes = outside


def set_name_stack(name_stack: NameStack) -> Any:
    """Context manager: operations are recorded with these names around them.

    Example: ``util = arrax.extend.source_info_util
    with util.set_name_stack(util.new_name_stack('layer')): log.append(str(util.current_name_stack()))``.
    """
    return _in_scopes(name_stack.stack)


def reset_name_stack() -> Any:
    """Context manager: operations are recorded without names around them.

    Example: ``with arrax.extend.source_info_util.reset_name_stack(): log.append(jnp.sin(y))``.
    """
    return _in_scopes(())


def extend_name_stack(name: str) -> Any:
    """Context manager: operations are recorded with one more scope around them; gives the stack.

    Example: ``with arrax.extend.source_info_util.extend_name_stack('layer') as stack: log.append(str(stack))``.
    """
    return _in_scopes(current_name_stack().extend(name).stack)


def transform_name_stack(name: str) -> Any:
    """Context manager: operations are recorded with one more transformation around them; gives the stack.

    Example: ``with arrax.extend.source_info_util.transform_name_stack('jvp') as stack: log.append(str(stack))``.
    """
    return _in_scopes(current_name_stack().transform(name).stack)


def call_at_own_lines(rule: Callable[..., R], *args: Any) -> R:
    """Call a rule of the user's, whose operations are recorded with the rule's own lines.

    What applies rules goes through programs, and records what it makes as coming from the equation that it is at. That stays
    so for rules of this package: their lines tell users nothing.
    """
    if context.source is None or is_internal(function_place(rule)):
        return rule(*args)
    outside, context.source = context.source, None
    try:
        return rule(*args)
    finally:
        context.source = outside


@contextmanager
def user_context(traceback: runtime.Traceback | None, *, name_stack: NameStack | None = None) -> Iterator[None]:
    """Context manager: operations are recorded as coming from another place, which errors name, too.

    Args:
      traceback: of an equation's ``source_info``, or None for where they are applied.
      name_stack: the names around them; by default those that are there.
    Example: ``eqn = make_jaxpr(jnp.sin)(y).eqns[0]
    with arrax.extend.source_info_util.user_context(eqn.source_info.traceback): eqn.primitive.bind(y, accuracy=None)``.
    """
    outside = context.source
    context.source = traceback if traceback is not None else outside
    try:
        with _in_scopes(context.scopes if name_stack is None else name_stack.stack):
            yield
    except Exception as error:
        if traceback is not None:
            blame_line(error, traceback, "What failed comes from line")
        raise
    finally:
        context.source = outside
