"""Convolutions of each channel with numbers of its own on the CPU: number by number, for all places at once.

So are filtered images of one channel, depthwise layers, and sums of few of them, where each group of channels has one result.
The compiler's library goes through each place by itself. Of larger kernels the numbers of a row, or of a part of it, are taken
together, and the rows one after the other in a loop.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax.core.program import Atom, JaxprEqn
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.arithmetic import add, lt, mul
from arrax.lax.axis_order import rev_p, transpose
from arrax.lax.calls import call_apart
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.conversion import convert
from arrax.lax.convolution_axes import in_order_of_result
from arrax.lax.convolution_geometry import ConvDimensionNumbers
from arrax.lax.cpu import thresholds
from arrax.lax.filled_arrays import full
from arrax.lax.operand_checks import accumulator
from arrax.lax.shapes import broadcast_in_dim, broadcast_in_dim_p, reshape, reshape_p
from arrax.lax.slicing import dynamic_slice
from arrax.lax.static_slicing import pad, slice_, slice_in_dim

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

_WITH_UNIT_AXES = frozenset({reshape_p, broadcast_in_dim_p})
# Elements: multiples of it divide evenly among most numbers of processors.
_SHARES = 60 * thresholds.EVEN_MULTIPLE
_GEOMETRY = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers")


def geometry_of(params: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The parameters that say where the windows of a convolution lie."""
    return tuple((name, params[name]) for name in _GEOMETRY)


def depthwise_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of convolutions that sum over no channels, or over few, with kernels of few elements or smaller than the result."""
    (x, y), out, params = (atom.aval for atom in eqn.invars), eqn.outvars[0].aval, eqn.params
    spec = params["dimension_numbers"]
    channels = y.shape[spec.rhs_spec[0]]
    if params["batch_group_count"] != 1 or not around.one_device or y.dtype == np.bool_:
        return None
    if y.shape[spec.rhs_spec[1]] != 1:
        return _form_of_few_inputs(y, out, params)
    if x.shape[spec.lhs_spec[1]] != channels:
        return None
    few = y.size // channels <= thresholds.DEPTHWISE_MAX_TAPS
    if not few and (type(out.size) is not int or not _is_covered(y, out, spec)):
        return None
    kernel = _before_reversal(eqn.invars[1], around, spec.rhs_spec[2:]) if few else None
    results = (("shape", out.shape), ("dtype", out.dtype), ("kernel_shape", y.shape), ("backwards", kernel is not None))
    operands = [eqn.invars[0], eqn.invars[1] if kernel is None else kernel]
    return Form(_by_taps, (*geometry_of(params), *results), operands)


def _form_of_few_inputs(y: ShapedArray, out: ShapedArray, params: dict[str, Any]) -> Form | None:
    """The form of groups of few channels with one result each: filters of all colours, derivatives of some depthwise layers."""
    spec = params["dimension_numbers"]
    channels, inputs = (y.shape[axis] for axis in spec.rhs_spec[:2])
    if params["feature_group_count"] != channels or type(y.size) is not int or y.size in (0, channels * inputs):
        return None  # windows of one place are products of matrices
    if y.size // channels > thresholds.DEPTHWISE_MAX_TAPS:
        return None
    kernel_shape = tuple(1 if axis == spec.rhs_spec[1] else n for axis, n in enumerate(y.shape))
    results = (("shape", out.shape), ("dtype", out.dtype), ("kernel_shape", kernel_shape))
    return Form(_by_inputs, (*geometry_of(params), *results))


def _is_covered(y: ShapedArray, out: ShapedArray, spec: ConvDimensionNumbers) -> bool:
    """Whether a kernel is not larger than the result."""
    taps, places = (
        math.prod(aval.shape[axis] for axis in axes[2:]) for aval, axes in ((y, spec.rhs_spec), (out, spec.out_spec))
    )
    return taps <= places


def _before_reversal(y: Atom, around: Around, space: Sequence[int]) -> Atom | None:
    """The kernel before it was reversed along its spatial axes, as in true convolutions and in derivatives; None if it was not.

    It may differ from ``y`` in axes of length 1.
    """
    maker = around.maker(y)
    while maker is not None and maker.primitive in _WITH_UNIT_AXES and maker.invars[0].aval.size == y.aval.size:
        maker = around.maker(maker.invars[0])
    if maker is None or maker.primitive is not rev_p:
        return None
    source, reversed_axes = maker.invars[0], maker.params["dimensions"]
    before, after = ([axis for axis, n in enumerate(atom.aval.shape) if n > 1] for atom in (source, y))
    if [source.aval.shape[axis] for axis in before] != [y.aval.shape[axis] for axis in after]:
        return None
    same = all((axis in reversed_axes) == (place in space) for axis, place in zip(before, after, strict=True))
    return source if same else None


class _Windows(NamedTuple):
    """Where the windows of a convolution lie in an image."""

    channel: int  # the image's axis of channels
    space: tuple[int, ...]  # the axes that windows move along
    strides: tuple[int, ...]
    gaps: tuple[int, ...]  # between elements of a window
    counts: tuple[int, ...]  # how many there are, in the order of the image's axes: the lengths of the result


def _by_taps(
    x: Array, y: Array, *, window_strides: tuple[int, ...], padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...], rhs_dilation: tuple[int, ...], dimension_numbers: ConvDimensionNumbers,
    shape: tuple[int, ...], dtype: np.dtype, kernel_shape: tuple[int, ...], backwards: bool,
) -> list[Any]:  # fmt: skip
    lhs, rhs, result = dimension_numbers
    work = accumulator(dtype)
    kernel = tuple(kernel_shape[axis] for axis in rhs[2:])
    own = [0] * len(shape)
    for axis, place in zip(lhs, result, strict=True):
        own[axis] = shape[place]
    counts = _evenly_divided(own, lhs[2:]) if math.prod(kernel) >= thresholds.DEPTHWISE_EVEN_TAPS else own
    more = [(counts[axis] - own[axis]) * step for axis, step in zip(lhs[2:], window_strides, strict=True)]
    padding = tuple((low, high + behind) for (low, high), behind in zip(padding, more, strict=True))
    x = padded(convert(x, work), lhs[2:], padding, lhs_dilation)
    windows = _Windows(lhs[1], lhs[2:], window_strides, rhs_dilation, tuple(counts))

    def summed(x: Array, y: Array) -> list[Any]:
        taps = _taps(reshape(convert(y, work), kernel_shape), rhs)
        if math.prod(kernel) > thresholds.DEPTHWISE_MAX_TAPS:
            return [_by_rows(x, taps, kernel, windows)]
        places = list(itertools.product(*map(range, kernel)))
        return [_with_terms(None, x, taps, windows, places[::-1] if backwards else places)]

    (total,) = call_apart(summed, x, y)
    if counts != own:
        total = slice_(total, [0] * len(own), own)
    axes = [lhs.index(axis) for axis in range(len(lhs))]
    return [convert(in_order_of_result(total, axes, result), dtype)]


def _by_inputs(
    x: Array, y: Array, *, dimension_numbers: ConvDimensionNumbers, dtype: np.dtype, **params: Any
) -> list[Any]:
    """The sum of the convolutions of the first channel of each group, of the second one and so on."""
    lhs, rhs, _ = dimension_numbers
    inputs = typeof(y).shape[rhs[1]]
    settings = {"dimension_numbers": dimension_numbers, "dtype": accumulator(dtype), "backwards": False, **params}
    terms = []
    for place in range(inputs):
        image, kernel = (slice_in_dim(v, place, None, inputs, axis) for v, axis in ((x, lhs[1]), (y, rhs[1])))
        terms += _by_taps(image, kernel, **settings)
    return [convert(functools.reduce(add, terms), dtype)]


def _evenly_divided(counts: list[int], space: Sequence[int]) -> list[int]:
    """The lengths of a result, or more along an axis that windows move along where the result is one long vector.

    The compiler divides the loop over it among the processors. Where their shares are not equally long, each of them asks for
    each element whether it is of the last share.
    """
    longest = max(space, key=counts.__getitem__)
    length = counts[longest]
    if (
        length < thresholds.DEPTHWISE_EVEN_LENGTH
        or length != math.prod(counts)
        or length % thresholds.EVEN_MULTIPLE == 0
    ):
        return counts
    return [-(-n // _SHARES) * _SHARES if axis == longest else n for axis, n in enumerate(counts)]


def _with_terms(
    total: Array | None, x: Array, taps: Array, windows: _Windows, places: Sequence[Sequence[int]]
) -> Array:
    """A total with the products of an image's elements at places of the windows with rows of ``taps``."""
    channels = windows.counts[windows.channel]
    for tap, place in enumerate(places):
        starts, ends, steps = [0] * len(windows.counts), list(windows.counts), [1] * len(windows.counts)
        for axis, step, gap, at in zip(windows.space, windows.strides, windows.gaps, place, strict=True):
            starts[axis], steps[axis] = at * gap, step
            ends[axis] = at * gap + (windows.counts[axis] - 1) * step + 1
        weights = reshape(slice_(taps, (tap, 0), (tap + 1, channels)), (channels,))
        term = mul(slice_(x, starts, ends, steps), broadcast_in_dim(weights, windows.counts, (windows.channel,)))
        total = term if total is None else add(total, term)
    assert total is not None  # a kernel has an element
    return total


def _by_rows(x: Array, taps: Array, kernel: tuple[int, ...], windows: _Windows) -> Array:
    """The sum over all places of a kernel, in a loop over its rows or over parts of them."""
    length = kernel[-1]
    size = _part_of_row(length)
    total = full(windows.counts, 0, typeof(x).dtype)
    for first, count, width in ((0, length // size, size), (length // size * size, 1, length % size)):
        if width:
            starts = np.indices((*kernel[:-1], count), np.int32).reshape(len(kernel), -1)
            starts[-1] = first + width * starts[-1]
            total = _with_rows(total, x, taps, windows, kernel, starts, width)
    return total


def _part_of_row(length: int) -> int:
    """How many elements of a row are taken at once: a divisor, if there is one, since what is left takes a loop of its own."""
    most = thresholds.DEPTHWISE_ROW
    divisors = (size for size in range(min(length, most), most // 2 - 1, -1) if length % size == 0)
    return next(divisors, length if length <= 2 * most else most)


def _with_rows(
    total: Array, x: Array, taps: Array, windows: _Windows, kernel: tuple[int, ...], starts: np.ndarray, width: int
) -> Array:
    """A total with the products with some elements of a kernel side by side, from each of the places where they start."""
    spans = list(windows.counts)
    for axis, step in zip(windows.space, windows.strides, strict=True):
        spans[axis] = (spans[axis] - 1) * step + 1
    spans[windows.space[-1]] += (width - 1) * windows.gaps[-1]
    rows = np.ravel_multi_index(tuple(starts), kernel).astype(np.int32)
    firsts = starts * np.array(windows.gaps, np.int32)[:, None]
    along_row = [(*[0] * (len(kernel) - 1), tap) for tap in range(width)]

    def body(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        turn, total = carry
        corner: list[Any] = [np.int32(0)] * len(spans)
        for axis, table in zip(windows.space, firsts, strict=True):
            corner[axis] = number_at(table, turn)
        weights = dynamic_slice(taps, (number_at(rows, turn), np.int32(0)), (width, typeof(taps).shape[1]))
        return add(turn, np.int32(1)), _with_terms(total, dynamic_slice(x, corner, spans), weights, windows, along_row)

    return while_loop(lambda carry: lt(carry[0], np.int32(rows.size)), body, (np.int32(0), total))[1]


def number_at(table: np.ndarray, index: Array) -> Array:
    """A number of a table, at an index that is data."""
    return reshape(dynamic_slice(table, (index,), (1,)), ())


def padded(x: Array, space: tuple[int, ...], padding: Any, dilation: tuple[int, ...]) -> Array:
    """With zeros around it and in between, in memory: each element is looked at for several places."""
    config = [(0, 0, 0)] * typeof(x).ndim
    for axis, (low, high), step in zip(space, padding, dilation, strict=True):
        config[axis] = (low, high, step - 1)
    if not any(map(any, config)):
        return x

    def in_memory(x: Array) -> list[Any]:
        return [pad(x, np.zeros((), typeof(x).dtype)[()], config)]

    return call_apart(in_memory, x)[0]


def _taps(y: Array, spec: tuple[int, ...]) -> Array:
    """A kernel as a matrix: a row for each place, a column for each channel."""
    shape = typeof(y).shape
    return reshape(transpose(y, (*spec[2:], spec[1], spec[0])), (math.prod(shape) // shape[spec[0]], shape[spec[0]]))
