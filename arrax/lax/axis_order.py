"""The order of axes, and of elements along them: transpose and rev."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.explicit_axes import of_first
from arrax.core.interpreter import Primitive, Rounding, Tracer
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.lowering import builder
from arrax.lax.families import compose_jvp
from arrax.lax.operand_checks import checked_operand
from arrax.lax.shape_arguments import canonical_axis
from arrax.xla.arrays import Array, ArrayLike

# ---- transpose ------------------------------------------------------------------------------------------------------------

transpose_p = Primitive("transpose", rounding=Rounding.NONE)


def _transpose_type(aval: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(aval.ndim)):
        raise TypeError(
            f"transpose permutation isn't a permutation of operand dimensions, got permutation {permutation} for operand shape {aval.shape}."
        )
    return ShapedArray(tuple(aval.shape[i] for i in permutation), aval.dtype, aval.weak_type)


def _transpose_batch(
    values: Sequence[ArrayLike], dims: Sequence[int], *, permutation: tuple[int, ...]
) -> tuple[Any, int]:
    (x,), (dim,) = values, dims
    moved = (dim, *(i if i < dim else i + 1 for i in permutation))
    return transpose_p.bind(x, permutation=moved), 0


transpose_p.type_rule = _transpose_type
transpose_p.divides = lambda avals, out, *, permutation: tuple(avals[0].divided[axis] for axis in permutation)
transpose_p.fold = lambda x, *, permutation: np.transpose(x, permutation)
transpose_p.lower[None] = lambda ctx, x, *, permutation: [
    builder.op("transpose", ctx.avals_out[0], x, permutation=builder.ints(permutation))
]
transpose_p.jvp = compose_jvp(transpose_p, [lambda x, ans, t, **params: transpose_p.bind(t, **params)])
transpose_p.transpose = lambda ct, x, *, permutation: [
    Zero(x.aval)
    if type(ct) is Zero
    else transpose_p.bind(ct, permutation=tuple(int(i) for i in np.argsort(permutation)))
]
transpose_p.batch = _transpose_batch


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Reorder axes: axis ``i`` of the result is axis ``permutation[i]`` of the operand.

    Args:
      operand: array.
      permutation: the axes of ``operand`` in their new order.
    Raises:
      TypeError: not a permutation of the axes.
    Example: ``lax.transpose(jnp.ones((2, 3)), (1, 0)).shape`` is ``(3, 2)``. Source: StableHLO ``transpose``.
    """
    x = checked_operand("transpose", operand)
    aval = typeof(x)
    order = tuple(as_index(i) for i in permutation)
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return aval.dtype.transpose(x, order)
    if order == tuple(range(aval.ndim)) and isinstance(x, Tracer):
        return x
    return transpose_p.bind(x, permutation=order)


def move_axis(x: ArrayLike, source: int, to: int) -> Any:
    """``x`` with one axis moved."""
    rank = typeof(x).ndim
    source, to = canonical_axis(source, rank), canonical_axis(to, rank)
    if source == to:
        return x
    order = [i for i in range(rank) if i != source]
    order.insert(to, source)
    return transpose(x, order)


def transpose_to_front(x: ArrayLike, dim: int) -> ArrayLike:
    """``x`` with axis ``dim`` in front."""
    return move_axis(x, dim, 0)


# ---- rev ------------------------------------------------------------------------------------------------------------------

rev_p = Primitive("rev", rounding=Rounding.NONE)


def _rev_type(aval: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    if any(not 0 <= d < aval.ndim for d in dimensions):
        raise TypeError(
            f"rev dimensions must all be less than operand ndim, got dimensions {dimensions} for operand ndim {aval.ndim}."
        )
    return aval


rev_p.type_rule, rev_p.divides = _rev_type, of_first
rev_p.relocates = lambda eqn, axes: any(axis in axes for axis in eqn.params["dimensions"])
rev_p.fold = lambda x, *, dimensions: np.flip(x, dimensions)
rev_p.lower[None] = lambda ctx, x, *, dimensions: [
    builder.op("reverse", ctx.avals_out[0], x, dimensions=builder.ints(dimensions))
]
rev_p.jvp = compose_jvp(rev_p, [lambda x, ans, t, **params: rev_p.bind(t, **params)])
rev_p.transpose = lambda ct, x, *, dimensions: [ct if type(ct) is Zero else rev_p.bind(ct, dimensions=dimensions)]
rev_p.batch = lambda values, dims, *, dimensions: (
    rev_p.bind(values[0], dimensions=tuple(d + (d >= dims[0]) for d in dimensions)), dims[0],
)  # fmt: skip


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverse the order of elements along the given axes.

    Args:
      operand: array.
      dimensions: the axes.
    Example: ``lax.rev(jnp.arange(3), (0,))`` is ``[2, 1, 0]``. Source: StableHLO ``reverse``.
    """
    x = checked_operand("rev", operand)
    return rev_p.bind(x, dimensions=tuple(as_index(d) for d in dimensions))
