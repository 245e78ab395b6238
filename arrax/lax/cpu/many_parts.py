"""Joins and stacks of many small parts, on the CPU: group by group.

The compiler computes up to eight parts in the loop of their join. Of more it computes each by itself, and each such loop takes
as long to compile as the join. So groups are joined, and then these; barriers keep the compiler from making one join of them
again, and are gone when it makes loops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.program import Atom, JaxprEqn, Var, open_jaxpr, subprograms
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.barriers import optimization_barrier_p
from arrax.lax.concatenation import concatenate, concatenate_p
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.loops import in_loop_makers, is_reshape
from arrax.lax.shapes import expand_dims

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

_MAX_OPERATIONS = 20_000  # that are looked at


def many_parts_form(otherwise: Rule | None = None) -> Rule:
    """The form of joins and stacks of more parts than the compiler computes in their loop.

    Args:
      otherwise: the form of others.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        size, stacked = eqn.outvars[0].aval.size, eqn.primitive is not concatenate_p
        small = around.one_device and type(size) is int and size <= thresholds.JOIN_GROUPED_SIZE
        if small and len(eqn.invars) > thresholds.JOIN_MAX_FUSED and _pays(eqn.invars, around):
            axis = eqn.params["axis" if stacked else "dimension"]
            return Form(_joined, (("axis", axis), ("stacked", stacked)))
        return None if otherwise is None else otherwise(eqn, around)

    return rule


def _pays(parts: Sequence[Atom], around: Around) -> bool:
    """Whether more parts are computed than one loop takes, and they have little in common that each would compute again."""
    computed, left, repeated, once = 0, _MAX_OPERATIONS, 0.0, dict[Var, float]()
    for part in parts:
        makers = in_loop_makers(part, around, left)
        if makers is None:
            return False
        computed, left = computed + any(not is_reshape(maker) for maker in makers), left - len(makers)
        works = {maker.outvars[0]: _work(maker) for maker in makers}
        repeated += sum(works.values())
        once.update(works)
    few = repeated <= thresholds.JOIN_REPEATED_WORK or repeated <= 2 * sum(once.values())
    return computed > thresholds.JOIN_MAX_FUSED and few


def _work(eqn: JaxprEqn) -> float:
    """The additions that take as long as what an operation gives: of a part it is computed, not of the whole operand."""
    inner = [each for program in subprograms(eqn.params) for each in open_jaxpr(program).eqns]
    if inner:
        return sum(map(_work, inner))
    cost, size = eqn.primitive.cost, eqn.outvars[0].aval.size
    return (1 if cost is None or callable(cost) else cost) * (size if type(size) is int else math.inf)


def _joined(*parts: Array, axis: int, stacked: bool) -> list[Any]:
    most = thresholds.JOIN_MAX_FUSED
    if stacked:
        parts = tuple(expand_dims(part, (axis,)) for part in parts)
    while len(parts) > most:
        groups = -(-len(parts) // most)
        bounds = [len(parts) * number // groups for number in range(groups + 1)]
        joins = [concatenate(parts[a:b], axis) for a, b in zip(bounds, bounds[1:], strict=False)]
        parts = tuple(optimization_barrier_p.bind(*joins))
    return [concatenate(parts, axis)]
