"""Gather: windows of an array, taken at places that are data."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_indices
from arrax.core.explicit_axes import Division, ShardingTypeError
from arrax.core.interpreter import Primitive, Rounding
from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.dtypes.wording import shown
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import ge, le
from arrax.lax.bitwise import bitwise_and
from arrax.lax.concatenation import concatenate
from arrax.lax.conversion import convert
from arrax.lax.cpu.tables import taken_form
from arrax.lax.filled_arrays import full
from arrax.lax.operand_checks import checked_operand, kind_of
from arrax.lax.reductions import reduce_and
from arrax.lax.selection import select
from arrax.lax.shape_arguments import canonical_shape
from arrax.lax.shapes import broadcast_in_dim
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.native.mlir import ir

Axes = tuple[int, ...]


class GatherDimensionNumbers(NamedTuple):
    """Which axis of a gather means what.

    The last axis of the indices always holds the components of one index.

    Attributes:
      offset_dims: axes of the result that run through a window, ascending.
      collapsed_slice_dims: axes of the operand along which the window has length 1, absent from the result, ascending.
      start_index_map: for each component of an index, the axis of the operand that it counts along.
      operand_batching_dims: axes of the operand that go along with axes of the indices, ascending.
      start_indices_batching_dims: the axes of the indices that they go along with, in the same order.
    Example: ``GatherDimensionNumbers((1,), (0,), (0,))`` takes rows of a matrix.
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


class GatherScatterMode(enum.Enum):
    """What happens to windows that are not entirely inside the array.

    CLIP moves them inside. FILL_OR_DROP fills gathered windows with a constant and leaves scattered ones out, whole.
    PROMISE_IN_BOUNDS means that there are none: XLA then moves gathered ones inside and leaves scattered ones out, and
    derivatives are wrong. ONE_HOT is FILL_OR_DROP, filling with zeros.

    Example: ``GatherScatterMode.from_any("clip")``.
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of that name; None means FILL_OR_DROP.

        Raises:
          ValueError: no such mode.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        found = _MODES.get(mode)
        if found is None:
            known = ", ".join(repr(name) for name in _MODES if name is not None)
            raise ValueError(f"Unknown gather mode {shown(mode)}: expected one of {known}, a GatherScatterMode or None")
        return found


CLIP, FILL_OR_DROP = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
PROMISE_IN_BOUNDS, ONE_HOT = GatherScatterMode.PROMISE_IN_BOUNDS, GatherScatterMode.ONE_HOT
_MODES: dict[str | None, GatherScatterMode] = {
    "clip": CLIP, "fill": FILL_OR_DROP, "drop": FILL_OR_DROP, "promise_in_bounds": PROMISE_IN_BOUNDS,
    "one_hot": ONE_HOT, None: FILL_OR_DROP,
}  # fmt: skip


# ---- checks, shared with scatter ------------------------------------------------------------------------------------


def check_dims(name: str, what: str, dims: Sequence[int], limit: int, ordered: bool = True) -> None:
    """Refuse axes that are out of bounds, repeated or (where they must be) unordered."""
    if any(not 0 <= dim < limit for dim in dims):
        raise TypeError(f"{name}: {what} must lie in [0, {limit}), got {tuple(dims)}")
    if len(set(dims)) != len(dims):
        raise TypeError(f"{name}: {what} must not repeat, got {tuple(dims)}")
    if ordered and any(a > b for a, b in zip(dims, dims[1:], strict=False)):
        raise TypeError(f"{name}: {what} must be sorted, got {tuple(dims)}")


def check_disjoint(name: str, **groups: Sequence[int]) -> None:
    """Refuse two groups of axes that share one."""
    (first, a), (second, b) = groups.items()
    if set(a) & set(b):
        raise TypeError(f"{name}: {first} and {second} must be disjoint, got {tuple(a)} and {tuple(b)}")


def check_indices(name: str, indices: ShapedArray, index_map: Sequence[int]) -> None:
    """Refuse indices that are not integers, or whose last axis has another length than the map."""
    if not dtypes.is_integer(indices.dtype):
        raise ValueError(f"{name}: indices must have an integer type, got {indices.str_short(True)}")
    if indices.ndim == 0:
        raise TypeError(f"{name}: indices need a last axis with the components of an index, got a scalar")
    if len(index_map) != indices.shape[-1]:
        raise TypeError(
            f"{name}: the map from index components to axes has {len(index_map)} elements, but the last axis of the "
            f"indices has length {indices.shape[-1]}"
        )


def check_batching(
    name: str, x: ShapedArray, indices: ShapedArray, operand_dims: Sequence[int], index_dims: Sequence[int]
) -> None:
    """Refuse batching axes that don't go along with each other."""
    if len(operand_dims) != len(index_dims):
        raise TypeError(
            f"{name}: operand and indices must have equal numbers of batching dimensions, got {tuple(operand_dims)} "
            f"and {tuple(index_dims)}"
        )
    check_dims(name, "batching dimensions of the operand", operand_dims, x.ndim)
    check_dims(name, "batching dimensions of the indices", index_dims, indices.ndim - 1, ordered=False)
    ours, theirs = [x.shape[d] for d in operand_dims], [indices.shape[d] for d in index_dims]
    if ours != theirs:
        raise TypeError(f"{name}: batching dimensions must have equal lengths, got {ours} and {theirs}")


def shifted(dims: Sequence[int], by: int = 1) -> tuple[int, ...]:
    """Axes behind new leading ones."""
    return tuple(dim + by for dim in dims)


def wide_index(ctx: LoweringContext, indices: Value, position: int) -> tuple[Any, ShapedArray]:
    """Indices of at least 32 bits: narrower ones cannot hold the bounds that they are compared with."""
    aval = ctx.avals_in[position]
    if dtypes.itemsize_bits(aval.dtype) >= 32:
        return indices, aval
    wide = ShapedArray(aval.shape, np.dtype(np.int32))
    return builder.op("convert", wide, indices), wide


def in_bounds(indices: Array, index_map: Sequence[int], shape: Sequence[int], window: Sequence[int]) -> Array:
    """For each index, whether its whole window is inside an array of the given shape."""
    aval = typeof(indices)
    limits: Any
    last = [shape[dim] - window[dim] for dim in index_map]
    if any(map(is_symbolic, last)):
        limits = concatenate([broadcast_in_dim(convert(one, aval.dtype), (1,), ()) for one in last], 0)
    else:
        limits = np.minimum(np.array(last, np.int64), dtypes.iinfo(aval.dtype).max).astype(aval.dtype)
    broadcasted = broadcast_in_dim(limits, aval.shape, (aval.ndim - 1,))
    inside = bitwise_and(ge(indices, np.zeros((), aval.dtype)[()]), le(indices, broadcasted))
    return reduce_and(inside, (aval.ndim - 1,))


# ---- gather ---------------------------------------------------------------------------------------------------------

gather_p = Primitive("gather", rounding=Rounding.NONE, cost=16)


def _gather_type(
    x: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    **params: Any,
) -> ShapedArray:
    numbers = dimension_numbers
    check_indices("gather", indices, numbers.start_index_map)
    if len(slice_sizes) != x.ndim:
        raise TypeError(f"gather: slice_sizes must have one entry per axis of {x.str_short(True)}, got {slice_sizes}")
    if any(not 0 <= size <= length for size, length in zip(slice_sizes, x.shape, strict=True)):
        raise TypeError(f"gather: slice_sizes must be within the operand's shape {x.shape}, got {slice_sizes}")
    absent = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    window = [size for dim, size in enumerate(slice_sizes) if dim not in absent]
    rank = indices.ndim - 1 + len(numbers.offset_dims)
    check_dims("gather", "offset_dims", numbers.offset_dims, rank)
    check_dims("gather", "start_index_map", numbers.start_index_map, x.ndim, ordered=False)
    check_dims("gather", "collapsed_slice_dims", numbers.collapsed_slice_dims, x.ndim)
    check_batching("gather", x, indices, numbers.operand_batching_dims, numbers.start_indices_batching_dims)
    check_disjoint(
        "gather", collapsed_slice_dims=numbers.collapsed_slice_dims, operand_batching_dims=numbers.operand_batching_dims
    )
    check_disjoint(
        "gather", start_index_map=numbers.start_index_map, operand_batching_dims=numbers.operand_batching_dims
    )
    if any(slice_sizes[dim] != 1 for dim in numbers.collapsed_slice_dims):
        raise TypeError(
            f"gather: slice_sizes must be 1 along collapsed_slice_dims {numbers.collapsed_slice_dims}, got "
            f"{slice_sizes}"
        )
    if any(slice_sizes[dim] > 1 for dim in numbers.operand_batching_dims):
        raise TypeError(
            f"gather: slice_sizes must be 0 or 1 along operand_batching_dims {numbers.operand_batching_dims}, got "
            f"{slice_sizes}"
        )
    if len(window) != len(numbers.offset_dims):
        raise TypeError(
            f"gather: each axis of the window must be among offset_dims or be collapsed or batched, got slice_sizes "
            f"{slice_sizes}, {numbers}"
        )
    sizes, batch = iter(window), iter(indices.shape[:-1])
    shape = tuple(next(sizes) if dim in numbers.offset_dims else next(batch) for dim in range(rank))
    return ShapedArray(shape, x.dtype, x.weak_type)


def _numbers_attribute(numbers: GatherDimensionNumbers, index_rank: int) -> ir.Attribute:
    return builder.attribute(
        f"#stablehlo.gather<offset_dims = {list(numbers.offset_dims)}, "
        f"collapsed_slice_dims = {list(numbers.collapsed_slice_dims)}, "
        f"operand_batching_dims = {list(numbers.operand_batching_dims)}, "
        f"start_indices_batching_dims = {list(numbers.start_indices_batching_dims)}, "
        f"start_index_map = {list(numbers.start_index_map)}, index_vector_dim = {index_rank - 1}>"
    )


def _filled_gather(
    x: Array, indices: Array, *, fill_value: int | None, mode: GatherScatterMode, **params: Any
) -> Array:
    numbers = params["dimension_numbers"]
    shape, dtype = typeof(x).shape, typeof(x).dtype
    taken = gather_p.bind(x, indices, fill_value=None, mode=CLIP, **params)
    aval = typeof(taken)
    inside = in_bounds(indices, numbers.start_index_map, shape, params["slice_sizes"])
    kept = [dim for dim in range(aval.ndim) if dim not in numbers.offset_dims]
    fill = filler(dtype) if fill_value is None and mode is FILL_OR_DROP else fill_value or 0
    return select(broadcast_in_dim(inside, aval.shape, kept), taken, full(aval.shape, fill, dtype))


_lower_filled = lower_fun(_filled_gather, multiple_results=False)


def _gather_lower(ctx: LoweringContext, x: Value, indices: Value, **params: Any) -> list[Value]:
    """XLA's own gather moves windows inside; only filling needs a mask."""
    if params["mode"] in (FILL_OR_DROP, ONE_HOT):
        return list(_lower_filled(ctx, x, indices, **params))
    aval = ctx.avals_out[0]
    if aval.size == 0 or ctx.avals_in[0].size == 0:
        return [builder.full(0, aval)]
    indices, index_aval = wide_index(ctx, indices, 1)
    sizes = params["slice_sizes"]
    attributes = {
        "dimension_numbers": _numbers_attribute(params["dimension_numbers"], index_aval.ndim),
        "indices_are_sorted": _flag(params["indices_are_sorted"]),
    }
    if any(map(is_symbolic, sizes)):
        return [builder.op("dynamic_gather", aval, x, indices, builder.lengths(sizes), **attributes)]
    return [builder.op("gather", aval, x, indices, slice_sizes=builder.ints(sizes), **attributes)]


def _flag(value: bool) -> ir.Attribute:
    return builder.attribute("true" if value else "false")


def filler(dtype: np.dtype) -> ArrayLike:
    """What stands where nothing was gathered: NaN, the least signed, the greatest unsigned number, True."""
    kind = kind_of(dtype)
    if kind in ("floating", "complex"):
        return np.asarray(np.nan).astype(dtype)[()]
    if kind == "signed":
        return np.asarray(dtypes.iinfo(dtype).min).astype(dtype)[()]
    return np.asarray(dtypes.iinfo(dtype).max).astype(dtype)[()] if kind == "unsigned" else np.bool_(True)


def _gather_divides(
    avals: Any, out: ShapedArray, *, dimension_numbers: GatherDimensionNumbers, slice_sizes: Any, **params: Any
) -> Division:
    """Axes that slices have whole are divided as the operand's, those of the indices as these, or as the batch.

    Raises:
      ShardingTypeError: an axis that is looked up is divided, and the indices are, too: the devices have other rows than they need.
    """
    (x, indices), numbers = avals, dimension_numbers
    looked_up = {*numbers.start_index_map} - {axis for axis in range(x.ndim) if slice_sizes[axis] == x.shape[axis] != 1}
    free = {*range(indices.ndim)} - {*numbers.start_indices_batching_dims}
    for axis in sorted(looked_up):
        for place in sorted(free):
            if x.divided[axis] and indices.divided[place]:
                raise ShardingTypeError(
                    f"{x.divided[axis]} divides the axis {axis} that is looked up and {indices.divided[place]} the axis {place} of the "
                    "indices, so it is ambiguous how the result is divided: say so by `.at[...].get(out_sharding=...)`"
                )
    result: list[tuple[Any, ...]] = [()] * out.ndim
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    kept = [axis for axis in range(x.ndim) if axis not in dropped]
    for offset_dim, axis in zip(numbers.offset_dims, kept, strict=True):
        result[offset_dim] = x.divided[axis] if slice_sizes[axis] == x.shape[axis] else ()
    batch = [dim for dim in range(out.ndim) if dim not in numbers.offset_dims]
    shared = dict(zip(numbers.start_indices_batching_dims, numbers.operand_batching_dims, strict=True))
    for axis, dim in enumerate(batch):
        result[dim] = indices.divided[axis] or (x.divided[shared[axis]] if axis in shared else ())
    return tuple(result)


def _gather_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    (x, indices), t = primals, tangents[0]
    out = gather_p.bind(x, indices, **params)
    if type(t) is Zero:
        return out, Zero.of(out)
    return out, gather_p.bind(t, indices, **{**params, "fill_value": 0})


def _gather_batch(values: Sequence[ArrayLike], dims: Dims, **params: Any) -> tuple[Any, int]:
    (x, indices), (dim, index_dim) = values, dims
    size = batch_size(values, dims)
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    if index_dim is None:
        x = bdim_at_front(x, dim, size)
        moved = numbers._replace(
            offset_dims=(0, *shifted(numbers.offset_dims)), collapsed_slice_dims=shifted(numbers.collapsed_slice_dims),
            start_index_map=shifted(numbers.start_index_map), operand_batching_dims=shifted(numbers.operand_batching_dims),
        )  # fmt: skip
        # The new axis stands in front of the result, so the axes of the indices follow it there: they keep their order.
        return gather_p.bind(x, indices, **{**params, "dimension_numbers": moved, "slice_sizes": (size, *sizes)}), 0
    indices = bdim_at_front(indices, index_dim, size)
    index_batching = shifted(numbers.start_indices_batching_dims)
    if dim is None:
        moved = numbers._replace(offset_dims=shifted(numbers.offset_dims), start_indices_batching_dims=index_batching)
        hints = {"indices_are_sorted": False, "unique_indices": False}
        return gather_p.bind(x, indices, **{**params, **hints, "dimension_numbers": moved}), 0
    x = bdim_at_front(x, dim, size)
    moved = GatherDimensionNumbers(
        shifted(numbers.offset_dims), shifted(numbers.collapsed_slice_dims), shifted(numbers.start_index_map),
        (0, *shifted(numbers.operand_batching_dims)), (0, *index_batching),
    )  # fmt: skip
    return gather_p.bind(
        x,
        indices,
        **{**params, "dimension_numbers": moved, "slice_sizes": (1 if is_symbolic(size) else min(size, 1), *sizes)},
    ), 0


gather_p.type_rule, gather_p.divides = _gather_type, _gather_divides
gather_p.relocates = lambda eqn, axes: True
gather_p.lower[None] = _gather_lower
gather_p.forms["cpu"] = taken_form
gather_p.jvp = _gather_jvp
gather_p.batch = _gather_batch  # gather_p.transpose: see lax.scatter


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: OptionalArray = None,
) -> Array:
    """Windows of an array, which begin at the given indices.

    Args:
      operand: array.
      start_indices: integer array; its last axis holds the components of an index.
      dimension_numbers: which axis means what, see ``GatherDimensionNumbers``.
      slice_sizes: the window's length along each axis of the operand.
      unique_indices: a promise that no element is taken twice.
      indices_are_sorted: a promise that the indices ascend.
      mode: what happens out of bounds, see ``GatherScatterMode``; by default windows are moved inside.
      fill_value: scalar to fill with, by default NaN, the least signed or greatest unsigned integer, or True.
    Returns: array of one window per index, the windows' axes at ``offset_dims``.
    Raises:
      TypeError: indices that are not integers, dimension numbers that don't fit the shapes.
      ValueError: an unknown mode.
    Example: ``lax.gather(x, jnp.array([[2], [0]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, x.shape[1]))``
      takes two rows. Source: StableHLO ``gather``.
    """
    x, indices = checked_operand("gather", operand), checked_operand("gather", start_indices)
    numbers = GatherDimensionNumbers(*(as_indices(dims) for dims in dimension_numbers))
    parsed = PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    params = {
        "dimension_numbers": numbers, "slice_sizes": canonical_shape(slice_sizes, "gather slice_sizes"),
        "unique_indices": bool(unique_indices), "indices_are_sorted": bool(indices_are_sorted), "mode": parsed,
        "fill_value": np.asarray(fill_value).item() if parsed is FILL_OR_DROP and fill_value is not None else None,
    }  # fmt: skip
    dtype = typeof(x).dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.gather(x, indices, **params)  # type: ignore[attr-defined]
    return gather_p.bind(x, indices, **params)
