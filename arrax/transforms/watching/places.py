"""Which values of a program are watched: names of places, and patterns that match them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from arrax import dtypes
from arrax.core.errors import frame_text, user_frames
from arrax.core.name_stacks import stack_text
from arrax.core.program import JaxprEqn
from arrax.core.types import ShapedArray
from arrax.lax.calls import jit_p

Pattern = str | Callable[[JaxprEqn], bool]


@dataclass(frozen=True)
class Place:
    """A value of a program.

    Attributes:
      number: its position among the watched values, in the order of the program.
      name: what is around the operation that makes it, and the operation: ``jit(f)/encoder/scan/dot_general``.
      output: which of the operation's results it is.
      line: the user's, as ``file.py:3 (function)``; empty where it is not known.
      type: dtype and shape, as ``f32[3,4]``.
    """

    number: int
    name: str
    output: int
    line: str
    type: str

    def __str__(self) -> str:
        return self.name if not self.output else f"{self.name}[{self.output}]"


class Around:
    """What is around the equations of a program: as text, and without the names of transformations."""

    def __init__(self, text: str = "", plain: tuple[str, ...] = ()) -> None:
        self.text, self.plain = text, plain

    def inside(self, eqn: JaxprEqn, branch: int | None = None) -> Around:
        """What is around the program among the parameters of an equation."""
        end = "" if branch is None else f"_{branch}"
        plain = eqn.params["name"] if eqn.primitive is jit_p else eqn.primitive.name + end
        return Around(self.text_of(eqn) + end, (*self.plain, *plain_names(eqn), plain))

    def text_of(self, eqn: JaxprEqn) -> str:
        """The name of an equation with all that is around it."""
        own = f"jit({eqn.params['name']})" if eqn.primitive is jit_p else eqn.primitive.name
        return "/".join(filter(None, (self.text, stack_text(eqn.source_info.names), own)))


def plain_names(eqn: JaxprEqn) -> list[str]:
    """The named scopes of an equation in its program."""
    return [part for name in eqn.source_info.names if isinstance(name, str) for part in name.split("/")]


def place_of(eqn: JaxprEqn, output: int, around: Around, number: int) -> Place:
    """The place of a result of an equation."""
    frames = user_frames(eqn.source_info.traceback, 1)
    line = frame_text(frames[0]) if frames else ""
    kind = eqn.outvars[output].aval.str_short(True)
    return Place(number, around.text_of(eqn), output, line, kind)


def matches(eqn: JaxprEqn, around: Around, patterns: Sequence[Pattern]) -> bool:
    """Whether one of some patterns is that of an equation; without patterns all are that give floating-point numbers."""
    if not patterns:
        return any(_is_array(var.aval) and dtypes.is_inexact(var.aval.dtype) for var in eqn.outvars)
    if not any(_is_array(var.aval) for var in eqn.outvars):
        return False
    names = [*around.plain, *plain_names(eqn), eqn.primitive.name]
    whole = around.text_of(eqn)
    return any(
        pattern(eqn) if callable(pattern) else _names_match(pattern, names, whole) or _line_matches(pattern, eqn)
        for pattern in patterns
    )


def _names_match(pattern: str, names: Sequence[str], whole: str) -> bool:
    """Whether a pattern matches a name, or some that follow each other."""
    runs = ("/".join(names[i:j]) for i in range(len(names)) for j in range(i + 1, len(names) + 1))
    return fnmatchcase(whole, pattern) or any(fnmatchcase(run, pattern) for run in runs)


def _line_matches(pattern: str, eqn: JaxprEqn) -> bool:
    """``model.py:12``, or with the folders in front."""
    path, colon, line = pattern.rpartition(":")
    if not colon or not line.isdigit():
        return False
    for frame in user_frames(eqn.source_info.traceback, 1):
        parts = PurePath(path).parts
        return frame.line_num == int(line) and PurePath(frame.file_name).parts[-len(parts) :] == parts
    return False


def _is_array(aval: ShapedArray) -> bool:
    return (
        isinstance(aval, ShapedArray)
        and not isinstance(aval.dtype, dtypes.ExtendedDType)
        and aval.dtype != dtypes.float0
    )


def is_recorded(aval: ShapedArray, patterns: Sequence[Pattern]) -> bool:
    """Whether a result of a matching equation is recorded: arrays, without patterns those of floating-point numbers."""
    return _is_array(aval) and (bool(patterns) or dtypes.is_inexact(aval.dtype))
