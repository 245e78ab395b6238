"""Programs that tell the host of their values: calls are put behind the operations that are watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from arrax.core.interpreter import context
from arrax.core.program import (
    ClosedJaxpr,
    DropVar,
    JaxprEqn,
    Literal,
    Var,
    joined_effects,
    subprograms,
)
from arrax.interpreters.staging import stage
from arrax.lax.effectful_callbacks import attended_effect, ordered_attended_effect, watch_on_host
from arrax.lax.shard_maps import region_of, shard_map_p
from arrax.transforms.watching.places import Around, Pattern, Place, is_recorded, matches, place_of
from arrax.transforms.watching.statistics import statistics

Tell = Callable[[Sequence[Place], Sequence[Any], Sequence[Any]], None]  # places, statistics, whole values


class Rewriting:
    """Puts calls of ``tell`` into a program and those in it.

    Attributes:
      places: what is watched, in the order of the program.
    """

    def __init__(self, patterns: Sequence[Pattern], tell: Tell, whole: bool) -> None:
        self.patterns, self.tell, self.whole = patterns, tell, whole
        self.places: list[Place] = []
        # Programs per device have no common order.
        self.effect = attended_effect if context.axes else ordered_attended_effect

    def program(self, program: ClosedJaxpr, around: Around) -> ClosedJaxpr:
        """The program with calls; the same object where nothing in it is watched."""
        eqns: list[JaxprEqn] = []
        watched: list[tuple[Place, Var]] = []
        consts, constvars = list(program.consts), list(program.jaxpr.constvars)
        changed = False

        def tell_so_far() -> None:
            if watched:
                telling = self._telling([place for place, _ in watched], [var.aval for _, var in watched])
                own = dict(zip(telling.jaxpr.invars, [var for _, var in watched], strict=True))
                eqns.extend(_renamed(eqn, own) for eqn in telling.jaxpr.eqns)
                consts.extend(telling.consts)
                constvars.extend(telling.jaxpr.constvars)
                watched.clear()

        for eqn in program.jaxpr.eqns:
            inner = self._with_inner(eqn, around)
            if inner is not eqn:
                tell_so_far()  # before what it tells
            if matches(eqn, around, self.patterns):
                inner = inner.replace(outvars=[Var(v.aval) if isinstance(v, DropVar) else v for v in inner.outvars])
                watched += self._watched(inner, around)
            changed = changed or inner is not eqn
            eqns.append(inner)
        tell_so_far()
        if not changed:
            return program
        jaxpr = program.jaxpr.replace(constvars=constvars, eqns=eqns, effects=joined_effects(eqns))
        return ClosedJaxpr(jaxpr, consts)

    def _watched(self, eqn: JaxprEqn, around: Around) -> list[tuple[Place, Var]]:
        found = []
        for output, var in enumerate(eqn.outvars):
            if is_recorded(var.aval, self.patterns):
                found.append((place_of(eqn, output, around, len(self.places)), var))
                self.places.append(found[-1][0])
        return found

    def _telling(self, places: Sequence[Place], avals: Sequence[Any]) -> ClosedJaxpr:
        """The program that tells of values."""
        count = len(places)

        def tell(*values: Any) -> None:
            self.tell(places, values[:count], values[count:])

        def flat(*values: Any) -> list[Any]:
            numbers = [statistics(value) for value in values]
            watch_on_host("debug.watch", tell, [*numbers, *(values if self.whole else ())], {}, self.effect)
            return []

        return ClosedJaxpr(*stage(flat, avals))

    def _with_inner(self, eqn: JaxprEqn, around: Around) -> JaxprEqn:
        """The equation with calls in the programs that it runs."""
        if eqn.primitive.by_operation is None or next(subprograms(eqn.params), None) is None:
            return eqn
        with self._per_device(eqn.params) if eqn.primitive is shard_map_p else nullcontext():
            params = {name: self._inner(value, eqn, around) for name, value in eqn.params.items()}
        if all(params[name] is value for name, value in eqn.params.items()):
            return eqn
        assert eqn.primitive.effects_rule is not None
        effects = eqn.primitive.effects_rule(*(atom.aval for atom in eqn.invars), **params)
        return eqn.replace(params=params, effects=effects)

    @contextmanager
    def _per_device(self, params: dict[str, Any]) -> Iterator[None]:
        """Rewrite a program that each device runs: devices have no common order."""
        before, self.effect = self.effect, attended_effect
        try:
            with region_of(params).entered():
                yield
        finally:
            self.effect = before

    def _inner(self, value: Any, eqn: JaxprEqn, around: Around) -> Any:
        if isinstance(value, ClosedJaxpr):
            return self.program(value, around.inside(eqn))
        if isinstance(value, tuple) and value and all(isinstance(one, ClosedJaxpr) for one in value):
            branches = tuple(self.program(one, around.inside(eqn, branch)) for branch, one in enumerate(value))
            return value if all(new is one for new, one in zip(branches, value, strict=True)) else branches
        return value


def _renamed(eqn: JaxprEqn, names: dict[Var, Var]) -> JaxprEqn:
    return eqn.replace(invars=[atom if isinstance(atom, Literal) else names.get(atom, atom) for atom in eqn.invars])
