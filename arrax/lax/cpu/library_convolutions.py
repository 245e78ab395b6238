"""Convolutions as the compiler's library for the CPU takes them: of images that are not cut, with axes in its order.

It reads behind the end of an image of which the start is cut and the end is padded. Other orders of axes the compiler
changes itself, but not in loops and branches, where it then convolves without its library, a hundredth as fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive
from arrax.core.program import JaxprEqn
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.axis_order import transpose
from arrax.lax.convolution_axes import in_order_of_result
from arrax.lax.convolution_geometry import ConvDimensionNumbers
from arrax.lax.static_slicing import slice_
from arrax.lax.window_geometry import cuts, within_padding

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike


def library_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of convolutions with negative padding, and in loops and branches of those with other orders of axes."""
    numbers = eqn.params["dimension_numbers"]
    reordered = around.nested and numbers != _order_of_library(len(numbers.lhs_spec))
    if not reordered and not cuts(eqn.invars[0].aval.shape, eqn.params["padding"]):
        return None
    return Form(for_library, (("primitive", eqn.primitive), ("params", tuple(eqn.params.items()))))


def for_library(x: ArrayLike, y: ArrayLike, *, primitive: Primitive, params: tuple[tuple[str, Any], ...]) -> list[Any]:
    """A convolution without negative padding, with axes in the order of the library."""
    changed = dict(params)
    lhs, rhs, result = changed["dimension_numbers"]
    changed["dimension_numbers"] = _order_of_library(len(lhs))
    x, y = transpose(x, (lhs[0], *lhs[2:], lhs[1])), transpose(y, (*rhs[2:], rhs[1], rhs[0]))
    batch, *space, channels = x.shape
    if cuts(x.shape, changed["padding"]):
        starts, stops, changed["padding"] = within_padding(space, changed["padding"], changed["lhs_dilation"])
        x = slice_(x, (0, *starts, 0), (batch, *stops, channels))
    out = primitive.bind(x, y, **changed)
    return [in_order_of_result(out, [0, *range(2, len(lhs)), 1], result)]


def _order_of_library(rank: int) -> ConvDimensionNumbers:
    image = (0, rank - 1, *range(1, rank - 1))
    return ConvDimensionNumbers(image, (rank - 1, rank - 2, *range(rank - 2)), image)
