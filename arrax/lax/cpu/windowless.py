"""Convolutions without windows on the CPU, as products of matrices: layers of 1 by 1, kernels as large as the image.

So are the derivatives of layers of 1 by 1. The compiler's library convolves several times slower than it multiplies, above
all where it sums over all places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax.core.program import JaxprEqn
from arrax.core.types import typeof
from arrax.interpreters.platform_forms import Around, Form
from arrax.lax.contractions import dot_general
from arrax.lax.conversion import convert
from arrax.lax.convolution_axes import in_order_of_result
from arrax.lax.convolution_geometry import ConvDimensionNumbers
from arrax.lax.operand_checks import accumulator
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.lax.static_slicing import slice_

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

_BATCH, _CHANNELS, _SPACE = 0, 1, 2  # the canonical order of axes


class _Taken(NamedTuple):
    """The elements of an image that an axis needs: one for each place of the result, or for each element of the kernel."""

    first: int
    step: int
    places: int
    summed: bool


def windowless_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of convolutions along each of whose axes the kernel, or the result, is one element long."""
    (x, y), out, params = (atom.aval for atom in eqn.invars), eqn.outvars[0].aval, eqn.params
    if not around.one_device or out.dtype == np.bool_:
        return None
    if params["feature_group_count"] != 1 or params["batch_group_count"] != 1:
        return None
    lhs, rhs, result = params["dimension_numbers"]
    geometry = (params[name] for name in ("window_strides", "padding", "lhs_dilation", "rhs_dilation"))
    taken = tuple(
        _taken(x.shape[a], y.shape[b], out.shape[c], *steps)
        for a, b, c, *steps in zip(lhs[2:], rhs[2:], result[2:], *geometry, strict=True)
    )
    if None in taken:
        return None
    of_result = ("shape", out.shape), ("dtype", out.dtype)
    return Form(_product, (("taken", taken), ("numbers", params["dimension_numbers"]), *of_result))


def _taken(
    length: int, taps: int, places: int, stride: int, padding: tuple[int, int], spread: int, gap: int
) -> _Taken | None:
    if spread != 1 or (taps != 1 and places != 1):
        return None
    first, (step, count) = -padding[0], (stride, places) if taps == 1 else (gap, taps)
    inside = first >= 0 and first + (count - 1) * step < length
    return _Taken(first, step, count, taps != 1) if inside else None


def _product(
    x: Array, y: Array, *, taken: Sequence[_Taken], numbers: ConvDimensionNumbers, shape: tuple[int, ...], dtype: np.dtype
) -> list[Any]:  # fmt: skip
    lhs, rhs, result = numbers
    work = accumulator(dtype)
    x, y = _cut(convert(x, work), lhs, taken), convert(y, work)
    summed = [_CHANNELS, *(_SPACE + number for number, axis in enumerate(taken) if axis.summed)]
    dropped = [rhs[_SPACE + number] for number, axis in enumerate(taken) if not axis.summed]
    y_axes = [axis for axis in range(len(rhs)) if axis not in dropped]
    y = reshape(y, [typeof(y).shape[axis] for axis in y_axes])
    contracted = [lhs[axis] for axis in summed], [y_axes.index(rhs[axis]) for axis in summed]
    by_image = lhs[_BATCH] == 0 and lhs[_CHANNELS] != len(lhs) - 1  # whose space is then in its place already
    if by_image:
        y = broadcast_in_dim(y, (typeof(x).shape[0], *typeof(y).shape), range(1, 1 + len(y_axes)))
        out = dot_general(y, x, (([axis + 1 for axis in contracted[1]], contracted[0]), ((0,), (0,))))
    else:
        out = dot_general(x, y, (contracted, ((), ())))
    left = [lhs.index(axis) for axis in range(len(lhs)) if lhs.index(axis) not in summed]
    made = [_BATCH, _CHANNELS, *(axis for axis in left if axis != _BATCH)] if by_image else [*left, _CHANNELS]
    return [convert(reshape(in_order_of_result(out, made, result), shape), dtype)]


def _cut(x: Array, lhs: Sequence[int], taken: Sequence[_Taken]) -> Array:
    """The elements that the result needs, along each axis of space."""
    starts, ends, steps = [0] * len(lhs), list(typeof(x).shape), [1] * len(lhs)
    for axis, (first, step, places, _) in zip(lhs[2:], taken, strict=True):
        starts[axis], steps[axis], ends[axis] = first, step, first + (places - 1) * step + 1
    whole = tuple(ends) == typeof(x).shape and not any(starts) and set(steps) == {1}
    return x if whole else slice_(x, starts, ends, steps)
