"""The form in which a program runs best on a platform: a pass between dead-code elimination and lowering.

A primitive's slot ``forms[platform]`` is a function of an equation and of the program around it. It gives a ``Form``, the
operations that take the equation's place, or None where the equation stays. So patterns become other operations of the
language, calls of host kernels among them; lowering then only translates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from arrax.core.caches import cleared_by
from arrax.core.interpreter import Primitive
from arrax.core.program import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    any_equation,
    closed,
    joined_effects,
    subprograms,
)
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.staging import stage

_Primitives = frozenset[Primitive]
_Made = dict[Var, _Primitives]  # results of equations that forms made: whose forms these are


class Form(NamedTuple):
    """What takes an equation's place.

    Attributes:
      function: of the operands and keyword parameters, written in terms of operations; gives a sequence of results.
      params: names and values, hashable.
      operands: variables or literals of the program, where they are not those of the equation.
    """

    function: Callable[..., Sequence[Any]]
    params: tuple[tuple[str, Any], ...] = ()
    operands: Sequence[Atom] | None = None


class Place(NamedTuple):
    """Where a program runs, and what is known of it."""

    platform: str
    host_kernels: bool  # whether it may call host kernels
    one_device: bool  # whether it is for one device only
    holds_nan: bool  # whether a literal of it, or of the program that it is part of, is NaN
    portable: bool  # whether others may call it, over several devices
    nested: bool = False  # whether it is part of another program


class Around:
    """The program around an equation: which equations there are and make its operands, and what is known of where it runs."""

    __slots__ = ("jaxpr", "makers", "host_kernels", "one_device", "holds_nan", "portable", "nested", "_users")

    def __init__(self, jaxpr: Jaxpr, place: Place) -> None:
        self.jaxpr = jaxpr
        self.makers = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
        self._users: dict[Var, list[JaxprEqn]] | None = None
        _, self.host_kernels, self.one_device, self.holds_nan, self.portable, self.nested = place

    def maker(self, atom: Atom) -> JaxprEqn | None:
        """The equation that makes a value; None for inputs, constants and literals."""
        return None if isinstance(atom, Literal) else self.makers.get(atom)

    @property
    def undivided(self) -> bool:
        """Whether the program is never divided over several devices."""
        return self.one_device and not self.portable

    @property
    def users(self) -> dict[Var, list[JaxprEqn]]:
        """For each value, the equations that take it."""
        if self._users is None:
            self._users = users_of(self.jaxpr)
        return self._users


Rule = Callable[[JaxprEqn, Around], Form | None]  # of the slot ``forms``


def users_of(jaxpr: Jaxpr) -> dict[Var, list[JaxprEqn]]:
    """For each value of a program, the equations that take it."""
    users: dict[Var, list[JaxprEqn]] = {}
    for eqn in jaxpr.eqns:
        for var in {atom for atom in eqn.invars if not isinstance(atom, Literal)}:
            users.setdefault(var, []).append(eqn)
    return users


def with_forms(
    program: ClosedJaxpr, platform: str, host_kernels: bool = False, one_device: bool = True, portable: bool = False
) -> ClosedJaxpr:
    """The program, those nested in it included, with the forms of a platform.

    Args:
      host_kernels: whether it may call host kernels: for one device, and for this process only.
      one_device: whether it is for one device: how values lie over several may forbid to merge their axes.
      portable: whether others may call it, over several devices: then it consists of what the compiler can divide.
    """
    return _formed(program, Place(platform, host_kernels, one_device, any_equation(program, _takes_nan), portable))


def _takes_nan(eqn: JaxprEqn) -> bool:
    """Whether an operand that stands in the program as a number is NaN."""
    return any(isinstance(atom, Literal) and bool(atom.val != atom.val) for atom in eqn.invars)


def _formed(program: ClosedJaxpr, place: Place, led_to: _Primitives = frozenset()) -> ClosedJaxpr:
    """The program in the forms of its place.

    Args:
      led_to: the primitives of whose forms it is part.
    """
    return program.memo(("forms", place, led_to), lambda: _with_forms(program, place, led_to))


def _with_forms(program: ClosedJaxpr, place: Place, led_to: _Primitives) -> ClosedJaxpr:
    """The program with forms in place of its equations, then in place of what these forms consist of, and so on.

    No equation is formed by the rule of a primitive that led to it, so there are at most as many rounds as primitives.
    """
    made: _Made = {}
    formed = _one_round(_without_idle(program), place, lambda eqn: led_to, made)
    while made:
        before, made = made, {}
        formed = _one_round(formed, place, functools.partial(_leading_to, before), made)
    return formed


def _without_idle(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program without equations that leave their operand as it is, which hide from forms what makes a value."""
    jaxpr, renamed = program.jaxpr, dict[Var, Atom]()
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if eqn.primitive.is_idle is not None and eqn.primitive.is_idle(eqn):
            renamed[eqn.outvars[0]] = _current(eqn.invars[0], renamed)
        else:
            eqns.append(_renamed(eqn, renamed))
    if not renamed:
        return program
    outvars = [_current(atom, renamed) for atom in jaxpr.outvars]
    return ClosedJaxpr(jaxpr.replace(eqns=eqns, outvars=outvars), program.consts)


def _leading_to(made: _Made, eqn: JaxprEqn) -> _Primitives | None:
    """The primitives whose forms led to an equation that the round before made; None for others."""
    return next((made[var] for var in eqn.outvars if var in made), None)


def _one_round(
    program: ClosedJaxpr, place: Place, leading_to: Callable[[JaxprEqn], _Primitives | None], made: _Made
) -> ClosedJaxpr:
    """The program with the forms of those equations for which ``leading_to`` does not give None, nor their own primitive.

    ``made`` learns which primitives led to the results of new equations that may have forms themselves.
    """
    jaxpr, around = program.jaxpr, Around(program.jaxpr, place)
    eqns: list[JaxprEqn] = []
    renamed: dict[Var, Atom] = {}
    constvars, consts, changed = list(jaxpr.constvars), list(program.consts), False
    for eqn in jaxpr.eqns:
        led_to = leading_to(eqn)
        if led_to is None:
            eqns.append(_renamed(eqn, renamed))
            continue
        form = eqn.primitive.forms[place.platform](eqn, around) if _has_form(eqn, led_to, place) else None
        if form is None:
            inner = _with_inner_forms(eqn, place._replace(nested=True), led_to)
            changed = changed or inner is not eqn
            eqns.append(_renamed(inner, renamed))
            continue
        changed = True
        operands = [_current(atom, renamed) for atom in (eqn.invars if form.operands is None else form.operands)]
        staged = _staged(form.function, tuple(atom.aval for atom in operands), form.params)
        constvars += staged.jaxpr.constvars
        consts += staged.consts
        new, by = _spliced(staged.jaxpr, operands, eqn, renamed), led_to | {eqn.primitive}
        eqns += new
        again = (each for each in new if _has_form(each, by, place) or _holds_programs(each))
        made.update((var, by) for each in again for var in each.outvars)
    if not changed:
        return program
    outvars = [_current(atom, renamed) for atom in jaxpr.outvars]
    whole = jaxpr.replace(constvars=constvars, outvars=outvars, eqns=eqns, effects=joined_effects(eqns))
    lean, _ = dce_jaxpr(whole, [True] * len(outvars), True)
    return ClosedJaxpr(lean, consts)


def _has_form(eqn: JaxprEqn, led_to: _Primitives, place: Place) -> bool:
    """Whether an equation may have a form, where forms of these primitives led to it."""
    return place.platform in eqn.primitive.forms and eqn.primitive not in led_to


def _holds_programs(eqn: JaxprEqn) -> bool:
    return next(subprograms(eqn.params), None) is not None


@functools.lru_cache(4096)
def _staged(function: Callable[..., Any], avals: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> ClosedJaxpr:
    return ClosedJaxpr(*stage(functools.partial(function, **dict(params)), avals))


cleared_by(_staged.cache_clear)


def _current(atom: Atom, renamed: dict[Var, Atom]) -> Atom:
    return atom if isinstance(atom, Literal) else renamed.get(atom, atom)


def _renamed(eqn: JaxprEqn, renamed: dict[Var, Atom]) -> JaxprEqn:
    if not any(isinstance(atom, Var) and atom in renamed for atom in eqn.invars):
        return eqn
    return eqn.replace(invars=[_current(atom, renamed) for atom in eqn.invars])


def _spliced(made: Jaxpr, operands: Sequence[Atom], eqn: JaxprEqn, renamed: dict[Var, Atom]) -> list[JaxprEqn]:
    """The equations of a form with variables of their own; ``renamed`` learns which of them are the equation's results."""
    local: dict[Var, Atom] = dict(zip(made.invars, operands, strict=True))
    eqns = []
    for inner in made.eqns:
        outvars = [type(var)(var.aval) for var in inner.outvars]
        local.update(zip(inner.outvars, outvars, strict=True))
        invars = [_current(atom, local) for atom in inner.invars]
        eqns.append(inner.replace(invars=invars, outvars=outvars, source_info=eqn.source_info))
    for var, atom in zip(eqn.outvars, made.outvars, strict=True):
        if not isinstance(var, DropVar):
            renamed[var] = _current(atom, local)
    return eqns


def _with_inner_forms(eqn: JaxprEqn, place: Place, led_to: _Primitives) -> JaxprEqn:
    """The equation with the programs among its parameters in the platform's forms."""
    if not _holds_programs(eqn):
        return eqn
    params = {name: _in_forms(value, place, led_to) for name, value in eqn.params.items()}
    same = all(params[name] is value for name, value in eqn.params.items())
    return eqn if same else eqn.replace(params=params)


def _in_forms(value: Any, place: Place, led_to: _Primitives) -> Any:
    """A parameter of an equation; what holds no program stays the same object."""
    if isinstance(value, ClosedJaxpr):
        return _formed(value, place, led_to)
    if isinstance(value, Jaxpr):
        changed = _formed(closed(value), place, led_to) if not value.constvars else None
        return value if changed is None or changed.consts else changed.jaxpr
    if isinstance(value, tuple | list):
        values = [_in_forms(one, place, led_to) for one in value]
        if all(one is before for one, before in zip(values, value, strict=True)):
            return value
        return value._make(values) if hasattr(value, "_make") else type(value)(values)
    return value
