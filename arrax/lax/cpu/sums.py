"""Sums on the CPU over short axes, and of wide rows.

The compiler's library takes some 10 ns for each row of two elements, and goes down column after column where rows are wide: 8
rows of 131,072 floats took it 10 ms. Adding rows elementwise, or multiplying by ones, takes 0.1 ms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.types import typeof
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax.arithmetic import add
from arrax.lax.contractions import dot_general
from arrax.lax.conversion import convert_element_type
from arrax.lax.cpu import sources
from arrax.lax.cpu.reducing import combined_pairwise
from arrax.lax.shapes import full, reshape
from arrax.lax.structure import slice_in_dim

_LEAST_ELEMENTS = 1 << 14
_FEW, _SOME, _MANY = 8, 16, 32  # elements of an axis
_NARROW = 16  # elements behind an axis
_WIDE = 48 << 10  # bytes behind an axis
_SUMMED_IN = {"float16": np.float32, "bfloat16": np.float32, "float32": np.float32, "float64": np.float64}


def _as_matrices(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, int, int]:
    """How many elements there are before neighbouring axes, along them, and behind them."""
    first, behind = axes[0], axes[-1] + 1
    return math.prod(shape[:first]), math.prod(shape[first:behind]), math.prod(shape[behind:])


def _are_few(length: int, width: int) -> bool:
    """Whether rows are best added one by one."""
    return length <= _FEW or (length <= _SOME and width <= _NARROW)


def _added(x: Any, *, axes: tuple[int, ...]) -> Any:
    """The sum over neighbouring axes."""
    shape, dtype = typeof(x).shape, typeof(x).dtype
    outer, length, width = _as_matrices(shape, axes)
    x = convert_element_type(reshape(x, (outer, length, width)), _SUMMED_IN[dtype.name])
    if _are_few(length, width):
        sums = combined_pairwise([slice_in_dim(x, row, row + 1, axis=1) for row in range(length)], add)
    elif width == 1:
        sums = dot_general(reshape(x, (outer, length)), full((length,), 1, typeof(x).dtype), (((1,), (0,)), ((), ())))
    else:
        ones = full((outer, 1, length), 1, typeof(x).dtype)
        sums = dot_general(ones, x, (((2,), (1,)), ((0,), (0,))))
    return convert_element_type(reshape(sums, (*shape[: axes[0]], *shape[axes[-1] + 1 :])), dtype)


_add_apart = cached_lower_fun(
    _added, "sum_of_rows", apart=True
)  # the compiler would compute its results for each use of them


def lower_sum(ctx: Any, x: Any, *, axes: tuple[int, ...]) -> list[Any] | None:
    """A sum over axes that are neighbours, and short, or with much behind them."""
    aval, axes = ctx.avals_in[0], tuple(sorted(axes))
    if aval.size < _LEAST_ELEMENTS or aval.dtype.name not in _SUMMED_IN or not axes:
        return None
    _, length, width = _as_matrices(aval.shape, axes)
    if length < 2 or axes[-1] - axes[0] >= len(axes):
        return None
    in_rows = width == 1 and length <= _MANY and sources.is_argument(x)
    if not (_are_few(length, width) or in_rows or width * aval.dtype.itemsize >= _WIDE):
        return None
    return list(_add_apart(ctx, x, axes=axes))
