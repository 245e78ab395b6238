"""The frames of the user's functions at a breakpoint: where they stand, and what their variables hold."""

from __future__ import annotations

import contextlib
import functools
import linecache
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from arrax.core.calls import is_internal
from arrax.interpreters import staging
from arrax.interpreters.trace_state import under_jit
from arrax.transforms.debugger.snapshots import Snapshot

_BETWEEN = (contextlib.__file__, functools.__file__)  # whose frames stand between those of this package
_STAGE: CodeType = staging.stage.__code__


class Frame(NamedTuple):
    """One frame, as the prompt shows it."""

    file: str
    line: int
    name: str
    variables: dict[str, Any]
    globals: dict[str, Any]

    def source(self, around: int) -> list[tuple[int, str]]:
        """Lines of code around the frame's own: (number, text)."""
        linecache.checkcache(self.file)
        lines = linecache.getlines(self.file, self.globals)
        first = max(1, self.line - around)
        return [(n, lines[n - 1].rstrip("\n")) for n in range(first, min(len(lines), self.line + around) + 1)]


class FrameRecord(NamedTuple):
    """A frame whose traced values are not known yet."""

    file: str
    line: int
    name: str
    variables: Callable[[Sequence[Any]], dict[str, Any]]
    globals: dict[str, Any]

    def with_values(self, values: Sequence[Any]) -> Frame:
        """The frame with the values of its program."""
        return Frame(self.file, self.line, self.name, self.variables(values), self.globals)


class Record(NamedTuple):
    """The frames at a breakpoint, innermost first.

    Args:
      inside: those of the functions that were being traced; all of them where operations run at once.
      outside: those that have called these, without their variables: the program may be called from elsewhere.
      staged: whether operations were being recorded, to run later and perhaps often.
    """

    inside: list[FrameRecord]
    outside: list[FrameRecord]
    staged: bool


def record_frames(filtered: bool, limit: int | None) -> tuple[Record, list[Any]]:
    """The frames from the user's call on, and the tracers in them.

    Args:
      filtered: whether frames of this package (and of libraries that want to be left out) are left out.
      limit: how many frames to take at most, or None.
    """
    snapshot = Snapshot()
    found = _shown(_first_of_user(sys._getframe(1)), filtered, limit)
    boundary = _outermost_trace()
    inside: list[FrameRecord] = []
    outside: list[FrameRecord] = []
    beyond = False
    for frame in found:
        if boundary is not None and not beyond:
            beyond = _is_above(frame, boundary)
        (outside if beyond else inside).append(_record(frame, None if beyond else snapshot))
    return Record(inside, outside, boundary is not None), snapshot.tracers


def calling_frames(filtered: bool, limit: int | None) -> list[Frame]:
    """The frames that have called the program which runs in this thread; none where nothing of the user has."""
    snapshot = Snapshot(known_only=True)
    found = []
    for each in _shown(_first_of_user(sys._getframe(1)), filtered, limit):
        local, code = each.f_locals, each.f_code
        variables = local if local is each.f_globals else snapshot.take(dict(local))([])
        found.append(Frame(code.co_filename, each.f_lineno, code.co_name, variables, each.f_globals))
    return found


def _first_of_user(frame: FrameType | None) -> FrameType | None:
    while frame is not None and (is_internal(frame.f_code.co_filename) or frame.f_code.co_filename in _BETWEEN):
        frame = frame.f_back
    return frame


def _shown(frame: FrameType | None, filtered: bool, limit: int | None) -> list[FrameType]:
    found: list[FrameType] = []
    inside = False
    while frame is not None and (limit is None or len(found) < limit):
        path = frame.f_code.co_filename
        inside = is_internal(path) or (inside and path in _BETWEEN)
        if not (filtered and inside):
            found.append(frame)
        if filtered and frame.f_code.co_name == "<module>":
            break  # what has started a program, or a cell of a notebook, is not of it
        frame = frame.f_back
    return found


def _outermost_trace() -> FrameType | None:
    """The frame that traces the outermost of the functions being traced now; None where operations run at once."""
    if not under_jit():
        return None
    frame: FrameType | None = sys._getframe(1)
    outermost = None
    while frame is not None:
        if frame.f_code is _STAGE:
            outermost = frame
        frame = frame.f_back
    return outermost


def _is_above(frame: FrameType, boundary: FrameType) -> bool:
    """Whether a frame has called, directly or not, what runs in another one."""
    above: FrameType | None = boundary.f_back
    while above is not None:
        if above is frame:
            return True
        above = above.f_back
    return False


def _record(frame: FrameType, snapshot: Snapshot | None) -> FrameRecord:
    code, local = frame.f_code, frame.f_locals
    variables: Callable[[Sequence[Any]], dict[str, Any]]
    if snapshot is None:  # what its variables hold now says nothing of when the program runs
        variables = lambda values: {}  # noqa: E731
    elif local is frame.f_globals:  # of a module, which is there anyway
        variables = lambda values: local  # noqa: E731
    else:
        variables = snapshot.take(dict(local))
    return FrameRecord(code.co_filename, frame.f_lineno, code.co_name, variables, frame.f_globals)
