"""Products of all elements with all, over chosen axes, and of vectors in space (NumPy reference, routines.linalg)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.calls import as_index
from arrax.core.types import slots, typeof
from arrax.dtypes import OptionalDType
from arrax.lax import concatenation, filled_arrays, shape_arguments, shapes, static_slicing
from arrax.lax.conversion import convert
from arrax.lax.precision import PrecisionLike
from arrax.numpy_api.api import api
from arrax.numpy_api.axis_order import moveaxis
from arrax.numpy_api.elementwise import multiply, subtract
from arrax.numpy_api.operands import check_arraylike, refuse_out
from arrax.numpy_api.products import contract, dot_operands, hashable_precision
from arrax.xla.annotations import Axes, OneAxis, OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

# ---- products of all with all ---------------------------------------------------------------------------------------


@api()
def _outer(a: ArrayLike, b: ArrayLike) -> Array:
    a, b = dot_operands("outer", a, b)
    a, b = (shapes.reshape(v, (typeof(v).size,)) for v in (a, b))
    shape = (typeof(a).size, typeof(b).size)
    return multiply(shapes.broadcast_in_dim(a, shape, (0,)), shapes.broadcast_in_dim(b, shape, (1,)))


def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """The products of each element of ``a`` with each of ``b``.

    Args:
      a, b: arrays, flattened.
      out: must be None: arrays cannot be written to.
    Returns: matrix.
    Example: ``jnp.outer(jnp.arange(2), jnp.arange(3)).shape`` is ``(2, 3)``. Source: ``numpy.outer``.
    """
    refuse_out("outer", out)
    return _outer(a, b)


@api()
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: each element of ``a`` times the whole of ``b``, as blocks.

    Args:
      a, b: arrays; the shorter shape gets ones in front.
    Example: ``jnp.kron(jnp.eye(2), jnp.ones((1, 2))).shape`` is ``(2, 4)``. Source: ``numpy.kron``.
    """
    a, b = dot_operands("kron", a, b)
    rank = max(typeof(a).ndim, typeof(b).ndim)
    if rank == 0:
        return multiply(a, b)
    a, b = (shapes.reshape(v, (1,) * (rank - typeof(v).ndim) + typeof(v).shape) for v in (a, b))
    interleaved = multiply(shapes.expand_dims(a, range(1, 2 * rank, 2)), shapes.expand_dims(b, range(0, 2 * rank, 2)))
    lengths = [n * m for n, m in zip(typeof(a).shape, typeof(b).shape, strict=True)]
    return shapes.reshape(interleaved, tuple(lengths))


# ---- tensors --------------------------------------------------------------------------------------------------------


def _tensor_axes(axes: Axes, a: ArrayLike, b: ArrayLike) -> tuple[tuple[int, ...], tuple[int, ...]]:
    x, y = typeof(a).ndim, typeof(b).ndim
    if isinstance(axes, int | np.integer):
        count = max(0, int(axes))
        if count > min(x, y):
            raise TypeError(
                f"Number of tensordot axes (axes {axes}) exceeds input ranks ({typeof(a).shape} and {typeof(b).shape})"
            )
        return tuple(range(x - count, x)), tuple(range(count))
    if not isinstance(axes, list | tuple) or len(axes) != 2:
        raise TypeError(f"tensordot: axes must be a number, or a pair of axes or of lists of axes, got {axes!r}")
    first, second = (tuple(one) if isinstance(one, list | tuple | np.ndarray) else (one,) for one in axes)
    if len(first) != len(second):
        raise TypeError(f"tensordot requires axes lists to have equal length, got {first} and {second}.")
    return tuple(shape_arguments.canonical_axis(i, x) for i in first), tuple(
        shape_arguments.canonical_axis(i, y) for i in second
    )


@api(static=("axes", "precision", "preferred_element_type"))
def _tensordot(
    a: ArrayLike, b: ArrayLike, axes: tuple[tuple[int, ...], ...], precision: Any, preferred_element_type: Any
) -> Array:
    a, b = dot_operands("tensordot", a, b, preferred_element_type)
    return contract("tensordot", a, b, (axes, ((), ())), precision, preferred_element_type)


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[Any] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """The product of two tensors over some of their axes.

    Args:
      a, b: arrays.
      axes: how many axes: the last ones of ``a`` with the first ones of ``b``; or a pair of axes, or of sequences of axes.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array of the remaining axes of ``a``, then those of ``b``.
    Raises:
      TypeError: axes that don't fit, lengths that differ.
    Example: ``jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 4)), 1).shape`` is ``(2, 4)``. Source: ``numpy.tensordot``.
    """
    if out_sharding is not None:
        return slots.as_asked(
            out_sharding,
            functools.partial(tensordot, axes=axes, precision=precision, preferred_element_type=preferred_element_type),
            a,
            b,
        )
    check_arraylike("tensordot", a, b)
    pairs = _tensor_axes(axes, a, b)
    return _tensordot(a, b, pairs, hashable_precision(precision), preferred_element_type)


# ---- cross product --------------------------------------------------------------------------------------------------


def _component(a: Array, i: int) -> Array:
    rank = typeof(a).ndim
    if i >= typeof(a).shape[-1]:
        return filled_arrays.full(typeof(a).shape[:-1], 0, typeof(a).dtype)
    return shapes.squeeze(static_slicing.slice_in_dim(a, i, i + 1, axis=rank - 1), (rank - 1,))


@api(static=("axisa", "axisb", "axisc"))
def _cross(a: ArrayLike, b: ArrayLike, axisa: int, axisb: int, axisc: int) -> Array:
    a, b = dot_operands("cross", a, b)
    a, b = (convert(v, typeof(v).dtype) for v in (a, b))
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    lengths = typeof(a).shape[-1], typeof(b).shape[-1]
    if lengths[0] not in (2, 3) or lengths[1] not in (2, 3):
        raise ValueError(
            f"cross: vectors must have 2 or 3 components, got shapes {typeof(a).shape} and {typeof(b).shape}"
        )

    def minor(i: int, j: int) -> Array:
        parts = _component(a, i), _component(b, j), _component(a, j), _component(b, i)
        return subtract(multiply(parts[0], parts[1]), multiply(parts[2], parts[3]))

    if lengths == (2, 2):
        return minor(0, 1)
    rows = [minor(1, 2), minor(2, 0), minor(0, 1)]
    rank = typeof(rows[0]).ndim
    joined = concatenation.concatenate([shapes.expand_dims(row, (rank,)) for row in rows], rank)
    return moveaxis(joined, -1, axisc)


def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: OneAxis = None) -> Array:
    """The cross products of vectors with two or three components; other axes broadcast.

    Args:
      a, b: arrays.
      axisa, axisb, axisc: the axis of the vectors in each operand and in the result.
      axis: one axis for all three.
    Returns: array of vectors, or of numbers (the third components) for two planar operands.
    Raises:
      ValueError: other numbers of components.
    Example: ``jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))`` is ``[0, 0, 1]``. Source: ``numpy.cross``.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    return _cross(a, b, as_index(axisa), as_index(axisb), as_index(axisc))
