"""Elements taken from computed arrays, on the CPU: computed before, where more elements are taken than there are.

The compiler would compute in one loop what is taken: anew for each time that an element is, and without vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive, Rounding
from arrax.core.lengths import is_symbolic
from arrax.core.program import Atom, JaxprEqn, Literal, Var
from arrax.interpreters.cost_model import work_of_eqn
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.calls import call_apart
from arrax.lax.concatenation import concatenate_p
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.regrouping import MAX_EQUATIONS, Scope, apart_form, is_elementwise, other_scope

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def taken_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of ``gather``."""
    x, taken = eqn.invars[0], eqn.outvars[0].aval
    if not around.one_device or around.maker(x) is None or any(map(is_symbolic, (*x.aval.shape, *taken.shape))):
        return None
    times = taken.size - x.aval.size  # that elements are taken once more
    if times < thresholds.TABLE_MIN_TAKEN or not x.aval.size:
        return None
    work = _work(x, Scope(around.jaxpr, around.makers)) / x.aval.size
    if work < thresholds.TABLE_MIN_WORK:
        return None
    joined = around.maker(eqn.invars[1])
    if joined is None or joined.primitive is not concatenate_p:
        return apart_form(eqn, "taken")
    params = (
        ("primitive", eqn.primitive),
        ("dimension", joined.params["dimension"]),
        ("params", tuple(eqn.params.items())),
    )
    return Form(_taken_at, params, [x, *joined.invars])


def _taken_at(
    x: Array, *components: Array, primitive: Primitive, dimension: int, params: tuple[tuple[str, Any], ...]
) -> list[Any]:
    """A gather whose indices are put together in its own loop."""

    def taken(x: Array, *components: Array) -> list[Any]:
        return [primitive.bind(x, concatenate_p.bind(*components, dimension=dimension), **dict(params))]

    return call_apart(taken, x, *components)


def _work(x: Atom, scope: Scope) -> float:
    """The additions that the compiler would repeat to compute an array's elements anew."""
    left, seen, work = [(x, scope)], set[Var](), 0.0
    while left and len(seen) < MAX_EQUATIONS:
        atom, scope = left.pop()
        if isinstance(atom, Literal) or atom in seen:
            continue
        seen.add(atom)
        maker = scope.makers.get(atom)
        if maker is not None and (is_elementwise(maker) or _moves_elements(maker)):
            work += work_of_eqn(maker) if is_elementwise(maker) else 0
            left += [(operand, scope) for operand in maker.invars]
        elif (origin := other_scope(atom, scope)) is not None:
            left.append(origin)
    return work


def _moves_elements(eqn: JaxprEqn) -> bool:
    """Whether an operation takes elements as they are, and the compiler fuses it with those around it."""
    return eqn.primitive.rounding is Rounding.NONE and eqn.primitive.cost is None
