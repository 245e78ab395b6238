"""Products on the CPU that the compiler's code is slow at: many small matrices, and transposed matrices by vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder

_MOST_TERMS = 8  # of an element of the result
_MOST_ELEMENTS = 64  # of one product
_LEAST_PRODUCTS = 64
_HALVES = ("float16", "bfloat16")


def lowering_of_products(general: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any] | None]:
    """The CPU's rule for ``dot_general``, which may fall back on the general one with other operands."""

    def rule(ctx: Any, x: Any, y: Any, *, dimension_numbers: Any, **params: Any) -> Sequence[Any] | None:
        found = _small_products(ctx, x, y, dimension_numbers, params["precision"])
        if found is not None:
            return found
        turned = _without_transposition(ctx, x, y, dimension_numbers)
        if turned is None:
            return None
        inner, (x, y), numbers = turned
        return general(inner, x, y, dimension_numbers=numbers, **params)

    return rule


def _small_products(ctx: Any, x: Any, y: Any, dimension_numbers: Any, precision: Any) -> list[Any] | None:
    """One term after the other, for all products at once. The compiler would go from one product to the next."""
    (contracted, batch), (x_aval, y_aval), out = dimension_numbers, ctx.avals_in, ctx.avals_out[0]
    dtype, count = x_aval.dtype, len(batch[0])
    if len(contracted[0]) != 1 or not isinstance(precision, tuple | None):
        return None
    terms = x_aval.shape[contracted[0][0]]
    products, size = math.prod(out.shape[:count]), math.prod(out.shape[count:])
    if not 1 <= terms <= _MOST_TERMS or size > _MOST_ELEMENTS or products < _LEAST_PRODUCTS or not count:
        return None
    work = np.dtype(np.float32) if dtype.name in _HALVES else dtype
    if (
        y_aval.dtype != dtype
        or out.dtype not in (dtype, work)
        or not isinstance(work, np.dtype)
        or work.kind not in "iufc"
    ):
        return None
    if work.itemsize < 4:  # integers that are added up as wider ones elsewhere
        return None
    wide = ShapedArray(out.shape, work)
    behind = x_aval.ndim - 1  # the result's axes are those of the batch, of x, of y
    total: Any = None
    for term in range(terms):
        left = _entry_of_all(x, x_aval, contracted[0][0], batch[0], count, term, wide)
        right = _entry_of_all(y, y_aval, contracted[1][0], batch[1], behind, term, wide)
        product = builder.op("multiply", wide, left, right)
        total = product if total is None else builder.op("add", wide, total, product)
    result = ShapedArray(out.shape, out.dtype)
    return [total if out.dtype == work else builder.op("convert", result, total)]


def _entry_of_all(
    x: Any, aval: ShapedArray, axis: int, batch: Sequence[int], first_free: int, entry: int, wide: ShapedArray
) -> Any:
    """An operand at one place of its contracted axis, repeated along the other operand's axes."""
    starts, stops = [0] * aval.ndim, list(aval.shape)
    starts[axis], stops[axis] = entry, entry + 1
    kept = [dim for dim in range(aval.ndim) if dim != axis]
    one = ShapedArray(tuple(1 if dim == axis else size for dim, size in enumerate(aval.shape)), aval.dtype)
    piece = builder.op(
        "slice", one, x, start_indices=builder.ints(starts), limit_indices=builder.ints(stops),
        strides=builder.ints([1] * aval.ndim),
    )  # fmt: skip
    flat = ShapedArray(tuple(aval.shape[dim] for dim in kept), aval.dtype)
    piece = builder.op("reshape", flat, piece)
    if aval.dtype != wide.dtype:
        flat = ShapedArray(flat.shape, wide.dtype)
        piece = builder.op("convert", flat, piece)
    free = iter(range(first_free, len(wide.shape)))
    places = [list(batch).index(dim) if dim in batch else next(free) for dim in kept]
    return builder.op("broadcast_in_dim", wide, piece, broadcast_dimensions=builder.ints(places))


def _without_transposition(ctx: Any, x: Any, y: Any, dimension_numbers: Any) -> tuple[Any, list[Any], Any] | None:
    """A transposed matrix by a vector as the matrix itself, contracted along its other axis."""
    contracted, batch = dimension_numbers
    values, avals, axes, found = [x, y], list(ctx.avals_in), [tuple(one) for one in contracted], False
    if batch[0] or sorted(aval.ndim for aval in avals) != [1, 2] or len(axes[0]) != 1:
        return None
    for side in range(2):
        operation = builder.source(values[side])
        if avals[side].ndim == 2 and operation is not None and operation.name == "stablehlo.transpose":
            if list(operation.attributes["permutation"]) != [1, 0]:
                return None
            values[side], found = operation.operands[0], True
            avals[side] = ShapedArray(avals[side].shape[::-1], avals[side].dtype)
            axes[side] = (1 - axes[side][0],)
    return (ctx.replace(avals_in=avals), values, (tuple(axes), batch)) if found else None
