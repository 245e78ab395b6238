"""Values of any kind with the traced values in them taken out, to be put back when the program knows them.

A breakpoint keeps what the variables hold until its program runs. Tracers must not be kept, and they mean nothing by then: in
copies of the containers, functions and objects that hold them, places stand for them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from arrax.core.interpreter import Context, Tracer, current, current_interpreters
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import typeof
from arrax.interpreters.batching import BatchTracer, move_batch_axis
from arrax.native import runtime

_MAX_VISITS = 20_000  # per snapshot: what hangs together with more values than that is kept as it is
_VALUES: Any = type({}.values())
_ITEMS: Any = type({}.items())
_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, type, types.ModuleType, types.BuiltinFunctionType, np.ndarray,
    runtime.ArrayImpl, Iterator,
)  # fmt: skip


class _Unreadable(Exception):
    """A value that cannot be copied piece by piece."""


class Place:
    """Stands for the value of a tracer: its number among the operands."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Snapshot:
    """Collects values. ``tracers`` are the traced ones among them, which become operands of the program.

    Args:
      known_only: nothing becomes an operand: what is known of a tracer stands for it.
    """

    def __init__(self, known_only: bool = False) -> None:
        self.tracers: list[Tracer] = []
        self._places: dict[int, Place] = {}
        self._found: dict[int, Callable[[Sequence[Any]], Any] | None] = {}
        self._kept: list[Any] = []  # ids are names only while their objects live
        self._interpreters = [] if known_only else current_interpreters()
        self._nothing_traced = len(self._interpreters) == 1  # plain evaluation has no tracers
        self._visits = 0

    def take(self, value: Any) -> Callable[[Sequence[Any]], Any]:
        """A function that gives the value again, from the values of the tracers."""
        make = self._maker(value)
        return make if make is not None else lambda values: value

    def _maker(self, value: Any) -> Callable[[Sequence[Any]], Any] | None:
        """How to make the value again; None where there is no tracer in it."""
        if self._nothing_traced or isinstance(value, _PLAIN):
            return None
        if isinstance(value, Tracer):
            return self._maker_of_tracer(value)
        key = id(value)
        if key in self._found:
            return self._found[key]
        self._visits += 1
        if self._visits > _MAX_VISITS:
            return None
        self._found[key] = None  # what refers to itself ends here
        self._kept.append(value)
        try:
            self._found[key] = self._maker_of_parts(value)
        except (_Unreadable, RecursionError):
            pass
        return self._found[key]

    def _maker_of_tracer(self, tracer: Tracer) -> Callable[[Sequence[Any]], Any] | None:
        if not tracer.interpreter.alive or not tracer._is_traced_array():
            return None
        if tracer.interpreter not in self._interpreters:  # a rule runs below it, where it means nothing
            known = _known_value(tracer)
            return None if known is None else lambda values: known
        place = self._places.get(id(tracer))
        if place is None:
            place = self._places[id(tracer)] = Place(len(self.tracers))
            self.tracers.append(tracer)
        number = place.number
        return lambda values: values[number]

    def _maker_of_parts(self, value: Any) -> Callable[[Sequence[Any]], Any] | None:
        if isinstance(value, types.FunctionType):
            return self._maker_of_function(value)
        if isinstance(value, types.MethodType):
            function = value.__func__
            return self._joined([value.__self__], lambda parts: types.MethodType(function, parts[0]))
        if type(value) is dict:  # keys of any kind, in their order
            keys = list(value)
            return self._joined(list(value.values()), lambda parts: dict(zip(keys, parts, strict=True)))
        if isinstance(value, _VALUES | _ITEMS):  # views of a dict
            view = dict.values if isinstance(value, _VALUES) else dict.items
            return self._joined([dict(value.mapping)], lambda parts: view(parts[0]))
        parts, structure = _one_level(value)
        if structure is not None:
            return self._joined(parts, lambda made: tree_unflatten(structure, made))
        return self._maker_of_object(value)

    def _joined(self, parts: Sequence[Any], join: Callable[[list[Any]], Any]) -> Callable[[Sequence[Any]], Any] | None:
        makers = [self._maker(part) for part in parts]
        if not any(makers):
            return None
        kept = [part if make is None else None for part, make in zip(parts, makers, strict=True)]
        return lambda values: join(
            [part if make is None else make(values) for part, make in zip(kept, makers, strict=True)]
        )

    def _maker_of_function(self, function: types.FunctionType) -> Callable[[Sequence[Any]], Any] | None:
        cells = function.__closure__ or ()
        contents = [cell.cell_contents for cell in cells if _is_filled(cell)]
        if len(contents) < len(cells):
            return None
        code, names, own_name = function.__code__, function.__globals__, function.__name__
        defaults, keyword_defaults = function.__defaults__, function.__kwdefaults__

        def join(parts: list[Any]) -> types.FunctionType:
            made = types.FunctionType(code, names, own_name, defaults, tuple(map(types.CellType, parts)))
            made.__kwdefaults__ = keyword_defaults
            return made

        return self._joined(contents, join)

    def _maker_of_object(self, value: Any) -> Callable[[Sequence[Any]], Any] | None:
        kind, attributes = type(value), getattr(value, "__dict__", None)
        if type(attributes) is not dict or not attributes:
            return None

        def join(parts: list[Any]) -> Any:
            made = object.__new__(kind)
            made.__dict__.update(zip(names, parts, strict=True))
            return made

        makes: Any = kind.__new__
        if makes is not object.__new__ or hasattr(kind, "__del__"):  # it may not bear being copied
            return None
        names = list(attributes)
        return self._joined(list(attributes.values()), join)


def _known_value(value: Any) -> Any:
    """The value under a tracer; of a mapped one those of all examples, along the leading axis. None where it is not known."""
    while isinstance(value, Tracer):
        if isinstance(value, BatchTracer):
            whole = _known_value(value.value)
            with current(Context.interpreter):
                return None if whole is None else move_batch_axis(whole, value.dim, typeof(whole).shape[value.dim], 0)
        value = value.concrete()
    return value


def _one_level(value: Any) -> tuple[list[Any], Any]:
    """The children of a container and its structure; the structure of anything else is None."""
    parts: list[Any] = []

    def is_part(one: Any) -> bool:
        parts.append(one)
        return len(parts) > 1  # the first is the value itself, and perhaps a later one, too

    try:
        children, structure = tree_flatten(value, is_leaf=is_part)
    except Exception:  # classes of users flatten as they like
        raise _Unreadable from None
    whole = len(children) == 1 and children[0] is value
    return (children, None) if whole else (children, structure)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
