"""Interpolation: the piecewise linear function through some points (NumPy reference, routines.math)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.interpreter import concrete_value
from arrax.core.lengths import longer
from arrax.core.types import typeof
from arrax.lax import arithmetic, bitwise, concatenation, filled_arrays, selection, shapes, static_slicing
from arrax.lax.conversion import convert, length_of_axis
from arrax.lax.reductions import reduce_sum
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.gathers import take_slices
from arrax.numpy_api.operands import check_arraylike, common_type, promote_inexact
from arrax.numpy_api.searching import index_dtype, search_sorted
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


def _ends(side: Any) -> bool:
    if isinstance(side, str) and side != "extrapolate":
        raise ValueError(f"interp: the only text allowed for left and right is 'extrapolate', got {side!r}")
    return isinstance(side, str)


@api(static=("extrapolates",))
def _interp(x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any, extrapolates: tuple[bool, bool]) -> Array:
    x, xp = promote_inexact(x, xp)
    (fp,) = promote_inexact(fp)
    dtype, weak = common_type([x, fp, *(v for v in (left, right) if v is not None)])
    x, xp, fp = convert(x, typeof(x).dtype), convert(xp, typeof(xp).dtype), convert(fp, dtype)
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
    length, shape = typeof(xp).shape[0], typeof(x).shape
    one = np.asarray(1).astype(index_dtype())[()]
    position = selection.clamp(
        one, search_sorted(xp, x, None, True, "scan"), length_of_axis(longer(length - 1, 1), index_dtype())
    )
    before = arithmetic.sub(position, one)
    position = arithmetic.min_(position, length_of_axis(length - 1, index_dtype()))
    x0, x1, f0, f1 = (
        take_slices(xp, before, 0),
        take_slices(xp, position, 0),
        take_slices(fp, before, 0),
        take_slices(fp, position, 0),
    )
    width = arithmetic.sub(x1, x0)
    flat = arithmetic.le(
        arithmetic.abs_(width), np.spacing(dtypes.finfo(typeof(xp).dtype).eps).astype(typeof(xp).dtype)
    )
    safe = selection.select(flat, filled_arrays.full_like(width, 1), width)
    share = convert(arithmetic.div(arithmetic.sub(x, x0), safe), dtype)
    out = selection.select(flat, f0, arithmetic.add(f0, arithmetic.mul(share, arithmetic.sub(f1, f0))))
    if period is not None:
        return convert(out, dtype, weak)
    sides = [(left, 0, arithmetic.lt), (right, length - 1, arithmetic.gt)]
    for number, (side, index, beyond) in enumerate(sides):
        if extrapolates[number]:
            continue
        edge, end = (shapes.squeeze(static_slicing.slice_in_dim(v, index, index + 1), (0,)) for v in (xp, fp))
        value = end if side is None else convert(side, dtype)
        outside = beyond(x, operands.broadcast_to(edge, shape))
        out = selection.select(outside, operands.broadcast_to(value, shape), out)
    return convert(out, dtype, weak)


def _periodic(x: Array, xp: Array, fp: Array, period: float) -> tuple[Any, Any, Any]:
    """Places within one period, sorted, with one more on either side."""
    dtype = typeof(xp).dtype
    size = arithmetic.abs_(convert(period, dtype))

    def folded(v: Array) -> Array:
        broadcasted = operands.broadcast_to(size, typeof(v).shape)
        rest = arithmetic.rem(v, broadcasted)
        return selection.select(
            arithmetic.lt(rest, np.asarray(0).astype(dtype)[()]), arithmetic.add(rest, broadcasted), rest
        )

    x, xp = folded(x), folded(xp)
    length = typeof(xp).shape[0]
    rows, columns = (shapes.broadcast_in_dim(xp, (length, length), (i,)) for i in (0, 1))
    i, j = (filled_arrays.broadcasted_iota(np.int32, (length, length), axis) for axis in (0, 1))
    tied = bitwise.bitwise_and(arithmetic.eq(rows, columns), arithmetic.lt(j, i))
    rank = reduce_sum(convert(bitwise.bitwise_or(arithmetic.lt(columns, rows), tied), np.int32), (1,))
    hits = convert(arithmetic.eq(shapes.broadcast_in_dim(rank, (length, length), (1,)), i), np.int32)
    order = reduce_sum(arithmetic.mul(hits, j), (1,))
    xp, fp = take_slices(xp, order, 0), take_slices(fp, order, 0)

    def end(v: Array, index: int) -> Array:
        return static_slicing.slice_in_dim(v, index, index + 1)

    around = operands.broadcast_to(size, (1,))
    xp = concatenation.concatenate(
        [arithmetic.sub(end(xp, length - 1), around), xp, arithmetic.add(end(xp, 0), around)], 0
    )
    return x, xp, concatenation.concatenate([end(fp, length - 1), fp, end(fp, 0)], 0)


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: OptionalArray = None,
    right: OptionalArray = None,
    period: OptionalArray = None,
) -> Array:
    """Values of the piecewise linear function through some points.

    Args:
      x: array of places.
      xp: ascending vector: the places of the points.
      fp: vector of the same length: their values.
      left, right: the value beyond either end, by default that of the end; ``"extrapolate"`` continues the last piece.
      period: the length after which the function repeats; ``xp`` need not ascend then.
    Returns: array of the shape of ``x``, of the common dtype of places and values.
    Raises:
      ValueError: ``xp`` and ``fp`` are not vectors of equal length, or empty; a period of zero.
      TypeError: lists.
    Example: ``jnp.interp(0.5, jnp.array([0., 1.]), jnp.array([2., 4.]))`` is 3. Source: ``numpy.interp``.
    """
    check_arraylike("interp", x, xp, fp)
    if typeof(xp).ndim != 1 or typeof(xp).shape != typeof(fp).shape:
        raise ValueError(
            f"interp: xp and fp must be one-dimensional arrays of equal size, got {typeof(xp).shape} "
            f"and {typeof(fp).shape}"
        )
    if typeof(xp).size == 0:
        raise ValueError("interp: xp and fp must not be empty")
    if any(dtypes.is_complex(typeof(v).dtype) for v in (x, xp)):
        raise TypeError("interp: complex places are not supported")
    if period is not None and concrete_value(period) is not None and np.asarray(concrete_value(period)) == 0:
        raise ValueError("interp: period must be a non-zero value; got 0")
    extrapolates = (_ends(left), _ends(right))
    left, right = (None if text else side for side, text in zip((left, right), extrapolates, strict=True))
    return _interp(x, xp, fp, left, right, period, extrapolates)
