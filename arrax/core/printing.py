"""How programs print: ``{ lambda ; a:f32[8]. let b:f32[8] = sin a in (b,) }``."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.errors import frame_text, user_frames
from arrax.core.name_stacks import stack_text
from arrax.core.program import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    SpareVar,
    Var,
    open_jaxpr,
    printers,
    subprograms,
)
from arrax.core.text_styles import Paint, html_block, html_markup, paint_for, rich_markup, terminal
from arrax.core.types import AbstractValue

if TYPE_CHECKING:
    from arrax.core.program import Atom
    from arrax.core.types import ShapedArray


_WIDTH = 80
_INDENT = "    "
_COMMENT = "\0"  # what stands between a line and its comment, before these are aligned
_COMMENT_COLUMN = 60
_TOKENS = (
    r"(?P<comment>  # .*$)"
    r"|(?P<keyword>\blambda\b(?= )|\blet\b(?=\s|$)|(?:^|(?<= ))in(?= \())"
    r"|(?P<type>(?<=\w):[\w<>]+\[[^\]]*\](?:\{[^}]*\})?)"
    r"|(?P<primitive>(?<== )[A-Za-z_][\w.]*(?=[\[ ]|$)(?! *=))"
)
_STYLES = {"comment": "dim", "keyword": "bold", "type": "magenta", "primitive": "blue"}


def variable_names() -> Iterator[str]:
    """a, b, …, z, ba, bb, …: numbers in base 26 with letters for digits."""
    number = 0
    while True:
        digits, rest = "", number
        while True:
            rest, digit = divmod(rest, 26)
            digits = chr(ord("a") + digit) + digits
            if rest == 0:
                break
        yield digits
        number += 1


class Names:
    """The names of variables in one text, given in the order of appearance, and what the text shows.

    Spare inputs get an underscore.
    """

    __slots__ = ("_fresh", "_names", "_uses", "shapes", "effects", "comment")

    def __init__(
        self, jaxpr: Jaxpr, shapes: bool = True, effects: bool = False,
        comment: Callable[[JaxprEqn], str] | None = None,
    ) -> None:  # fmt: skip
        self.shapes, self.effects, self.comment = shapes, effects, comment
        self._fresh = variable_names()
        self._names: dict[Var, str] = {}
        self._uses: Counter[Var] = Counter()
        self._count(jaxpr)

    def _count(self, jaxpr: Jaxpr) -> None:
        for eqn in jaxpr.eqns:
            self._uses.update(atom for atom in eqn.invars if isinstance(atom, Var))
            for program in subprograms(eqn.params):
                self._count(open_jaxpr(program))
        self._uses.update(atom for atom in jaxpr.outvars if isinstance(atom, Var))

    def used(self, var: Var) -> bool:
        return self._uses[var] > 0

    def of(self, var: Var) -> str:
        if isinstance(var, DropVar):
            return "_"
        name = self._names.get(var)
        if name is None:
            name = next(self._fresh)
            self._names[var] = name + "_" if isinstance(var, SpareVar) else name
        return self._names[var]


def literal_text(value: Any, aval: ShapedArray) -> str:
    """A literal, as a Python number of the rounded value."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    item = np.asarray(value)
    dtype = getattr(aval, "dtype", item.dtype)
    if isinstance(dtype, np.dtype) and item.dtype != dtype:
        with np.errstate(all="ignore"):
            item = item.astype(dtype)
    try:
        return str(item.item())
    except (TypeError, ValueError):
        return str(value)


def atom_text(atom: Atom, names: Names) -> str:
    """A variable's name or a literal's value."""
    return literal_text(atom.val, atom.aval) if isinstance(atom, Literal) else names.of(atom)


def _typed(var: Var, names: Names) -> str:
    return f"{names.of(var)}{_type_of(var, names)}"


def _type_of(var: Var, names: Names) -> str:
    return f":{var.aval.str_short(True)}" if names.shapes else ""


def _result(var: Var, names: Names) -> str:
    return f"_{_type_of(var, names)}" if isinstance(var, DropVar) or not names.used(var) else _typed(var, names)


def _value_text(value: Any, names: Names, column: int, key: str = "") -> str:
    """The text of a parameter that stands in a column, after ``key=``."""
    if isinstance(value, Jaxpr | ClosedJaxpr):
        return "\n".join(_jaxpr_lines(open_jaxpr(value), names, column, len(key) + 1 if key else 0))
    if isinstance(value, tuple | list) and value and all(isinstance(item, Jaxpr | ClosedJaxpr) for item in value):
        inner = "\n".join(_value_text(item, names, column + 2) for item in value)
        return "(\n" + _indented(inner, "  ") + "\n)"
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, AbstractValue):
        return value.str_short(True)
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return str(value)


def _indented(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.split("\n"))


_SHOWN_IF_NONE = frozenset({"axis_index_groups", "fill_value", "policy", "strides"})  # as the documented programs do


def _parameters(eqn: JaxprEqn, names: Names, column: int, before: int) -> str:
    """The parameters in brackets, which stand after ``before`` characters: on one line where that has room."""
    hidden, shows_none = eqn.primitive.hidden_params, eqn.primitive.shows_none
    shown = [
        (key, value) for key, value in eqn.params.items()
        if (value is not None or shows_none or key in _SHOWN_IF_NONE) and key not in hidden and not key.startswith("__")
    ]  # fmt: skip
    shown.sort(key=lambda item: (item[0] != "name", item[0]))
    if not shown:
        return ""
    own = eqn.primitive.param_texts
    texts = [
        (key, f"{key}={own[key](value) if key in own else _value_text(value, names, column + 2, key)}")
        for key, value in shown
    ]
    one_line = " ".join(text for _, text in texts)
    has_program = any(_holds_program(value) for _, value in shown)
    if not has_program and "\n" not in one_line and before + len(one_line) + 2 <= _WIDTH:
        return f"[{one_line}]"
    return "[\n" + _indented("\n".join(text for _, text in texts), "  ") + "\n]"


def _holds_program(value: Any) -> bool:
    items = value if isinstance(value, tuple | list) else (value,)
    return any(isinstance(item, Jaxpr | ClosedJaxpr) for item in items)


def _filled(items: list[str], column: int, before: int = 0, indent: str = "  ") -> str:
    """The items side by side in a column, after ``before`` characters; indented lines where they have no room."""
    lines, end = [items[0]], column + before + _last_length(items[0])
    for item in items[1:]:
        if end < _WIDTH:
            lines[-1] += " " + item
            end += 1 + len(item)
        else:
            lines.append(indent + item)
            end = column + len(lines[-1])
    return "\n".join(lines)


def _last_length(text: str) -> int:
    return len(text) - text.rfind("\n") - 1


def _eqn_text(eqn: JaxprEqn, names: Names, column: int = 0) -> str:
    results = [_result(var, names) for var in eqn.outvars]  # named first, as they stand first
    start = f"{_filled(results, column)} = {eqn.primitive.name}" if results else eqn.primitive.name
    params = _parameters(eqn, names, column, column + _last_length(start))
    arguments = [atom_text(atom, names) for atom in eqn.invars]
    text = _filled([start + params, *arguments], column)
    if eqn.primitive.text is not None:
        used = any(names.used(var) for var in eqn.outvars)
        text = eqn.primitive.text(eqn, " ".join(results), used, arguments)
    if names.comment is None:
        return text
    first, line, rest = text.partition("\n")
    return f"{first}{_COMMENT}{names.comment(eqn)}{line}{rest}"


def _jaxpr_lines(jaxpr: Jaxpr, names: Names, column: int = 0, before: int = 0) -> list[str]:
    """The lines of a program that stands in a column, after ``before`` characters."""
    constants = [_typed(var, names) for var in jaxpr.constvars] or [""]
    binders = [_typed(var, names) for var in jaxpr.invars] or [""]
    head = ["{ lambda", *constants[:-1], f"{constants[-1]};", *binders[:-1], f"{binders[-1]}. let"]
    eqns = [_eqn_text(eqn, names, column + len(_INDENT)) for eqn in jaxpr.eqns]
    outs = [atom_text(atom, names) for atom in jaxpr.outvars] or [""]
    effects = f" : {{ {', '.join(sorted(map(str, jaxpr.effects)))} }}" if names.effects else ""
    end = f"{',' if len(jaxpr.outvars) == 1 else ''}){effects} }}"
    tail = [*(f"{out}," for out in outs[:-1]), outs[-1] + end]
    tail[0] = f"in ({tail[0]}"
    if len(eqns) < _WIDTH and names.comment is None and "\n" not in "".join(eqns):
        one_line = " ".join([*head, "; ".join(eqns), *tail])
        if column + before + len(one_line) <= _WIDTH:
            return [one_line]
    return [
        *_filled(head, column, before, _INDENT).split("\n"),
        *_indented("\n".join(eqns), _INDENT).split("\n"),
        *_indented(_filled(tail, column + 2), "  ").split("\n"),
    ]


def jaxpr_text(
    jaxpr: Jaxpr | ClosedJaxpr, *, source_info: bool = False, print_shapes: bool = True, name_stack: bool = False,
    print_effects: bool = False, use_color: bool = False,
) -> str:  # fmt: skip
    """The text of a program; for the options see ``Jaxpr.pretty_print``.

    The sine of a number prints as ``{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }``.
    """
    jaxpr = open_jaxpr(jaxpr)
    comments = [index for index, wanted in ((_source, source_info), (_stack, name_stack)) if wanted]
    comment = (lambda eqn: " ".join(one(eqn) for one in comments)) if comments else None
    text = "\n".join(_jaxpr_lines(jaxpr, Names(jaxpr, print_shapes, print_effects, comment)))
    text = _aligned(text) if comments else text
    return painted(text, terminal) if use_color else text


def _source(eqn: JaxprEqn) -> str:
    frames = user_frames(eqn.source_info.traceback, 1)
    return frame_text(frames[0]) if frames else ""


def _stack(eqn: JaxprEqn) -> str:
    return f"[{stack_text(eqn.source_info.names)}]"


def _aligned(text: str) -> str:
    """The text with its comments in one column, as far as lines are short."""
    lines = [line.partition(_COMMENT) for line in text.split("\n")]
    column = max((len(code) for code, mark, _ in lines if mark and len(code) <= _COMMENT_COLUMN), default=0)
    return "\n".join(f"{code:<{column}}  # {comment}".rstrip(" #") if mark else code for code, mark, comment in lines)


def eqn_text(eqn: JaxprEqn) -> str:
    """The text of one equation, its variables named from ``a`` on."""
    used = [atom for atom in eqn.invars if isinstance(atom, Var)]
    return _eqn_text(eqn, Names(Jaxpr((), used, eqn.outvars, [eqn])))


def painted(text: str, paint: Paint) -> str:
    """The text of a program, each part in its style."""
    parts, end = [], 0
    for found in re.finditer(_TOKENS, text, re.MULTILINE):
        parts.append(paint(text[end : found.start()], ""))
        parts.append(paint(found[0], _STYLES[found.lastgroup or "comment"]))
        end = found.end()
    parts.append(paint(text[end:], ""))
    return "".join(parts)


def _shown(jaxpr: Jaxpr | ClosedJaxpr) -> str:
    return painted(jaxpr_text(jaxpr), paint_for(sys.stdout))


printers.jaxpr = jaxpr_text
printers.shown = _shown
printers.html = lambda jaxpr: html_block(painted(jaxpr_text(jaxpr), html_markup))
printers.rich = lambda jaxpr: painted(jaxpr_text(jaxpr), rich_markup)
printers.eqn = eqn_text
