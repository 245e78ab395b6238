"""Putting arrays together along an axis and taking them apart: concatenate, split."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, as_indices, as_sequence
from arrax.core.explicit_axes import elementwise
from arrax.core.interpreter import Primitive, Rounding
from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray, Zero, instantiate, typeof
from arrax.interpreters.ad.rules import deflinear2
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import batch_size, move_batch_axis
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.operand_checks import checked_operand
from arrax.lax.shape_arguments import canonical_axis
from arrax.lax.static_slicing import slice_in_dim
from arrax.lax.whole_bytes import in_whole_bytes
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent

# ---- concatenate ----------------------------------------------------------------------------------------------------

concatenate_p = Primitive("concatenate", rounding=Rounding.NONE)


def _concatenate_type(*avals: ShapedArray, dimension: int) -> ShapedArray:
    first = avals[0]
    for aval in avals[1:]:
        if aval.dtype != first.dtype:
            names = ", ".join(str(getattr(a.dtype, "name", a.dtype)) for a in avals)
            raise TypeError(f"lax.concatenate requires arguments to have the same dtypes, got {names}.")
        same = aval.ndim == first.ndim and all(
            a == b for i, (a, b) in enumerate(zip(aval.shape, first.shape, strict=True)) if i != dimension
        )
        if not same:
            shapes = ", ".join(str(a.shape) for a in avals)
            raise TypeError(
                f"Cannot concatenate along dimension {dimension}: the other dimensions must be equal, got shapes {shapes}."
            )
    if not 0 <= dimension < first.ndim:
        raise TypeError(f"concatenate dimension out of bounds: dimension {dimension} for shapes {first.shape}.")
    length = sum(aval.shape[dimension] for aval in avals)
    shape = (*first.shape[:dimension], length, *first.shape[dimension + 1 :])
    return ShapedArray(shape, first.dtype, all(aval.weak_type for aval in avals))


def _concatenate_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, dimension: int) -> tuple[Any, Any]:
    return (
        concatenate_p.bind(*primals, dimension=dimension),
        concatenate_p.bind(*[instantiate(t) for t in tangents], dimension=dimension),
    )


def _concatenate_transpose(ct: ArrayLike, *operands: UndefinedPrimal, dimension: int) -> list[Any]:
    linear = [is_undefined_primal(x) for x in operands]
    if type(ct) is Zero:
        return [Zero(x.aval) if wanted else None for x, wanted in zip(operands, linear, strict=True)]
    sizes = tuple(
        (x.aval if wanted else typeof(x)).shape[dimension] for x, wanted in zip(operands, linear, strict=True)
    )
    if all(linear):
        return _split(ct, sizes, dimension)
    ends = itertools.accumulate(sizes)
    return [
        slice_in_dim(ct, end - size, end, axis=dimension) if wanted else None
        for size, end, wanted in zip(sizes, ends, linear, strict=True)
    ]


def _concatenate_batch(values: Sequence[ArrayLike], dims: Dims, *, dimension: int) -> tuple[Any, int]:
    size, dim = batch_size(values, dims), next(dim for dim in dims if dim is not None)
    moved = (move_batch_axis(x, d, size, dim) for x, d in zip(values, dims, strict=True))
    return concatenate_p.bind(*moved, dimension=dimension + (dim <= dimension)), dim


concatenate_p.type_rule, concatenate_p.divides = _concatenate_type, elementwise
concatenate_p.fold = lambda *values, dimension: np.concatenate(values, dimension)
concatenate_p.lower[None] = in_whole_bytes(
    lambda ctx, *xs, dimension: [builder.op("concatenate", ctx.avals_out[0], *xs, dimension=builder.integer(dimension))]
)
concatenate_p.jvp = _concatenate_jvp
concatenate_p.transpose = _concatenate_transpose
concatenate_p.batch = _concatenate_batch


def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """Join arrays along an axis.

    Args:
      operands: arrays of equal dtype and of equal shape but for axis ``dimension``.
    Raises:
      TypeError: shapes or dtypes that differ.
      ValueError: no operands.
    Example: ``lax.concatenate([jnp.ones(2), jnp.zeros(1)], 0)``. Source: StableHLO ``concatenate``.
    """
    if len(as_sequence(operands)) == 0:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    values = [checked_operand("concatenate", x) for x in operands]
    dtype = typeof(values[0]).dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.concatenate(values, dimension)
    return concatenate_p.bind(*values, dimension=as_index(dimension))


# ---- split ----------------------------------------------------------------------------------------------------------

split_p = Primitive("split", multiple_results=True, rounding=Rounding.NONE)


def _split_type(aval: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[ShapedArray]:
    if not 0 <= axis < aval.ndim:
        raise ValueError(f"split: axis {axis} is out of bounds for an array of {aval.ndim} dimensions")
    if any(size < 0 for size in sizes):
        raise ValueError(f"split: sizes must not be negative, got {sizes}")
    if sum(sizes) != aval.shape[axis]:
        raise ValueError(
            f"split: sizes must sum to the length {aval.shape[axis]} of axis {axis}, got {sizes}, whose sum is {sum(sizes)}"
        )
    return [
        ShapedArray((*aval.shape[:axis], size, *aval.shape[axis + 1 :]), aval.dtype, aval.weak_type) for size in sizes
    ]


def _pieces(x: ArrayLike, *, sizes: tuple[int, ...], axis: int) -> list[Any]:
    ends = itertools.accumulate(sizes)
    return [slice_in_dim(x, end - size, end, axis=axis) for size, end in zip(sizes, ends, strict=True)]


def _split_batch(
    values: Sequence[ArrayLike], dims: Sequence[int], *, sizes: tuple[int, ...], axis: int
) -> tuple[list[Any], list[int]]:
    (x,), (dim,) = values, dims
    outs = split_p.bind(x, sizes=sizes, axis=axis + (dim <= axis))
    return outs, [dim] * len(outs)


def _split(x: ArrayLike, sizes: tuple[int, ...], axis: int) -> list[Any]:
    return (
        _pieces(x, sizes=sizes, axis=axis) if any(map(is_symbolic, sizes)) else split_p.bind(x, sizes=sizes, axis=axis)
    )


def _split_divides(avals: Sequence[Any], out: Sequence[Any], **params: Any) -> list[Any]:
    """Pieces go on being divided as the whole is, where their lengths allow it."""
    return [avals[0].divided] * len(out)


split_p.type_rule, split_p.divides = _split_type, _split_divides
split_p.lower[None] = lower_fun(_pieces)
split_p.batch = _split_batch
deflinear2(split_p, lambda cts, x, *, sizes, axis: [concatenate([instantiate(ct) for ct in cts], axis)])


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> Sequence[Array]:
    """Cut an array into consecutive pieces along an axis.

    Args:
      operand: array.
      sizes: lengths of the pieces, which sum to the axis's length.
      axis: the axis.
    Returns: list of arrays, one per size.
    Raises:
      ValueError: an axis out of bounds, or sizes with another sum.
    Example: ``lax.split(jnp.arange(3), (1, 2))`` is ``[[0], [1, 2]]``.
    """
    x = checked_operand("split", operand)
    axis = canonical_axis(axis, typeof(x).ndim, "axis")
    return split_p.bind(x, sizes=as_indices(sizes), axis=axis)
