"""Parts of arrays at static indices and elements around them: slice, pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, as_indices
from arrax.core.errors import InconclusiveDimensionOperation
from arrax.core.explicit_axes import of_first
from arrax.core.interpreter import Primitive, Rounding
from arrax.core.lengths import is_below, is_symbolic, longer
from arrax.core.types import ShapedArray, Zero, instantiate, slots, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.lax.arithmetic import neg, scalar
from arrax.lax.families import compose_jvp
from arrax.lax.filled_arrays import full
from arrax.lax.operand_checks import checked_operand, number_like
from arrax.lax.selection import select_n
from arrax.lax.shape_arguments import canonical_axis
from arrax.lax.shape_slots import shape_slots
from arrax.lax.whole_bytes import in_whole_bytes
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.core.program import JaxprEqn
    from arrax.interpreters.annotations import Dims, Tangent, Value

# ---- pad ------------------------------------------------------------------------------------------------------------

pad_p = Primitive("pad", rounding=Rounding.NONE)


def _pad_type(aval: ShapedArray, value: ShapedArray, *, padding_config: tuple[tuple[int, ...], ...]) -> ShapedArray:
    if aval.dtype != value.dtype:
        raise TypeError(f"lax.pad requires arguments to have the same dtypes, got {aval.dtype}, {value.dtype}.")
    if value.shape != ():
        raise ValueError(f"lax.pad padding_value must be a scalar, got shape {value.shape}")
    if len(padding_config) != aval.ndim:
        raise ValueError(
            f"pad: padding_config {padding_config} needs one entry per axis of the operand, whose shape is {aval.shape}"
        )
    shape = []
    for length, (low, high, interior) in zip(aval.shape, padding_config, strict=True):
        if interior < 0:
            raise ValueError(f"pad: interior padding must not be negative, got padding_config {padding_config}")
        shape.append(low + high + length + interior * longer(length - 1, 0))
    if any(is_below(length, 0, False) for length in shape):
        raise ValueError(
            f"pad: padding_config {padding_config} cuts more than there is of shape {aval.shape}: the result would be {tuple(shape)}"
        )
    return ShapedArray(tuple(shape), aval.dtype, aval.weak_type and value.weak_type)


def _pad_lower(
    ctx: LoweringContext, x: Value, value: Value, *, padding_config: tuple[tuple[int, ...], ...]
) -> list[Value]:
    (aval, _), out = ctx.avals_in, ctx.avals_out[0]
    if any(map(is_symbolic, out.shape)):
        sizes = map(builder.lengths, list(zip(*padding_config, strict=True)))
        return [builder.op("dynamic_pad", out, x, value, *sizes)]
    cuts = any(low < 0 or high < 0 for low, high, _ in padding_config)
    if not cuts or ctx.module_context.undivided or not all(isinstance(n, int) for n in aval.shape):
        return [_pad_op(out, x, value, padding_config)]
    # The compiler ends the process where devices have parts of an axis that is cut off by padding.
    grown = tuple((max(low, 0), max(high, 0), interior) for low, high, interior in padding_config)
    whole = _pad_type(aval, ctx.avals_in[1], padding_config=grown)
    starts = [max(-low, 0) for low, _, _ in padding_config]
    stops = [size + min(high, 0) for size, (_, high, _) in zip(whole.shape, padding_config, strict=True)]
    return [builder.static_slice(_pad_op(whole, x, value, grown), out, starts, stops)]


def _pad_op(out: ShapedArray, x: Value, value: Value, padding_config: tuple[tuple[int, ...], ...]) -> Value:
    columns = list(zip(*padding_config, strict=True)) or [()] * 3
    low, high, interior = map(builder.ints, columns)
    return builder.op("pad", out, x, value, edge_padding_low=low, edge_padding_high=high, interior_padding=interior)


def _pad_jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, padding_config: tuple[tuple[int, ...], ...]
) -> tuple[Any, Any]:
    tx, tv = (instantiate(t) for t in tangents)
    return pad_p.bind(*primals, padding_config=padding_config), pad_p.bind(tx, tv, padding_config=padding_config)


def _pad_transpose(
    ct: ArrayLike,
    x: UndefinedPrimal,
    value: ArrayLike | UndefinedPrimal,
    *,
    padding_config: tuple[tuple[int, ...], ...],
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(v.aval) if is_undefined_primal(v) else None for v in (x, value)]
    removed = [(-low, -high, 0) for low, high, _ in padding_config]
    zero = scalar(0, ct)

    def inner() -> Array:
        unpadded = pad_p.bind(ct, zero, padding_config=tuple(removed))
        aval, steps = x.aval if is_undefined_primal(x) else typeof(x), [i + 1 for _, _, i in padding_config]
        limits = typeof(unpadded).shape
        if any(map(is_symbolic, limits)):  # whose number of steps is to come out as it went in
            limits = tuple((length - 1) * step + 1 for length, step in zip(aval.shape, steps, strict=True))
        return slice_(unpadded, (0,) * len(removed), limits, steps)

    ct_x = inner() if is_undefined_primal(x) else None
    if not is_undefined_primal(value):
        return [ct_x, None]
    total = shape_slots.reduce_sum(ct, tuple(range(typeof(ct).ndim)))
    kept = inner() if ct_x is None else ct_x
    from_operand = shape_slots.reduce_sum(kept, tuple(range(typeof(kept).ndim)))
    return [ct_x, slots.add(total, neg(from_operand))]


def _pad_batch(
    values: Sequence[ArrayLike], dims: Dims, *, padding_config: tuple[tuple[int, ...], ...]
) -> tuple[Any, int]:
    size = batch_size(values, dims)
    (x, value), (dim, value_dim) = values, dims
    if value_dim is None:
        x = bdim_at_front(x, dim, size)
        return pad_p.bind(x, value, padding_config=((0, 0, 0), *padding_config)), 0
    x = bdim_at_front(x, dim, size)
    zero = scalar(0, x)
    config = ((0, 0, 0), *padding_config)
    padded = pad_p.bind(x, zero, padding_config=config)
    mask = pad_p.bind(full(typeof(x).shape, True), np.bool_(False), padding_config=config)
    broadcasted = shape_slots.broadcast_in_dim(value, typeof(padded).shape, (0,))
    return select_n(mask, broadcasted, padded), 0


pad_p.type_rule, pad_p.divides = _pad_type, of_first
pad_p.relocates = lambda eqn, axes: any(eqn.params["padding_config"][max(axes)])
pad_p.lower[None] = in_whole_bytes(_pad_lower)
pad_p.jvp = _pad_jvp
pad_p.transpose = _pad_transpose
pad_p.batch = _pad_batch


def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """Add elements at the edges of axes and between elements; negative amounts cut off.

    Args:
      padding_value: scalar of the operand's dtype.
      padding_config: for each axis, (low, high, interior).
    Raises:
      TypeError: another dtype, or not a scalar.
      ValueError: a config that doesn't fit the shape.
    Example: ``lax.pad(jnp.ones(2), 0., [(1, 0, 1)])`` is ``[0, 1, 0, 1]``. Source: StableHLO ``pad``.
    """
    x = checked_operand("pad", operand)
    aval = typeof(x)
    value = checked_operand("pad", padding_value)
    if type(value) in (int, float, bool, complex):
        value = number_like(value, aval)
    config = tuple((as_index(a), as_index(b), as_index(c)) for a, b, c in padding_config)
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return aval.dtype.pad(x, value, config)
    return pad_p.bind(x, value, padding_config=config)


# ---- slice ----------------------------------------------------------------------------------------------------------

slice_p = Primitive("slice", rounding=Rounding.NONE)


def _slice_type(
    aval: ShapedArray,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> ShapedArray:
    steps = (1,) * aval.ndim if strides is None else strides
    if not len(start_indices) == len(limit_indices) == len(steps) == aval.ndim:
        raise TypeError(
            f"slice start_indices, limit_indices and strides must have one entry per axis, got {start_indices}, {limit_indices}, {strides} for operand shape {aval.shape}"
        )
    for start, limit, step, length in zip(start_indices, limit_indices, steps, aval.shape, strict=True):
        try:
            beyond = not 0 <= start <= limit <= length or step <= 0
        except InconclusiveDimensionOperation:  # calls of the program will tell
            continue
        if beyond:
            raise TypeError(
                "slice needs 0 <= start_indices <= limit_indices <= shape and strides > 0, got start_indices "
                f"{start_indices}, limit_indices {limit_indices}, strides {strides} for operand shape {aval.shape}"
            )
    shape = tuple(
        (limit - start + step - 1) // step
        for start, limit, step in zip(start_indices, limit_indices, steps, strict=True)
    )
    return ShapedArray(shape, aval.dtype, aval.weak_type)


def _slice_lower(
    ctx: LoweringContext,
    x: Value,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> list[Value]:
    if any(map(is_symbolic, (*start_indices, *limit_indices))):
        steps = strides or (1,) * len(start_indices)
        start, limit, step = map(builder.lengths, (start_indices, limit_indices, steps))
        limit = builder.op("maximum", ShapedArray((len(steps),), np.dtype(np.int32)), limit, start)  # of no entries
        return [builder.op("real_dynamic_slice", ctx.avals_out[0], x, start, limit, step)]
    return [builder.static_slice(x, ctx.avals_out[0], start_indices, limit_indices, strides)]


def _slice_transpose(
    ct: Array,
    x: UndefinedPrimal,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(x.aval)]
    steps = strides or (1,) * len(start_indices)
    config = []
    for start, step, length, total in zip(start_indices, steps, typeof(ct).shape, x.aval.shape, strict=True):
        covered = start + length + (step - 1) * longer(length - 1, 0)
        config.append((start, total - covered, step - 1))
    return [pad(ct, scalar(0, ct), config)]


def _slice_batch(
    values: Sequence[ArrayLike],
    dims: Sequence[int],
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> tuple[Any, int]:
    (x,), (dim,) = values, dims
    size = typeof(x).shape[dim]

    def with_batch(entries: tuple[int, ...], entry: int) -> tuple[int, ...]:
        return (*entries[:dim], entry, *entries[dim:])

    steps = None if strides is None else with_batch(strides, 1)
    out = slice_p.bind(
        x, start_indices=with_batch(start_indices, 0), limit_indices=with_batch(limit_indices, size), strides=steps
    )
    return out, dim


def shortens_rows(eqn: JaxprEqn, axes: Sequence[int]) -> bool:
    """Whether a slice leaves out parts of rows along some axes, and keeps what it takes side by side."""
    last, strides = max(axes), eqn.params.get("strides")
    strided = strides is not None and any(step != 1 for step in strides)
    return eqn.invars[0].aval.shape[last] != eqn.outvars[0].aval.shape[last] and not strided


slice_p.relocates = shortens_rows
slice_p.type_rule, slice_p.divides = _slice_type, of_first
slice_p.fold = lambda x, *, start_indices, limit_indices, strides: x[
    tuple(map(slice, start_indices, limit_indices, strides or [1] * x.ndim))
]
slice_p.lower[None] = _slice_lower
slice_p.jvp = compose_jvp(slice_p, [lambda x, ans, t, **params: slice_p.bind(t, **params)])
slice_p.transpose = _slice_transpose
slice_p.batch = _slice_batch


def slice_(
    operand: ArrayLike, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Array:
    """The block from ``start_indices`` to ``limit_indices``, every ``strides``-th element.

    Raises:
      TypeError: indices out of bounds.
    Example: ``lax.slice(jnp.arange(5), (1,), (4,))`` is ``[1, 2, 3]``. Source: StableHLO ``slice``.
    """
    x = checked_operand("slice", operand)
    steps = None if strides is None else as_indices(strides)
    starts, limits = as_indices(start_indices), as_indices(limit_indices)
    if steps is not None and len(steps) == len(starts) and all(step == 1 for step in steps):
        steps = None
    dtype = typeof(x).dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.slice(x, starts, limits, steps)
    return slice_p.bind(x, start_indices=starts, limit_indices=limits, strides=steps)


def slice_in_dim(
    operand: ArrayLike, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Array:
    """A slice along one axis, with Python's negative and open bounds.

    Args:
      operand: array.
      start_index, limit_index: ints or None, as in Python's slices.
      stride: the step.
      axis: the axis.
    Example: ``lax.slice_in_dim(jnp.arange(5), 1, -1)`` is ``[1, 2, 3]``.
    """
    shape = typeof(checked_operand("slice_in_dim", operand)).shape
    axis = canonical_axis(axis, len(shape))
    length = shape[axis]
    start = 0 if start_index is None else as_index(start_index)
    limit = length if limit_index is None else as_index(limit_index)
    start, limit = start + length if start < 0 else start, limit + length if limit < 0 else limit
    starts, limits, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], steps[axis] = start, limit, as_index(stride)
    return slice_(operand, starts, limits, steps)
