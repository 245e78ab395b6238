"""Products of vectors and matrices (NumPy reference, routines.linalg)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from arrax import dtypes
from arrax.core.calls import as_index
from arrax.core.types import slots, typeof
from arrax.dtypes import OptionalDType
from arrax.lax import arithmetic, axis_order, shapes
from arrax.lax.contractions import dot_general
from arrax.lax.conversion import convert
from arrax.lax.operand_checks import kind_of
from arrax.lax.precision import PrecisionLike, canonical_precision
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.elementwise import multiply
from arrax.numpy_api.operands import as_operand, check_arraylike, promote_dtypes
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

Axes = Sequence[int]


def hashable_precision(precision: PrecisionLike) -> Any:
    """A precision that can be a static argument."""
    return tuple(precision) if isinstance(precision, list) else precision


def dot_operands(name: str, a: Any, b: ArrayLike, requested: OptionalDType = None) -> list[Any]:
    """The operands of a product.

    Args:
      requested: the dtype of the result.
    """
    check_arraylike(name, a, b)
    return factors([as_operand(a), as_operand(b)], requested)


def factors(arrays: Sequence[Any], requested: OptionalDType) -> list[Any]:
    """Operands of a product in their common dtype; as they are where they have none and the result's dtype is requested.

    Numbers of 8 or 4 bits are multiplied by others so: nothing is rounded before the sum.
    """
    try:
        return promote_dtypes(*arrays)
    except operands.MixedDTypesError:
        raise
    except dtypes.TypePromotionError:
        if requested is None:
            raise
        return list(arrays)


def element_type(name: str, requested: OptionalDType, a: Any, b: ArrayLike) -> tuple[Any, bool]:
    """The dtype that a product accumulates in and returns, and whether it is weak."""
    if requested is not None:
        return dtypes.check_user_dtype(name, requested), False
    return typeof(a).dtype, typeof(a).weak_type and typeof(b).weak_type


def contract(
    name: str, a: Any, b: ArrayLike, numbers: tuple[Any, ...], precision: PrecisionLike, preferred: OptionalDType
) -> Array:
    """A ``dot_general`` in the dtype that the user prefers.

    Raises:
      TypeError: lengths that differ, naming both shapes.
    """
    (a_axes, b_axes), (a_batch, b_batch) = numbers
    x, y = typeof(a).shape, typeof(b).shape
    lengths = [x[i] for i in (*a_axes, *a_batch)], [y[i] for i in (*b_axes, *b_batch)]
    if lengths[0] != lengths[1]:
        raise TypeError(
            f"{name}: incompatible shapes {x} and {y}: contracting dimensions must have the same shape, got "
            f"{tuple(lengths[0][: len(a_axes)])} and {tuple(lengths[1][: len(b_axes)])}."
        )
    dtype, weak = element_type(name, preferred, a, b)
    out = dot_general(a, b, numbers, canonical_precision(precision), dtype)
    return convert(out, dtype, weak)


# ---- products of vectors and matrices -------------------------------------------------------------------------------


@api(static=("precision", "preferred_element_type"))
def _dot(
    a: ArrayLike | Sequence[Any], b: ArrayLike, precision: PrecisionLike, preferred_element_type: OptionalDType
) -> Array:
    a, b = dot_operands("dot", a, b, preferred_element_type)
    x, y = typeof(a).ndim, typeof(b).ndim
    if x == 0 or y == 0:
        dtype, weak = element_type("dot", preferred_element_type, a, b)
        own = typeof(a).dtype
        work = own if dtypes.is_complex(own) else dtype  # a real result has the real parts of the products
        return convert(multiply(convert(a, work, weak), convert(b, work, weak)), dtype, weak)
    numbers = (((x - 1,), (max(0, y - 2),)), ((), ()))
    return contract("dot", a, b, numbers, precision, preferred_element_type)


def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """The product over the last axis of ``a`` and the last but one of ``b`` (of vectors, over their only axis).

    Args:
      a, b: arrays; a scalar multiplies elementwise.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array of the remaining axes of ``a``, then those of ``b``.
    Raises:
      TypeError: lengths that differ; lists.
    Example: ``jnp.dot(jnp.arange(3), jnp.arange(3))`` is 5. Source: ``numpy.dot``.
    """
    if out_sharding is not None:
        return slots.as_asked(
            out_sharding,
            functools.partial(dot, precision=precision, preferred_element_type=preferred_element_type),
            a,
            b,
        )
    if precision is None and preferred_element_type is None:
        return _plain_dot(a, b)
    return _dot(a, b, hashable_precision(precision), preferred_element_type)


@api()
def _plain_dot(a: ArrayLike | Sequence[Any], b: ArrayLike) -> Array:
    return _dot(a, b, None, None)


def _batched(name: str, a: ArrayLike, b: ArrayLike, x: int, y: int) -> tuple[Any, Any, tuple[int, ...]]:
    """Operands whose axes before the last ``x`` (``y``) have one common shape, and that shape."""
    own, other = typeof(a).shape, typeof(b).shape
    try:
        batch = shapes.broadcast_shapes(own[: len(own) - x], other[: len(other) - y])
    except ValueError:
        raise ValueError(
            f"Incompatible shapes for {name}: {own} and {other}: their batch axes don't broadcast"
        ) from None
    return (
        operands.broadcast_to(a, (*batch, *own[len(own) - x :])),
        operands.broadcast_to(b, (*batch, *other[len(other) - y :])),
        batch,
    )


@api(static=("precision", "preferred_element_type"))
def _matmul(a: ArrayLike, b: ArrayLike, precision: PrecisionLike, preferred_element_type: OptionalDType) -> Array:
    a, b = dot_operands("matmul", a, b, preferred_element_type)
    x, y = typeof(a).ndim, typeof(b).ndim
    if x == 0 or y == 0:
        raise ValueError(
            f"matmul: operands must have at least one axis, got shapes {typeof(a).shape} and {typeof(b).shape}"
        )
    if x == 1 or y == 1 or (y == 2 and x >= 2):
        return _matmul_unbatched(a, b, precision, preferred_element_type)
    own, other = typeof(a).shape, typeof(b).shape
    if own[-1] != other[-2]:
        return contract("matmul", a, b, (((x - 1,), (y - 2,)), ((), ())), precision, preferred_element_type)
    if x == 2:  # the batch axes of the second operand only: contract, then put them in front
        out = contract("matmul", a, b, (((1,), (y - 2,)), ((), ())), precision, preferred_element_type)
        return axis_order.move_axis(out, 0, y - 2)
    a, b, batch = _batched("matmul", a, b, 2, 2)
    lead = tuple(range(len(batch)))
    numbers = (((len(batch) + 1,), (len(batch),)), (lead, lead))
    return contract("matmul", a, b, numbers, precision, preferred_element_type)


def _matmul_unbatched(a: ArrayLike, b: ArrayLike, precision: PrecisionLike, preferred: Any) -> Array:
    """Products in which one operand is a vector, or the second a matrix: one contraction without batch axes."""
    x, y = typeof(a).ndim, typeof(b).ndim
    return contract("matmul", a, b, (((x - 1,), (max(0, y - 2),)), ((), ())), precision, preferred)


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """The product of matrices over leading axes that broadcast; a vector counts as a row on the left, a column on the right.

    Args:
      a: array of shape ``(..., m, k)`` or ``(k,)``.
      b: array of shape ``(..., k, n)`` or ``(k,)``.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: array of shape ``(..., m, n)``, without the axes that vectors lack.
    Raises:
      TypeError: lengths that differ, naming both shapes; lists.
      ValueError: scalars, or leading axes that don't broadcast.
    Example: ``jnp.matmul(jnp.eye(2), jnp.ones(2))``. Source: ``numpy.matmul``.
    """
    if out_sharding is not None:
        return slots.as_asked(
            out_sharding,
            functools.partial(matmul, precision=precision, preferred_element_type=preferred_element_type),
            a,
            b,
        )
    if precision is None and preferred_element_type is None:
        return _plain_matmul(a, b)
    return _matmul(a, b, hashable_precision(precision), preferred_element_type)


@api()
def _plain_matmul(a: ArrayLike, b: ArrayLike) -> Array:
    return _matmul(a, b, None, None)


@api(static=("precision", "preferred_element_type"))
def _vdot(a: ArrayLike, b: ArrayLike, precision: Any, preferred_element_type: Any) -> Array:
    a, b = dot_operands("vdot", a, b, preferred_element_type)
    x, y = (shapes.reshape(v, (typeof(v).size,)) for v in (_conjugate(a), b))
    return contract("vdot", x, y, (((0,), (0,)), ((), ())), precision, preferred_element_type)


def _conjugate(a: ArrayLike) -> Any:
    return arithmetic.conj(a) if kind_of(typeof(a).dtype) == "complex" else a


def vdot(
    a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None, preferred_element_type: OptionalDType = None
) -> Array:
    """The inner product of all elements, the first operand conjugated.

    Args:
      a, b: arrays of equal size, flattened.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
    Raises:
      TypeError: sizes that differ.
    Example: ``jnp.vdot(jnp.array([1j]), jnp.array([1j]))`` is 1. Source: ``numpy.vdot``.
    """
    return _vdot(a, b, hashable_precision(precision), preferred_element_type)


@api(static=("axis", "precision", "preferred_element_type"))
def _vecdot(x1: ArrayLike, x2: ArrayLike, axis: int, precision: Any, preferred_element_type: Any) -> Array:
    x1, x2 = dot_operands("vecdot", x1, x2, preferred_element_type)
    if typeof(x1).ndim == 0 or typeof(x2).ndim == 0:
        raise ValueError(f"vecdot: operands must have at least one axis, got {typeof(x1).shape} and {typeof(x2).shape}")
    x1, x2 = (axis_order.move_axis(x, axis, -1) for x in (x1, x2))
    if typeof(x1).shape[-1] != typeof(x2).shape[-1]:
        raise ValueError(
            f"vecdot: axes must match; got shapes {typeof(x1).shape} and {typeof(x2).shape} with axis={axis}"
        )
    operands.report_rank_promotion("vecdot", [typeof(x).shape[:-1] for x in (x1, x2)])
    x1, x2, batch = _batched("vecdot", _conjugate(x1), x2, 1, 1)
    lead, last = tuple(range(len(batch))), (len(batch),)
    return contract("vecdot", x1, x2, ((last, last), (lead, lead)), precision, preferred_element_type)


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: OptionalDType = None,
) -> Array:
    """The inner products of vectors along an axis, the first operand conjugated; other axes broadcast.

    Args:
      x1, x2: arrays.
      axis: the axis of the vectors, in both.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
    Raises:
      ValueError: lengths that differ, or axes that don't broadcast.
    Example: ``jnp.vecdot(jnp.ones((2, 3)), jnp.ones(3))`` is ``[3., 3.]``. Source: ``numpy.vecdot``.
    """
    return _vecdot(x1, x2, as_index(axis), hashable_precision(precision), preferred_element_type)


def _vector_and_matrix(name: str, vector: ArrayLike, matrix: ArrayLike, row: bool) -> Array:
    v, m = dot_operands(name, vector, matrix)
    if typeof(v).ndim < 1 or typeof(m).ndim < 2:
        raise ValueError(
            f"{name}: input with shape {typeof(m).shape if typeof(v).ndim else typeof(v).shape} does not have enough dimensions"
        )
    if typeof(v).shape[-1] != typeof(m).shape[-2 if row else -1]:
        raise ValueError(f"{name}: inconsistent lengths of vectors {typeof(v).shape} and matrices {typeof(m).shape}")
    operands.report_rank_promotion(name, [typeof(v).shape[:-1], typeof(m).shape[:-2]])
    v, m, batch = _batched(name, _conjugate(v) if row else v, m, 1, 2)
    lead, n = tuple(range(len(batch))), len(batch)
    if row:
        return contract(name, v, m, (((n,), (n,)), (lead, lead)), None, None)
    return contract(name, m, v, (((n + 1,), (n,)), (lead, lead)), None, None)


@api()
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of matrices and vectors; leading axes broadcast.

    Args:
      x1: array of shape ``(..., m, n)``.
      x2: array of shape ``(..., n)``.
    Returns: array of shape ``(..., m)``.
    Raises:
      ValueError: lengths that differ.
    Example: ``jnp.matvec(jnp.eye(2), jnp.ones((3, 2))).shape`` is ``(3, 2)``. Source: ``numpy.matvec``.
    """
    return _vector_and_matrix("matvec", x2, x1, False)


@api()
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of vectors, conjugated, and matrices; leading axes broadcast.

    Args:
      x1: array of shape ``(..., m)``.
      x2: array of shape ``(..., m, n)``.
    Returns: array of shape ``(..., n)``.
    Raises:
      ValueError: lengths that differ.
    Example: ``jnp.vecmat(jnp.ones((3, 2)), jnp.eye(2)).shape`` is ``(3, 2)``. Source: ``numpy.vecmat``.
    """
    return _vector_and_matrix("vecmat", x1, x2, True)


@api(static=("precision", "preferred_element_type"))
def _inner(a: ArrayLike, b: ArrayLike, precision: Any, preferred_element_type: Any) -> Array:
    a, b = dot_operands("inner", a, b, preferred_element_type)
    x, y = typeof(a).ndim, typeof(b).ndim
    if x == 0 or y == 0:
        return _dot(a, b, precision, preferred_element_type)
    return contract("inner", a, b, (((x - 1,), (y - 1,)), ((), ())), precision, preferred_element_type)


def inner(
    a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None, preferred_element_type: OptionalDType = None
) -> Array:
    """The product over the last axes of both operands.

    Args:
      a, b: arrays; a scalar multiplies elementwise.
      precision: a Precision or its name, a pair of them, or an algorithm.
      preferred_element_type: dtype to accumulate in and return.
    Raises:
      TypeError: lengths that differ.
    Example: ``jnp.inner(jnp.ones((2, 3)), jnp.ones(3))`` is ``[3., 3.]``. Source: ``numpy.inner``.
    """
    return _inner(a, b, hashable_precision(precision), preferred_element_type)
