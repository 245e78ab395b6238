"""Shapes: broadcasting and reshaping."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, as_indices, as_sequence, in_call
from arrax.core.explicit_axes import regrouped, without_axes
from arrax.core.interpreter import Primitive, Rounding, Tracer
from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.interpreters.lowering import builder
from arrax.lax.axis_order import transpose, transpose_to_front
from arrax.lax.cpu.regrouping import reshape_form
from arrax.lax.families import compose_jvp
from arrax.lax.operand_checks import checked_operand
from arrax.lax.shape_arguments import canonical_axis, canonical_shape
from arrax.lax.shape_slots import shape_slots
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.core.program import JaxprEqn
    from arrax.interpreters.ad.transpose import UndefinedPrimal
    from arrax.interpreters.staging import Staging

# ---- broadcast_in_dim -------------------------------------------------------------------------------------------------

broadcast_in_dim_p = Primitive("broadcast_in_dim", rounding=Rounding.NONE)
broadcast_in_dim_p.hidden_params = frozenset({"sharding"})


def _broadcast_type(
    aval: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...], sharding: Any = None
) -> ShapedArray:
    if len(broadcast_dimensions) != aval.ndim:
        raise TypeError(
            f"broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; got broadcast_dimensions "
            f"{broadcast_dimensions} for operand ndim {aval.ndim}."
        )
    for length, dim in zip(aval.shape, broadcast_dimensions, strict=True):
        if not 0 <= dim < len(shape):
            raise TypeError(f"broadcast_in_dim dimension {dim} is out of bounds for shape {shape}")
        if length not in (1, shape[dim]):
            raise TypeError(
                f"broadcast_in_dim: axis of length {length} cannot become axis {dim} of length {shape[dim]}: lengths must be equal "
                f"or 1 (operand shape {aval.shape}, shape {shape}, broadcast_dimensions {broadcast_dimensions})"
            )
    if any(b <= a for a, b in zip(broadcast_dimensions, broadcast_dimensions[1:], strict=False)):
        raise TypeError(f"broadcast_in_dim broadcast_dimensions must be different ones; got {broadcast_dimensions}.")
    return ShapedArray(shape, aval.dtype, aval.weak_type)


def _broadcast_divides(
    avals: Any, out: ShapedArray, *, shape: Any, broadcast_dimensions: Any, **params: Any
) -> tuple[Any, ...]:
    result: list[Any] = [()] * out.ndim
    for dim, names in zip(broadcast_dimensions, avals[0].divided, strict=True):
        result[dim] = names  # an axis of length 1 is not divided
    return tuple(result)


def _broadcast_batch(
    values: Sequence[ArrayLike],
    dims: Sequence[int],
    *,
    shape: tuple[int, ...],
    broadcast_dimensions: tuple[int, ...],
    sharding: Any,
) -> tuple[Any, int]:
    (x,), (dim,) = values, dims
    size = typeof(x).shape[dim]
    x = transpose_to_front(x, dim)
    moved = (0, *(d + 1 for d in broadcast_dimensions))
    return broadcast_in_dim_p.bind(x, shape=(size, *shape), broadcast_dimensions=moved, sharding=sharding), 0


def _broadcast_transpose(
    ct: ArrayLike, x: UndefinedPrimal, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...], sharding: Any
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(x.aval.to_tangent_aval())]
    new = [d for d in range(len(shape)) if d not in broadcast_dimensions]
    grown = [d for d, length in zip(broadcast_dimensions, x.aval.shape, strict=True) if length == 1 and shape[d] != 1]
    summed = shape_slots.reduce_sum(ct, tuple(sorted(new + grown)))
    return [reshape(summed, x.aval.shape) if grown else summed]


def _stage_broadcast(interpreter: Staging, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """A constant of no axes needs no equation."""
    known = interpreter.number(args[0]) if params["shape"] == () else None
    return interpreter.record(broadcast_in_dim_p, args, params) if known is None else interpreter.constant(known)


def _repeats_parts(eqn: JaxprEqn, axes: Sequence[int]) -> bool:
    """Whether the operand is repeated along some of the axes, and not along others."""
    (x, *_), dimensions = eqn.invars, eqn.params["broadcast_dimensions"]
    whole = {axis for axis, length in zip(dimensions, x.aval.shape, strict=True) if length > 1}
    return any(axis in whole for axis in axes) and not all(axis in whole for axis in axes)


broadcast_in_dim_p.relocates = _repeats_parts


def _broadcast_fold(
    x: np.ndarray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...], sharding: Any = None
) -> np.ndarray:
    lengths = dict(zip(broadcast_dimensions, x.shape, strict=True))
    return np.broadcast_to(x.reshape([lengths.get(dim, 1) for dim in range(len(shape))]), shape)


broadcast_in_dim_p.fold = _broadcast_fold
broadcast_in_dim_p.type_rule, broadcast_in_dim_p.divides = _broadcast_type, _broadcast_divides
broadcast_in_dim_p.stage = _stage_broadcast
broadcast_in_dim_p.lower[None] = lambda ctx, x, *, shape, broadcast_dimensions, sharding=None: [
    builder.broadcast(x, ctx.avals_out[0], broadcast_dimensions)
]
broadcast_in_dim_p.jvp = compose_jvp(
    broadcast_in_dim_p, [lambda x, ans, t, **params: broadcast_in_dim_p.bind(t, **params)]
)
broadcast_in_dim_p.batch = _broadcast_batch
broadcast_in_dim_p.transpose = _broadcast_transpose


def broadcast_in_dim(
    operand: ArrayLike, shape: Shape, broadcast_dimensions: Sequence[int], *, out_sharding: OptionalSharding = None
) -> Array:
    """Repeat an array to ``shape``, its axis ``i`` becoming axis ``broadcast_dimensions[i]``.

    Args:
      operand: array.
      shape: the result's shape.
      broadcast_dimensions: one axis of the result per axis of the operand, in any order.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array of ``shape``.
    Raises:
      TypeError: lengths that are neither 1 nor equal.
    Example: ``lax.broadcast_in_dim(jnp.arange(3), (2, 3), (1,))`` repeats a row. Source: StableHLO ``broadcast_in_dim``.
    """
    if out_sharding is not None:
        return slots.as_asked(
            out_sharding,
            functools.partial(broadcast_in_dim, shape=shape, broadcast_dimensions=broadcast_dimensions),
            operand,
        )
    x = checked_operand("broadcast_in_dim", operand)
    aval = typeof(x)
    shape = canonical_shape(shape, "broadcast_in_dim")
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return aval.dtype.broadcast_in_dim(x, shape, tuple(broadcast_dimensions))
    if (
        aval.shape == shape
        and isinstance(x, Tracer | type(None))
        and tuple(broadcast_dimensions) == tuple(range(len(shape)))
    ):
        return x
    indices = as_indices(broadcast_dimensions)
    if len(indices) == aval.ndim and len(set(indices)) == len(indices) and list(indices) != sorted(indices):
        x, indices = transpose(x, sorted(range(aval.ndim), key=indices.__getitem__)), tuple(sorted(indices))
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=indices, sharding=None)


shape_slots.broadcast_in_dim = broadcast_in_dim


def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: OptionalSharding = None) -> Array:
    """Add leading axes of the given lengths, along which the array repeats.

    Args:
      operand: array or number.
      sizes: lengths of the new axes.
      out_sharding: how the result is divided over a mesh.
    Example: ``lax.broadcast(jnp.arange(3), (2,)).shape`` is ``(2, 3)``.
    """
    shape = typeof(checked_operand("broadcast", operand)).shape
    sizes = canonical_shape(sizes, "broadcast")
    indices = range(len(sizes), len(sizes) + len(shape))
    return broadcast_in_dim(operand, (*sizes, *shape), indices, out_sharding=out_sharding)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """Add leading axes of length 1, up to a number of axes; arrays that have as many stay as they are.

    Args:
      x: array.
      rank: number of axes.
    Example: ``lax.broadcast_to_rank(jnp.arange(3), 2).shape`` is ``(1, 3)``.
    """
    x = checked_operand("broadcast_to_rank", x)
    missing = rank - typeof(x).ndim
    return expand_dims(x, range(missing)) if missing > 0 else x


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """Repeat an array to the shape of another one, by the rules of NumPy.

    Args:
      arr: array; trailing axes correspond, and those of length 1 repeat.
      like_arr: array, of which only the shape counts.
    Raises:
      ValueError: shapes that do not fit.
    Example: ``lax.broadcast_like(jnp.arange(3), jnp.ones((2, 3))).shape`` is ``(2, 3)``.
    """
    x = checked_operand("broadcast_like", arr)
    before, after = typeof(x).shape, typeof(checked_operand("broadcast_like", like_arr)).shape
    if broadcast_shapes(before, after) != after:
        raise ValueError(f"broadcast_like: an array of shape {before} cannot be repeated to shape {after}")
    lead = len(after) - len(before)
    return broadcast_in_dim(x, after, range(lead, len(after)))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that NumPy's broadcasting gives several shapes.

    Args:
      shapes: sequences of ints.
    Raises:
      ValueError: incompatible shapes.
      TypeError: what is not a shape.
    Example: ``lax.broadcast_shapes((2, 1), (3,))`` is ``(2, 3)``.
    """
    for shape in shapes:
        if not all(
            (isinstance(length, int | np.integer) and length >= 0) or is_symbolic(length)
            for length in as_sequence(shape)
        ):
            raise TypeError(in_call(f"shapes must be sequences of non-negative integers, got {shape!r}"))
    if len(shapes) == 2 and shapes[0] == shapes[1]:
        return tuple(shapes[0])
    rank = max((len(as_sequence(shape)) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for lengths in zip(*padded, strict=True):
        distinct = {length for length in lengths if length != 1}
        if len(distinct) > 1:
            listed = ", ".join(str(tuple(shape)) for shape in shapes)
            raise ValueError(f"Incompatible shapes for broadcasting: shapes=[{listed}]")
        result.append(distinct.pop() if distinct else 1)
    return tuple(result)


# ---- reshape ------------------------------------------------------------------------------------------------------------

reshape_p = Primitive("reshape", rounding=Rounding.NONE)
reshape_p.hidden_params = frozenset({"sharding"})


def _reshape_type(
    aval: ShapedArray, *, new_sizes: tuple[int, ...], dimensions: Any, sharding: Any = None
) -> ShapedArray:
    if math.prod(new_sizes) != aval.size:
        raise TypeError(
            f"reshape total size must be unchanged, got new_sizes {new_sizes} (={math.prod(new_sizes)}) for shape "
            f"{aval.shape} (={aval.size})"
        )
    return ShapedArray(new_sizes, aval.dtype, aval.weak_type)


def _reshape_batch(
    values: Sequence[ArrayLike], dims: Sequence[int], *, new_sizes: tuple[int, ...], dimensions: Any, sharding: Any
) -> tuple[Any, int]:
    x = transpose_to_front(values[0], dims[0])
    return reshape_p.bind(x, new_sizes=(typeof(x).shape[0], *new_sizes), dimensions=None, sharding=None), 0


reshape_p.type_rule, reshape_p.divides = _reshape_type, regrouped
reshape_p.fold = lambda x, *, new_sizes, **params: x.reshape(new_sizes)
reshape_p.lower[None] = lambda ctx, x, **params: [builder.op("reshape", ctx.avals_out[0], x)]
reshape_p.jvp = compose_jvp(reshape_p, [lambda x, ans, t, **params: reshape_p.bind(t, **params)])
reshape_p.transpose = lambda ct, x, **params: [
    Zero(x.aval) if type(ct) is Zero else reshape_p.bind(ct, new_sizes=x.aval.shape, dimensions=None, sharding=None)
]
reshape_p.batch = _reshape_batch
reshape_p.forms["cpu"] = reshape_form


def reshape(
    operand: ArrayLike,
    new_sizes: Any,
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Give the elements, in row-major order, another shape.

    Args:
      operand: array.
      new_sizes: shape with as many elements.
      dimensions: order of the operand's axes in which its elements are read.
      out_sharding: how the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array of shape ``new_sizes``.
    Raises:
      TypeError: another number of elements.
    Example: ``lax.reshape(jnp.arange(6), (2, 3))``. Source: StableHLO ``reshape``.
    """
    if out_sharding is not None:
        again = functools.partial(reshape, new_sizes=new_sizes, dimensions=dimensions)
        return slots.as_asked(out_sharding, again, operand)
    x = checked_operand("reshape", operand)
    aval = typeof(x)
    sizes = canonical_shape(new_sizes, "reshape")
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return aval.dtype.reshape(x, sizes)
    if dimensions is not None and tuple(dimensions) != tuple(range(aval.ndim)):
        x = transpose(x, dimensions)
    elif sizes == aval.shape and isinstance(x, Tracer):
        return x
    return reshape_p.bind(x, new_sizes=sizes, dimensions=None, sharding=None)


shape_slots.reshape = reshape


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Insert axes of length 1 at the given places of the result.

    Args:
      array: array or number.
      dimensions: places of the new axes in the result.
    Example: ``lax.expand_dims(jnp.arange(3), (0,)).shape`` is ``(1, 3)``.
    """
    aval = typeof(checked_operand("expand_dims", array))
    dimensions = (as_index(dimensions),) if getattr(dimensions, "ndim", None) == 0 else as_sequence(dimensions)
    rank = aval.ndim + len(dimensions)
    indices = {canonical_axis(d, rank) for d in dimensions}
    if len(indices) != len(dimensions):
        raise ValueError(f"repeated axis in lax.expand_dims: {tuple(dimensions)}")
    lengths = iter(aval.shape)
    shape = tuple(1 if i in indices else next(lengths) for i in range(rank))
    return broadcast_in_dim(array, shape, [i for i in range(rank) if i not in indices])


squeeze_p = Primitive("squeeze", rounding=Rounding.NONE)


def _squeeze_type(aval: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    for d in dimensions:
        if aval.shape[d] != 1:
            raise ValueError(
                f"cannot select an axis to squeeze out which has size not equal to one, got {aval.shape=} and {dimensions=}"
            )
    shape = tuple(length for i, length in enumerate(aval.shape) if i not in dimensions)
    return ShapedArray(shape, aval.dtype, aval.weak_type)


def _squeeze_batch(values: Sequence[ArrayLike], dims: Sequence[int], *, dimensions: tuple[int, ...]) -> tuple[Any, int]:
    x = transpose_to_front(values[0], dims[0])
    return squeeze_p.bind(x, dimensions=tuple(d + 1 for d in dimensions)), 0


squeeze_p.type_rule = _squeeze_type
squeeze_p.divides = lambda avals, out, *, dimensions: without_axes(avals, out, axes=dimensions)
squeeze_p.fold = lambda x, *, dimensions: np.squeeze(x, dimensions)
squeeze_p.lower[None] = lambda ctx, x, *, dimensions: [builder.op("reshape", ctx.avals_out[0], x)]
squeeze_p.jvp = compose_jvp(squeeze_p, [lambda x, ans, t, **params: squeeze_p.bind(t, **params)])
squeeze_p.transpose = lambda ct, x, *, dimensions: [Zero(x.aval) if type(ct) is Zero else reshape(ct, x.aval.shape)]
squeeze_p.batch = _squeeze_batch


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Drop axes of length 1.

    Args:
      array: the array.
      dimensions: the axes to drop.
    Raises:
      ValueError: an axis of another length.
    Example: ``lax.squeeze(jnp.ones((1, 3)), (0,)).shape`` is ``(3,)``.
    """
    x = checked_operand("squeeze", array)
    aval = typeof(x)
    axes = tuple(sorted(canonical_axis(d, aval.ndim) for d in dimensions))
    if len(set(axes)) != len(axes):
        raise ValueError(f"dimensions are not unique: {tuple(dimensions)}")
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return aval.dtype.reshape(x, _squeeze_type(aval, dimensions=axes).shape)
    return x if not axes and isinstance(x, Tracer) else squeeze_p.bind(x, dimensions=axes)


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Merge neighbouring axes into one.

    Args:
      operand: array.
      start_dimension: the first of the axes.
      stop_dimension: the one behind the last of them, by default the end; negative ones count from there.
    Example: ``lax.collapse(jnp.ones((2, 3, 4)), 0, 2).shape`` is ``(6, 4)``.
    """
    shape = typeof(checked_operand("collapse", operand)).shape
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if start > stop:
        raise ValueError(f"Invalid dimension range passed to collapse: {shape}[{start_dimension}:{stop_dimension}]")
    return reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))
