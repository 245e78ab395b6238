"""Products of 8-bit integers with 32-bit results on the CPU: apart from what computes their operands.

The compiler's library has code for them. Where an operand is computed from a transposed array the compiler widens the integers first,
and multiplies them with code that takes three times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive
from arrax.core.program import JaxprEqn
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.calls import call_apart

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def integer_product_form(
    otherwise: Callable[[JaxprEqn, Around], Form | None],
) -> Callable[[JaxprEqn, Around], Form | None]:
    """The form of products of 8-bit integers.

    Args:
      otherwise: the form of other products, which comes first.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        form = otherwise(eqn, around)
        names = [atom.aval.dtype.name for atom in (*eqn.invars, *eqn.outvars)]
        if form is not None or names != ["int8", "int8", "int32"] or not around.one_device:
            return form
        if all(around.maker(atom) is None for atom in eqn.invars):
            return None
        return Form(_apart, (("primitive", eqn.primitive), ("params", tuple(eqn.params.items()))))

    return rule


def _apart(x: Array, y: Array, *, primitive: Primitive, params: tuple[tuple[str, Any], ...]) -> list[Any]:
    def product(x: Array, y: Array) -> list[Any]:
        return [primitive.bind(x, y, **dict(params))]

    return call_apart(product, x, y)
