"""Convolutions of images that are cut, where padding is negative, on the CPU: the image is cut before.

The compiler's library reads behind the end of an image of which the start is cut and the end is padded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.static_slicing import pad

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike

_Sides = tuple[Any, Any]


def cut_image_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of convolutions with negative padding along axes without holes."""
    if not any(map(_cuts, eqn.params["padding"], eqn.params["lhs_dilation"])):
        return None
    return Form(convolution_of_cut, (("primitive", eqn.primitive), ("params", tuple(eqn.params.items()))))


def convolution_of_cut(
    x: ArrayLike, y: ArrayLike, *, primitive: Primitive, params: tuple[tuple[str, Any], ...]
) -> list[Any]:
    """A convolution without negative padding along axes without holes."""
    changed = dict(params)
    padding, spread = changed["padding"], changed["lhs_dilation"]
    config: list[tuple[Any, Any, int]] = [(0, 0, 0)] * typeof(x).ndim
    for axis, sides, step in zip(changed["dimension_numbers"].lhs_spec[2:], padding, spread, strict=True):
        if _cuts(sides, step):
            config[axis] = (*sides, 0)
    if any(map(any, config)):
        x = pad(x, np.zeros((), typeof(x).dtype)[()], config)
    changed["padding"] = tuple((0, 0) if _cuts(*each) else each[0] for each in zip(padding, spread, strict=True))
    return [primitive.bind(x, y, **changed)]


def _cuts(sides: _Sides, spread: int) -> bool:
    return spread == 1 and any(type(side) is int and side < 0 for side in sides)
