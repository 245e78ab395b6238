"""Arrays along an axis of their own and copies side by side: stack, unstack, tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.calls import as_sequence
from arrax.core.explicit_axes import elementwise, without_axes
from arrax.core.interpreter import Primitive, Rounding
from arrax.core.types import ShapedArray, instantiate, typeof
from arrax.interpreters.ad.rules import deflinear2
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import batch_size, move_batch_axis
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.concatenation import concatenate
from arrax.lax.operand_checks import check_same_dtypes, checked_operand
from arrax.lax.shape_arguments import canonical_axis, canonical_shape
from arrax.lax.shape_slots import shape_slots
from arrax.lax.shapes import broadcast_in_dim, expand_dims, reshape, squeeze
from arrax.lax.static_slicing import slice_in_dim
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims

# ---- stack and unstack ----------------------------------------------------------------------------------------------

stack_p = Primitive("stack", rounding=Rounding.NONE)
unstack_p = Primitive("unstack", multiple_results=True, rounding=Rounding.NONE)


def _stack_type(*avals: ShapedArray, axis: int) -> ShapedArray:
    dtype, shape = check_same_dtypes("stack", avals), avals[0].shape
    if any(aval.shape != shape for aval in avals):
        raise ValueError(f"stack requires arrays of equal shapes, got {', '.join(str(aval.shape) for aval in avals)}.")
    return ShapedArray((*shape[:axis], len(avals), *shape[axis:]), dtype, all(aval.weak_type for aval in avals))


def _unstack_type(aval: ShapedArray, *, axis: int) -> list[ShapedArray]:
    piece = ShapedArray(aval.shape[:axis] + aval.shape[axis + 1 :], aval.dtype, aval.weak_type)
    return [piece] * aval.shape[axis]


def _stack_divides(avals: Sequence[ShapedArray], out: ShapedArray, *, axis: int) -> Any:
    common = elementwise(avals, avals[0])
    return (*common[:axis], (), *common[axis:])


def _stack_transpose(ct: ArrayLike, *operands: Any, axis: int) -> list[Any]:
    return [
        piece if is_undefined_primal(x) else None
        for piece, x in zip(unstack_p.bind(ct, axis=axis), operands, strict=True)
    ]


def _stack_batch(values: Sequence[ArrayLike], dims: Dims, *, axis: int) -> tuple[Any, int]:
    """The batch axis stays where it is, so that arrays of few elements lie side by side, each with those of all examples."""
    size, dim = batch_size(values, dims), next(dim for dim in dims if dim is not None)
    moved = (move_batch_axis(x, d, size, dim) for x, d in zip(values, dims, strict=True))
    before = axis <= dim
    return stack_p.bind(*moved, axis=axis if before else axis + 1), dim + before


def _unstack_batch(values: Sequence[ArrayLike], dims: Sequence[int], *, axis: int) -> tuple[list[Any], list[int]]:
    (x,), (dim,) = values, dims
    moved = axis + (dim <= axis)
    outs = unstack_p.bind(x, axis=moved)
    return outs, [dim - (moved < dim)] * len(outs)


stack_p.type_rule, stack_p.divides = _stack_type, _stack_divides
stack_p.lower[None] = lower_fun(
    lambda *values, axis: concatenate([expand_dims(x, (axis,)) for x in values], axis), multiple_results=False
)
stack_p.batch = _stack_batch
deflinear2(stack_p, _stack_transpose)

unstack_p.type_rule = _unstack_type
unstack_p.divides = lambda avals, out, *, axis: [without_axes(avals, out, axes=(axis,))] * len(out)
unstack_p.lower[None] = lower_fun(
    lambda x, *, axis: [squeeze(slice_in_dim(x, i, i + 1, axis=axis), (axis,)) for i in range(typeof(x).shape[axis])]
)
unstack_p.batch = _unstack_batch
deflinear2(unstack_p, lambda cts, x, *, axis: [stack_p.bind(*(instantiate(ct) for ct in cts), axis=axis)])


def stack(operands: Sequence[Any], axis: int = 0) -> Array:
    """Join arrays of one type along a new axis.

    Args:
      operands: arrays of equal shapes and dtypes, at least one.
      axis: the place of the new axis in the result.
    Returns: array with one axis more.
    Raises:
      ValueError: no operands, shapes that differ, an axis out of bounds.
      TypeError: dtypes that differ.
    Example: ``lax.stack([jnp.ones(2), jnp.zeros(2)]).shape`` is ``(2, 2)``.
    """
    values = [checked_operand("stack", x) for x in as_sequence(operands)]
    if not values:
        raise ValueError("stack requires at least one array")
    at = canonical_axis(axis, typeof(values[0]).ndim + 1, "axis")
    return stack_p.bind(*values, axis=at)


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The arrays along an axis, one by one.

    Args:
      x: array of at least one axis.
      axis: the axis that vanishes.
    Returns: tuple of arrays.
    Raises:
      ValueError: an axis out of bounds.
    Example: ``lax.unstack(jnp.eye(2))[1]`` is ``[0, 1]``.
    """
    x = checked_operand("unstack", x)
    aval = typeof(x)
    axis = canonical_axis(axis, aval.ndim, "axis")
    return tuple(unstack_p.bind(x, axis=axis)) if aval.shape[axis] else ()


# ---- tile -----------------------------------------------------------------------------------------------------------

tile_p = Primitive("tile", rounding=Rounding.NONE)


def _tile_type(aval: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    if len(reps) != aval.ndim:
        raise TypeError(f"tile requires one number of repetitions per axis, got {reps} for shape {aval.shape}")
    if any(count < 0 for count in reps):
        raise ValueError(f"tile: repetitions must not be negative, got {reps}")
    shape = tuple(length * count for length, count in zip(aval.shape, reps, strict=True))
    return ShapedArray(shape, aval.dtype, aval.weak_type)


def _interleaved(reps: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(length for pair in zip(reps, shape, strict=True) for length in pair)


def _repeated(x: Array, *, reps: tuple[int, ...]) -> Array:
    shape = typeof(x).shape
    broadcasted = broadcast_in_dim(x, _interleaved(reps, shape), range(1, 2 * len(shape), 2))
    return reshape(broadcasted, tuple(length * count for length, count in zip(shape, reps, strict=True)))


def _tile_transpose(ct: Array, x: UndefinedPrimal, *, reps: tuple[int, ...]) -> list[Any]:
    parts = reshape(ct, _interleaved(reps, x.aval.shape))
    return [shape_slots.reduce_sum(parts, tuple(range(0, 2 * len(reps), 2)))]


def _tile_batch(values: Sequence[ArrayLike], dims: Sequence[int], *, reps: tuple[int, ...]) -> tuple[Any, int]:
    (x,), (dim,) = values, dims
    return tile_p.bind(x, reps=(*reps[:dim], 1, *reps[dim:])), dim


tile_p.type_rule = _tile_type
tile_p.lower[None] = lower_fun(_repeated, multiple_results=False)
tile_p.batch = _tile_batch
deflinear2(tile_p, _tile_transpose)


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Copies of an array side by side.

    Args:
      operand: array.
      reps: for each axis, the number of copies along it.
    Returns: array whose lengths are multiplied by ``reps``.
    Raises:
      TypeError: another number of repetitions than axes.
    Example: ``lax.tile(jnp.arange(2), (2,))`` is ``[0, 1, 0, 1]``.
    """
    return tile_p.bind(checked_operand("tile", operand), reps=canonical_shape(reps, "tile"))
