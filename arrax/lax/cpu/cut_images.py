"""Convolutions of images that are cut, where padding is negative, on the CPU: the image is cut before.

The compiler's library reads behind the end of an image of which the start is cut and the end is padded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive
from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.static_slicing import slice_
from arrax.lax.window_geometry import cuts, within_padding

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike


def cut_image_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of convolutions with negative padding."""
    if not cuts(eqn.invars[0].aval.shape, eqn.params["padding"]):
        return None
    return Form(convolution_of_cut, (("primitive", eqn.primitive), ("params", tuple(eqn.params.items()))))


def convolution_of_cut(
    x: ArrayLike, y: ArrayLike, *, primitive: Primitive, params: tuple[tuple[str, Any], ...]
) -> list[Any]:
    """A convolution without negative padding."""
    changed, shape = dict(params), typeof(x).shape
    if cuts(shape, changed["padding"]):
        starts, stops, padding = [0] * len(shape), list(shape), []
        geometry = changed["dimension_numbers"].lhs_spec[2:], changed["padding"], changed["lhs_dilation"]
        for axis, sides, spread in zip(*geometry, strict=True):
            starts[axis], stops[axis], remaining = within_padding(shape[axis], sides, spread)
            padding.append(remaining)
        x, changed["padding"] = slice_(x, starts, stops), tuple(padding)
    return [primitive.bind(x, y, **changed)]
