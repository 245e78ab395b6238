"""Exceptions of functions on the host, on their way through the runtime, which hands on nothing but their text.

Each is remembered when it is raised. When the runtime raises its own error with that text, wherever that is, the error gets
the exception as its cause, a class that is the exception's, too (``except ValueError`` catches what it is meant for), and a
message of one line instead of a traceback through the runtime.
"""

from __future__ import annotations

import functools
import logging
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

from arrax.core import config
from arrax.core.caches import cleared_by
from arrax.core.tracebacks import hide_internal_frames
from arrax.dtypes.wording import message_of, writable
from arrax.native import runtime

RuntimeFault = runtime.RuntimeFault
_plain_init = RuntimeFault.__init__
_MAX_REMEMBERED = 8  # remembered ones keep the frames alive that they came through
_recent: deque[tuple[str, str, BaseException]] = deque(
    maxlen=_MAX_REMEMBERED
)  # what the runtime's text contains, the message
cleared_by(_recent.clear)
logger = logging.getLogger("arrax")
_cleanings: list[Callable[[], None]] = []


def after_failure(clean: Callable[[], None]) -> Callable[[], None]:
    """Let a function run when a program ends because of a function on the host; returns it."""
    _cleanings.append(clean)
    return clean


class Unprintable(RuntimeError):
    """Goes through the runtime in place of its cause, whose text the runtime cannot take."""


def remember(error: BaseException, name: str, which: str = "the function on the host") -> None:
    """Note what a function on the host raises, so that the runtime's error will point to it.

    An exception is logged, too, since it may be heard of much later.

    Args:
      name: of the public function that it was given to.
      which: what it is to that function.
    """
    RuntimeFault.__init__ = _find_cause  # type: ignore[method-assign]  # costs nothing before the first failure
    said, text = message_of(error), _text(error)
    ours = said.startswith(f"{name}:")  # a check of what the function returned
    _recent.appendleft((text, f"INTERNAL: {said if ours else f'{name}: {which} raised {text}'}", error))
    if isinstance(error, Exception):
        hide_internal_frames(error)
        logger.error("arrax.%s failed", name, exc_info=error)


def replace_unprintable(error: BaseException) -> None:
    """Raise another exception in place of one that the runtime cannot write, with its traceback.

    It ends the process where their text fails, or has half of a character, and stops at a zero.

    Raises:
      Unprintable: with the exception as its cause.
    """
    try:
        text = f"{error}{''.join(traceback.format_exception(error))}"
        takes = text == writable(text)
    except Exception:
        takes = False
    if not takes:
        raise Unprintable(_text(error)) from error


def hand_over(error: BaseException, name: str, which: str = "the function on the host") -> None:
    """Remember what goes through the runtime, and let it have a text that the runtime can take.

    Args: as of ``remember``.
    Raises:
      Unprintable: in its place, where it has none.
    """
    remember(error, name, which)
    replace_unprintable(error)


def _text(error: BaseException) -> str:
    said = message_of(error)
    return writable(f"{type(error).__name__}: {said}".strip() if said else type(error).__name__)  # as Python prints it


def _find_cause(self: Any, *args: Any) -> None:
    _plain_init(self, *args)
    text = str(args[0]) if args else ""
    message, cause = next(((message, error) for found, message, error in tuple(_recent) if found in text), (text, None))
    if cause is None:
        return
    self.__cause__ = cause
    if config.traceback_filtering.value != "off":
        _plain_init(self, message)
        self.args = (message,)
    for clean in _cleanings:
        clean()
    kind = _both(type(cause))  # type: ignore[arg-type]  # classes are hashable
    if kind is not None:
        self.__dict__.update({name: value for name, value in vars(cause).items() if not name.startswith("__")})
        self.__class__ = kind


@functools.lru_cache(64)
def _both(kind: type[Any]) -> type | None:
    """The class of errors of the runtime that are of a user's class, too; None where Python cannot make it."""
    if issubclass(kind, RuntimeFault) or not issubclass(kind, Exception):
        return None
    slots = {
        "__module__": kind.__module__, "__qualname__": kind.__qualname__, "__str__": RuntimeFault.__str__,
        "__reduce__": lambda self: (RuntimeFault, self.args),
    }  # fmt: skip
    try:
        made = type(kind.__name__, (RuntimeFault, kind), slots)
        RuntimeFault("").__class__ = made  # refused where the user's class holds more than an exception does
    except TypeError:
        return None
    return made


def failure_behind(error: ValueError) -> BaseException | None:
    """What a function on the host raised in a call in C++, of which ``error`` has the text alone; None for other errors."""
    fault = RuntimeFault(str(error))
    return None if fault.__cause__ is None else interruption(fault) or fault


def interruption(error: BaseException) -> BaseException | None:
    """What ended a program on purpose: an exit or an interrupt in a function on the host, behind an error of the runtime."""
    cause = error.__cause__
    if cause is None or isinstance(cause, Exception):
        return None
    for entry in [entry for entry in _recent if entry[-1] is cause]:
        _recent.remove(entry)
    return cause
