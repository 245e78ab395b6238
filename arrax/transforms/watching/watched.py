"""``debug.watch``: records values inside of a compiled function, call by call, without changing the function's code."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from arrax.core.calls import check_callable
from arrax.core.functions import function_name
from arrax.core.interpreter import context
from arrax.core.program import ClosedJaxpr
from arrax.core.pytrees import tree_unflatten
from arrax.interpreters.staging import eval_jaxpr
from arrax.transforms.arguments import jitted_of, unbound
from arrax.transforms.jit import Jitted, jit, make_jitted
from arrax.transforms.jit_options import JitOptions
from arrax.transforms.tracing import trace
from arrax.transforms.waiting import effects_barrier
from arrax.transforms.watching.places import Around, Pattern, Place
from arrax.transforms.watching.rewriting import Rewriting


@dataclass(frozen=True)
class Sample:
    """A value, as it was once.

    Attributes:
      place: where in the program it is.
      call: the number of the call of the watched function.
      step: how many times before, in that call, the program came by: the step of a loop.
      size: number of elements.
      min, max, mean: of the finite elements, or of their magnitudes for complex numbers; NaN where there is none.
      nans, infs: how many elements are NaN, and infinite.
      value: the array itself, where it was asked for, or None.
    Example: ``watched = arrax.debug.watch(jnp.tanh, 'tanh'); watched(2.0); [sample] = watched.samples; sample.size``
    is 1.
    """

    place: Place
    call: int
    step: int
    size: int
    min: float
    max: float
    mean: float
    nans: int
    infs: int
    value: np.ndarray | None = None

    @property
    def is_finite(self) -> bool:
        """Whether all elements are finite."""
        return not self.nans and not self.infs


class Watched:
    """A function whose values are recorded. Made by ``watch``.

    Attributes:
      places: the values that are watched, in the order of the program; known after the first call.
      calls: how many calls there have been.
    Example: ``watched = arrax.debug.watch(jnp.tanh, 'tanh'); watched(2.0); watched.calls`` is 1.
    """

    def __init__(self, fun: Callable[..., Any], patterns: Sequence[Pattern], values: bool) -> None:
        functools.update_wrapper(self, fun, updated=())
        own, self._bound = unbound(fun)
        self._own: Jitted = jitted_of(own) or jitted_of(jit(own))
        self._patterns, self._values = patterns, values
        self._lock = threading.Lock()
        self._samples: list[Sample] = []
        self._steps: dict[Place, int] = {}
        self.places: list[Place] = []
        self.calls = 0

        @functools.wraps(self._own.fun)
        def run(*args: Any, **kwargs: Any) -> Any:
            return self._run(args, kwargs)

        self._jitted = make_jitted(Jitted(run, self._options()))

    def _options(self) -> JitOptions:
        """The options of the function itself, without donation, so that recorded arrays stay."""
        return self._own.options.replace(donate_argnums=(), donate_argnames=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = (*self._bound, *args)
        if not context.interpreter.is_evaluation:
            return self._jitted(*args, **kwargs)
        with self._lock:
            self._steps.clear()
        try:
            return self._jitted(*args, **kwargs)
        finally:
            self.calls += 1

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        split, leaves, tree = self._own.split(args, kwargs)
        avals = self._own.types_of(split, leaves)
        traced = trace(self._own.fun, split, "watch", self._own.store, leaves, tree, avals)
        program = self._rewritten(traced.program)
        outs = eval_jaxpr(program.jaxpr, program.consts, *traced.captured, *leaves)
        return tree_unflatten(traced.out_tree, outs)

    def _rewritten(self, program: ClosedJaxpr) -> ClosedJaxpr:
        rewriting = Rewriting(self._patterns, self._tell, self._values)
        made = rewriting.program(program, Around())
        self.places = rewriting.places
        return made

    def _tell(self, places: Sequence[Place], numbers: Sequence[Any], values: Sequence[Any]) -> None:
        whole = values if self._values else [None] * len(places)
        with self._lock:
            for place, number, value in zip(places, numbers, whole, strict=True):
                step = self._steps.get(place, 0)
                self._steps[place] = step + 1
                smallest, largest, mean, nans, infs = map(float, np.asarray(number))
                kept = None if value is None else np.array(value)
                self._samples.append(
                    Sample(place, self.calls, step, _size(place), smallest, largest, mean, int(nans), int(infs), kept)
                )

    @property
    def samples(self) -> list[Sample]:
        """All samples, in the order in which the program came by."""
        effects_barrier()
        with self._lock:
            return list(self._samples)

    def of(self, name: str) -> list[Sample]:
        """The samples of places whose name or line contains a text.

        Args:
          name: part of ``str(place)`` or ``place.line``.
        """
        return [sample for sample in self.samples if name in str(sample.place) or name in sample.place.line]

    def first_bad(self) -> Sample | None:
        """The first sample that holds a NaN or an infinity, or None."""
        return next((sample for sample in self.samples if not sample.is_finite), None)

    def clear(self) -> None:
        """Forget all samples."""
        effects_barrier()
        with self._lock:
            self._samples.clear()

    def table(self) -> str:
        """One line for each place: how often the program came by, minima and maxima, mean, and what is not finite."""
        rows: list[tuple[str, ...]] = [("place", "type", "times", "min", "max", "mean", "nan", "inf", "line")]
        by_place: dict[Place, list[Sample]] = {}
        for sample in self.samples:
            by_place.setdefault(sample.place, []).append(sample)
        for place in sorted(by_place, key=lambda place: place.number):
            rows.append(_row(place, by_place[place]))
        if self.calls and not self.places:
            said = (
                "No value is watched"
                if not self._patterns
                else f"Nothing matches {' or '.join(map(repr, self._patterns))}"
            )
            return f"{said} in {function_name(self._own.fun)}"
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    __str__ = table

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)


def _size(place: Place) -> int:
    shape = place.type[place.type.index("[") + 1 : place.type.index("]")]
    return int(np.prod([int(length) for length in shape.split(",") if length], dtype=np.int64))


def _row(place: Place, samples: Sequence[Sample]) -> tuple[str, ...]:
    finite = [sample for sample in samples if sample.min == sample.min]
    numbers = ["-", "-", "-"]
    if finite:
        smallest, largest = min(one.min for one in finite), max(one.max for one in finite)
        numbers = [f"{one:.4g}" for one in (smallest, largest, sum(one.mean for one in finite) / len(finite))]
    counts = (str(sum(sample.nans for sample in samples)), str(sum(sample.infs for sample in samples)))
    return (str(place), place.type, str(len(samples)), *numbers, *counts, PurePath(place.line).name)


def watch(fun: Callable[..., Any], *patterns: Pattern, values: bool = False) -> Watched:
    """A function like ``fun`` that records values inside of it: their minima and maxima, means, NaNs and infinities, or all of them.

    The function's code stays as it is: operations are chosen by named scopes, by their own names, by lines or by a test.
    Loops, branches and jitted functions inside are looked into; a loop gives a sample for each step. A call waits until its
    samples are there.

    Args:
      fun: function, jitted or not (it runs compiled, with its options, but nothing is donated).
      patterns: each a text that is the name of a scope, of a jitted function or of an operation around or at a value
        (``"encoder"``, ``"encoder/dot_general"``, with ``*``, ``?`` and ``[]`` as in file names), a line (``"model.py:12"``), or
        a function of a JaxprEqn to whether it is watched. Without any, all floating-point values.
      values: keep the arrays themselves, too.
    Returns: a ``Watched``, to be called like ``fun``, with ``samples``, ``of``, ``first_bad``, ``table``, ``places``, ``clear``.
    Raises:
      TypeError: not a function, or a pattern that is neither text nor function.
    Example: ``watch(jnp.tanh, "tanh")(2.0)``.
    """
    check_callable(fun)
    for pattern in patterns:
        if not isinstance(pattern, str) and not callable(pattern):
            raise TypeError(f"watch: patterns must be texts or functions of an equation, got {pattern!r}")
    return Watched(fun, patterns, values)
