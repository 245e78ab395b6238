"""Indices of minima and maxima along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.explicit_axes import without_axes
from arrax.core.functions import name_function
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero
from arrax.dtypes import DTypeLike
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax import computations
from arrax.lax.computations import Monoid
from arrax.lax.conversion import convert_ir
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.reducing import argmax_form
from arrax.lax.operand_checks import bools, check_dtype, checked_operand, kind_of, real, requested_dtype
from arrax.lax.reductions import kept_axes, reduce_ir, reduced_ir, shifted_axes, without_lengths
from arrax.xla.arrays import Array, ArrayLike


def _index_lowering(optimum: Monoid) -> Any:
    """The extreme, then the least index where it is (or where there is a NaN): two reductions that vectorise.

    Of flags, the greatest is one that is set, so that one reduction does.
    Short rows, and few, go pair by pair, which compiles in half the time.
    """
    direction = "GT" if optimum is computations.maximum else "LT"
    # With what computes the elements, a loop of 16 turns is too long to be unrolled, and several times slower.
    pairs_p = Primitive("search_by_pairs")
    pairs_p.type_rule = lambda aval, *, axes, index_dtype: ShapedArray(without_lengths(aval.shape, axes), index_dtype)
    pairs_p.lower[None] = lambda ctx, x, *, axes, index_dtype: [_index_by_pairs(ctx, x, optimum, direction, axes)]
    apart = cached_lower_fun(pairs_p.bind, "search_by_pairs", apart=True)

    def rule(ctx: Any, x: Any, *, axes: tuple[int, ...], index_dtype: Any) -> list[Any]:
        aval, out = ctx.avals_in[0], ctx.avals_out[0]
        length = aval.shape[axes[0]]
        fixed = type(aval.size) is int
        if fixed and length > thresholds.ARGMAX_PAIRS_LENGTH and aval.dtype == np.bool_ and direction == "GT":
            return [_first_place(ctx, x, axes, may_miss=True)]
        if not fixed or aval.size < thresholds.ARGMAX_PAIRS_SIZE:
            return [_index_by_pairs(ctx, x, optimum, direction, axes)]
        if ctx.platform == "cpu" and axes[0] == aval.ndim - 1:
            if length <= thresholds.ARGMAX_FUSED_LENGTH:
                return [_index_by_pairs(ctx, x, optimum, direction, axes)]
            if length in thresholds.ARGMAX_FOURS_LENGTHS:
                return [_index_by_fours(ctx, x, optimum, direction)]
        if length <= thresholds.ARGMAX_PAIRS_LENGTH:
            return list(apart(ctx, x, axes=axes, index_dtype=index_dtype))
        best = reduced_ir(ctx, x, aval, optimum, axes, ShapedArray(out.shape, aval.dtype))
        here = builder.compare("EQ", aval.shape, x, builder.broadcast(best, aval, kept_axes(aval.ndim, axes)))
        if kind_of(aval.dtype) == "floating":
            flags = ShapedArray(aval.shape, np.dtype(np.bool_))
            here = builder.op("or", flags, here, builder.compare("NE", aval.shape, x, x))
        return [_first_place(ctx, here, axes)]

    return rule


def _first_place(ctx: Any, here: Any, axes: tuple[int, ...], may_miss: bool = False) -> Any:
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
    return convert_ir(found, first, out)


def _index_by_pairs(ctx: Any, x: Any, optimum: Monoid, direction: str, axes: tuple[int, ...]) -> Any:
    """The index of an extreme by one reduction of pairs of an element and its index."""
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    places = ShapedArray(aval.shape, out.dtype)
    indices = builder.op("iota", places, iota_dimension=builder.integer(axes[0]))
    return _best_pair(ctx, [x, indices], [aval, places], axes, optimum, direction)[1]


def _index_by_fours(ctx: Any, x: Any, optimum: Monoid, direction: str) -> Any:
    """The index of an extreme of rows: first of four elements each, then of what these give, so that both loops are short."""
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    shape = (*aval.shape[:-1], aval.shape[-1] // 4, 4)
    values, places = ShapedArray(shape, aval.dtype), ShapedArray(shape, out.dtype)
    # The place in the four alone: indices in the row would be computed before a loop around, and then read from memory.
    place = builder.op("iota", places, iota_dimension=builder.integer(aval.ndim))
    pairs = _best_pair(
        ctx, [builder.op("reshape", values, x), place], [values, places], (aval.ndim,), optimum, direction
    )
    avals = [ShapedArray(shape[:-1], each.dtype) for each in (values, places)]
    four = builder.op("iota", avals[1], iota_dimension=builder.integer(aval.ndim - 1))
    start = builder.op("multiply", avals[1], four, builder.full(4, avals[1]))
    indices = builder.op("add", avals[1], start, pairs[1])
    return _best_pair(ctx, [pairs[0], indices], avals, (aval.ndim - 1,), optimum, direction)[1]


def _best_pair(
    ctx: Any,
    operands: Sequence[Any],
    avals: Sequence[ShapedArray],
    axes: tuple[int, ...],
    optimum: Monoid,
    direction: str,
) -> list[Any]:
    """Extremes along axes, and what stands beside them in an array of indices."""
    dtype, counter = (aval.dtype for aval in avals)
    flag = ShapedArray((), np.dtype(np.bool_))
    floating = kind_of(dtype) == "floating"
    in_order = ctx.platform == "cpu"  # from the first element to the last, the result so far being the first operand

    def better(a: Any, i: Any, b: Any, j: Any) -> list[Any]:
        taken = stays(a, b) if in_order else precedes(a, i, b, j)
        return [
            builder.op("select", ShapedArray((), dtype), taken, a, b),
            builder.op("select", ShapedArray((), counter), taken, i, j),
        ]

    def stays(a: Any, b: Any) -> Any:
        kept = builder.compare(f"{direction[0]}E", (), a, b)
        return builder.op("or", flag, kept, builder.compare("NE", (), a, a)) if floating else kept

    def precedes(a: Any, i: Any, b: Any, j: Any) -> Any:
        wins, ties = builder.compare(direction, (), a, b), builder.compare("EQ", (), a, b)
        if floating:
            is_nan, other = builder.compare("NE", (), a, a), builder.compare("NE", (), b, b)
            wins = builder.op("or", flag, wins, builder.op("and", flag, is_nan, builder.op("not", flag, other)))
            ties = builder.op("or", flag, ties, builder.op("and", flag, is_nan, other))
        return builder.op("or", flag, wins, builder.op("and", flag, ties, builder.compare("LT", (), i, j)))

    inits = [optimum.identity(dtype), 0 if in_order else np.iinfo(counter).max]
    scalars = [ShapedArray((), dtype), ShapedArray((), counter)]
    starts = [builder.full(value, scalar_) for value, scalar_ in zip(inits, scalars, strict=True)]
    outs = [ShapedArray(without_lengths(aval.shape, axes), aval.dtype) for aval in avals]
    return reduce_ir(ctx, operands, starts, axes, outs, better)


def _counter(platform: str, length: int) -> np.dtype:
    """What places along an axis are counted in: the compiler for CPUs is quicker at minima and maxima of floats."""
    if platform == "cpu" and length <= 1 << 24:
        return np.dtype(np.float32)
    return np.dtype(np.int32 if length < 2**31 else np.int64)


def _argminmax(name: str, optimum: Monoid, doc: str) -> Any:
    primitive = Primitive(name)

    def type_rule(aval: ShapedArray, *, axes: tuple[int, ...], index_dtype: Any) -> ShapedArray:
        check_dtype(name, aval, real | bools)
        (axis,) = axes
        if not 0 <= axis < aval.ndim:
            raise ValueError(f"{name}: invalid axis {axis} for operand shape {aval.shape}")
        if aval.shape[axis] == 0:
            raise ValueError(f"{name} requires a non-empty axis, got operand shape {aval.shape} and axis {axis}")
        if not dtypes.is_integer(index_dtype):
            raise TypeError(f"{name}: index_dtype must be an integer type, but got {index_dtype}")
        return ShapedArray(without_lengths(aval.shape, axes), index_dtype)

    def batched(values: Any, dims: Any, *, axes: tuple[int, ...], index_dtype: Any) -> tuple[Any, int]:
        moved, dim = shifted_axes(axes, dims[0])
        return primitive.bind(values[0], axes=moved, index_dtype=index_dtype), dim

    def derivative(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        return out, Zero.of(out)

    primitive.type_rule, primitive.batch, primitive.jvp = type_rule, batched, derivative
    primitive.divides = without_axes
    primitive.lower[None] = _index_lowering(optimum)

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
