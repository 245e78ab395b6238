"""What a scatter writes to: its dimension numbers, the shapes that fit them, and the lowering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core.lengths import is_symbolic
from arrax.core.program import ClosedJaxpr
from arrax.core.types import ShapedArray
from arrax.interpreters.lowering import builder, sharding_text
from arrax.interpreters.lowering.contexts import LoweringContext, ModuleContext
from arrax.interpreters.lowering.module import inline_program
from arrax.lax.gathers import (
    CLIP,
    Axes,
    GatherScatterMode,
    check_batching,
    check_dims,
    check_disjoint,
    check_indices,
    wide_index,
)
from arrax.lax.operand_checks import check_dtype

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.native.mlir import ir


class ScatterDimensionNumbers(NamedTuple):
    """Which axis of a scatter means what: the mirror image of ``GatherDimensionNumbers``.

    The last axis of the indices always holds the components of one index.

    Attributes:
      update_window_dims: axes of the updates that run through a window, ascending.
      inserted_window_dims: axes of the operand along which the window has length 1, absent from the updates, ascending.
      scatter_dims_to_operand_dims: for each component of an index, the axis of the operand that it counts along.
      operand_batching_dims: axes of the operand that go along with axes of the indices, ascending.
      scatter_indices_batching_dims: the axes of the indices that they go along with, in the same order.
    Example: ``ScatterDimensionNumbers((1,), (0,), (0,))`` writes rows of a matrix.
    """

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


# ---- shapes ---------------------------------------------------------------------------------------------------------


def window_sizes(shape: Sequence[int], updates: Sequence[int], numbers: ScatterDimensionNumbers) -> tuple[int, ...]:
    """The window's length along each axis of the operand."""
    absent = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    lengths = iter([updates[dim] for dim in numbers.update_window_dims])
    return tuple(1 if dim in absent else next(lengths) for dim in range(len(shape)))


def _check_shapes(
    name: str, x: ShapedArray, indices: ShapedArray, updates: ShapedArray, numbers: ScatterDimensionNumbers
) -> None:
    check_indices(name, indices, numbers.scatter_dims_to_operand_dims)
    rank = indices.ndim - 1 + len(numbers.update_window_dims)
    if updates.ndim != rank:
        raise TypeError(f"{name}: updates must be of rank {rank}, got {updates.str_short(True)}")
    check_dims(name, "update_window_dims", numbers.update_window_dims, rank)
    check_dims(name, "inserted_window_dims", numbers.inserted_window_dims, x.ndim)
    check_dims(name, "scatter_dims_to_operand_dims", numbers.scatter_dims_to_operand_dims, x.ndim, ordered=False)
    check_batching(name, x, indices, numbers.operand_batching_dims, numbers.scatter_indices_batching_dims)
    batching = numbers.operand_batching_dims
    check_disjoint(name, inserted_window_dims=numbers.inserted_window_dims, operand_batching_dims=batching)
    check_disjoint(
        name, scatter_dims_to_operand_dims=numbers.scatter_dims_to_operand_dims, operand_batching_dims=batching
    )
    window = len(numbers.update_window_dims) + len(numbers.inserted_window_dims) + len(batching)
    if window != x.ndim:
        raise TypeError(f"{name}: the window has {window} axes, but the operand {x.str_short(True)} has {x.ndim}")
    sizes = window_sizes(x.shape, updates.shape, numbers)
    kept = [dim for dim in range(x.ndim) if dim not in (*numbers.inserted_window_dims, *batching)]
    if any(sizes[dim] > x.shape[dim] for dim in kept):
        raise TypeError(f"{name}: the window {sizes} of the updates exceeds the operand's shape {x.shape}")
    scattered = [length for dim, length in enumerate(updates.shape) if dim not in numbers.update_window_dims]
    if tuple(scattered) != indices.shape[:-1]:
        raise TypeError(
            f"{name}: the axes of the updates outside of the window must be those of the indices, got lengths "
            f"{tuple(scattered)} and {indices.shape[:-1]}"
        )


def scatter_type_rule(name: str, accepts: frozenset) -> Callable[..., ShapedArray]:
    def rule(
        x: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        **params: Any,
    ) -> ShapedArray:
        check_dtype(name, x, accepts)
        if x.dtype != updates.dtype:
            raise TypeError(
                f"lax.{name} requires arguments to have the same dtypes, got {x.dtype.name}, {updates.dtype.name}."
            )
        _check_shapes(name, x, indices, updates, dimension_numbers)
        return ShapedArray(x.shape, x.dtype, x.weak_type and updates.weak_type)

    return rule


# ---- lowering -------------------------------------------------------------------------------------------------------


def _numbers_attribute(numbers: ScatterDimensionNumbers, index_rank: int) -> ir.Attribute:
    return builder.attribute(
        f"#stablehlo.scatter<update_window_dims = {list(numbers.update_window_dims)}, "
        f"inserted_window_dims = {list(numbers.inserted_window_dims)}, "
        f"input_batching_dims = {list(numbers.operand_batching_dims)}, "
        f"scatter_indices_batching_dims = {list(numbers.scatter_indices_batching_dims)}, "
        f"scatter_dims_to_operand_dims = {list(numbers.scatter_dims_to_operand_dims)}, "
        f"index_vector_dim = {index_rank - 1}>"
    )


def _moved_inside(indices: Value, aval: ShapedArray, limits: Sequence[int]) -> Value:
    largest = dtypes.iinfo(aval.dtype).max
    if any(map(is_symbolic, limits)):
        numbers = ShapedArray((len(limits),), np.dtype(np.int32))
        high = builder.op("convert", ShapedArray(numbers.shape, aval.dtype), builder.lengths(limits))
    else:
        high = builder.constant(np.array([min(limit, largest) for limit in limits], aval.dtype))
    high = builder.broadcast(high, aval, (aval.ndim - 1,))
    return builder.op("clamp", aval, builder.full(0, aval), indices, high)


def _evenly_divided(
    ctx: ModuleContext, indices: Value, updates: Value, dimension_numbers: ScatterDimensionNumbers
) -> tuple[Any, Any]:
    """Indices and updates of a program for several devices, undivided along axes that devices cannot share evenly.

    The compiler combines some twice where devices have unequal numbers of indices and parts of windows.
    """
    axes = range(indices.type.rank - 1)
    uneven = [axis for axis in axes if ctx.num_devices > 1 and indices.type.shape[axis] % ctx.num_devices]
    if not uneven:
        return indices, updates
    batch = [axis for axis in range(updates.type.rank) if axis not in dimension_numbers.update_window_dims]
    own = [batch[axis] for axis in uneven]
    return sharding_text.undivided(ctx, indices, uneven), sharding_text.undivided(ctx, updates, own)


def lower_scatter(combine: Any) -> Callable[..., list[Any]]:
    """XLA's own scatter leaves out windows that are not entirely inside; only clipping needs more.

    Args:
      combine: function of two elements, whose primitive's lowering says how updates combine; None to replace.
    """

    def body(ctx: LoweringContext, program: ClosedJaxpr | None, old: Value, new: Value) -> list[Value]:
        if program is not None:
            return inline_program(ctx.module_context, program, [old, new])
        if combine is None:
            return [new]
        aval = ShapedArray((), ctx.avals_out[0].dtype)
        inner = ctx.replace(primitive=combine.primitive, avals_in=[aval, aval], avals_out=[aval])
        return combine.primitive.lower[None](inner, old, new)

    def rule(
        ctx: LoweringContext,
        x: Value,
        indices: Value,
        updates: Value,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        **params: Any,
    ) -> list[Value]:
        aval, update_aval = ctx.avals_in[0], ctx.avals_in[2]
        if update_aval.size == 0 or aval.size == 0:
            return [x]
        indices, index_aval = wide_index(ctx, indices, 1)
        if mode is CLIP:
            window = window_sizes(aval.shape, update_aval.shape, dimension_numbers)
            limits = [aval.shape[d] - window[d] for d in dimension_numbers.scatter_dims_to_operand_dims]
            indices = _moved_inside(indices, index_aval, limits)
        indices, updates = _evenly_divided(ctx.module_context, indices, updates, dimension_numbers)
        operation = builder.operation(
            "stablehlo.scatter", [builder.ir_type(ctx.avals_out[0])], [x, indices, updates],
            {
                "scatter_dimension_numbers": _numbers_attribute(dimension_numbers, index_aval.ndim),
                "indices_are_sorted": builder.attribute("true" if params["indices_are_sorted"] else "false"),
                "unique_indices": builder.attribute("true" if params["unique_indices"] else "false"),
            }, 1,
        )  # fmt: skip
        scalar = ShapedArray((), aval.dtype)
        block = builder.block_with(operation, 0, [scalar, scalar])
        with builder.inside(block):
            builder.return_(body(ctx, params["update_jaxpr"], *block.arguments))
        return [operation.results[0]]

    return rule
