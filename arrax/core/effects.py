"""Effects: what a program does besides computing its results. An equation that has any is never left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Effect:
    """One kind of effect. Those that are ``ordered`` happen in the order in which the program was written.

    Example: ``make_jaxpr(lambda v: arrax.debug.print('{}', v))(y).effects`` has one, an ``arrax.debug.DebugEffect``.
    """

    __slots__ = ("name",)

    ordered = False
    exactly_once = False  # it may neither happen again nor in a branch that is not taken
    stops = False  # such a program ends soon after Ctrl-C
    per_device = False  # where it is ordered: devices that run a program of their own each keep their own order
    variable: Any = None  # the reference that it is an effect on: see core/references
    needs_caller = False  # whoever calls the program waits for it, and does what the effect asks for: see xla/callers

    def __init__(self, name: str = "") -> None:
        self.name = name or type(self).__name__

    def __repr__(self) -> str:
        return self.name


def refuse_repetition(effects: Iterable[Any], where: str) -> None:
    """Raise NotImplementedError for effects that must happen exactly once, in a place where they would happen more often."""
    for effect in effects:
        if effect.exactly_once:
            raise NotImplementedError(f"{effect} effect not supported in {where}: it would happen where it should not")


def any_ordered(effects: Iterable[Any]) -> bool:
    """Whether the order of some effects counts."""
    return any(effect.ordered for effect in effects)


class EffectTypes:
    """Classes of effects that something is allowed for. All of them may be lowered, and occur in loops and branches."""

    def add_type(self, effect: type[Effect]) -> None:
        """Nothing: effects of all classes are allowed."""


class OrderedEffectTypes(EffectTypes):
    """Classes of effects whose order counts."""

    def add_type(self, effect: type[Effect]) -> None:
        """Let effects of a class happen in the order in which programs are written."""
        effect.ordered = True


lowerable_effects = control_flow_allowed_effects = EffectTypes()
custom_derivatives_allowed_effects = remat_allowed_effects = EffectTypes()
ordered_effects = OrderedEffectTypes()
