"""Operations on values of high types, and the states of those that change, where programs are recorded.

A value that changes is an object. One that a recorded function makes, or takes as an argument, changes there like any other
object. One from outside is closed over: its arrays move into references, which the program reads and writes.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from arrax.core.interpreter import Context, Interpreter, Primitive, context, current
from arrax.core.references import is_ref
from arrax.core.types import high_classes, type_of_any
from arrax.interpreters.high_types import is_high
from arrax.interpreters.lowering.module import lower_fun
from arrax.interpreters.staging import Staging

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


class _Thread(threading.local):
    """Whether operations see the state of a value as it is: references where there are some."""

    plain = False


_thread = _Thread()
# By recording interpreter, and id, the values that change and were made in the function that it records.
_own: WeakKeyDictionary[Interpreter, dict[int, Any]] = WeakKeyDictionary()


class _Captured:
    """Whether a value was ever closed over: until then none has references, and nothing is asked."""

    some = False
    new_ref: Callable[..., Any]  # filled by numpy_api.high_values


captured = _Captured()
_KIND = "state"  # of the references that are made here: others belong to the library


def _is_own(value: Any) -> bool:
    return is_ref(value) and value.aval.kind == _KIND


@contextmanager
def _plain() -> Iterator[None]:
    before, _thread.plain = _thread.plain, True
    try:
        yield
    finally:
        _thread.plain = before


def belongs_here(value: Any) -> None:
    """Say that a value that changes was made in the function that is being recorded, if one is."""
    if not context.interpreter.is_evaluation:
        _own.setdefault(_recorder(), {})[id(value)] = value


def made_here(value: Any) -> bool:
    """Whether a value that changes was made in the function that is being recorded."""
    return _home(value) is _recorder()


def _recorder() -> Interpreter:
    interpreter = context.interpreter
    while not (interpreter.is_evaluation or isinstance(interpreter, Staging)):
        interpreter = interpreter.parent
    return interpreter


def _home(value: Any) -> Interpreter:
    """Where a value was made: a recorded function, or outside of all."""
    interpreter = context.interpreter
    while not interpreter.is_evaluation:
        if id(value) in _own.get(interpreter, {}):
            return interpreter
        interpreter = interpreter.parent
    return Context.interpreter


def _state(value: Any) -> tuple[Any, Any, list[Any]]:
    """The type of a value that changes, what the type leaves open, and what it consists of."""
    with _plain():
        aval, state = type_of_any(value), value.cur_qdd()
        return aval, state, aval.read_loval(state, value)


def _put(value: Any, aval: Any, state: Any, contents: Sequence[Any]) -> None:
    with _plain():
        aval.update_from_loval(state, value, *contents)


def _changing(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if type(value) in high_classes and type_of_any(value).has_qdd]


def _close_over(value: Any) -> None:
    """Move the arrays of a value from outside of the recorded function into references."""
    if made_here(value):
        return
    home = _home(value)
    aval, state, contents = _state(value)
    if contents and not any(map(_is_own, contents)):
        captured.some = True
        with current(home):
            held = [each if is_ref(each) else captured.new_ref(each, kind=_KIND) for each in contents]
        _put(value, aval, state, held)


def state_of(value: Any) -> Any:
    """What the type of a value that changes leaves open now."""
    if _thread.plain or not captured.some:
        return value.cur_qdd()
    aval, state, contents = _state(value)
    if not any(map(_is_own, contents)):
        return state
    _put(value, aval, state, [each[...] if _is_own(each) else each for each in contents])
    try:
        return value.cur_qdd()
    finally:
        _put(value, aval, state, contents)


def _fits(contents: Sequence[Any], held: Sequence[Any]) -> bool:
    """Whether references can hold what a value is to consist of."""

    def fits(new: Any, old: Any) -> bool:
        if new is old or not _is_own(old):
            return new is old
        aval, own = type_of_any(new), old.aval.inner_aval
        return not is_ref(new) and (aval.shape, aval.dtype) == (own.shape, own.dtype)

    return len(contents) == len(held) and all(map(fits, contents, held))


class HiPrimitive(Primitive):
    """An operation whose rules are its methods: ``impl``, ``to_lojax``, ``abstract_eval``, ``jvp``, ``transpose``.

    ``to_lojax`` does the operation by others, on values of high types whose arrays may be traced; by default ``impl`` does.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, multiple_results=type(self).multiple_results)
        for slot in ("jvp", "transpose"):
            rule = getattr(type(self), slot, None)
            if rule is not None:
                setattr(self, slot, rule.__get__(self))
        methods = type(self).__dict__
        implementation, by_others = (
            methods.get(first) or methods.get(second) for first, second in (("impl", "to_lojax"), ("to_lojax", "impl"))
        )
        self.stage = self._stage
        self.own_impl = self.by_others = None
        if implementation is not None and by_others is not None:
            self.implementation, self.by_others = implementation.__get__(self), by_others.__get__(self)
            self.own_impl = self._evaluate
            self.lower[None] = lower_fun(self.by_others, self.multiple_results)

    def _evaluate(self, *args: Any, **params: Any) -> Any:
        return self._done(self.implementation, args, params) if captured.some else self.implementation(*args, **params)

    def _stage(self, interpreter: Staging, args: Sequence[Array], params: dict[str, Any]) -> Any:
        """Programs hold arrays: an operation on values of high types, or that makes one, is done while it is traced."""
        avals = [type_of_any(arg) for arg in args]
        if not any(map(is_high, avals)) and not self.is_high(*avals, **params):
            return interpreter.record(self, tuple(args), params)
        if self.by_others is None:
            raise NotImplementedError(
                f"{self.name}: an operation on values of types of its own, in a function that is traced for "
                f"{interpreter.describe()}, has no rule: its class needs the method to_lojax"
            )
        if not _thread.plain:
            for value in _changing(args):
                _close_over(value)
        out = self._done(self.by_others, args, params)
        for made in _changing(out if self.multiple_results else [out]):
            belongs_here(made)
        return out

    def _done(self, function: Callable[..., Any], args: Sequence[Any], params: dict[str, Any]) -> Any:
        """The result of an operation on values whose arrays may be in references: these are read and written."""
        if _thread.plain or not captured.some:
            return function(*args, **params)
        before = [(value, *_state(value)) for value in _changing(args)]
        before = [each for each in before if any(map(_is_own, each[-1]))]
        out = function(*args, **params)
        for value, aval, state, held in before:
            _, new_state, contents = _state(value)
            if any(new is not old for new, old in itertools.zip_longest(contents, held)) or new_state != state:
                fits = _fits(contents, held)
                _put(value, aval, new_state if fits else state, held)
                if not fits:
                    raise NotImplementedError(
                        f"{self.name}: a value that a traced function closes over must keep its structure, {state}, but was to "
                        f"become {new_state}; pass it as an argument instead"
                    )
                for new, old in zip(contents, held, strict=True):
                    if new is not old:
                        old[...] = new
        results = [each[...] if _is_own(each) else each for each in (out if self.multiple_results else [out])]
        return results if self.multiple_results else results[0]

    def is_high(self, *avals: Any, **params: Any) -> bool:
        """Whether operands or results have high types: a library's class may know; by default the results are asked."""
        out = self.infer(avals, params)
        return any(map(is_high, out if self.multiple_results else [out]))


def cur_qdd(x: Any) -> float:
    """The state that a value of a mutable type has now.

    Args:
      x: of a class with the method ``cur_qdd``.
    Raises:
      AttributeError: a value whose type has no state.
    """
    return state_of(x)
