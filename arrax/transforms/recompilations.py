"""How often each function is traced and compiled, and a word where that goes on and on. Only first calls come here.

What a trace depends on may be large, and belongs to the function: of traces that are gone outlines remain.
"""

from __future__ import annotations

import functools
import threading
import warnings
import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core import config
from arrax.core.calls import is_internal
from arrax.core.errors import user_frames
from arrax.core.functions import function_name, function_place, signature_of
from arrax.core.interpreter import context
from arrax.native import runtime
from arrax.transforms.cache_misses import Difference, nearest_differences, outline_of
from arrax.xla import compilation

if TYPE_CHECKING:
    from arrax.transforms.tracing import Traced


_FUNCTIONS, _EVENTS = 4096, 64


class RecompilationWarning(UserWarning):
    """A function is compiled again and again.

    Example: ``import warnings; warnings.simplefilter('ignore', arrax.debug.RecompilationWarning)`` silences it; the
    option ``recompilation_warnings`` says what happens.
    """


class RecompilationError(RuntimeError):
    """A function is compiled again and again, and the option ``recompilation_warnings`` is "error".

    Fix: what the message says has changed from call to call: keep shapes and dtypes, and static arguments few.
    Example: ``arrax.config.update('recompilation_warnings', 'error'); arrax.config.update('recompilation_seconds', 0.0);
    f = jit(lambda v: v + 1); [f(jnp.ones(n)) for n in range(1, 30)]`` raises it.
    """


class Event:
    """A function was traced or compiled.

    Attributes:
      seconds: what that took. source: for a compilation, "compiler", "disk" or "memory"; for a trace None.
      traced, function: weak references to the trace and the function object: one object for each, also when these are gone.
      key: for a compilation, what else it depends on. outline: of the trace's key. names: of its flat arguments.
    """

    __slots__ = ("seconds", "source", "traced", "key", "function", "outline", "names")

    def __init__(self, seconds: float, source: str | None, traced: Any, key: Any, function: Any) -> None:
        self.seconds, self.source, self.traced, self.key = seconds, source, weakref.ref(traced), key
        self.outline, self.names = outline_of(traced.key), traced.info.argument_names or ()
        try:
            self.function = weakref.ref(function)
        except TypeError:
            self.function = weakref.ref(traced)  # two of which are never the same


class History:
    """What was done for the functions of one definition.

    Attributes:
      name, place: of the definition. traces, compilations: how many. trace_seconds, compile_seconds: what they took.
      sources: how many compilations were done by the compiler, or found on disk or in memory.
      events: the latest, oldest first.
    """

    __slots__ = (
        "name", "place", "traces", "compilations", "trace_seconds", "compile_seconds", "sources", "events", "warned",
    )  # fmt: skip

    def __init__(self, name: str, place: str) -> None:
        self.name, self.place = name, place
        self.traces = self.compilations = 0
        self.trace_seconds = self.compile_seconds = 0.0
        self.sources: Counter[str] = Counter()
        self.events: deque[Event] = deque(maxlen=_EVENTS)
        self.warned = False

    @property
    def seconds(self) -> float:
        """What all of it took."""
        return self.trace_seconds + self.compile_seconds

    def describe(self) -> str:
        """``f at file.py:3``."""
        return f"{self.name} at {self.place}" if self.place else self.name

    def changes(self) -> list[tuple[Event, list[Difference]]]:
        """For each of the latest events what was new about it, nothing for the first of all."""
        all_kept = self.traces + self.compilations == len(self.events)
        found: list[tuple[Event, list[Difference]]] = []
        earlier: list[Event] = []
        for event in list(self.events):
            differences = _change(event, earlier)
            earlier.append(event)
            if differences or all_kept:
                found.append((event, differences))
        return found


class _Histories:
    """Histories by definition: the code of a function and of what it wraps."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.by_definition: dict[Any, History] = {}

    def of(self, fun: Callable[..., Any]) -> History | None:
        """The history of a function's definition; None for functions of this package inside of a traced one."""
        definition, place = _definition(fun)
        if definition is None:
            return None
        internal = is_internal(place)
        if internal and not context.interpreter.is_evaluation:
            return None
        found = self.by_definition.get(definition)
        if found is None:
            with self.lock:
                if len(self.by_definition) >= _FUNCTIONS:
                    self.by_definition.pop(next(iter(self.by_definition)))
                name = f"{getattr(fun, '__module__', '')}.{function_name(fun)}" if internal else function_name(fun)
                history = History(name, "" if internal else place)
                found = self.by_definition.setdefault(definition, history)
        return found

    def clear(self) -> None:
        """Forget all."""
        with self.lock:
            self.by_definition.clear()


histories = _Histories()


def _definition(fun: Any) -> tuple[Any, str]:
    """What functions of one definition have in common, and where it stands."""
    codes = []
    while True:
        while isinstance(fun, functools.partial):
            fun = fun.func
        code = getattr(fun, "__code__", None) or getattr(type(fun).__call__, "__code__", None)
        if code is not None:
            codes.append(code)
        inner = getattr(fun, "__wrapped__", None)
        if inner is None:
            return (tuple(codes) if codes else None), function_place(fun)
        fun = inner


def note_trace(fun: Callable[..., Any], traced: Traced, seconds: float) -> None:
    """A function was traced for a call."""
    history = histories.of(fun)
    if history is not None:
        history.traces += 1
        history.trace_seconds += seconds
        history.events.append(Event(seconds, None, traced, None, fun))


def note_compilation(fun: Callable[..., Any], traced: Traced, key: tuple[Any, ...], seconds: float) -> None:
    """A traced function was compiled, or its program found.

    Args:
      key: what the compilation depends on besides the trace.
    Raises:
      RecompilationError: that happens too often, where the option ``recompilation_warnings`` is "error".
    """
    history = histories.of(fun)
    if history is None:
        return
    source = compilation.latest.source
    history.compilations += 1
    history.compile_seconds += seconds
    history.sources[source] += 1
    history.events.append(Event(seconds, source, traced, key, fun))
    if history.compilations > config.recompilation_count.value + 1:
        _complain(history)


def _complain(history: History) -> None:
    mode = config.recompilation_warnings.value
    if mode == "off" or history.seconds <= config.recompilation_seconds.value or (history.warned and mode == "warn"):
        return
    history.warned = True
    message = (
        f"{history.describe()} was compiled {history.compilations} times, which took {history.seconds:.1f} s in all. "
        f"{advice(history)}\narrax.debug.recompiles() lists what changed; the option recompilation_warnings turns this off."
    )
    if mode == "error":
        raise RecompilationError(message)
    frames = user_frames(runtime.Traceback.get_traceback(), 1)
    file, line = (frames[0].file_name, frames[0].line_num) if frames else ("<unknown>", 0)
    warnings.warn_explicit(message, RecompilationWarning, file, line)


# ---- what changed ----------------------------------------------------------------------------------------------------


def _change(event: Event, earlier: list[Event]) -> list[Difference]:
    """What was new about an event against earlier ones of its kind."""
    others = [other for other in earlier if (other.source is None) is (event.source is None)]
    if not others:
        return []
    if event.source is not None:  # of one trace, only the place or the settings of a call can be new
        same = [other for other in others if other.traced is event.traced]
        if same:
            return [_placement_change(event.key, same[-1].key, event.names)]
    known = [other for other in others if other.function is event.function]
    if not known:
        return [Difference("function", "", "another function object of this definition")]
    traced, function = event.traced(), event.function()
    alive = [one.key for one in (other.traced() for other in known) if one is not None]
    if traced is not None and alive:
        differences = nearest_differences(traced.key, alive, event.names)
    else:
        differences = nearest_differences(event.outline, [other.outline for other in known], event.names)
    return [_with_name(one, function) for one in differences] or [
        Difference("forgotten", "", "the same call: caches were cleared, or it was one of too many")
    ]


def _with_name(difference: Difference, function: Any) -> Difference:
    """A difference in a static argument by position, with the argument's name."""
    by_position = function is not None and difference.kind == "static" and difference.what.isdigit()
    signature = signature_of(function) if by_position else None
    position = int(difference.what) if signature is not None else 0
    if signature is None or position >= len(signature.parameters):
        return difference
    name = list(signature.parameters)[position]
    return Difference("static", name, difference.text.replace(f"argument {position}:", f"argument {name}:", 1))


_PARTS = ("donated arguments", "keep_unused", "compiler_options", "eager")


def _placement_change(now: tuple[Any, ...], before: tuple[Any, ...], names: Sequence[str]) -> Difference:
    """What is new about a compilation of a trace that was compiled before: where values lie, or an option."""
    (place, *options), (earlier, *others) = now, before
    for number, (new, old) in enumerate(zip(place.in_shardings, earlier.in_shardings, strict=False)):
        if new != old:
            name = names[number] if number < len(names) else f"argument {number}"
            return Difference("placement", name, f"sharding of {name}: now {new}, before {old}")
    if place.device != earlier.device:
        return Difference("placement", "the arguments", f"device: now {place.device}, before {earlier.device}")
    if place != earlier:
        return Difference(
            "placement", "the arguments", "whether arguments are committed to devices, or how results lie"
        )
    for part, new, old in zip(_PARTS, options, others, strict=True):
        if new != old:
            return Difference("option", part, f"{part}: now {new!r}, before {old!r}")
    return Difference("forgotten", "", "the same call: caches were cleared")


_REMEDIES = {
    "shape": "The shape of {what} keeps changing: pad it to a few sizes, so that shapes come again",
    "dtype": "The dtype of {what} keeps changing: convert it to one",
    "weak type": "{what} is a Python number at times: pass an array of one dtype instead, such as jnp.float32(x)",
    "type": "The type of {what} keeps changing: pass arrays of one type",
    "static": (
        "The static argument {what} keeps changing: pass it as an array instead of a static value; or, if its values are "
        "equal, give its class __eq__ and __hash__"
    ),
    "tree": "The structure of (args, kwargs){what} keeps changing: pass containers of one structure",
    "keywords": "The keyword arguments keep changing: pass the same ones always",
    "positional": "The number of positional arguments keeps changing: pass one array instead",
    "setting": "The setting {what} keeps changing: choose one value of it",
    "axes": "The named axes around the calls keep changing: map with the same axes always",
    "placement": "Where {what} lies keeps changing: use one sharding for all calls (device_put, in_shardings)",
    "option": "{what} keeps changing: choose one value of it",
    "function": "A new function is defined for each call: define it once, outside of the loop, and jit that",
    "forgotten": "Its caches are cleared again and again: call clear_caches less often",
}


def advice(history: History) -> str:
    """What keeps changing, and what can be done about it."""
    counted: Counter[tuple[str, str]] = Counter()
    for event, differences in history.changes():
        if event.source is not None:
            counted.update({(one.kind, one.what) for one in differences})
    if not counted:
        return "What changed is not known any more."
    (kind, what), _ = counted.most_common(1)[0]
    if kind == "function" and not history.place:
        return "It is a function of the library, whose variants are programs of their own."
    if kind == "static" and not history.place:
        return f"The argument {what} of a function of the library keeps changing: each value of it is another program."
    return _REMEDIES[kind].format(what=what or "an argument") + "."
