"""Polar factors by the QDWH iteration, and singular values by way of them, from operations that every platform has.

Nakatsukasa, Bai, Gygi: "Optimizing Halley's iteration for computing the matrix polar decomposition" (2010). Each step
replaces the singular values x of U by ``x (a + b x^2) / (1 + c x^2)``, with weights that make the least one grow fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.lax.arithmetic import abs_, add, conj, div, gt, lt, max_, mul, real_part, scalar, sub
from arrax.lax.axis_order import rev
from arrax.lax.bitwise import bitwise_and
from arrax.lax.concatenation import concatenate
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.conversion import convert_element_type
from arrax.lax.exponential import cbrt, sqrt
from arrax.lax.filled_arrays import full_like
from arrax.lax.linalg.kernels import check_matrices, is_complex
from arrax.lax.linalg.matrices import adjoint, matmul, part, symmetrized
from arrax.lax.linalg.qr_factors import qr
from arrax.lax.linalg.symmetric_eigenvalues import eigh
from arrax.lax.operand_checks import checked_operand
from arrax.lax.reductions import reduce_max, reduce_sum
from arrax.lax.selection import select
from arrax.lax.shapes import broadcast_in_dim
from arrax.xla.arrays import Array, ArrayLike, Matrices


def _norms(x: Array) -> Array:
    """Frobenius norms of stacked matrices."""
    squares = real_part(mul(x, conj(x))) if is_complex(typeof(x)) else mul(x, x)
    rank = typeof(x).ndim
    return sqrt(reduce_sum(squares, (rank - 2, rank - 1)))


def _scaled(x: Array, factors: Array) -> Array:
    """Stacked matrices, each times a real number."""
    shape = typeof(x).shape
    return mul(x, broadcast_in_dim(convert_element_type(factors, typeof(x).dtype), shape, range(len(shape) - 2)))


def _weights(low: Array) -> tuple[Any, Any, Any]:
    """Weights (a, b, c) that lift values from [low, 1] closest to 1."""
    one = full_like(low, 1)
    square = mul(low, low)
    d = cbrt(div(mul(scalar(4, low), sub(one, square)), mul(square, square)))
    root = sqrt(add(one, d))
    inner = sub(full_like(low, 8), mul(scalar(4, low), d))
    inner = add(inner, div(mul(scalar(8, low), sub(full_like(low, 2), square)), mul(square, root)))
    a = add(root, mul(scalar(0.5, low), sqrt(inner)))
    b = mul(scalar(0.25, low), mul(sub(a, one), sub(a, one)))
    return a, b, sub(add(a, b), one)


def _step(u: Array, a: Array, b: Array, c: Array) -> Array:
    """One step by a QR decomposition: stable whatever the condition."""
    columns = typeof(u).shape[-1]
    unit = broadcast_in_dim(np.eye(columns, dtype=typeof(u).dtype), (*typeof(u).shape[:-2], columns, columns),
                            (typeof(u).ndim - 2, typeof(u).ndim - 1))  # fmt: skip
    rows, root = typeof(u).shape[-2], sqrt(c)
    q, _ = qr(concatenate([_scaled(u, root), unit], typeof(u).ndim - 2), full_matrices=False)
    first, second = part(q, rows=(0, rows)), part(q, rows=(rows, rows + columns))
    ratio = div(b, c)
    return add(_scaled(u, ratio), _scaled(matmul(first, adjoint(second)), div(sub(a, ratio), root)))


def _normalized(x: Array) -> Array:
    """Stacked matrices of Frobenius norm 1; the squares of elements as they are might overflow, or vanish."""
    rank = typeof(x).ndim
    x = _over(x, reduce_max(abs_(x), (rank - 2, rank - 1))) if typeof(x).size else x
    return _over(x, _norms(x))


def _over(x: Array, sizes: Array) -> Array:
    """Stacked matrices, each divided by a real number that is zero only if the matrix is."""
    dtype, shape = typeof(sizes).dtype, typeof(x).shape
    sizes = max_(sizes, full_like(sizes, np.asarray(dtypes.finfo(dtype).smallest_normal).astype(dtype)[()]))
    return div(x, broadcast_in_dim(convert_element_type(sizes, typeof(x).dtype), shape, range(len(shape) - 2)))


def polar_factor(x: Array, max_iterations: int, eps: float) -> tuple[Any, Any, Any]:
    """(unitary factors of tall matrices, number of steps, whether all converged)."""
    dtype = dtypes.real_dtype(typeof(x).dtype)
    start = _normalized(x)
    low = full_like(_norms(start), eps)
    threshold = np.asarray((5 * eps) ** (1 / 3)).astype(dtype)[()]

    def goes_on(state: Sequence[Array]) -> Array:
        count, _, low, change = state
        worst = reduce_max(change, tuple(range(typeof(change).ndim)))
        uneven = reduce_max(abs_(sub(full_like(low, 1), low)), tuple(range(typeof(low).ndim)))
        unfinished = select(gt(uneven, scalar(5 * eps, uneven)), full_like(worst, True, np.bool_), gt(worst, threshold))
        return bitwise_and(lt(count, np.int32(max_iterations)), unfinished)

    def body(state: Sequence[Array]) -> tuple[Array, Array, Array, Array]:
        count, u, low, _ = state
        a, b, c = _weights(low)
        new = _step(u, a, b, c)
        square = mul(low, low)
        low = div(mul(low, add(a, mul(b, square))), add(full_like(low, 1), mul(c, square)))
        low = select(gt(low, full_like(low, 1)), full_like(low, 1), low)
        return add(count, np.int32(1)), new, low, _norms(sub(new, u))

    count, u, _, change = while_loop(goes_on, body, (np.int32(0), start, low, full_like(low, 1)))
    worst = reduce_max(change, tuple(range(typeof(change).ndim)))
    return _orthonormalized(u), count, lt(worst, threshold)


def _orthonormalized(u: Array) -> Array:
    """Nearly orthonormal columns corrected by one Newton-Schulz step: the steps before it round."""
    square = matmul(adjoint(u), u)
    identity = broadcast_in_dim(np.eye(typeof(u).shape[-1], dtype=typeof(u).dtype), typeof(square).shape,
                                (typeof(u).ndim - 2, typeof(u).ndim - 1))  # fmt: skip
    return add(u, matmul(u, mul(sub(identity, square), scalar(0.5, u))))


def qdwh(
    x: Matrices, *, is_hermitian: bool = False, max_iterations: int | None = None, eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The polar decomposition ``x = U H`` by QR-based dynamically weighted Halley iteration.

    Args:
      x: matrix of shape ``(m, n)``, m at least n, of full rank.
      is_hermitian: whether ``x`` is Hermitian (no difference here).
      max_iterations: number of steps allowed, 10 by default.
      eps: precision wanted, that of the dtype by default.
      dynamic_shape: ``(m', n')``: the part of ``x`` that counts; the rest is taken for zeros.
    Returns: ``(U, H, number of steps, converged)``: U with orthonormal columns, H Hermitian positive semidefinite.
    Raises:
      ValueError: fewer rows than columns.
    Example: ``lax.linalg.qdwh(2 * jnp.eye(2))[1]`` is ``2 * jnp.eye(2)``.
    """
    x = checked_operand("qdwh", x)
    check_matrices("qdwh", typeof(x))
    rows, columns = typeof(x).shape[-2:]
    if rows < columns:
        raise ValueError(f"qdwh requires at least as many rows as columns, got shape {typeof(x).shape}")
    steps = 10 if max_iterations is None else int(max_iterations)
    precision = float(dtypes.finfo(dtypes.real_dtype(typeof(x).dtype)).eps) if eps is None else float(eps)
    if dynamic_shape is None:
        u, count, converged = polar_factor(x, steps, precision)
    else:
        u, count, converged = _of_part(x, dynamic_shape, steps, precision)
        x = _masked(x, dynamic_shape)
    return u, symmetrized(matmul(adjoint(u), x)), count, converged


def _of_part(x: Any, shape: tuple[int, int], steps: int, eps: float) -> tuple[Any, Any, Any]:
    rows, columns = (int(length) for length in shape)
    u, count, converged = polar_factor(part(x, (0, rows), (0, columns)), steps, eps)
    full = np.zeros((), typeof(x).dtype)[()]
    missing = [typeof(x).shape[-2] - rows, typeof(x).shape[-1] - columns]
    return _padded(u, full, missing), count, converged


def _masked(x: Any, shape: tuple[int, int]) -> Array:
    """A matrix with zeros outside of a leading part."""
    inside = np.zeros(typeof(x).shape, np.bool_)
    inside[..., : shape[0], : shape[1]] = True
    return select(inside, x, full_like(x, 0))


def _padded(u: Array, zero: ArrayLike, missing: list[int]) -> Array:
    lead = typeof(u).shape[:-2]
    for axis, count in zip((-2, -1), missing, strict=True):
        if count:
            shape = [*typeof(u).shape]
            shape[axis] = count
            u = concatenate([u, full_like(u, zero, shape=tuple(shape))], len(lead) + 2 + axis)
    return u


def svd_by_polar_factors(a: Any, full_matrices: bool, compute_uv: bool) -> list[Any]:
    """Singular values as the eigenvalues of the Hermitian polar factor."""
    rows, columns = typeof(a).shape[-2:]
    if rows < columns:
        outs = svd_by_polar_factors(adjoint(a), full_matrices, compute_uv)
        return [outs[0], adjoint(outs[2]), adjoint(outs[1])] if compute_uv else outs
    q, r = qr(a, full_matrices=False)
    eps = float(dtypes.finfo(dtypes.real_dtype(typeof(a).dtype)).eps)
    u, _, _ = polar_factor(r, 10, eps)
    vectors, values = eigh(matmul(adjoint(u), r))
    axis = typeof(values).ndim - 1
    values, vectors = rev(max_(values, full_like(values, 0)), (axis,)), rev(vectors, (axis + 1,))
    if not compute_uv:
        return [values]
    left = matmul(q, matmul(u, vectors))
    if full_matrices and rows > columns:
        left = _completed(left)
    return [values, left, adjoint(vectors)]


def _completed(u: Any) -> Any:
    """Orthonormal columns with others that make them a basis."""
    columns = typeof(u).shape[-1]
    basis, _ = qr(u, full_matrices=True)
    return concatenate([u, part(basis, columns=(columns, typeof(u).shape[-2]))], typeof(u).ndim - 1)
