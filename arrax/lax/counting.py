"""How often numbers occur."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.batching import batch_size, move_batch_axis
from arrax.interpreters.lowering.host_calls import native_or
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import lt, max_, scalar
from arrax.lax.conversion import convert_element_type
from arrax.lax.cpu.counting import lower_count
from arrax.lax.scatter import ScatterDimensionNumbers, scatter_add
from arrax.lax.shapes import expand_dims, full, full_like
from arrax.lax.structure import select

count_p = Primitive("count_values")


def _type(aval: ShapedArray, *, length: int, dtype: Any) -> ShapedArray:
    return ShapedArray((*aval.shape[:-1], length), dtype)


def _by_scatter(x: Any, *, length: int, dtype: Any) -> Any:
    aval = typeof(x)
    counts = full((*aval.shape[:-1], length), 0, dtype)
    if not aval.size or not length:
        return counts
    if aval.dtype.kind == "i":
        x = max_(x, scalar(0, x))
    if np.iinfo(aval.dtype).max > length:  # the index type of a scatter may be narrower
        x = select(lt(x, scalar(length, x)), x, full_like(x, length))
    places = expand_dims(convert_element_type(x, np.promote_types(aval.dtype, np.int32)), (aval.ndim,))
    batch = tuple(range(aval.ndim - 1))
    numbers = ScatterDimensionNumbers((), (aval.ndim - 1,), (aval.ndim - 1,), batch, batch)
    return scatter_add(counts, places, full(aval.shape, 1, dtype), numbers, mode="drop")


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    out = count_p.bind(*primals, **params)
    return out, Zero.of(out)


def _batch(values: Any, dims: Any, **params: Any) -> tuple[Any, int]:
    return count_p.bind(move_batch_axis(values[0], dims[0], batch_size(values, dims), 0), **params), 0


_general = lower_fun(_by_scatter, multiple_results=False)
count_p.type_rule, count_p.jvp, count_p.batch = _type, _jvp, _batch
count_p.lower[None], count_p.lower["cpu"] = _general, native_or(_general, lower_count)


def count_values(x: Any, length: int, dtype: Any) -> Any:
    """How often each number from 0 to ``length - 1`` occurs along the last axis; negative ones count as 0.

    Args:
      x: integers, shape ``(..., n)``.
      length: how many numbers are counted; greater ones are left out.
      dtype: an integer dtype for the counts.
    Returns: array of shape ``(..., length)``.
    """
    return count_p.bind(x, length=length, dtype=np.dtype(dtype))
