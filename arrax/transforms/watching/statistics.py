"""What is known of an array in a few numbers, computed where the array is."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.lax.arithmetic import abs_, div, eq, gt, ne
from arrax.lax.bitwise import bitwise_not, bitwise_or
from arrax.lax.conversion import convert_element_type
from arrax.lax.filled_arrays import full_like
from arrax.lax.reductions import reduce_max, reduce_min, reduce_sum
from arrax.lax.selection import select
from arrax.lax.stacking import stack
from arrax.xla.arrays import Array


def statistics(x: Any) -> Any:
    """Least, greatest and mean finite element, how many are NaN, and how many infinite; of magnitudes for complex numbers.

    Args:
      x: array.
    Returns: float array of shape (5,); the first three are NaN where no element is finite.
    """
    aval = typeof(x)
    wide = np.float64 if aval.dtype in (np.float64, np.complex128, np.int64, np.uint64) else np.float32
    axes = tuple(range(aval.ndim))
    if not aval.size:
        return np.array([np.nan, np.nan, np.nan, 0, 0], wide)
    x = convert_element_type(abs_(x) if dtypes.is_complex(aval.dtype) else x, wide)
    nan, infinite = ne(x, x), eq(abs_(x), full_like(x, np.inf))
    finite = bitwise_not(bitwise_or(nan, infinite))

    def among_finite(other: float) -> Any:
        return select(finite, x, full_like(x, other))

    def count(flags: Array) -> Any:
        return reduce_sum(convert_element_type(flags, wide), axes)

    number = count(finite)
    smallest, largest = reduce_min(among_finite(np.inf), axes), reduce_max(among_finite(-np.inf), axes)
    mean = div(reduce_sum(among_finite(0.0), axes), number)  # NaN where there is none
    any_finite = gt(number, full_like(number, 0))
    none = full_like(number, np.nan)
    return stack(
        [select(any_finite, smallest, none), select(any_finite, largest, none), mean, count(nan), count(infinite)]
    )
