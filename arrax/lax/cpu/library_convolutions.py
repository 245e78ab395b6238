"""Convolutions as the compiler's library for the CPU takes them: of images that are not cut, with axes in its order.

It reads behind the end of an image of which the start is cut and the end is padded. Other orders of axes the compiler
changes itself, in loops that may take longer than copies do, but not where the program loops or branches: there it convolves
without its library, a hundredth as fast. Of some small dilated images it makes a convolution whose window does not fit, at
which it ends the process.
"""

from __future__ import annotations

from operator import le
from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_symbolic
from arrax.core.program import JaxprEqn
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.axis_order import transpose
from arrax.lax.convolution_axes import in_order_of_result
from arrax.lax.convolution_geometry import ConvDimensionNumbers
from arrax.lax.cpu.depthwise import padded
from arrax.lax.cpu.transposes import is_copied_by_blocks
from arrax.lax.static_slicing import slice_
from arrax.lax.window_geometry import cuts, within_padding

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike


def library_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of convolutions with negative padding, and of those with other orders of axes where copies are faster, or needed."""
    numbers, x, out = eqn.params["dimension_numbers"], eqn.invars[0].aval, eqn.outvars[0].aval
    reordered = numbers != _order_of_library(len(numbers.lhs_spec)) and (
        around.nested
        or is_copied_by_blocks(x, _to_library(numbers.lhs_spec))
        or is_copied_by_blocks(out, _to_library(numbers.out_spec))
    )
    misread = _is_misread(eqn)
    if not reordered and not misread and not cuts(x.shape, eqn.params["padding"]):
        return None
    params = (("primitive", eqn.primitive), ("params", tuple(eqn.params.items())))
    return Form(_of_undilated if misread else for_library, params)


def _is_misread(eqn: JaxprEqn) -> bool:
    """Whether the compiler may swap image and kernel along some axes only.

    It has done so where a kernel is longer than the image along one axis, and along another, which is dilated and not padded, no
    longer than the distance between elements.
    """
    numbers, padding, dilation = (eqn.params[name] for name in ("dimension_numbers", "padding", "lhs_dilation"))
    images, kernels = (
        [atom.aval.shape[axis] for axis in spec[2:]]
        for atom, spec in zip(eqn.invars, (numbers.lhs_spec, numbers.rhs_spec), strict=True)
    )
    if any(map(is_symbolic, (*images, *kernels))) or all(map(le, kernels, images)):
        return False
    return any(
        1 < step >= kernel and tuple(sides) == (0, 0)
        for step, kernel, sides in zip(dilation, kernels, padding, strict=True)
    )


def _of_undilated(x: Array, y: Array, *, primitive: Primitive, params: tuple[tuple[str, Any], ...]) -> list[Any]:
    """Of an image with the zeros between its elements in memory."""
    changed = dict(params)
    space, dilation = changed["dimension_numbers"].lhs_spec[2:], changed["lhs_dilation"]
    x = padded(x, space, [(0, 0)] * len(space), dilation)
    changed["lhs_dilation"] = (1,) * len(space)
    return for_library(x, y, primitive=primitive, params=tuple(changed.items()))


def for_library(x: ArrayLike, y: ArrayLike, *, primitive: Primitive, params: tuple[tuple[str, Any], ...]) -> list[Any]:
    """A convolution without negative padding, with axes in the order of the library."""
    changed = dict(params)
    lhs, rhs, result = changed["dimension_numbers"]
    changed["dimension_numbers"] = _order_of_library(len(lhs))
    x, y = transpose(x, _to_library(lhs)), transpose(y, (*rhs[2:], rhs[1], rhs[0]))
    batch, *space, channels = x.shape
    if cuts(x.shape, changed["padding"]):
        starts, stops, changed["padding"] = within_padding(space, changed["padding"], changed["lhs_dilation"])
        x = slice_(x, (0, *starts, 0), (batch, *stops, channels))
    out = primitive.bind(x, y, **changed)
    return [in_order_of_result(out, [0, *range(2, len(lhs)), 1], result)]


def _to_library(spec: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of images or results: batch, places, channels."""
    return spec[0], *spec[2:], spec[1]


def _order_of_library(rank: int) -> ConvDimensionNumbers:
    image = (0, rank - 1, *range(1, rank - 1))
    return ConvDimensionNumbers(image, (rank - 1, rank - 2, *range(rank - 2)), image)
