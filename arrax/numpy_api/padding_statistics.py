"""Padding with the extreme, mean or median of the elements at an edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.lax import concatenation, reductions, rounding, shapes, static_slicing
from arrax.lax.conversion import convert
from arrax.numpy_api.api import api
from arrax.numpy_api.averages import mean
from arrax.numpy_api.order_statistics import median
from arrax.numpy_api.padding_arguments import Widths, as_host_values, as_pairs, refuse_empty
from arrax.xla.arrays import Array

_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": lambda x, axis: reductions.reduce_max(x, (axis,)),
    "minimum": lambda x, axis: reductions.reduce_min(x, (axis,)),
    "mean": mean,
    "median": median,
}


@api(static=("widths", "mode", "lengths"))
def _pad_statistic(x: Array, widths: Widths, mode: str, lengths: tuple[tuple[int, ...], ...] | None) -> Array:
    aval = typeof(x)
    for axis, width in enumerate(widths):
        length = aval.shape[axis]
        parts = [x]
        for side, count in enumerate(width):
            if count:
                reach = length if lengths is None else min(lengths[axis][side], length)
                start = 0 if side == 0 else length - reach
                value = _STATISTICS[mode](static_slicing.slice_in_dim(x, start, start + reach, axis=axis), axis)
                parts.insert(side * len(parts), _repeated(value, typeof(x).shape, axis, count, aval.dtype))
        x = concatenation.concatenate(parts, axis)
    return convert(x, aval.dtype, aval.weak_type)


def _repeated(value: Array, shape: tuple[int, ...], axis: int, count: int, dtype: np.dtype) -> Array:
    if dtypes.is_integer(dtype) and dtypes.is_float(typeof(value).dtype):
        value = rounding.round(value, rounding.RoundingMethod.TO_NEAREST_EVEN)
    grown = (*shape[:axis], count, *shape[axis + 1 :])
    return shapes.broadcast_in_dim(convert(value, dtype), grown, [i for i in range(len(shape)) if i != axis])


def statistic_mode(mode: str) -> Callable[..., Any]:
    """Padding with ``"maximum"``, ``"mean"``, ``"median"`` or ``"minimum"`` of the elements that are nearest."""

    def pad_axis(x: Array, widths: Widths, stat_length: int | None = None) -> Array:
        refuse_empty(x, widths)
        lengths = None
        if stat_length is not None:
            pairs = as_pairs("stat_length", as_host_values(stat_length), len(widths))
            if pairs.dtype.kind not in "biuf":
                raise TypeError(f"pad: stat_length must be numbers, got {stat_length!r}")
            if (pairs < 1).any():
                raise ValueError(f"pad: stat_length must be at least 1, got {stat_length!r}")
            lengths = tuple((int(a), int(b)) for a, b in pairs)
        return _pad_statistic(x, widths, mode, lengths)

    return pad_axis
