"""``debug.recompiles``: what was traced and compiled how often, why, and what that took."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from arrax.core.text_styles import Paint, Report
from arrax.transforms.explanation import seconds_text
from arrax.transforms.recompilations import History, advice, histories

_SHOWN = 12


@dataclass(frozen=True)
class Change:
    """A call for which a function was traced or compiled.

    Attributes:
      trace_seconds, compile_seconds: what that took; 0 for what was not done.
      source: ``"compiler"``, or ``"disk"`` or ``"memory"`` where the program was found, or None where it was only traced.
      changed: what was new about the call, in words; nothing for the first.
    """

    trace_seconds: float
    compile_seconds: float
    source: str | None
    changed: tuple[str, ...]


@dataclass(frozen=True)
class FunctionHistory:
    """How often a function was traced and compiled.

    Attributes:
      function: its name, and where it is defined. traces, compilations: how many. seconds: what they took in all.
      by_compiler: how many of the compilations were done and not found in memory or on disk.
      changes: the latest, oldest first. advice: what can be done about it, where it was compiled more than once.
    """

    function: str
    traces: int
    compilations: int
    by_compiler: int
    seconds: float
    changes: tuple[Change, ...]
    advice: str


@dataclass(frozen=True, repr=False)
class Recompilations(Report):
    """What ``debug.recompiles`` gives: the histories of functions, that with the most seconds first.

    Attributes:
      functions: their histories.
    Example: ``f = jit(lambda x: x + 1);
    f(1), f(x), isinstance(arrax.debug.recompiles(), arrax.debug.Recompilations)``.
    """

    functions: tuple[FunctionHistory, ...]

    def to_dict(self) -> dict[str, Any]:
        """The histories as dictionaries, lists, texts and numbers, as ``json`` takes them."""
        return asdict(self)

    def text(self, paint: Paint) -> str:
        """The histories as text."""
        if not self.functions:
            return paint("Nothing was compiled.", "")
        return "\n".join(line for one in self.functions for line in _lines(one, paint))


def recompiles(*, clear: bool = False, everything: bool = False) -> Recompilations:
    """What was traced and compiled more than once in this process, what changed each time, and the seconds it cost.

    Args:
      clear: forget all of it afterwards.
      everything: list the functions, too, that were traced and compiled only once.
    Returns: a ``Recompilations``: print it, or take its ``functions`` or ``to_dict()``.
    Example: ``print(arrax.debug.recompiles())``.
    """
    listed = [one for one in list(histories.by_definition.values()) if everything or _is_repeated(one)]
    listed.sort(key=lambda history: -history.seconds)
    found = Recompilations(tuple(map(_described, listed)))
    if clear:
        histories.clear()
    return found


def _is_repeated(history: History) -> bool:
    return max(history.traces, history.compilations) > 1


def _described(history: History) -> FunctionHistory:
    changes: list[Change] = []
    waiting: dict[Any, int] = {}  # the places of changes whose traces were not compiled yet
    for event, differences in history.changes():
        texts = tuple(difference.text for difference in differences)
        trace = id(event.function), event.outline
        place = None if event.source is None else waiting.pop(trace, None)
        if place is not None:
            changes[place] = replace(changes[place], compile_seconds=event.seconds, source=event.source)
        elif event.source is None:
            waiting[trace] = len(changes)
            changes.append(Change(event.seconds, 0.0, None, texts))
        else:
            changes.append(Change(0.0, event.seconds, event.source, texts))
    return FunctionHistory(
        history.describe(), history.traces, history.compilations, history.sources["compiler"], history.seconds,
        tuple(changes), advice(history) if history.compilations > 1 else "",
    )  # fmt: skip


def _lines(history: FunctionHistory, paint: Paint) -> list[str]:
    counts = f"traced {_times(history.traces)}, compiled {_times(history.compilations)}"
    if history.by_compiler != history.compilations:
        counts += f" ({history.by_compiler} by the compiler, the others found)"
    lines = [f"{paint(history.function, 'bold')}{paint(f': {counts}, {seconds_text(history.seconds)} in all', '')}"]
    words = {None: "only traced", "compiler": "", "disk": "found on disk", "memory": "found in memory"}
    left_out = max(0, len(history.changes) - _SHOWN)
    if left_out:
        lines.append(paint(f"  … {left_out} earlier ones", ""))
    for change in history.changes[left_out:]:
        took = seconds_text(change.trace_seconds + change.compile_seconds)
        told = "; ".join(filter(None, ["; ".join(change.changed) or "the first", words[change.source]]))
        lines.append(f"  {paint(f'{took:>8}', 'cyan')}{paint(f'  {told}', '')}")
    if history.advice:
        lines.append(f"  {paint(history.advice, 'yellow')}")
    return lines


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
