"""Which public function the user called, and with which argument: what messages of inner checks are completed with.

Only where something fails is this asked: the frames on Python's stack, from the check up to the user's code, say it.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from arrax import dtypes
from arrax.core.functions import argument_names, function_name
from arrax.core.lengths import is_symbolic
from arrax.dtypes.wording import shown

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
MODULES = f"{__name__.partition('.')[0]}."  # what the names of this package's modules begin with
CONSTRUCTORS = ("__init__", "__new__", "__post_init__")  # a call of one is a call of its class
_NOTHING = object()
Call = tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]
_wrappers: dict[CodeType, Callable[[Mapping[str, Any]], Call]] = {}
_passed_over: set[CodeType] = set()
_handing_on: set[CodeType] = set()


def register_wrapper(wrapper: Callable[..., Any], call_of: Callable[[Mapping[str, Any]], Call]) -> None:
    """Let calls of a wrapper count as calls of what it wraps.

    Args:
      call_of: from the wrapper's local variables, the function, its arguments and its keywords.
    """
    _wrappers[wrapper.__code__] = call_of


def pass_over(code: CodeType) -> None:
    """Let calls by this code, which only hands its arguments on, not count as the user's."""
    _passed_over.add(code)


def hands_on(code: CodeType) -> None:
    """Let a function of this code stand for the one that it calls: whoever calls it, calls that."""
    _handing_on.add(code)


def called_from_outside(frame: FrameType) -> bool:
    """Whether the function of a frame was called by code of users or libraries, not by this package."""
    caller = frame.f_back
    while caller is not None and (caller.f_code in _passed_over or caller.f_code in _handing_on):
        caller = caller.f_back
    return caller is not None and not is_internal(caller.f_code.co_filename)


class Paths:
    """Files, in the order in which they were named, with the methods of a list that libraries change them by."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}

    def append(self, path: str) -> None:
        """Add a file."""
        self._paths[path] = None

    def remove(self, path: str) -> None:
        """Take a file away.

        Raises:
          ValueError: it is not there.
        """
        if path not in self._paths:
            raise ValueError(f"{path} is not among the files")
        del self._paths[path]

    def __contains__(self, path: str) -> bool:
        return path in self._paths

    def __len__(self) -> int:
        return len(self._paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)


excluded_paths = Paths()


def register_exclusion(path: str) -> None:
    """Count a file of a library as one of this package: tracebacks and messages leave its frames out.

    Args:
      path: the file's path.
    Example: ``arrax.extend.source_info_util.register_exclusion('/home/me/mylibrary/wrappers.py')``.
    """
    excluded_paths.append(path)


def is_internal(path: str) -> bool:
    """True for files of this package, and for those that libraries have excluded."""
    return path.startswith(PACKAGE) or path in excluded_paths


def include_frame(frame: Any) -> bool:
    """Whether tracebacks show a frame: it runs code that is neither this package's nor excluded."""
    return not is_internal(frame.f_code.co_filename)


def in_call(message: str, value: Any = _NOTHING) -> str:
    """A message with the public function that the user called in front, and its argument that ``value`` came by.

    Example: while ``jnp.moveaxis(x, "a", 0)`` runs, ``in_call("no int", "a")`` is ``"moveaxis: argument source: no int"``.
    """
    name, arguments = _user_call()
    if name.startswith("_"):  # Python's own protocols, and what nobody calls by its name
        return message
    if message.startswith(f"{name}: "):  # from a value that said so itself
        return message
    found = _argument_that_holds(arguments, value) if value is not _NOTHING else None
    place = f"argument {found}: " if found is not None else ""
    return f"{place}{message}" if name in message and not place else f"{name}: {place}{message}"


def called_function() -> str:
    """The name of the public function that the user called."""
    return _user_call()[0]


def _user_call() -> tuple[str, Iterator[tuple[str, Any]]]:
    frame = outermost = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        outermost = frame if frame.f_code not in _passed_over else outermost
        frame = frame.f_back  # type: ignore[assignment]
    return _described(outermost)


def _described(frame: FrameType) -> tuple[str, Iterator[tuple[str, Any]]]:
    code, local = frame.f_code, frame.f_locals
    if code in _wrappers:
        fun, args, kwargs = _wrappers[code](local)
        return function_name(fun), zip(argument_names(fun, args, kwargs), [*args, *kwargs.values()], strict=False)
    count = code.co_argcount + code.co_kwonlyargcount
    name, qualified, (outer, inside, _) = code.co_name, code.co_qualname, code.co_qualname.partition(".<locals>.")
    if inside and not outer.startswith("_"):  # a transformed function goes by the name of the transformation
        name, qualified = outer.rpartition(".")[-1], outer
    return called_name(name, qualified), ((key, local.get(key)) for key in code.co_varnames[:count] if key != "self")


def called_name(name: str, qualified_name: str) -> str:
    """The name by which users call a function of this package: a constructor's is its class's.

    An underscore at the end keeps a definition from hiding a name of Python's: ``slice_`` is known as ``slice``.
    """
    return qualified_name.split(".")[-2:][0] if name in CONSTRUCTORS else name.removesuffix("_")


def _argument_that_holds(arguments: Iterator[tuple[str, Any]], value: Any) -> str | None:
    """The name of the one argument that is a value, or else of the first one that shares an element with it."""
    listed = [*arguments]
    same = [key for key, given in listed if given is value]
    return same[0] if len(same) == 1 else next((key for key, given in listed if _holds(given, value)), None)


def _holds(given: Any, value: Any) -> bool:
    given, values = ([one, *one] if isinstance(one, tuple | list) else [one] for one in (given, value))
    return any(each is other for each in given for other in values if other is not None)


def as_index(value: Any) -> int:
    """An int from what Python accepts as one.

    Raises:
      TypeError: anything else, naming the user's function and argument.
    """
    try:
        return operator.index(value)
    except TypeError as error:
        if is_symbolic(value):
            return value
        if type(error) is not TypeError:  # a traced value: the documented class says more
            raise
        raise TypeError(in_call(str(error), value)) from None


def as_indices(values: Any) -> tuple[int, ...]:
    """Ints from an iterable of what Python accepts as ints.

    Raises:
      TypeError: anything else, naming the user's function and argument.
    """
    try:
        return tuple(map(operator.index, values))
    except TypeError as error:
        if isinstance(values, tuple | list) and any(map(is_symbolic, values)):
            return tuple(map(as_index, values))
        if type(error) is not TypeError:
            raise
        raise TypeError(in_call(str(error), values)) from None


def as_sequence(values: Any) -> Sequence[Any]:
    """The values themselves, if they have a length and can be iterated over.

    Raises:
      TypeError: anything else, naming the user's function and argument.
    """
    try:
        len(values)
        iter(values)
    except TypeError as error:
        raise TypeError(in_call(str(error), values)) from None
    return values


def check_callable(*functions: Any) -> None:
    """Refuse what cannot be called.

    Raises:
      TypeError: naming the user's function and argument.
    """
    for function in functions:
        if not callable(function):
            raise TypeError(in_call(f"must be callable, got {shown(function)}", function))


dtypes.kinds.slots.complete = in_call
