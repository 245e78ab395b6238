"""Sparse linear algebra: a direct solver, and eigenvalues by LOBPCG (public names)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import arrax.numpy as jnp
from arrax import dtypes
from arrax.core.tracebacks import bound_names, boundary
from arrax.core.types import ShapedArray
from arrax.experimental.sparse.compressed import BCSR
from arrax.lax.control_flow.loops import while_loop
from arrax.lax.control_flow.solves import custom_linear_solve
from arrax.lax.pure_callbacks import pure_callback
from arrax.transforms.jit import jit
from arrax.xla.arrays import Array, ArrayLike


@boundary
def spsolve(data: Array, indices: Array, indptr: Array, b: ArrayLike, tol: float = 1e-6, reorder: int = 1) -> Array:
    """Solve ``A x = b`` for a sparse square matrix, by SciPy's direct solver on the host.

    Args:
      data, indices, indptr: A, as of ``CSR``.
      b: vector.
      tol, reorder: accepted, without effect: they are settings of a GPU's solver.
    Returns: x.
    Raises:
      ValueError: shapes that do not fit each other.
    Example: ``spsolve(jnp.ones(2), jnp.array([0, 1]), jnp.array([0, 1, 2]), jnp.ones(2))`` is ``[1., 1.]``.
    """
    data, indices, indptr, b = map(jnp.asarray, (data, indices, indptr, b))
    size = b.shape[0] if b.ndim == 1 else -1
    if data.ndim != 1 or indices.shape != data.shape or indptr.shape != (size + 1,):
        raise ValueError(
            f"spsolve: data {data.shape}, indices {indices.shape} and indptr {indptr.shape} do not make a square matrix that "
            f"fits b of shape {b.shape}"
        )
    dtype = jnp.promote_types(data.dtype, b.dtype)
    if not dtypes.is_inexact(dtype):
        dtype = dtypes.canonicalize_dtype(np.float64)
    matrix = BCSR((data.astype(dtype), indices, indptr), shape=(size, size)).to_bcoo()

    def solve(values: Array, b: Array, transposed: bool) -> Array:
        def on_host(values: Array, indices: Array, indptr: Array, b: ArrayLike) -> np.ndarray:
            from_scipy = _scipy_matrix(values, indices, indptr, size)
            return _solved(from_scipy.T.tocsc() if transposed else from_scipy.tocsc(), b).astype(dtype)

        out = ShapedArray((size,), dtype)
        return pure_callback(on_host, out, values, indices, indptr, b, vmap_method="sequential")

    def operator(mat: Any) -> Callable[[Array], Array]:
        return lambda x: mat @ x

    return custom_linear_solve(
        operator(matrix), b.astype(dtype), lambda _, rhs: solve(matrix.data, rhs, False),
        lambda _, rhs: solve(matrix.data, rhs, True),
    )  # fmt: skip


def _scipy_matrix(values: Array, indices: Array, indptr: Array, size: int) -> Any:
    parts = tuple(np.asarray(x) for x in (values, indices, indptr))
    return scipy.sparse.csr_array(parts, shape=(size, size))


def _solved(matrix: Any, b: ArrayLike) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.sparse.linalg.MatrixRankWarning)  # singular: the result says so, by NaN
        return np.asarray(scipy.sparse.linalg.spsolve(matrix, np.asarray(b)))


@boundary
def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: Any = None) -> tuple[Array, Array, Array]:
    """The largest eigenvalues of a symmetric matrix, by the locally optimal block preconditioned conjugate gradient method.

    Args:
      A: symmetric matrix of shape ``(n, n)``, sparse or dense, or a function from matrices ``(n, k)`` to ``A`` times them.
      X: the first guess of k eigenvectors: matrix of shape ``(n, k)``, with ``5 k < n``.
      m: the greatest number of iterations.
      tol: residuals, relative to the eigenvalues, at which it stops; by default the dtype's epsilon.
    Returns: the eigenvalues, in decreasing order; their vectors as columns; the number of iterations.
    Raises:
      ValueError: shapes that do not fit, or too many eigenvalues.
      TypeError: elements that are not floating.
    Example: ``values, vectors, steps = lobpcg_standard(jnp.diag(jnp.arange(8.0)), jnp.eye(8)[:, -1:]);
    values`` is ``[7]``.
    Source: Knyazev, "Toward the Optimal Preconditioned Eigensolver" (2001); Duersch et al., "A Robust and Efficient
      Implementation of LOBPCG" (2018).
    """
    X = jnp.asarray(X)
    if X.ndim != 2 or X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"lobpcg_standard: expected X of shape (n, k) with elements, got {X.shape}")
    n, k = X.shape
    if 5 * k >= n:
        raise ValueError(f"expected search dim * 5 < matrix dim (got {5 * k}, {n})")
    if not dtypes.is_float(X.dtype):
        raise TypeError(f"lobpcg_standard: X must be of floating numbers, got {X.dtype.name}")
    if tol is None:
        tol = float(jnp.finfo(X.dtype).eps)
    if callable(A):
        return _largest(A, X, m, tol)
    if A.shape != (n, n):
        raise ValueError(f"lobpcg_standard: expected A of shape {(n, n)}, got {A.shape}")
    return _largest_of_matrix(A, X, m, tol)


@jit
def _largest_of_matrix(A: Any, X: Array, m: ArrayLike, tol: ArrayLike) -> tuple[Array, Array, Array]:
    return _largest(lambda block: A @ block, X, m, tol)


def _largest(apply: Callable[[Array], Array], X: Array, m: ArrayLike, tol: ArrayLike) -> tuple[Array, Array, Array]:
    """The largest eigenvalues, their vectors and the number of iterations.

    Args:
      apply: from matrices to the symmetric matrix times them.
    """
    k = X.shape[1]

    def residuals(block: Array, values: Array) -> Array:
        return apply(block) - block * values

    def relative(block: Array, values: Array) -> Array:
        size = jnp.linalg.norm(apply(block), axis=0)
        return jnp.linalg.norm(residuals(block, values), axis=0) / jnp.maximum(size, jnp.finfo(X.dtype).tiny)

    def goes_on(state: tuple[Any, ...]) -> Array:
        count, block, _, values = state
        return (count < m) & jnp.any(relative(block, values) > tol * 10)

    def body(state: tuple[Any, ...]) -> tuple[Any, ...]:
        count, block, direction, values = state
        basis = jnp.concatenate([block, residuals(block, values), direction], 1)
        basis = _orthonormal(basis)
        small, weights = jnp.linalg.eigh(basis.T @ apply(basis))
        chosen = weights[:, ::-1][:, :k]
        new = basis @ chosen
        moved = new - block @ (block.T @ new)
        return count + 1, new, moved, small[::-1][:k]

    block = _orthonormal(X)
    values, weights = jnp.linalg.eigh(block.T @ apply(block))
    block, values = block @ weights[:, ::-1], values[::-1]
    state = (jnp.zeros((), np.int32), block, jnp.zeros_like(block), values)
    count, block, _, values = while_loop(goes_on, body, state)
    return values, block, count


def _orthonormal(basis: Array) -> Array:
    """An orthonormal basis of the columns' space, filled up with zeros: directions that hardly differ are left out."""
    lengths = jnp.linalg.norm(basis, axis=0)
    scaled = basis / jnp.where(lengths > 0, lengths, 1)
    for _ in range(2):  # twice is enough
        sizes, vectors = jnp.linalg.eigh(scaled.T @ scaled)
        there = sizes > sizes[-1] * jnp.finfo(basis.dtype).eps * basis.shape[0]
        scaled = jnp.where(there, scaled @ vectors / jnp.sqrt(jnp.where(there, sizes, 1)), 0)
    return scaled


bound_names(__name__)
