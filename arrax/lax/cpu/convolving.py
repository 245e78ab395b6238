"""Convolutions of long vectors on the CPU as products of matrices, which the compiler's library is much faster at.

The vector is cut into blocks; the outputs that begin in a block depend on it and on the next one. So a row of two blocks
times a matrix with the kernel in its columns, each one place further down, gives a block of the outputs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.concatenation import concatenate
from arrax.lax.contractions import dot_general
from arrax.lax.cpu.expressions import Expression, patched
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.lax.static_slicing import pad, slice_in_dim
from arrax.xla.arrays import Array

if TYPE_CHECKING:
    from arrax.core.interpreter import Primitive
    from arrax.interpreters.annotations import Value

_MIN_LENGTH = 1 << 12
_MIN_TAPS, _MOST_TAPS = 3, 1 << 10
_MIN_BLOCK = 16


def _fits(ctx: LoweringContext, params: dict[str, Any]) -> bool:
    """Whether vectors, one channel each, are convolved step by step with one vector."""
    (x, y), out, spec = ctx.avals_in, ctx.avals_out[0], params["dimension_numbers"]
    if len(params["window_strides"]) != 1 or x.dtype != y.dtype or out.dtype not in (np.float32, np.float64):
        return False
    steps = (*params["window_strides"], *params["lhs_dilation"], *params["rhs_dilation"])
    groups = params["feature_group_count"] * params["batch_group_count"]
    channels = x.shape[spec.lhs_spec[1]] * y.shape[spec.rhs_spec[0]] * y.shape[spec.rhs_spec[1]] * groups
    in_order = all(numbers[0] < numbers[2] for numbers in (spec.lhs_spec, spec.out_spec))
    return (
        all(step == 1 for step in steps) and channels == 1 and in_order and x.dtype == out.dtype
        and _MIN_TAPS <= y.size <= _MOST_TAPS and out.shape[spec.out_spec[2]] >= _MIN_LENGTH
        and x.size > 0 and params["precision"] is None
    )  # fmt: skip


def _shifted_rows(kernel: Array, block: int) -> Array:
    """A matrix of shape (block, 2 block) whose row i holds the kernel from column i on."""
    width, dtype = 2 * block, typeof(kernel).dtype
    zero = np.zeros((), dtype)[()]
    padded = pad(kernel, zero, [(0, width + 1 - typeof(kernel).size, 0)])
    # Rows that are one longer than those that they are then cut into: so each begins one place further.
    repeated = reshape(broadcast_in_dim(padded, (block, width + 1), (1,)), (block * (width + 1),))
    return reshape(slice_in_dim(repeated, 0, block * width), (block, width))


def _by_blocks(
    x: Array, y: Array, *, padding: tuple[tuple[int, ...], ...], out_shape: tuple[int, ...], out_length: int
) -> Array:
    rows, taps, dtype = math.prod(out_shape) // out_length, typeof(y).size, typeof(x).dtype
    low, length = padding[0][0], typeof(x).size // rows
    block = max(_MIN_BLOCK, -(-taps // _MIN_BLOCK) * _MIN_BLOCK)
    count = -(-out_length // block)
    behind = (count + 1) * block - low - length
    blocks = pad(reshape(x, (rows, length)), np.zeros((), dtype)[()], [(0, 0, 0), (low, behind, 0)])
    blocks = reshape(blocks, (rows, count + 1, block))
    pairs = concatenate([slice_in_dim(blocks, i, i + count, axis=1) for i in (0, 1)], 2)
    out = dot_general(pairs, _shifted_rows(reshape(y, (taps,)), block), (((2,), (1,)), ((), ())))
    return reshape(slice_in_dim(reshape(out, (rows, count * block)), 0, out_length, axis=1), out_shape)


def use_products_for_vectors(primitive: Primitive) -> None:
    """Let programs on the CPU convolve long vectors by products of matrices."""
    general = primitive.lower[None]

    def rule(ctx: LoweringContext, x: Value, y: Value, **params: Any) -> list[Value]:
        if not _fits(ctx, params):
            return general(ctx, x, y, **params)
        out = ctx.avals_out[0]
        length = out.shape[params["dimension_numbers"].out_spec[2]]
        fast = lower_fun(_by_blocks, multiple_results=False)
        (value,) = fast(ctx, x, y, padding=params["padding"], out_shape=out.shape, out_length=length)
        plain = ShapedArray(out.shape, out.dtype)
        answer = Expression(value, plain)
        # Zeros times infinity or NaN reach all outputs of a block: those are computed as usual.
        reached = ~(abs(answer) < math.inf)
        return [patched(answer, reached, lambda: Expression(general(ctx, x, y, **params)[0], plain)).value]

    primitive.lower["cpu"] = rule
