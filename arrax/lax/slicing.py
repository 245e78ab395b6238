"""Slices that begin at places that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_indices
from arrax.core.explicit_axes import of_first
from arrax.core.interpreter import Primitive, Rounding, Tracer, context
from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray, Zero, instantiate, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering import builder
from arrax.lax.arithmetic import add, lt
from arrax.lax.concatenation import concatenate, concatenate_p
from arrax.lax.conversion import convert, convert_ir, length_of_axis
from arrax.lax.cpu.copies import concatenate_form
from arrax.lax.cpu.long_vectors import long_vectors_form
from arrax.lax.cpu.many_parts import many_parts_form
from arrax.lax.cpu.padding import pad_form
from arrax.lax.cpu.self_updates import self_update_form
from arrax.lax.cpu.stencils import rows_form
from arrax.lax.filled_arrays import full
from arrax.lax.gathers import CLIP, GatherDimensionNumbers, gather_p
from arrax.lax.operand_checks import checked_operand, scalar_like
from arrax.lax.scatter_lowering import ScatterDimensionNumbers
from arrax.lax.scatters import scatter_p
from arrax.lax.selection import select
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.lax.slice_cotangents import cotangent_of_parts
from arrax.lax.stacking import stack_p
from arrax.lax.static_slicing import pad_p, shortens_rows, slice_in_dim, slice_p
from arrax.native import runtime
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext

ArrayImpl = runtime.ArrayImpl
pad_p.forms["cpu"] = pad_form
slice_p.transpose_together = cotangent_of_parts

# ---- start indices --------------------------------------------------------------------------------------------------


def _index_list(name: str, indices: Any, rank: int) -> list[Any]:
    """One scalar per axis, from a sequence of scalars or an array of rank 1."""
    if isinstance(indices, Tracer | np.ndarray) or type(indices) is ArrayImpl:
        aval = typeof(indices)
        if aval.ndim != 1:
            raise ValueError(
                f"{name}: start indices must be a sequence of scalars or an array of rank 1, got {aval.str_short(True)}"
            )
        if _known(indices):
            indices = list(np.asarray(indices))
        else:
            indices = [reshape(slice_in_dim(indices, i, i + 1), ()) for i in range(aval.shape[0])]
    if len(indices) != rank:
        raise ValueError(f"{name}: the number of start indices must be the operand's rank {rank}, got {len(indices)}")
    return [checked_operand(name, index) for index in indices]


def _known(value: Any) -> bool:
    """True for numbers that can be looked at now, at no cost to the program."""
    return isinstance(value, int | np.integer | np.ndarray) or (
        type(value) is ArrayImpl and context.interpreter.is_evaluation and not value.is_deleted()
    )


def _integer_type(name: str, indices: Sequence[Any]) -> np.dtype:
    """The common dtype of the indices that are not Python ints."""
    for index in indices:
        aval = typeof(index)
        if aval.shape != ():
            raise TypeError(f"start_indices arguments to {name} must be scalars, got {aval.str_short(True)}")
        if not dtypes.is_integer(aval.dtype):
            listed = ", ".join(typeof(other).dtype.name for other in indices)
            raise TypeError(f"index arguments to {name} must be integers of the same type, got: {listed}")
    found = {typeof(index).dtype for index in indices if not isinstance(index, int)}
    if len(found) == 1 and dtypes.itemsize_bits(dtype := found.pop()) >= 32:
        return dtype
    wide = len(found) > 1 or any(isinstance(index, int) and abs(index) >= 2**31 for index in indices)
    return dtypes.canonicalize_dtype(np.dtype(np.int64 if wide else np.int32))


def normalised_starts(
    name: str, indices: Any, shape: Sequence[int], allow_negative: bool | Sequence[bool]
) -> list[Any]:
    """Scalars of one integer dtype; negative ones count from the end where that is allowed.

    Raises:
      TypeError: indices that are not integers, or not scalars.
      ValueError: a number of indices other than the rank.
    """
    listed = _index_list(name, indices, len(shape))
    dtype = _integer_type(name, listed)
    wrap = [allow_negative] * len(shape) if isinstance(allow_negative, bool) else list(allow_negative)
    return [_wrapped(index, length, dtype, w) for index, length, w in zip(listed, shape, wrap, strict=True)]


def _wrapped(index: ArrayLike, length: int, dtype: np.dtype, wrap: bool) -> ArrayLike:
    if _known(index):
        value = int(np.asarray(index))
        value = value + length if wrap and value < 0 else value
        if is_symbolic(value):
            return convert(value, dtype)
        limits = dtypes.iinfo(dtype)
        return np.asarray(min(max(value, int(limits.min)), int(limits.max)), dtype)[()]
    index = convert(index, dtype)
    if not wrap or dtypes.issubdtype(dtype, np.unsignedinteger):
        return index
    return select(lt(index, np.zeros((), dtype)[()]), add(index, length_of_axis(length, dtype)), index)


def _check_index_types(name: str, indices: Sequence[ShapedArray], rank: int) -> None:
    if len(indices) != rank:
        raise TypeError(f"{name} must have one start index per axis of the operand, got {len(indices)} for rank {rank}")
    types = {index.dtype for index in indices}
    if len(types) > 1 or not all(dtypes.is_integer(dtype) for dtype in types):
        listed = ", ".join(index.dtype.name for index in indices)
        raise TypeError(f"index arguments to {name} must be integers of the same type, got: {listed}")
    if any(index.shape != () for index in indices):
        raise TypeError(f"start_indices arguments to {name} must be scalars, got shapes {[i.shape for i in indices]}")


def _stacked(indices: Sequence[Any], dims: Dims, size: int, axes: Sequence[int]) -> Array:
    """The indices of some axes, at least one of them batched, as an array of shape (size, number of axes)."""
    columns = []
    for axis in axes:
        index, dim = indices[axis], dims[axis]
        columns.append(broadcast_in_dim(index, (size, 1), () if dim is None else (0,)))
    return columns[0] if len(columns) == 1 else concatenate(columns, 1)


def _zero_index(indices: Sequence[Any]) -> ArrayLike:
    return np.zeros((), typeof(indices[0]).dtype if indices else np.int32)[()]


# ---- dynamic_slice --------------------------------------------------------------------------------------------------

dynamic_slice_p = Primitive("dynamic_slice", rounding=Rounding.NONE)


def _dynamic_slice_type(x: ShapedArray, *indices: ShapedArray, slice_sizes: tuple[int, ...]) -> ShapedArray:
    _check_index_types("dynamic_slice", indices, x.ndim)
    if len(slice_sizes) != x.ndim:
        raise TypeError(
            f"dynamic_slice slice_sizes must have one entry per axis of {x.str_short(True)}, got {slice_sizes}"
        )
    if any(not 0 <= size <= length for size, length in zip(slice_sizes, x.shape, strict=True)):
        raise TypeError(f"dynamic_slice: slice_sizes must be within the operand's shape {x.shape}, got {slice_sizes}")
    return ShapedArray(slice_sizes, x.dtype, x.weak_type)


def _dynamic_slice_jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, slice_sizes: tuple[int, ...]
) -> tuple[Any, Any]:
    x, *indices = primals
    out = dynamic_slice_p.bind(x, *indices, slice_sizes=slice_sizes)
    t = tangents[0]
    return out, Zero.of(out) if type(t) is Zero else dynamic_slice_p.bind(t, *indices, slice_sizes=slice_sizes)


def _dynamic_slice_transpose(
    ct: ArrayLike, x: UndefinedPrimal, *indices: ArrayLike, slice_sizes: tuple[int, ...]
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(x.aval.to_tangent_aval()), *(None for _ in indices)]
    zeros = full(x.aval.shape, 0, typeof(ct).dtype)
    return [dynamic_update_slice_p.bind(zeros, ct, *indices), *(None for _ in indices)]


def _dynamic_slice_batch(values: Sequence[ArrayLike], dims: Dims, *, slice_sizes: tuple[int, ...]) -> tuple[Any, int]:
    (x, *indices), (dim, *index_dims) = values, dims
    size = batch_size(values, dims)
    if all(d is None for d in index_dims):
        x = bdim_at_front(x, dim, size)
        return dynamic_slice_p.bind(x, _zero_index(indices), *indices, slice_sizes=(size, *slice_sizes)), 0
    shape = typeof(x).shape if dim is None else tuple(n for i, n in enumerate(typeof(x).shape) if i != dim)
    axes = tuple(axis for axis, length in enumerate(shape) if slice_sizes[axis] != length)
    if not axes:
        return (x, dim) if dim is not None else (broadcast_in_dim(x, (size, *shape), range(1, len(shape) + 1)), 0)
    numbers = GatherDimensionNumbers(tuple(range(len(shape))), (), axes)
    starts = _stacked(indices, index_dims, size, axes)
    return gather_p.batch(  # type: ignore[misc]
        (x, starts), (dim, 0), dimension_numbers=numbers, slice_sizes=slice_sizes, unique_indices=True,
        indices_are_sorted=True, mode=CLIP, fill_value=None,
    )  # fmt: skip


dynamic_slice_p.type_rule, dynamic_slice_p.divides = _dynamic_slice_type, of_first


def _dynamic_slice_lower(ctx: LoweringContext, x: Value, *indices: Value, slice_sizes: tuple[int, ...]) -> list[Value]:
    if not indices:
        return [x]
    out = ctx.avals_out[0]
    if not any(map(is_symbolic, slice_sizes)):
        return [builder.op("dynamic_slice", out, x, *indices, slice_sizes=builder.ints(slice_sizes))]
    scalar, starts = ShapedArray((), np.dtype(np.int32)), []
    for index, aval, size, length in zip(indices, ctx.avals_in[1:], slice_sizes, ctx.avals_in[0].shape, strict=True):
        last = builder.op("subtract", scalar, builder.length(length), builder.length(size))
        inside = builder.op("minimum", scalar, convert_ir(index, aval, scalar), last)
        starts.append(builder.op("maximum", scalar, inside, builder.length(0)))
    return [builder.piece(out, x, starts)]


dynamic_slice_p.relocates = shortens_rows
dynamic_slice_p.lower[None] = _dynamic_slice_lower
dynamic_slice_p.jvp = _dynamic_slice_jvp
dynamic_slice_p.transpose = _dynamic_slice_transpose
dynamic_slice_p.batch = _dynamic_slice_batch


def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """A block of static size that begins at a place that is data; moved inside where it would reach out of bounds.

    Args:
      operand: array.
      start_indices: sequence of integer scalars, one per axis, or integer array of rank 1.
      slice_sizes: the block's shape.
      allow_negative_indices: whether negative indices count from the end (one bool, or one per axis).
    Returns: array of shape ``slice_sizes``.
    Raises:
      TypeError: indices that are not integers, a block greater than the operand.
      ValueError: a number of indices other than the rank.
    Example: ``lax.dynamic_slice(jnp.arange(5), (1,), (2,))`` is ``[1, 2]``. Source: StableHLO ``dynamic_slice``.
    """
    x = checked_operand("dynamic_slice", operand)
    aval = typeof(x)
    indices = normalised_starts("dynamic_slice", start_indices, aval.shape, allow_negative_indices)
    sizes = as_indices(slice_sizes)
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return aval.dtype.dynamic_slice(x, indices, sizes)  # type: ignore[attr-defined]
    return dynamic_slice_p.bind(x, *indices, slice_sizes=sizes)


# ---- dynamic_update_slice ------------------------------------------------------------------------------------------

dynamic_update_slice_p = Primitive("dynamic_update_slice", rounding=Rounding.NONE)


def _update_type(x: ShapedArray, update: ShapedArray, *indices: ShapedArray) -> ShapedArray:
    name = "dynamic_update_slice"
    if x.dtype != update.dtype:
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {x.dtype.name}, {update.dtype.name}."
        )
    if x.ndim != update.ndim:
        raise TypeError(f"{name}: the update must have the operand's rank, got shapes {update.shape} and {x.shape}")
    if any(size > length for size, length in zip(update.shape, x.shape, strict=True)):
        raise TypeError(f"{name}: the update must fit into the operand, got shapes {update.shape} and {x.shape}")
    _check_index_types(name, indices, x.ndim)
    return ShapedArray(x.shape, x.dtype, x.weak_type and update.weak_type)


def _update_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent]) -> tuple[Any, Any]:
    x, update, *indices = primals
    out = dynamic_update_slice_p.bind(x, update, *indices)
    t, tu = tangents[:2]
    if type(t) is Zero and type(tu) is Zero:
        return out, Zero.of(out)
    return out, dynamic_update_slice_p.bind(instantiate(t), instantiate(tu), *indices)


def _update_transpose(
    ct: Array, x: Array | UndefinedPrimal, update: Array | UndefinedPrimal, *indices: ArrayLike
) -> list[Any]:
    rest = [None for _ in indices]
    if type(ct) is Zero:
        return [*(Zero(v.aval.to_tangent_aval()) if is_undefined_primal(v) else None for v in (x, update)), *rest]
    shape = (update.aval if is_undefined_primal(update) else typeof(update)).shape
    ct_x = ct_update = None
    if is_undefined_primal(x):
        ct_x = dynamic_update_slice_p.bind(ct, full(shape, 0, typeof(ct).dtype), *indices)
    if is_undefined_primal(update):
        ct_update = dynamic_slice_p.bind(ct, *indices, slice_sizes=shape)
    return [ct_x, ct_update, *rest]


def _update_batch(values: Sequence[ArrayLike], dims: Dims) -> tuple[Any, int]:
    (x, update, *indices), (dim, update_dim, *index_dims) = values, dims
    size = batch_size(values, dims)
    if all(d is None for d in index_dims):
        x, update = bdim_at_front(x, dim, size), bdim_at_front(update, update_dim, size)
        return dynamic_update_slice_p.bind(x, update, _zero_index(indices), *indices), 0
    axes = tuple(range(len(indices)))
    numbers = ScatterDimensionNumbers(axes, (), axes)
    starts = _stacked(indices, index_dims, size, axes)
    return scatter_p.batch(  # type: ignore[misc]
        (x, starts, update), (dim, 0, update_dim), dimension_numbers=numbers, indices_are_sorted=True,
        unique_indices=True, mode=CLIP, update_jaxpr=None, update_consts=(),
    )  # fmt: skip


dynamic_update_slice_p.type_rule, dynamic_update_slice_p.divides = _update_type, of_first
dynamic_update_slice_p.lower[None] = lambda ctx, x, update, *indices: [
    builder.op("dynamic_update_slice", ctx.avals_out[0], x, update, *indices) if indices else update
]
dynamic_update_slice_p.jvp = _update_jvp
dynamic_update_slice_p.transpose = _update_transpose
dynamic_update_slice_p.batch = _update_batch
concatenate_p.forms["cpu"] = many_parts_form(rows_form(long_vectors_form(dynamic_update_slice_p, concatenate_form)))
stack_p.forms["cpu"] = many_parts_form()
dynamic_update_slice_p.forms["cpu"] = self_update_form(
    dynamic_update_slice_p, dynamic_update_slice_p, dynamic_slice_p, lambda x, update, *indices: update
)


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """The array with a block replaced that begins at a place that is data; moved inside where it would reach out.

    Args:
      operand: array.
      update: array of the operand's dtype and rank, no longer than it along any axis.
      start_indices: sequence of integer scalars, one per axis, or integer array of rank 1.
      allow_negative_indices: whether negative indices count from the end (one bool, or one per axis).
    Returns: array like the operand.
    Raises:
      TypeError: dtypes or ranks that differ, an update greater than the operand.
      ValueError: a number of indices other than the rank.
    Example: ``lax.dynamic_update_slice(jnp.zeros(3), jnp.ones(2), (1,))`` is ``[0, 1, 1]``. Source: StableHLO ``dynamic_update_slice``.
    """
    x, new = checked_operand("dynamic_update_slice", operand), checked_operand("dynamic_update_slice", update)
    aval = typeof(x)
    indices = normalised_starts("dynamic_update_slice", start_indices, aval.shape, allow_negative_indices)
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return aval.dtype.dynamic_update_slice(x, new, indices)  # type: ignore[attr-defined]
    if type(new) in (int, float, bool, complex):
        new = scalar_like(new, aval)
    return dynamic_update_slice_p.bind(x, new, *indices)
