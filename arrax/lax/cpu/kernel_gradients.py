"""Derivatives of convolutions by their kernels on the CPU, where the compiler has no library for them as they are.

They are convolutions by whole images, whose results are as small as a kernel. Of layers in groups they have groups of the
batch, which become groups of channels here: a hundredth of the time. Of depthwise layers, and of one image of one channel,
they are computed for one element of the kernel after the other. Of transposed convolutions they have images with holes; image and kernel change places.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.arithmetic import add, lt, mul
from arrax.lax.axis_order import rev, transpose
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.conversion import convert
from arrax.lax.convolution_axes import groups_moved, in_order_of_result
from arrax.lax.convolution_geometry import ConvDimensionNumbers
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.depthwise import geometry_of, number_at, padded
from arrax.lax.cpu.library_convolutions import for_library
from arrax.lax.filled_arrays import full
from arrax.lax.operand_checks import accumulator
from arrax.lax.reductions import reduce_sum
from arrax.lax.shapes import reshape
from arrax.lax.slicing import dynamic_slice, dynamic_update_slice
from arrax.lax.static_slicing import slice_
from arrax.lax.window_geometry import dilated

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def kernel_gradient_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of convolutions over groups of the batch, and of images with holes by larger kernels."""
    out, params = eqn.outvars[0].aval, eqn.params
    if not around.undivided or out.dtype == np.bool_:
        return None
    same = (("primitive", eqn.primitive), ("params", tuple(params.items())))
    if params["feature_group_count"] == 1 and _is_depthwise(eqn):
        return Form(_by_taps, (*geometry_of(params), ("shape", out.shape), ("dtype", out.dtype)))
    if params["batch_group_count"] > 1:
        return Form(_by_groups_of_channels, same)
    holes = any(step > 1 for step in params["lhs_dilation"])
    steps = (*params["window_strides"], *params["rhs_dilation"])
    if holes and params["feature_group_count"] == 1 and all(step == 1 for step in steps) and _is_small(eqn):
        return Form(_with_operands_swapped, same)
    return None


def _is_small(eqn: JaxprEqn) -> bool:
    """Whether the result has fewer places than the kernel."""
    kernel, out, (_, rhs, result) = eqn.invars[1].aval, eqn.outvars[0].aval, eqn.params["dimension_numbers"]
    return math.prod(out.shape[a] for a in result[2:]) < math.prod(kernel.shape[a] for a in rhs[2:])


def _is_depthwise(eqn: JaxprEqn) -> bool:
    """Whether each group is one channel of image and kernel, and takes longer than its loop to compile.

    One image of one channel is such a group, too; of vectors the library is as fast.
    """
    lhs, rhs, _ = eqn.params["dimension_numbers"]
    (x, y), groups = (atom.aval for atom in eqn.invars), eqn.params["batch_group_count"]
    products = eqn.outvars[0].aval.size // groups * (y.size // groups)
    alone = x.shape[lhs[0]] == groups == y.shape[rhs[0]] and (groups > 1 or (x.shape[lhs[1]] == 1 and x.ndim > 3))
    many = products >= thresholds.KERNEL_GRADIENT_MIN_PRODUCTS
    return alone and many and all(step == 1 for step in eqn.params["lhs_dilation"]) and _is_small(eqn)


def _by_groups_of_channels(
    x: Array, y: Array, *, primitive: Primitive, params: tuple[tuple[str, Any], ...]
) -> list[Any]:
    changed = dict(params)
    groups, lhs = changed["batch_group_count"], changed["dimension_numbers"].lhs_spec
    changed.update(batch_group_count=1, feature_group_count=groups)
    image = groups_moved(x, lhs[0], lhs[1], groups)
    return for_library(image, y, primitive=primitive, params=tuple(changed.items()))


def _with_operands_swapped(
    x: Array, y: Array, *, primitive: Primitive, params: tuple[tuple[str, Any], ...]
) -> list[Any]:
    """The kernel convolved with the image, whose holes are gaps of a kernel then; places are counted from the end."""
    changed = dict(params)
    lhs, rhs, result = changed["dimension_numbers"]
    pads = []
    for a, b, (low, high), step in zip(lhs[2:], rhs[2:], changed["padding"], changed["lhs_dilation"], strict=True):
        length, taps = dilated(typeof(x).shape[a], step), typeof(y).shape[b]
        places = length + low + high - taps + 1
        before = places - 1 - low
        pads.append((before, places - 1 + length - taps - before))
    changed.update(
        padding=tuple(pads), lhs_dilation=changed["rhs_dilation"], rhs_dilation=changed["lhs_dilation"],
        dimension_numbers=ConvDimensionNumbers(rhs, lhs, (result[1], result[0], *result[2:])), precision=None,
    )  # fmt: skip
    (out,) = for_library(y, x, primitive=primitive, params=tuple(changed.items()))
    return [rev(out, result[2:])]


def _by_taps(
    x: Array, y: Array, *, window_strides: tuple[int, ...], padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...], rhs_dilation: tuple[int, ...], dimension_numbers: ConvDimensionNumbers,
    shape: tuple[int, ...], dtype: np.dtype,
) -> list[Any]:  # fmt: skip
    """For each place of the result, the sums of products of all images and all elements of the kernel, channel by channel."""
    lhs, rhs, result = dimension_numbers
    work = accumulator(dtype)
    x = padded(convert(x, work), lhs[2:], padding, lhs_dilation)
    x, y = transpose(x, (lhs[1], *lhs[2:], lhs[0])), transpose(convert(y, work), (rhs[1], *rhs[2:], rhs[0]))
    lengths, places = typeof(y).shape, tuple(shape[axis] for axis in result[2:])
    spans = (lengths[0], *(dilated(n, gap) for n, gap in zip(lengths[1:-1], rhs_dilation, strict=True)), lengths[-1])
    steps, count = (1, *rhs_dilation, 1), math.prod(places)
    # Without axes of length 1, along the last of which the compiler would look for vectors.
    kept = [n for n in lengths if n > 1]
    summed = range(len(kept) - (lengths[-1] > 1))
    y = reshape(y, kept)
    firsts = np.indices(places, np.int32).reshape(len(places), count) * np.array(window_strides, np.int32)[:, None]

    def body(carry: tuple[Any, Array]) -> tuple[Any, Array]:
        place, sums = carry
        starts = [number_at(first, place) for first in firsts]
        part = dynamic_slice(x, (np.int32(0), *starts, np.int32(0)), spans)
        image = reshape(slice_(part, (0,) * len(spans), spans, steps), kept)
        row = reduce_sum(mul(image, y), summed)
        return add(place, np.int32(1)), dynamic_update_slice(sums, reshape(row, (1, lengths[-1])), (place, np.int32(0)))

    start = np.int32(0), full((count, lengths[-1]), 0, work)
    _, sums = while_loop(lambda carry: lt(carry[0], np.int32(count)), body, start)
    sums = reshape(sums, (*places, lengths[-1], 1))
    return [convert(in_order_of_result(sums, [*range(2, 2 + len(places)), 1, 0], result), dtype)]
