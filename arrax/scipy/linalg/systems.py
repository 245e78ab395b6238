"""Systems of linear equations, inverses, determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.lax.linalg.lu_factors import lu_solve as solve_with_factors
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import array_of
from arrax.numpy_api.operands import check_arraylike, own_promotion, promote_inexact
from arrax.numpy_api.right_sides import RightSides
from arrax.scipy.linalg.decompositions import _schur, adjoint, as_matrices
from arrax.xla.arrays import Array, ArrayLike, Matrices


def det(a: Matrices, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of matrices ``(..., n, n)``.

    Args:
      a: matrices.
      overwrite_a, check_finite: accepted, without effect.
    Example: ``linalg.det(2 * jnp.eye(2))`` is 4. Source: ``scipy.linalg.det``.
    """
    check_arraylike("det", a)
    return jnp.linalg.det(a)


def inv(a: Matrices, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverses of matrices ``(..., n, n)``.

    Args:
      a: matrices.
      overwrite_a, check_finite: accepted, without effect.
    Example: ``linalg.inv(2 * jnp.eye(2))`` is ``jnp.eye(2) / 2``. Source: ``scipy.linalg.inv``.
    """
    check_arraylike("inv", a)
    return jnp.linalg.inv(a)


def _equations(name: str, a: ArrayLike, b: ArrayLike, half: bool = True) -> tuple[Array, RightSides]:
    """Matrices, and the right sides that go with them; without ``half``, at least 32 bits wide."""
    check_arraylike(name, a, b)
    a, b = promote_inexact(a, b)
    a, b = as_matrices(name, a, square=True, half=half), jnp.asarray(b)
    b = b if b.dtype == a.dtype else b.astype(a.dtype)
    vectors = b.ndim == 1 or b.ndim == a.ndim - 1 and b.shape[-1] == a.shape[-1] and b.shape[:-1] == a.shape[:-2]
    if b.ndim < 1 or b.shape[-1 if vectors else -2] != a.shape[-1]:
        raise ValueError(f"{name}: a of shape {a.shape} does not fit b of shape {b.shape}")
    return a, RightSides(a.shape[:-2], b, vectors)


_KINDS = {"gen": "gen", "sym": "gen", "her": "gen", "pos": "pos", "general": "gen", "symmetric": "gen", "hermitian": "gen",
          "positive definite": "pos"}  # fmt: skip


def solve(
    a: Matrices, b: ArrayLike, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False, debug: bool = False,
    check_finite: bool = True, assume_a: str = "gen",
) -> Array:  # fmt: skip
    """The solutions of ``a x = b``.

    Args:
      a: matrices ``(..., n, n)``.
      b: array ``(..., n, k)``, or vectors ``(..., n)``.
      lower: of positive definite matrices, read the lower triangles, not the upper ones.
      overwrite_a, overwrite_b, debug, check_finite: accepted, without effect.
      assume_a: ``"gen"``, ``"sym"``, ``"her"``, or ``"pos"`` for positive definite ones.
    Raises:
      ValueError: shapes that don't fit; another ``assume_a``.
    Example: ``linalg.solve(2 * jnp.eye(2), jnp.ones(2))`` is ``[0.5, 0.5]``. Source: ``scipy.linalg.solve``.
    """
    if assume_a not in _KINDS:
        raise ValueError(f"solve: assume_a must be 'gen', 'sym', 'her' or 'pos', got {assume_a!r}")
    return _solve(a, b, lower=bool(lower), positive=_KINDS[assume_a] == "pos")


@api(static=("lower", "positive"))
def _solve(a: ArrayLike, b: ArrayLike, lower: bool, positive: bool) -> Array:
    a, sides = _equations("solve", a, b, half=False)
    a, columns = sides.matrices(a), sides.columns()
    if not positive:
        x = jnp.linalg.solve(a, columns)
    else:
        factor = lax.linalg.cholesky(lax.stop_gradient(a if lower else adjoint(a)), symmetrize_input=False)
        x = lax.custom_linear_solve(
            lambda x: _full(a, lower) @ x, columns, lambda _, right: _by_cholesky(factor, right, True), symmetric=True
        )
    return sides.solutions(x)


def _full(a: Any, lower: bool) -> Array:
    """Hermitian matrices, made of one triangle."""
    half = jnp.tril(a, -1) if lower else jnp.triu(a, 1)
    return half + adjoint(half) + jnp.where(np.eye(a.shape[-1], dtype=bool), a, 0)


def _by_cholesky(factor: Array, b: Array, lower: bool) -> Array:
    """The solution with Cholesky factors L, or U."""
    y = lax.linalg.triangular_solve(
        factor, b, left_side=True, lower=lower, transpose_a=not lower, conjugate_a=not lower
    )
    return lax.linalg.triangular_solve(factor, y, left_side=True, lower=lower, transpose_a=lower, conjugate_a=lower)


def cho_solve(
    c_and_lower: tuple[Any, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """The solutions of ``a x = b`` for the Cholesky factors of ``a``.

    Args:
      c_and_lower: what ``cho_factor`` gives.
      b: array ``(..., n, k)``, or vectors ``(..., n)``.
      overwrite_b, check_finite: accepted, without effect.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``linalg.cho_solve((2 * jnp.eye(2), True), jnp.ones(2))`` is ``[0.25, 0.25]``. Source: ``scipy.linalg.cho_solve``.
    """
    factor, lower = c_and_lower
    return _cho_solve(array_of(factor), array_of(b), lower=bool(lower))


@api(static=("lower",))
def _cho_solve(factor: Array, b: ArrayLike, lower: bool) -> Array:
    factor, sides = _equations("cho_solve", factor, b)
    x = _by_cholesky(sides.matrices(factor), sides.columns(), lower)
    return sides.solutions(x)


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: ArrayLike, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """The solutions of ``a x = b`` for the LU decomposition of ``a``.

    Args:
      lu_and_piv: what ``lu_factor`` gives.
      b: array ``(..., n, k)``, or vectors ``(..., n)``.
      trans: 0 for ``a x = b``, 1 for ``a^T x = b``, 2 for ``a^H x = b``.
      overwrite_b, check_finite: accepted, without effect.
    Raises:
      ValueError: shapes that don't fit; another ``trans``.
    Example: ``linalg.lu_solve((2 * jnp.eye(2), jnp.arange(2)), jnp.ones(2))`` is ``[0.5, 0.5]``.
    Source: ``scipy.linalg.lu_solve``.
    """
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve: trans must be 0, 1 or 2, got {trans!r}")
    factors, pivots = lu_and_piv
    return _lu_solve(factors, pivots, b, trans=int(trans))


@api(static=("trans",))
def _lu_solve(factors: Array, pivots: Array, b: ArrayLike, trans: int) -> Array:
    factors, sides = _equations("lu_solve", factors, b)
    order = lax.linalg.lu_pivots_to_permutation(jnp.asarray(pivots).astype(np.int32), factors.shape[-1])
    order = sides.matrices(jnp.broadcast_to(order, factors.shape[:-1]), rank=1)
    x = solve_with_factors(sides.matrices(factors), order, sides.columns(), trans=trans)
    return sides.solutions(x)


_TRANSPOSED = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def solve_triangular(
    a: Matrices, b: ArrayLike, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    debug: Any = None, check_finite: bool = True,
) -> Array:  # fmt: skip
    """The solutions of ``a x = b`` for triangular matrices.

    Args:
      a: matrices ``(..., n, n)``, of which one triangle is read.
      b: array ``(..., n, k)``, or vectors ``(..., n)``.
      trans: 0 or ``"N"`` for ``a``, 1 or ``"T"`` for its transpose, 2 or ``"C"`` for its conjugate transpose.
      lower: read the lower triangle, not the upper one.
      unit_diagonal: take the diagonal for ones.
      overwrite_b, debug, check_finite: accepted, without effect.
    Raises:
      ValueError: shapes that don't fit; another ``trans``.
    Example: ``linalg.solve_triangular(2 * jnp.eye(2), jnp.ones(2))`` is ``[0.5, 0.5]``.
    Source: ``scipy.linalg.solve_triangular``.
    """
    if trans not in _TRANSPOSED:
        raise ValueError(f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    return _solve_triangular(
        array_of(a), array_of(b), trans=_TRANSPOSED[trans], lower=bool(lower), unit=bool(unit_diagonal)
    )


@api(static=("trans", "lower", "unit"))
def _solve_triangular(a: ArrayLike, b: ArrayLike, trans: int, lower: bool, unit: bool) -> Array:
    a, sides = _equations("solve_triangular", a, b)
    x = lax.linalg.triangular_solve(
        sides.matrices(a), sides.columns(), left_side=True, lower=lower, transpose_a=trans > 0, conjugate_a=trans == 2,
        unit_diagonal=unit,
    )  # fmt: skip
    return sides.solutions(x)


# ---- Sylvester's equation ---------------------------------------------------------------------------------------------


@own_promotion
def solve_sylvester(A: Matrices, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8) -> Array:
    """The solution of ``A X + X B = C``.

    Args:
      A: matrix ``(m, m)``.
      B: matrix ``(n, n)``.
      C: matrix ``(m, n)``.
      method: ``"schur"``: by Schur forms (CPU); ``"eigen"``: by eigenvectors.
      tol: sums of an eigenvalue of A and one of B that are smaller give NaN.
    Returns: matrix ``(m, n)``.
    Raises:
      ValueError: shapes that don't fit; another method.
    Example: ``linalg.solve_sylvester(jnp.eye(2), jnp.eye(2), jnp.eye(2))`` is ``jnp.eye(2) / 2``.
    Source: ``scipy.linalg.solve_sylvester``; Bartels and Stewart (1972).
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method must be 'schur' or 'eigen', got {method!r}")
    check_arraylike("solve_sylvester", A, B, C)
    return _solve_sylvester(A, B, C, tol, method=method)


@api(static=("method",))
def _solve_sylvester(a: ArrayLike, b: ArrayLike, c: ArrayLike, tol: ArrayLike, method: str) -> Array:
    a, b, c = promote_inexact(a, b, c)
    a, b = (as_matrices("solve_sylvester", x, square=True) for x in (a, b))
    if c.shape != (a.shape[0], b.shape[0]) or a.ndim != 2 or b.ndim != 2:
        raise ValueError(
            f"solve_sylvester: A (m, m), B (n, n) and C (m, n) are needed, got the shapes {a.shape}, {b.shape} and {c.shape}"
        )
    out = (_sylvester_by_schur if method == "schur" else _sylvester_by_eigenvectors)(a, b, c.astype(a.dtype), tol)
    return out if jnp.issubdtype(a.dtype, jnp.complexfloating) else jnp.real(out)


def _sylvester_by_schur(a: Array, b: Array, c: Array, tol: ArrayLike) -> Array:
    left, u = _schur(a, output="complex")
    right, v = _schur(b, output="complex")
    f = adjoint(u) @ c.astype(u.dtype) @ v
    eye = jnp.eye(left.shape[0], dtype=left.dtype)

    def column(k: Array, y: Array) -> Array:
        known = f[:, k] - y @ right[:, k]  # later columns of y are still 0
        sums = jnp.diagonal(left) + right[k, k]
        solved = lax.linalg.triangular_solve(left + right[k, k] * eye, known[:, None], left_side=True, lower=False)[
            :, 0
        ]
        return y.at[:, k].set(jnp.where(jnp.any(jnp.abs(sums) < tol), np.nan, solved))

    y = lax.fori_loop(0, f.shape[1], column, jnp.zeros_like(f))
    return u @ y @ adjoint(v)


def _sylvester_by_eigenvectors(a: Array, b: Array, c: Array, tol: ArrayLike) -> Array:
    values_a, u = jnp.linalg.eig(a)
    values_b, v = jnp.linalg.eig(b)
    sums = values_a[:, None] + values_b
    f = jnp.linalg.solve(u, c.astype(u.dtype)) @ v
    y = jnp.where(jnp.abs(sums) < tol, np.nan, f / jnp.where(jnp.abs(sums) < tol, 1, sums))
    return u @ y @ jnp.linalg.inv(v)
