"""Shapes and axes as users give them, in their canonical form."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.calls import as_index, in_call
from arrax.core.errors import TracerIntegerConversionError
from arrax.core.interpreter import Tracer
from arrax.core.lengths import is_symbolic
from arrax.dtypes.wording import shown


def canonical_shape(shape: Any, context: str = "") -> tuple[int, ...]:
    """A shape as a tuple of non-negative ints.

    Raises:
      TypeError: entries that are not concrete integers, or negative.
      ValueError: more elements than a machine can address.
    """
    if isinstance(shape, int | np.integer) or is_symbolic(shape):
        shape = (shape,)
    elif getattr(shape, "ndim", None) == 0 and not isinstance(shape, Tracer):
        shape = (as_index(shape),)
    elif isinstance(shape, np.ndarray) and shape.dtype == object:
        shape = tuple(shape)
    try:
        if isinstance(shape, bytes | bytearray | dict | set | frozenset):
            raise TypeError  # which may have numbers in them, but no lengths
        result = tuple(operator.index(length) for length in shape)
    except (TypeError, TracerIntegerConversionError):
        if isinstance(shape, tuple | list) and any(map(is_symbolic, shape)):
            return tuple(map(as_index, shape))
        origin = next((x.origin() for x in _entries(shape) if isinstance(x, Tracer)), "")
        hint = (
            "\nIf using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions." if origin else ""
        )
        message = f"Shapes must be 1D sequences of concrete values of integer type, got {shown(_entries(shape))}.{hint}{origin}"
        raise TypeError(in_call(message, shape)) from None
    for length in result:
        if length < 0:
            raise TypeError(f"{context or 'shape'}: dimensions must be non-negative, got shape {result}")
    if math.prod(result) >= 1 << 60:
        raise ValueError(f"{context or 'shape'} {result} has more elements than can be addressed")
    return result


def _entries(shape: Any) -> Sequence[Any]:
    return shape if isinstance(shape, list | tuple) else [shape]


def canonical_axis(axis: Any, rank: int, name: str = "axis") -> int:
    """An axis in [0, rank).

    Raises:
      AxisError: the axis is out of bounds; NumPy's class, a ValueError and an IndexError.
    """
    index = axis if type(axis) is int else as_index(axis)
    if not -rank <= index < rank:
        raise np.exceptions.AxisError(f"{name} {index} is out of bounds for array of dimension {rank}")
    return index + rank if index < 0 else index
