"""Systems of linear equations, inverses, least squares (NumPy reference, routines.linalg)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.dtypes.canonical import warn_user
from arrax.lax import arithmetic, filled_arrays, linalg, selection, shapes, static_slicing
from arrax.lax.barriers import stop_gradient
from arrax.lax.control_flow.solves import custom_linear_solve
from arrax.lax.conversion import convert
from arrax.lax.linalg import matrices as parts
from arrax.lax.linalg.lu_factors import lu_solve
from arrax.lax.reductions import reduce_max, reduce_sum
from arrax.numpy_api.api import api
from arrax.numpy_api.linear_algebra import as_matrices, hermitian_svd
from arrax.numpy_api.operands import broadcast_to, check_arraylike, promote_inexact
from arrax.numpy_api.right_sides import RightSides
from arrax.transforms.custom_jvp import custom_jvp
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

Fit = tuple[Array, Array, Array, Array]  # solutions, residuals, rank, singular values


def _solved(a: ArrayLike, b: ArrayLike) -> Array:
    """Solutions of systems of equal leading axes, with derivatives that use the factors again."""
    factors, _, order = linalg.lu(stop_gradient(a))

    def product(x: Array) -> Array:
        return parts.matmul(a, x)

    return custom_linear_solve(
        product, b, lambda _, right: lu_solve(factors, order, right),
        lambda _, right: lu_solve(factors, order, right, trans=1),
    )  # fmt: skip


@api()
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The solutions of ``a x = b``.

    Args:
      a: array of shape ``(..., n, n)``.
      b: array of shape ``(n,)``, or ``(..., n, k)``; leading axes broadcast. Vectors of shape ``(..., n)``, one for each
        matrix, are deprecated; where they could be matrices, they are.
    Returns: array of shape ``(..., n)`` or ``(..., n, k)``.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``jnp.linalg.solve(2 * jnp.eye(2), jnp.ones(2))`` is halves. Source: ``numpy.linalg.solve``.
    """
    check_arraylike("linalg.solve", a, b)
    a, b = promote_inexact(a, b)
    rows, right = typeof(a).shape, typeof(b).shape
    if len(rows) < 2 or rows[-1] != rows[-2]:
        raise ValueError(
            f"The arguments to solve must have shapes a=[..., m, m] and b=[m] or b=[..., m, k], got {rows} and {right}"
        )
    vector = len(right) == 1
    if len(right) > 1 and right == rows[:-1] and right[-2] != rows[-1]:
        warn_user(
            "solve: batches of vectors are deprecated, say solve(a, b[..., None])[..., 0]: b will be taken for matrices",
            DeprecationWarning,
        )
        vector = True
    if not right or right[-1 if vector else -2] != rows[-1]:
        raise ValueError(
            f"The arguments to solve must have shapes a=[..., m, m] and b=[m] or b=[..., m, k], got {rows} and {right}"
        )
    sides = RightSides(rows[:-2], b, vector)
    return sides.solutions(_solved(sides.matrices(a), sides.columns()))


@api()
def inv(a: ArrayLike) -> Array:
    """Inverses.

    Args:
      a: array of shape ``(..., n, n)``.
    Raises:
      ValueError: matrices that are not square.
    Example: ``jnp.linalg.inv(2 * jnp.eye(2))`` is halves. Source: ``numpy.linalg.inv``.
    """
    return _inverse(as_matrices("inv", a, square=True))


@custom_jvp
def _inverse(a: ArrayLike) -> Array:
    """By the factors of the transpose: LAPACK reads rows as columns, so nothing has to be turned over."""
    factors, _, order = linalg.lu(parts.transposed(a))
    shape = typeof(a).shape
    columns = filled_arrays.broadcasted_iota(np.int32, shape, len(shape) - 1)
    permuted = arithmetic.eq(shapes.broadcast_in_dim(order, shape, range(len(shape) - 1)), columns)
    unit = convert(permuted, typeof(a).dtype)
    x = linalg.triangular_solve(factors, unit, left_side=True, lower=True, unit_diagonal=True)
    return parts.transposed(linalg.triangular_solve(factors, x, left_side=True, lower=False))


@_inverse.defjvp
def _inverse_jvp(primals: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Any, Any]:
    (a,), (t,) = primals, tangents
    inverse = _inverse(a)
    return inverse, arithmetic.neg(parts.matmul(parts.matmul(inverse, t), inverse))


def _default_tolerance(a: Array) -> float:
    return max(typeof(a).shape[-2:]) * float(dtypes.finfo(typeof(a).dtype).eps)


def pinv(a: ArrayLike, rtol: OptionalArray = None, hermitian: bool = False, *, rcond: Any = None) -> Array:
    """Pseudo-inverses (of Moore and Penrose).

    Args:
      a: array of shape ``(..., m, n)``.
      rtol: singular values below ``rtol`` times the largest count as zeros; by default ``10 max(m, n)`` times the
        precision. An array broadcasts against the leading axes of ``a``.
      hermitian: take matrices for Hermitian.
      rcond: another name of ``rtol``.
    Returns: array of shape ``(..., n, m)``.
    Example: ``jnp.linalg.pinv(jnp.ones((2, 2)))`` is quarters. Source: ``numpy.linalg.pinv``.
    """
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: give rtol or rcond, which are the same, not both")
    return _pinv(a, rcond if rtol is None else rtol, bool(hermitian))


@api(static=("hermitian",))
def _pinv(a: ArrayLike, rtol: Any, hermitian: bool) -> Array:
    a = as_matrices("pinv", a, square=hermitian)
    if typeof(a).size == 0:
        return filled_arrays.full_like(parts.transposed(a), 0)
    relative = convert(10 * _default_tolerance(a) if rtol is None else rtol, dtypes.real_dtype(typeof(a).dtype))
    batch = shapes.broadcast_shapes(typeof(a).shape[:-2], typeof(relative).shape)
    a = broadcast_to(a, (*batch, *typeof(a).shape[-2:]))
    return (_hermitian_pinv if hermitian else _general_pinv)(a, broadcast_to(relative, batch))


def _inverted(values: Array, relative: ArrayLike) -> Array:
    """The inverses of numbers of vectors, 0 for those that are small beside the greatest of their vector."""
    rank = typeof(values).ndim
    cutoff = arithmetic.mul(reduce_max(values, (rank - 1,)), relative)
    kept = arithmetic.gt(values, shapes.broadcast_in_dim(cutoff, typeof(values).shape, range(rank - 1)))
    one = filled_arrays.full_like(values, 1)
    return selection.select(
        kept, arithmetic.div(one, selection.select(kept, values, one)), filled_arrays.full_like(values, 0)
    )


def _put_together(factors: tuple[Any, Any, Any], relative: ArrayLike) -> Any:
    left, values, right = factors
    adjoint = parts.adjoint(left)
    inverses = parts.as_columns(convert(_inverted(values, relative), typeof(adjoint).dtype), typeof(adjoint))
    return parts.matmul(parts.adjoint(right), arithmetic.mul(adjoint, inverses))


@custom_jvp
def _general_pinv(a: ArrayLike, relative: Array) -> Any:
    return _put_together(linalg.svd(a, full_matrices=False), relative)


@custom_jvp
def _hermitian_pinv(a: ArrayLike, relative: ArrayLike) -> Any:
    return _put_together(hermitian_svd(a, True), relative)


def _pinv_tangent(a: ArrayLike, p: Array, t: ArrayLike) -> Array:
    """With P the pseudo-inverse: ``-P A' P + P P^H A'^H (1 - A P) + (1 - P A) A'^H P^H P``.

    Golub, Pereyra: "The differentiation of pseudo-inverses and nonlinear least squares problems" (1973).
    """
    back, mirrored = parts.adjoint(p), parts.adjoint(t)
    rows, columns = typeof(a).shape[-2:]

    def product(x: Array, y: ArrayLike, z: Array) -> Array:
        """Of three factors, of which the second has the sides of ``a``: the two whose product is small come first."""
        if rows >= columns:
            return parts.matmul(parts.matmul(x, y), z)
        return parts.matmul(x, parts.matmul(y, z))

    moved = product(p, t, p)
    right = product(p, back, mirrored)
    right = arithmetic.sub(right, product(right, a, p))
    left = product(mirrored, back, p)
    left = arithmetic.sub(left, product(p, a, left))
    return arithmetic.add(arithmetic.sub(right, moved), left)


@_general_pinv.defjvp
def _general_pinv_jvp(primals: tuple[ArrayLike, Array], tangents: tuple[ArrayLike, ArrayLike]) -> tuple[Any, Any]:
    p = _general_pinv(*primals)
    return p, _pinv_tangent(primals[0], p, tangents[0])


@_hermitian_pinv.defjvp
def _hermitian_pinv_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ArrayLike]) -> tuple[Any, Any]:
    p = _hermitian_pinv(*primals)
    return p, _pinv_tangent(parts.symmetrized(primals[0]), p, parts.symmetrized(tangents[0]))


def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False) -> Fit:
    """The least-squares solution of least norm of ``a x = b``.

    Args:
      a: array of shape ``(m, n)``.
      b: array of shape ``(m,)`` or ``(m, k)``.
      rcond: singular values below ``rcond`` times the largest count as zeros; by default the precision times
        ``max(m, n)``.
      numpy_resid: give no residuals where NumPy gives none (less than full rank, or m not above n); not under ``jit``.
    Returns: ``(x, residuals, rank, singular values)``.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``jnp.linalg.lstsq(jnp.eye(2), jnp.ones(2))[0]`` is ones. Source: ``numpy.linalg.lstsq``.
    """
    x, residuals, rank, values = _lstsq(a, b, None if rcond is None else float(rcond))
    rows, columns = np.shape(a)
    if numpy_resid and (int(rank) < columns or rows <= columns):
        residuals = filled_arrays.full((0,), 0.0, typeof(residuals).dtype)
    return x, residuals, rank, values


@api(static=("rcond",))
def _lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None) -> tuple[Any, Any, Any, Any]:
    check_arraylike("linalg.lstsq", a, b)
    a, b = promote_inexact(a, b)
    if typeof(a).ndim != 2 or typeof(b).ndim not in (1, 2):
        raise TypeError(
            f"{typeof(a).ndim}-dimensional and {typeof(b).ndim}-dimensional arrays given; lstsq needs 2 and 1 or 2"
        )
    if typeof(a).shape[0] != typeof(b).shape[0]:
        raise ValueError(
            f"lstsq: leading dimensions of input arrays must match, got {typeof(a).shape} and {typeof(b).shape}"
        )
    vector = typeof(b).ndim == 1
    b = shapes.expand_dims(b, (1,)) if vector else b
    if typeof(a).size == 0:
        return _without_equations(a, b, vector)
    left, values, right = linalg.svd(a, full_matrices=False)
    rtol = _default_tolerance(a) if rcond is None else rcond if rcond >= 0 else float(dtypes.finfo(typeof(a).dtype).eps)
    real = typeof(values).dtype
    largest = static_slicing.slice_in_dim(values, 0, 1)
    cutoff = arithmetic.mul(broadcast_to(largest, typeof(values).shape), filled_arrays.full_like(values, rtol))
    kept = arithmetic.ge(values, cutoff)
    kept = selection.select(
        arithmetic.gt(values, filled_arrays.full_like(values, 0)), kept, filled_arrays.full_like(kept, False)
    )
    one = filled_arrays.full_like(values, 1)
    inverses = selection.select(
        kept, arithmetic.div(one, selection.select(kept, values, one)), filled_arrays.full_like(values, 0)
    )
    inner = parts.matmul(parts.adjoint(left), b)
    inner = arithmetic.mul(inner, parts.as_columns(convert(inverses, typeof(a).dtype), typeof(inner)))
    x = parts.matmul(parts.adjoint(right), inner)
    magnitude = arithmetic.abs_(arithmetic.sub(b, parts.matmul(a, x)))
    residuals = reduce_sum(arithmetic.mul(magnitude, magnitude), (0,))
    rank = reduce_sum(convert(kept, dtypes.canonicalize_dtype(np.int64)), (0,))
    return shapes.squeeze(x, (1,)) if vector else x, convert(residuals, real), rank, values


def _without_equations(a: Array, b: Array, vector: bool) -> tuple[Any, Any, Any, Any]:
    """The least solution where there are no equations, or no unknowns."""
    columns, count = typeof(a).shape[1], typeof(b).shape[1]
    real = typeof(arithmetic.abs_(b)).dtype
    magnitude = arithmetic.abs_(b)
    x = filled_arrays.full((columns,) if vector else (columns, count), 0, typeof(a).dtype)
    residuals = reduce_sum(arithmetic.mul(magnitude, magnitude), (0,))
    rank = filled_arrays.full((), 0, dtypes.canonicalize_dtype(np.int64))
    return x, residuals, rank, filled_arrays.full((0,), 0, real)
