"""Indices of minima and maxima along an axis."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.explicit_axes import without_axes
from arrax.core.functions import name_function
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero
from arrax.dtypes import DTypeLike
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax import computations
from arrax.lax.computations import Monoid
from arrax.lax.conversion import convert_ir
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.reducing import argmax_form
from arrax.lax.operand_checks import bools, check_dtype, checked_operand, kind_of, real, requested_dtype
from arrax.lax.reductions import kept_axes, reduce_ir, reduced_ir, shifted_axes, without_lengths
from arrax.lax.whole_bytes import in_whole_bytes
from arrax.xla.arrays import Array, ArrayLike
from arrax.xla.compat import MAX_UNROLLED

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value


def _index_lowering(optimum: Monoid) -> Any:
    """The extreme, then the least index where it is (or where there is a NaN): two reductions that vectorise.

    Of flags, the greatest is one that is set, so that one reduction does. Short rows, and few, go pair by pair, which compiles
    in half the time; so do, on the CPU, other axes than the last, group by group: loops of few turns are unrolled, and all
    places beside one another are searched at once.
    """
    direction = "GT" if optimum is computations.maximum else "LT"

    def search(ctx: LoweringContext, x: Value, axes: tuple[int, ...], group: int) -> Value:
        if group:
            return _index_by_groups(ctx, x, optimum, direction, axes[0], group)
        return _index_by_pairs(ctx, x, optimum, direction, axes)

    # With what computes the elements, a longer loop is not unrolled, and ten times slower.
    search_p = Primitive("search_by_pairs")
    search_p.type_rule = lambda aval, *, axes, index_dtype, group: ShapedArray(
        without_lengths(aval.shape, axes), index_dtype
    )
    search_p.lower[None] = lambda ctx, x, *, axes, index_dtype, group: [search(ctx, x, axes, group)]
    apart = cached_lower_fun(search_p.bind, "search_by_pairs", apart=True)

    def rule(ctx: LoweringContext, x: Value, *, axes: tuple[int, ...], index_dtype: np.dtype) -> list[Value]:
        aval, out = ctx.avals_in[0], ctx.avals_out[0]
        length = aval.shape[axes[0]]
        fixed = type(aval.size) is int
        if fixed and length > thresholds.ARGMAX_PAIRS_LENGTH and aval.dtype == np.bool_ and direction == "GT":
            return [_first_index(ctx, x, axes, may_miss=True)]
        along_rows = axes[0] == aval.ndim - 1
        fewest = thresholds.ARGMAX_PAIRS_SIZE if along_rows else thresholds.ARGMAX_COLUMNS_SIZE
        if not fixed or aval.size < fewest:
            return [_index_by_pairs(ctx, x, optimum, direction, axes)]
        if ctx.platform == "cpu":
            if along_rows and length <= thresholds.ARGMAX_FUSED_LENGTH:
                return [_index_by_pairs(ctx, x, optimum, direction, axes)]
            group = _row_group_length(length) if along_rows else _group_length(length, thresholds.ARGMAX_FUSED_GROUP)
            if group > thresholds.ARGMAX_FUSED_GROUP:
                return list(apart(ctx, x, axes=axes, index_dtype=index_dtype, group=group))
            if group:
                return [search(ctx, x, axes, group)]
        if aval.size < thresholds.ARGMAX_PAIRS_SIZE:
            return [_index_by_pairs(ctx, x, optimum, direction, axes)]
        if length <= (thresholds.ARGMAX_PAIRS_ROW if along_rows else thresholds.ARGMAX_PAIRS_LENGTH):
            return list(apart(ctx, x, axes=axes, index_dtype=index_dtype, group=0))
        best = reduced_ir(ctx, x, aval, optimum, axes, ShapedArray(out.shape, aval.dtype))
        here = builder.compare("EQ", aval.shape, x, builder.broadcast(best, aval, kept_axes(aval.ndim, axes)))
        if kind_of(aval.dtype) == "floating":
            flags = ShapedArray(aval.shape, np.dtype(np.bool_))
            here = builder.op("or", flags, here, builder.compare("NE", aval.shape, x, x))
        return [_first_index(ctx, here, axes)]

    return rule


def _first_index(ctx: LoweringContext, here: Value, axes: tuple[int, ...], may_miss: bool = False) -> Value:
    """The index of the first flag that is set; 0 where none is, if they ``may_miss``."""
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    length = aval.shape[axes[0]]
    counter = _counter(ctx.platform, length)
    indices, first = (ShapedArray(shape, counter) for shape in (aval.shape, out.shape))
    index = builder.op("iota", indices, iota_dimension=builder.integer(axes[0]))
    candidates = builder.op("select", indices, here, index, builder.full(length, indices))
    found = reduced_ir(ctx, candidates, indices, computations.minimum, axes, first, drops_nan=True)
    if may_miss:
        missing = builder.compare("EQ", out.shape, found, builder.full(length, first))
        found = builder.op("select", first, missing, builder.full(0, first), found)
    if dtypes.is_float(counter) and length - 1 > dtypes.iinfo(out.dtype).max:  # integers wrap around, floats do not
        wide = ShapedArray(out.shape, np.dtype(np.int64))
        found, first = convert_ir(found, first, wide), wide
    return convert_ir(found, first, out)


def _index_by_pairs(ctx: LoweringContext, x: Value, optimum: Monoid, direction: str, axes: tuple[int, ...]) -> Value:
    """The index of an extreme by one reduction of pairs of an element and its index."""
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    return _best_pair(ctx, [x], [aval, ShapedArray(aval.shape, out.dtype)], axes[0], optimum, direction)[1]


def _row_group_length(length: int) -> int:
    """How many elements of a row are searched at once: the rows have 4 or 8 groups then, whose places need no division.

    0 where there are no such groups, or the row is short.
    """
    if length <= thresholds.ARGMAX_PAIRS_ROW:
        return 0
    for count, most in ((4, 8), (8, 16), (4, 16)):
        size = length // count
        if size <= most and length // size == count:
            return size
    return 0


def _group_length(length: int, limit: int) -> int:
    """How many elements of a column, up to a limit, are searched at once, so that loops are short, and few groups are left.

    0 where the column is short.
    """
    if length <= thresholds.ARGMAX_PAIRS_LENGTH:
        return 0
    root = math.isqrt(length)
    most = min(limit, root + (root**2 < length))
    return next((size for size in range(most, most // 2, -1) if length % size == 0), most)


def _index_by_groups(ctx: LoweringContext, x: Value, optimum: Monoid, direction: str, axis: int, group: int) -> Value:
    """The index of an extreme: first of each group of elements, then of what these give, so that all loops are short."""
    pair = [ctx.avals_in[0], ctx.avals_in[0].update(dtype=ctx.avals_out[0].dtype)]

    def search(operands: Sequence[Value], avals: Sequence[ShapedArray], at: int) -> list[Value]:
        return _best_pair(ctx, operands, avals, at, optimum, direction)

    found, pair = _best_of_groups(search, [x], pair, axis, group)
    while (length := pair[0].shape[axis]) > thresholds.ARGMAX_PAIRS_LENGTH:
        found, pair = _best_of_groups(search, found, pair, axis, _group_length(length, thresholds.ARGMAX_PAIRS_LENGTH))
    return search(found, pair, axis)[1]


def _best_of_groups(
    search: Callable[..., list[Any]], operands: Sequence[Value], pair: Sequence[ShapedArray], axis: int, group: int
) -> tuple[list[Any], list[ShapedArray]]:
    """The extremes of groups of elements along an axis, and their indices; elements that are left over are one group more.

    Args:
      search: gives an extreme and its index, of elements and indices, their types, and an axis.
      operands: the elements, and their indices where these are others than their places along the axis.
      pair: the types of elements and indices.
    """
    count, rest = divmod(pair[0].shape[axis], group)

    def of(*lengths: int) -> list[ShapedArray]:
        return [_along(aval, axis, *lengths) for aval in pair]

    def part(start: int, *lengths: int) -> list[Value]:
        cut = [
            _entries(value, aval, axis, start, start + math.prod(lengths)) if rest else value
            for value, aval in zip(operands, pair, strict=False)
        ]
        # Without indices it is the place in the group: those in the row would be computed before a loop around, and then read
        # from memory.
        return [builder.op("reshape", aval, value) for aval, value in zip(of(*lengths), cut, strict=False)]

    def with_start(found: list[Any], aval: ShapedArray, step: int, first: int) -> list[Value]:
        return [
            found[0],
            found[1] if len(operands) == 2 else builder.op("add", aval, found[1], _counted(aval, axis, step, first)),
        ]

    left = of(count)
    found = with_start(search(part(0, count, group), of(count, group), axis + 1), left[1], group, 0)
    if not rest:
        return found, left
    one, more = of(1), of(count + 1)
    last = search(part(count * group, 1, rest), of(1, rest), axis + 1)
    parts = zip(found, with_start(last, one[1], 1, count * group), strict=True)
    dimension = builder.integer(axis)
    return [
        builder.op("concatenate", aval, *both, dimension=dimension) for aval, both in zip(more, parts, strict=True)
    ], more


def _along(aval: ShapedArray, axis: int, *lengths: int) -> ShapedArray:
    return aval.update(shape=(*aval.shape[:axis], *lengths, *aval.shape[axis + 1 :]))


def _entries(x: Value, aval: ShapedArray, axis: int, start: int, stop: int | None = None, step: int = 1) -> Value:
    """The entries from ``start`` to ``stop`` along an axis, by default to the end, or every ``step``-th of them."""
    if (start, stop, step) == (0, None, 1):
        return x
    starts, limits, steps = [0] * aval.ndim, list(aval.shape), [1] * aval.ndim
    stop = aval.shape[axis] if stop is None else stop
    starts[axis], limits[axis], steps[axis] = start, stop, step
    return builder.static_slice(x, _along(aval, axis, len(range(start, stop, step))), starts, limits, steps)


def _counted(aval: ShapedArray, axis: int, step: int, first: int) -> Value:
    """``first`` and every ``step``-th number after it, along an axis."""
    number = builder.op("iota", aval, iota_dimension=builder.integer(axis))
    if step > 1:
        number = builder.op("multiply", aval, number, builder.full(step, aval))
    return builder.op("add", aval, number, builder.full(first, aval)) if first else number


def _best_pair(
    ctx: LoweringContext,
    operands: Sequence[Value],
    pair: Sequence[ShapedArray],
    axis: int,
    optimum: Monoid,
    direction: str,
) -> list[Value]:
    """Extremes along an axis, and what stands beside them in an array of indices; by default these are places along it."""
    scalars = [ShapedArray((), aval.dtype) for aval in pair]
    outs = [ShapedArray(without_lengths(aval.shape, (axis,)), aval.dtype) for aval in pair]
    in_order = ctx.platform == "cpu"  # from the first element to the last, the result so far being the first operand
    better = functools.partial(_better_pair, direction, in_order)
    count = _elements_of_turn(pair[0].shape[axis]) if in_order else 1
    turns = [_along(aval, axis, aval.shape[axis] // count) for aval in pair] if count > 1 else pair
    found: list[Value] = []
    for first in range(count):
        taken = [_entries(x, aval, axis, first, step=count) for x, aval in zip(operands, pair, strict=False)]
        given = taken if len(taken) == 2 else [*taken, _counted(turns[1], axis, count, first)]
        found = better(turns, *found, *given) if found else given
    inits = [optimum.identity(pair[0].dtype), 0 if in_order else np.iinfo(pair[1].dtype).max]
    starts = [builder.full(value, aval) for value, aval in zip(inits, scalars, strict=True)]
    return reduce_ir(ctx, found, starts, (axis,), outs, functools.partial(better, scalars))


def _better_pair(
    direction: str, in_order: bool, pair: Sequence[ShapedArray], a: Value, i: Value, b: Value, j: Value
) -> list[Value]:
    """Of two elements ``a`` and ``b``, which have indices ``i`` and ``j``, those that are further in a direction, with their index.

    Args:
      direction: of the comparison, ``"GT"`` or ``"LT"``.
      in_order: whether the first of them stands before the second; otherwise the indices tell which of equal ones does.
      pair: the types of elements and indices.
    """
    shape, floating = pair[0].shape, kind_of(pair[0].dtype) == "floating"
    flags = ShapedArray(shape, np.dtype(np.bool_))

    def compared(how: str, x: Value, y: Value) -> Value:
        return builder.compare(how, shape, x, y)

    if in_order:
        stays = compared(f"{direction[0]}E", a, b)
        taken = builder.op("or", flags, stays, compared("NE", a, a)) if floating else stays
    else:
        wins, ties = compared(direction, a, b), compared("EQ", a, b)
        if floating:
            is_nan, other = compared("NE", a, a), compared("NE", b, b)
            wins = builder.op("or", flags, wins, builder.op("and", flags, is_nan, builder.op("not", flags, other)))
            ties = builder.op("or", flags, ties, builder.op("and", flags, is_nan, other))
        taken = builder.op("or", flags, wins, builder.op("and", flags, ties, compared("LT", i, j)))
    return [builder.op("select", pair[0], taken, a, b), builder.op("select", pair[1], taken, i, j)]


def _elements_of_turn(length: Any) -> int:
    """How many elements each turn of a loop over a short axis compares, so that it has so few turns that it is unrolled.

    1 where no number of elements gives so few.
    """
    if type(length) is not int or not MAX_UNROLLED < length <= thresholds.ARGMAX_PAIRS_ROW:
        return 1
    return next((n for n in range(2, MAX_UNROLLED) if length % n == 0 and length // n <= MAX_UNROLLED), 1)


def _counter(platform: str, length: int) -> np.dtype:
    """What places along an axis are counted in: the compiler for CPUs is quicker at minima and maxima of floats."""
    if platform == "cpu" and length <= 1 << 24:
        return np.dtype(np.float32)
    return np.dtype(np.int32 if length < 2**31 else np.int64)


def _argminmax(name: str, optimum: Monoid, doc: str) -> Any:
    primitive = Primitive(name)

    def type_rule(aval: ShapedArray, *, axes: tuple[int, ...], index_dtype: np.dtype) -> ShapedArray:
        check_dtype(name, aval, real | bools)
        (axis,) = axes
        if not 0 <= axis < aval.ndim:
            raise ValueError(f"{name}: invalid axis {axis} for operand shape {aval.shape}")
        if aval.shape[axis] == 0:
            raise ValueError(f"{name} requires a non-empty axis, got operand shape {aval.shape} and axis {axis}")
        if not dtypes.is_integer(index_dtype):
            raise TypeError(f"{name}: index_dtype must be an integer type, but got {index_dtype}")
        return ShapedArray(without_lengths(aval.shape, axes), index_dtype)

    def batched(
        values: Sequence[ArrayLike], dims: Sequence[int], *, axes: tuple[int, ...], index_dtype: np.dtype
    ) -> tuple[Any, int]:
        moved, dim = shifted_axes(axes, dims[0])
        return primitive.bind(values[0], axes=moved, index_dtype=index_dtype), dim

    def derivative(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        return out, Zero.of(out)

    primitive.type_rule, primitive.batch, primitive.jvp = type_rule, batched, derivative
    primitive.divides = without_axes
    primitive.lower[None] = in_whole_bytes(_index_lowering(optimum))

    def function(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
        dtype = requested_dtype(name, index_dtype)
        return primitive.bind(checked_operand(name, operand), axes=(as_index(axis),), index_dtype=dtype)

    name_function(function, name)
    function.__module__ = "arrax.lax"
    function.__doc__ = (
        f"{doc}; the first of several, and the first NaN where there is any.\n\n"
        "Args:\n  operand: array of real numbers or bools.\n  axis: the axis to search, counted from 0.\n"
        "  index_dtype: an integer dtype for the result.\n"
        "Returns: array of indices without the axis.\n"
        "Raises:\n  ValueError: no such axis, or one of length 0.\n  TypeError: other dtypes.\n"
        f"Example: ``lax.{name}(jnp.array([1, 5, 2]), 0, jnp.int32)``."
    )
    function.primitive = primitive  # type: ignore[attr-defined]
    return function


argmax = _argminmax("argmax", computations.maximum, "The index of the greatest element along an axis")
argmin = _argminmax("argmin", computations.minimum, "The index of the least element along an axis")

argmax.primitive.forms["cpu"] = argmax_form(largest=True)
argmin.primitive.forms["cpu"] = argmax_form(largest=False)
