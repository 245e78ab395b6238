"""Tracebacks as users see them: without the frames of this package, which stay reachable.

Where an exception leaves the package towards the user's code, ``boundary`` cuts the package's frames from it. An exception
may leave several times (from a function inside the user's function inside a transformation), so each cut adds the frames
since the one before to what ``error.unfiltered_traceback`` has.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, TracebackType
from typing import Any, ParamSpec, TypeVar

from arrax import dtypes
from arrax.core import config
from arrax.core.calls import MODULES, is_internal, pass_over
from arrax.core.completion import complete_package
from arrax.core.error_messages import complete, frames_of, is_library, refuse_argument
from arrax.core.options import Option

P = ParamSpec("P")
R = TypeVar("R")
Class = TypeVar("Class", bound=type)
_NOTE = "Frames of arrax are left out of this traceback; ARRAX_TRACEBACK_FILTERING=off shows them."
_BETWEEN = (contextlib.__file__, functools.__file__)  # whose frames belong to the caller's
_bounded: dict[FunctionType, Any] = {}


class UnfilteredStackTrace(Exception):
    """Carries the whole traceback of the exception that it is the cause of (``traceback_filtering="remove_frames"``)."""


class UnfilteredTraceback:
    """A traceback with all frames, read as any other. Unlike others it does not hinder pickling: it becomes None."""

    __slots__ = ("whole", "left")

    def __init__(self, whole: TracebackType | None, left: TracebackType | None) -> None:
        self.whole = whole
        self.left = left  # what the exception has now

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    def __reduce__(self) -> tuple[type[Any], tuple[Any, ...]]:
        return type(None), ()


def hide_internal_frames(error: BaseException) -> None:
    """Treat this package's frames in an exception's traceback, and in those of its causes, as ``traceback_filtering`` says."""
    mode = config.traceback_filtering.value
    if mode == "auto":
        mode = "tracebackhide" if _in_ipython() else "quiet_remove_frames"
    if mode == "off":
        return
    treat = _mark if mode == "tracebackhide" else _cut
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen or isinstance(one, UnfilteredStackTrace):
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        if treat(one) and one is error:
            _point_to_whole(error, loudly=mode == "remove_frames")


def _in_ipython() -> bool:
    """Whether exceptions are shown by IPython, which leaves marked frames out itself and can show them on demand."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return shell is not None and shell() is not None


def _mark(error: BaseException) -> bool:
    for each in frames_of(error.__traceback__):
        if is_internal(each.tb_frame.f_code.co_filename):
            each.tb_frame.f_locals["__tracebackhide__"] = True
    return False


def _cut(error: BaseException) -> bool:
    """Leave only frames outside of this package; whether any is gone."""
    before = getattr(error, "unfiltered_traceback", None)
    left, whole = (before.left, before.whole) if isinstance(before, UnfilteredTraceback) else (None, None)
    new = list(frames_of(error.__traceback__))
    if left is not None:
        place = next((n for n, each in enumerate(new) if each is left), None)
        if place is None:  # the user gave it another traceback
            left = whole = None
        else:
            new = new[:place]
    kept = list(_outside(new))
    if len(kept) == len(new):
        return False
    left, whole = _joined(kept, left), _joined(new, whole)
    try:
        error.unfiltered_traceback = UnfilteredTraceback(whole, left)  # type: ignore[attr-defined]
    except (AttributeError, TypeError):  # a class without room for attributes: nothing may be lost
        return False
    error.__traceback__ = left
    return True


def _outside(tracebacks: list[TracebackType]) -> Iterator[TracebackType]:
    """The frames of others; those of Python and NumPy that this package calls only where they lead to the user's again."""
    inside, below = False, list[TracebackType]()
    for each in tracebacks:
        path = each.tb_frame.f_code.co_filename
        if is_internal(path) or (inside and path in _BETWEEN):
            inside, below = True, []
        elif inside and is_library(path):
            below.append(each)
        else:
            yield from (*below, each)
            inside, below = False, []


def filter_traceback(tb: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this package.

    Args:
      tb: the traceback.
    """
    return _joined(list(_outside(list(frames_of(tb)))), None)


def _joined(frames: list[TracebackType], rest: TracebackType | None) -> TracebackType | None:
    for each in reversed(frames):
        line = each.tb_lineno  # None for instructions of no line, where a signal may come
        rest = TracebackType(
            rest, each.tb_frame, each.tb_lasti, each.tb_frame.f_code.co_firstlineno if line is None else line
        )
    return rest


def _point_to_whole(error: Any, loudly: bool) -> None:
    """Say where the other frames are: in a note, or in a cause that carries them."""
    if not loudly:
        if _NOTE not in getattr(error, "__notes__", ()):
            error.add_note(_NOTE)
        return
    whole = error.__cause__
    if not isinstance(whole, UnfilteredStackTrace):
        whole = UnfilteredStackTrace(f"{type(error).__name__}: {error}")
        whole.__cause__, whole.__context__ = error.__cause__, error.__context__
        whole.__suppress_context__ = error.__suppress_context__
        error.__cause__ = whole
    whole.__traceback__ = error.unfiltered_traceback.whole


def boundary(fun: Callable[P, R]) -> Callable[P, R]:
    """A function that users call: exceptions leave it without frames of this package."""

    @functools.wraps(fun)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            try:
                return fun(*args, **kwargs)
            except AttributeError as error:
                refuse_argument(error, fun, args, kwargs)
                raise
        except BaseException as error:
            complete(error, fun, args, kwargs)
            hide_internal_frames(error)
            raise

    call.__wrapped__ = getattr(fun, "__wrapped__", fun)  # of transformed functions, the user's
    return call


_BOUNDARY = boundary(boundary).__code__
pass_over(_BOUNDARY)


def bounded(value: Any) -> Any:
    """A public name's value; functions of this package as ``boundary`` makes them, each once."""
    if type(value) is not FunctionType or not is_internal(value.__code__.co_filename) or value.__code__ is _BOUNDARY:
        return value
    found = _bounded.get(value)
    if found is None:
        found = _bounded[value] = boundary(value)
    return found


def published(value: Any, module: str, name: str) -> Any:
    """The value of a name of a public module: bounded, and at home in the first one that has it by its own name.

    Pickles look for functions where these say that they are. Of a class, the methods are bounded; but those of ``core``, which the
    package itself calls at each operation, say so themselves.
    """
    if isinstance(value, type):
        ours = value.__module__.startswith(MODULES) and not value.__module__.startswith(__package__)
        return bound_methods(value) if ours and not issubclass(value, BaseException) else value
    found = bounded(value)
    if found is not value and found.__module__ == value.__module__ and found.__qualname__.removesuffix("_") == name:
        found.__module__, found.__name__, found.__qualname__ = module, name, name  # slice_ is slice to users
    return found


# Methods that Python calls, often and with nothing that could be wrong, or that a transformation calls.
_UNBOUNDED = frozenset(
    "__repr__ __str__ __bool__ __hash__ __eq__ __ne__ __len__ __reduce__ __deepcopy__ __get__ __setattr__ __enter__ __exit__ "
    "tree_flatten tree_unflatten".split()
)


def bound_methods(cls: Class) -> Class:
    """Class decorator: let what users call of a public class be boundaries, as ``bound_names`` does for functions."""
    for name, value in list(vars(cls).items()):
        if name in _UNBOUNDED or (name.startswith("_") and not name.endswith("__")):
            continue
        function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        found = bounded(function)
        if found is not function:
            # A function that was defined in a module belongs to the class that holds it.
            if isinstance(value, staticmethod) and "." not in found.__qualname__:
                found.__module__, found.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
            setattr(cls, name, found if function is value else type(value)(found))
    return cls


def bound_names(module: str) -> None:
    """Let all public functions of a public module be boundaries, and the package whole; it calls this after its imports."""
    publish_names(module)
    complete_package()


def publish_names(module: str) -> None:
    """Let all public functions of a module be boundaries."""
    names = sys.modules[module].__dict__
    for name, value in names.items():
        if not name.startswith("_"):
            names[name] = published(value, module, name)  # replaces a value only: the loop allows no new name


# The settings and the dtypes stand below this file.
dtypes.kinds.slots.leave = hide_internal_frames
for _name in ("finfo", "iinfo", "issubdtype", "result_type", "scalar_type_of"):
    setattr(dtypes, _name, published(getattr(dtypes, _name), dtypes.__name__, _name))
for _name in ("update", "read", "__getattr__", "__setattr__"):
    setattr(config.Configuration, _name, boundary(getattr(config.Configuration, _name)))
bound_methods(Option)
for _kind in Option.__subclasses__():
    bound_methods(_kind)
