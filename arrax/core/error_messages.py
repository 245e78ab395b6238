"""Errors that are raised inside of this package, completed with the function that the user called and its argument.

Of ``'NoneType' object is not iterable``, which is Python's, users cannot tell what was wrong. Here it becomes ``rev: argument
dimensions: 'NoneType' object is not iterable``. Checks of this package that know the argument say so themselves
(``core.calls.in_call``); messages of those that do not, deep inside, get the function's name.
"""

from __future__ import annotations

import dis
import os
import re
import reprlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from arrax.core.calls import CONSTRUCTORS, MODULES, called_name, is_internal
from arrax.core.functions import argument_names, function_name

_CLASSES = (
    TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError, OverflowError, AssertionError,
    np.exceptions.AxisError,
)  # fmt: skip
_ENDLESS = 8  # that a function stands so often on the stack is no chance
_RAISE = dis.opmap["RAISE_VARARGS"]
# The type that Python names: 'NoneType' object …, unhashable type: 'list', non-iterable NoneType object, not NoneType
_TYPES = re.compile(
    r"'(\w+)' object|type: '(\w+)'|-iterable (\w+) object|of '(\w+)' and '(\w+)'|not '?(\w+)'?$|and '(\w+)'$|type '(\w+)'|: '(\w+)'$"
)
_NUMPY, _STANDARD = (os.path.join(os.path.dirname(os.path.abspath(str(module.__file__))), "") for module in (np, os))


def complete(error: BaseException, fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Say in an error's message which call of a user's it comes from, if only this package's code ran in between.

    It is called where the error leaves the function, in the frame that the user's code called.
    """
    if type(error) is RecursionError:
        _name_endless_calls(error, sys._getframe(2))
    of_traced = getattr(type(error), "of_traced_argument", False)
    if (
        not (of_traced or type(error) in _CLASSES)
        or len(error.args) > 1
        or is_internal(sys._getframe(2).f_code.co_filename)
    ):
        return
    by_statement = _raised_by_statement(error)
    if by_statement is None:
        return
    name, message = _public_name(fun, args), str(error)
    if re.search(rf"\b{re.escape(name)}\b", message) or not name.isidentifier() or name.startswith("_"):
        return
    if of_traced:
        if _is_named_by_users(fun):
            _name_traced_argument(error, name, _given(fun, args, kwargs))
        return
    if by_statement:
        checks = isinstance(error, AssertionError)  # of what the user says, in the user's words
        if not checks and _is_named_by_users(fun) and _is_calling(sys._getframe(2)) and not _says_whose(error):
            _say(error, f"{name}: {message}")
        return
    given = _given(fun, args, kwargs)
    types = {word for words in _TYPES.findall(message) for word in words if word}
    found = [key for key, value in given if type(value).__name__ in types]
    if len(found) == 1:
        _say(error, f"{name}: argument {found[0]}: {message}")
    else:
        call = ", ".join(f"{key}={_short(value)}" for key, value in given)
        _say(error, f"{name}: {message or type(error).__name__}, in {name}({call})")


def refuse_argument(
    error: AttributeError, fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise TypeError in an AttributeError's place where this package looked for the attribute in an argument of a user's call.

    It is called as ``complete`` is, before it.
    """
    if (
        error.name is None
        or is_internal(sys._getframe(2).f_code.co_filename)
        or _raised_by_statement(error) is not False
    ):
        return
    for key, value in _given(fun, args, kwargs):
        if error.obj is value or (isinstance(value, tuple | list) and any(error.obj is each for each in value)):
            message = f"{_public_name(fun, args)}: argument {key} is of a wrong type: {error}"
            raise TypeError(message).with_traceback(error.__traceback__) from None


def _name_traced_argument(error: BaseException, name: str, given: Sequence[tuple[str, Any]]) -> None:
    """Say behind the first line of a message on a traced value in which call it arose, and by which argument."""
    traced = [*_all_frames(error)][-1].tb_frame.f_locals.get("self")  # whose method refused the conversion
    found = [
        key
        for key, value in given
        if value is traced or (isinstance(value, tuple | list) and any(each is traced for each in value))
    ]
    first, _, rest = str(error).partition("\n")
    _say(error, f"{first}\nIt arose in {name}{f', argument {found[0]}' if len(found) == 1 else ''}.\n{rest}")


def _given(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The arguments with their names, without the object that a constructor makes."""
    given = list(zip(argument_names(fun, args, kwargs), [*args, *kwargs.values()], strict=False))
    return given[1:] if function_name(fun) in CONSTRUCTORS else given


def _is_named_by_users(fun: Callable[..., Any]) -> bool:
    """Whether a function is one of this package's, not the user's own that is transformed, and not the method of some class."""
    owner, _, _ = getattr(fun, "__qualname__", "").rpartition(".")
    return (getattr(fun, "__module__", None) or "").startswith(MODULES) and (not owner or owner.endswith("<locals>"))


def _public_name(fun: Callable[..., Any], args: Sequence[Any]) -> str:
    """A function's name; that of a method without the underscore by which its definition differs from the function's."""
    name = called_name(function_name(fun), getattr(fun, "__qualname__", ""))
    method = name.removeprefix("_")
    return method if args and hasattr(type(args[0]), method) else name


def _is_calling(frame: FrameType) -> bool:
    """Whether a frame is at a call by a name, not at an operator, an index or an attribute."""
    code, place = frame.f_code.co_code, frame.f_lasti
    # Some versions of Python stand in the room behind the instruction meanwhile.
    while place > 0 and dis.opname[code[place]] == "CACHE":
        place -= 2
    return dis.opname[code[place]].startswith(("CALL", "PRECALL"))


def _says_whose(error: BaseException) -> bool:
    """Whether a message begins with what it is about: some name and a colon, or a function that was running."""
    first = str(error).partition(" ")[0]
    return first.endswith(":") or any(first == each.tb_frame.f_code.co_name for each in _all_frames(error))


def _all_frames(error: BaseException) -> Iterator[TracebackType]:
    hidden = getattr(error, "unfiltered_traceback", None)  # what inner calls have cut
    yield from frames_of(error.__traceback__)
    yield from frames_of(getattr(hidden, "whole", None))


def _say(error: BaseException, message: str) -> None:
    error.args = (message,)
    if isinstance(error, np.exceptions.AxisError):  # prints what it was made with
        error.__init__(message)  # type: ignore[misc]


def _name_endless_calls(error: RecursionError, caller: FrameType) -> None:
    """Say in Python's message which of the user's functions call themselves, where the error leaves the outermost call."""
    message = str(error)
    if not message.startswith("maximum recursion depth exceeded") or ": " in message or _is_inside(caller):
        return
    outside = (each.tb_frame.f_code for each in frames_of(error.__traceback__))
    counts = Counter(code for code in outside if not is_internal(code.co_filename))
    most = max(counts.values(), default=0)
    if most < _ENDLESS:
        return
    named = [f"{c.co_qualname} at {c.co_filename}:{c.co_firstlineno}" for c, n in counts.items() if 2 * n > most]
    error.args = (
        f"{message}: {', '.join(named)} {'calls itself' if len(named) == 1 else 'call each other'} without end, or too deeply",
    )


def _is_inside(frame: FrameType | None) -> bool:
    """Whether a frame was called by this package, in however many steps."""
    while frame is not None and not is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None


def _raised_by_statement(error: BaseException) -> bool | None:
    """Whether a statement of this package has raised an error, or Python itself below; None where the user's code ran between."""
    last = None
    for last in _all_frames(error):
        path = last.tb_frame.f_code.co_filename
        if not (is_internal(path) or is_library(path)):
            return None
    if last is None:
        return None
    code = last.tb_frame.f_code
    return is_internal(code.co_filename) and code.co_code[last.tb_lasti] == _RAISE


def is_library(path: str) -> bool:
    """Whether a file is Python's own or NumPy's."""
    standard = path.startswith(_STANDARD) and f"-packages{os.sep}" not in path
    return standard or path.startswith((_NUMPY, "<frozen "))


def frames_of(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """A traceback and those after it."""
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _short(value: Any) -> str:
    """An argument in few characters: arrays by dtype and shape."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        return f"{dtype}[{','.join(map(str, shape))}]"
    return reprlib.repr(value)
