"""Products of many matrices, powers, tensor equations, and the products of the array API (routines.linalg)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax.core.calls import as_index, as_indices, as_sequence
from arrax.core.lengths import typical
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import axis_order, shape_arguments, shapes
from arrax.lax.precision import PrecisionLike
from arrax.numpy_api import matrices, products, tensor_products
from arrax.numpy_api.api import api
from arrax.numpy_api.linear_systems import inv, solve
from arrax.numpy_api.operands import as_operand, check_arraylike
from arrax.xla.annotations import Axes, OptionalSharding
from arrax.xla.arrays import Array, ArrayLike


@api(static=("n",))
def _powered(a: Array, n: int) -> Any:
    shape = typeof(a).shape
    if n == 0:
        unit = np.eye(shape[-1], dtype=typeof(a).dtype)
        return shapes.broadcast_in_dim(unit, shape, (len(shape) - 2, len(shape) - 1))
    if n < 0:
        a, n = inv(a), -n
    result, square = None, a
    while n:
        if n % 2:
            result = square if result is None else products.matmul(result, square)
        n //= 2
        square = products.matmul(square, square) if n else square
    return result


def matrix_power(a: ArrayLike, n: int) -> Array:
    """Powers of square matrices; negative ones by way of the inverse.

    Args:
      a: array of shape ``(..., m, m)``.
      n: any integer.
    Raises:
      ValueError: matrices that are not square.
      TypeError: n is not an integer.
    Example: ``jnp.linalg.matrix_power(2 * jnp.eye(2), 3)`` is ``8 * jnp.eye(2)``. Source: ``numpy.linalg.matrix_power``.
    """
    check_arraylike("linalg.matrix_power", a)
    shape = np.shape(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"linalg.matrix_power: expected square matrices, got shape {shape}")
    return _powered(as_operand(a), as_index(n))


def multi_dot(arrays: Sequence[Any], *, precision: PrecisionLike = None) -> Array:
    """The product of matrices in the order that is cheapest.

    Args:
      arrays: at least two matrices; the first and the last may be vectors.
      precision: a Precision or its name, a pair of them, or an algorithm.
    Raises:
      ValueError: fewer than two arrays, or other ranks.
    Example: ``jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 2)), jnp.ones(2)])``. Source: ``numpy.linalg.multi_dot``.
    """
    arrays = list(as_sequence(arrays))
    check_arraylike("linalg.multi_dot", *arrays)
    if len(arrays) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(arrays)}")
    ranks = [np.ndim(a) for a in arrays]
    if ranks[0] not in (1, 2) or ranks[-1] not in (1, 2) or any(rank != 2 for rank in ranks[1:-1]):
        raise ValueError(
            f"multi_dot: input arrays must all be two-dimensional, except for the first and last which may be 1D. Got array shapes {[np.shape(a) for a in arrays]}"
        )
    if any(np.shape(x)[-1] != np.shape(y)[0] for x, y in zip(arrays, arrays[1:], strict=False)):
        raise ValueError(
            f"multi_dot: last dimension of each array must match first dimension of following array. Got array shapes {[np.shape(a) for a in arrays]}"
        )
    lengths = [1 if ranks[0] == 1 else np.shape(arrays[0])[0], *(np.shape(a)[0] for a in arrays[1:])]
    lengths += [1 if ranks[-1] == 1 else np.shape(arrays[-1])[-1]]
    if ranks[0] == 1:
        lengths[1] = np.shape(arrays[0])[0]
    return _multiplied(arrays, _cheapest(tuple(map(typical, lengths))), 0, len(arrays) - 1, precision)


def _cheapest(lengths: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to split each run of factors (dynamic programming over their lengths)."""
    count = len(lengths) - 1
    costs = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for span in range(1, count):
        for first in range(count - span):
            last = first + span
            options = [
                (costs[first, k] + costs[k + 1, last] + lengths[first] * lengths[k + 1] * lengths[last + 1], k)
                for k in range(first, last)
            ]
            costs[first, last], splits[first, last] = min(options)
    return splits


def _multiplied(
    arrays: Sequence[Any], splits: dict[tuple[int, int], int], first: int, last: int, precision: Any
) -> Any:
    if first == last:
        return arrays[first]
    middle = splits[first, last]
    left = _multiplied(arrays, splits, first, middle, precision)
    return products.matmul(left, _multiplied(arrays, splits, middle + 1, last, precision), precision=precision)


@api(static=("ind",))
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of ``tensordot`` with ``a`` over ``ind`` axes.

    Args:
      a: array; the first ``ind`` lengths have the same product as the others.
      ind: number of axes of the result's right side.
    Raises:
      ValueError: ``ind`` is not positive, or lengths that don't fit.
    Example: ``jnp.linalg.tensorinv(jnp.eye(4).reshape(2, 2, 2, 2)).shape``. Source: ``numpy.linalg.tensorinv``.
    """
    check_arraylike("linalg.tensorinv", a)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got ind={ind}")
    shape = typeof(a).shape
    size = math.prod(shape[:ind])
    if size != math.prod(shape[ind:]):
        raise ValueError(
            f"tensorinv: the first ind={ind} axes of shape {shape} must hold as many entries as the others together."
        )
    return shapes.reshape(inv(shapes.reshape(a, (size, size))), (*shape[ind:], *shape[:ind]))


@api(static=("axes",))
def _tensorsolve(a: Array, b: Array, axes: tuple[int, ...] | None) -> Array:
    rank = typeof(a).ndim
    if axes is not None:
        last = [axis % rank for axis in axes]
        a = axis_order.transpose(a, [i for i in range(rank) if i not in last] + last)
    shape = typeof(a).shape[typeof(b).ndim :]
    size = math.prod(shape)
    if size != math.prod(typeof(a).shape[: typeof(b).ndim]):
        raise ValueError(
            f"tensorsolve: Expected a of square shape when reshaped, got a.shape={typeof(a).shape} and b.shape={typeof(b).shape}"
        )
    x = solve(shapes.reshape(a, (size, size)), shapes.reshape(b, (typeof(b).size,)))
    return shapes.reshape(x, shape)


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The solution of ``tensordot(a, x, x.ndim) = b``.

    Args:
      a: array of shape ``b.shape + x.shape``.
      b: array.
      axes: axes of ``a`` to move to the end first.
    Raises:
      ValueError: lengths that don't fit.
    Example: ``jnp.linalg.tensorsolve(jnp.eye(4).reshape(2, 2, 2, 2), jnp.ones((2, 2)))``. Source: ``numpy.linalg.tensorsolve``.
    """
    check_arraylike("linalg.tensorsolve", a, b)
    return _tensorsolve(as_operand(a), as_operand(b), None if axes is None else as_indices(axes))


# ---- the names of the array API -------------------------------------------------------------------------------------


def matmul(
    x1: ArrayLike, x2: ArrayLike, /, *, precision: PrecisionLike = None, preferred_element_type: OptionalDType = None
) -> Array:
    """Products of matrices, see ``jnp.matmul``.

    Args:
      x1, x2: arrays of shapes ``(..., m, k)`` and ``(..., k, n)``, or vectors.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
    Example: ``jnp.linalg.matmul(jnp.eye(2), jnp.ones(2))``. Source: ``numpy.linalg.matmul``.
    """
    return products.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(
    x1: ArrayLike, x2: ArrayLike, /, *, axes: Axes = 2, precision: PrecisionLike = None, preferred_element_type: OptionalDType = None,
    out_sharding: OptionalSharding = None,
) -> Array:  # fmt: skip
    """Contractions of tensors, see ``jnp.tensordot``.

    Args:
      x1, x2: arrays.
      axes: number of last axes of ``x1`` and first of ``x2``, or a pair of sequences of axes.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
      out_sharding: how the result is divided over a mesh.
    Example: ``jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((2, 3)))`` is 6. Source: ``numpy.linalg.tensordot``.
    """
    return tensor_products.tensordot(
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type, out_sharding=out_sharding
    )


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None,
) -> Array:
    """Inner products of vectors, see ``jnp.vecdot``.

    Args:
      x1, x2: arrays that broadcast; the first is conjugated.
      axis: the axis of the vectors.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
    Example: ``jnp.linalg.vecdot(jnp.ones(2), jnp.ones(2))`` is 2. Source: ``numpy.linalg.vecdot``.
    """
    return products.vecdot(x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Vector products of vectors of three components.

    Args:
      x1, x2: arrays that broadcast, of length 3 along the axis.
      axis: the axis.
    Raises:
      ValueError: other lengths, or an axis that is out of bounds.
    Example: ``jnp.linalg.cross(jnp.eye(3)[0], jnp.eye(3)[1])`` is ``[0, 0, 1]``. Source: ``numpy.linalg.cross``.
    """
    check_arraylike("linalg.cross", x1, x2)
    first, second = (np.shape(x)[shape_arguments.canonical_axis(axis, np.ndim(x))] for x in (x1, x2))
    if first != 3 or second != 3:
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {first} and {second} dimensional instead."
        )
    return tensor_products.cross(x1, x2, axis=axis)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """All products of elements of two vectors.

    Args:
      x1, x2: vectors.
    Raises:
      ValueError: arrays of other ranks.
    Example: ``jnp.linalg.outer(jnp.ones(2), jnp.ones(3)).shape`` is ``(2, 3)``. Source: ``numpy.linalg.outer``.
    """
    check_arraylike("linalg.outer", x1, x2)
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={np.ndim(x1)} x2.ndim={np.ndim(x2)}"
        )
    return tensor_products.outer(x1, x2)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Diagonals of the matrices on the last two axes.

    Args:
      x: array of shape ``(..., m, n)``.
      offset: which diagonal; 0 the main one, positive ones above it.
    Example: ``jnp.linalg.diagonal(jnp.eye(2))`` is ones. Source: ``numpy.linalg.diagonal``.
    """
    return matrices.diagonal(x, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: OptionalDType = None) -> Array:
    """Sums of the diagonals of the matrices on the last two axes.

    Args:
      x: array of shape ``(..., m, n)``.
      offset: which diagonal; 0 the main one, positive ones above it.
      dtype: dtype to sum in and return.
    Example: ``jnp.linalg.trace(jnp.eye(2))`` is 2. Source: ``numpy.linalg.trace``.
    """
    return matrices.trace(x, offset, -2, -1, dtype)


@api()
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Arrays with their last two axes exchanged.

    Raises:
      ValueError: fewer than two axes.
    Example: ``jnp.linalg.matrix_transpose(jnp.ones((2, 3))).shape`` is ``(3, 2)``. Source: ``numpy.linalg.matrix_transpose``.
    """
    check_arraylike("linalg.matrix_transpose", x)
    rank = typeof(x).ndim
    if rank < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got ndim={rank}")
    return axis_order.transpose(x, (*range(rank - 2), rank - 1, rank - 2))
