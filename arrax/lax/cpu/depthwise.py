"""Convolutions of each channel with a few numbers of its own on the CPU: number by number, for all places at once.

So are filtered images of one channel, and depthwise layers. The compiler's library goes through each place by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.program import Atom, JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.arithmetic import add, mul
from arrax.lax.axis_order import rev_p, transpose
from arrax.lax.calls import call_apart
from arrax.lax.conversion import convert
from arrax.lax.convolution_axes import in_order_of_result
from arrax.lax.convolution_geometry import ConvDimensionNumbers
from arrax.lax.cpu import thresholds
from arrax.lax.operand_checks import accumulator
from arrax.lax.shapes import broadcast_in_dim, broadcast_in_dim_p, reshape, reshape_p
from arrax.lax.static_slicing import pad, slice_

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

_WITH_UNIT_AXES = frozenset({reshape_p, broadcast_in_dim_p})
_GEOMETRY = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers")


def geometry_of(params: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The parameters that say where the windows of a convolution lie."""
    return tuple((name, params[name]) for name in _GEOMETRY)


def depthwise_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of convolutions that sum over no channels, with kernels of few elements."""
    (x, y), out, params = (atom.aval for atom in eqn.invars), eqn.outvars[0].aval, eqn.params
    spec = params["dimension_numbers"]
    channels = y.shape[spec.rhs_spec[0]]
    alone = y.shape[spec.rhs_spec[1]] == 1 and x.shape[spec.lhs_spec[1]] == channels
    if not alone or params["batch_group_count"] != 1 or not around.one_device or y.dtype == np.bool_:
        return None
    if y.size // channels > thresholds.DEPTHWISE_MAX_TAPS:
        return None
    kernel = _before_reversal(eqn.invars[1], around, spec.rhs_spec[2:])
    results = (("shape", out.shape), ("dtype", out.dtype), ("kernel_shape", y.shape), ("backwards", kernel is not None))
    operands = [eqn.invars[0], eqn.invars[1] if kernel is None else kernel]
    return Form(_by_taps, (*geometry_of(params), *results), operands)


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


def _by_taps(
    x: Array, y: Array, *, window_strides: tuple[int, ...], padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...], rhs_dilation: tuple[int, ...], dimension_numbers: ConvDimensionNumbers,
    shape: tuple[int, ...], dtype: np.dtype, kernel_shape: tuple[int, ...], backwards: bool,
) -> list[Any]:  # fmt: skip
    lhs, rhs, result = dimension_numbers
    work = accumulator(dtype)
    x = padded(convert(x, work), lhs[2:], padding, lhs_dilation)
    own = [0] * len(shape)  # the lengths of the result in the order of the input's axes
    for axis, place in zip(lhs, result, strict=True):
        own[axis] = shape[place]

    def summed(x: Array, y: Array) -> list[Any]:
        taps = _taps(reshape(convert(y, work), kernel_shape), rhs)
        total: Any = None
        kernel_indices = list(itertools.product(*(range(kernel_shape[axis]) for axis in rhs[2:])))
        for tap, place in enumerate(reversed(kernel_indices) if backwards else kernel_indices):
            starts, ends, steps = [0] * len(own), list(own), [1] * len(own)
            for axis, step, gap, at in zip(lhs[2:], window_strides, rhs_dilation, place, strict=True):
                starts[axis], steps[axis] = at * gap, step
                ends[axis] = at * gap + (own[axis] - 1) * step + 1
            weights = reshape(slice_(taps, (tap, 0), (tap + 1, own[lhs[1]])), (own[lhs[1]],))
            term = mul(slice_(x, starts, ends, steps), broadcast_in_dim(weights, own, (lhs[1],)))
            total = term if total is None else add(total, term)
        return [total]

    (total,) = call_apart(summed, x, y)
    axes = [lhs.index(axis) for axis in range(len(lhs))]
    return [convert(in_order_of_result(total, axes, result), dtype)]


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
