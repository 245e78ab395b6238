"""Decompositions of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.core.calls import as_indices
from arrax.core.lengths import shorter
from arrax.core.types import typeof
from arrax.lax.linalg import matrices as parts
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import array_of
from arrax.numpy_api.operands import check_arraylike, own_promotion, promote_inexact
from arrax.xla.arrays import Array, ArrayLike, Matrices, OptionalArray


def as_matrices(name: str, a: ArrayLike, square: bool = False, half: bool = False) -> Array:
    """Floating matrices, at least 32 bits wide unless ``half`` allows fewer.

    Raises:
      TypeError: a list.
      ValueError: fewer than two axes, or matrices that are not square.
    """
    check_arraylike(name, a)
    (a,) = promote_inexact(a)
    shape = typeof(a).shape
    if len(shape) < 2 or square and shape[-1] != shape[-2]:
        raise ValueError(f"{name}: {'square ' if square else ''}matrices are needed, got the shape {shape}")
    a = jnp.asarray(a)
    return a if half or dtypes.itemsize_bits(a.dtype) >= 32 else a.astype(np.float32)


def adjoint(a: ArrayLike) -> Array:
    """The conjugate transposes."""
    return parts.adjoint(a)


# ---- Cholesky -------------------------------------------------------------------------------------------------------


@api(static=("lower",))
def _cholesky(a: ArrayLike, lower: bool) -> Array:
    a = as_matrices("cholesky", a, square=True)
    factor = lax.linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return factor if lower else adjoint(factor)


def cholesky(a: Matrices, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The Cholesky factors: ``a = U^H U``, or ``a = L L^H``.

    Args:
      a: Hermitian positive definite matrices ``(..., n, n)``, of which the triangle wanted is read.
      lower: give L instead of U.
      overwrite_a, check_finite: accepted, without effect.
    Returns: array of the shape of ``a``; NaN where a matrix is not positive definite.
    Raises:
      ValueError: matrices that are not square.
    Example: ``linalg.cholesky(4 * jnp.eye(2))`` is ``2 * jnp.eye(2)``. Source: ``scipy.linalg.cholesky``.
    """
    return _cholesky(array_of(a), lower=bool(lower))


def cho_factor(
    a: Matrices, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """The Cholesky factors for ``cho_solve``, and which ones they are.

    Args: as of ``cholesky``.
    Example: ``linalg.cho_factor(4 * jnp.eye(2))[0]`` is ``2 * jnp.eye(2)``. Source: ``scipy.linalg.cho_factor``.
    """
    return cholesky(a, lower), lower


# ---- singular and eigenvalues -----------------------------------------------------------------------------------------


def svd(
    a: Matrices, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array:  # fmt: skip
    """The singular value decompositions ``a = U diag(s) V^H``.

    Args:
      a: matrices ``(..., m, n)``.
      full_matrices: whether U and V are square.
      compute_uv: whether U and V are wanted.
      overwrite_a, check_finite, lapack_driver: accepted, without effect.
    Returns: ``(U, s, V^H)``, or s alone; s descends.
    Raises:
      ValueError: fewer than two axes.
    Example: ``linalg.svd(jnp.eye(2), compute_uv=False)`` is ones. Source: ``scipy.linalg.svd``.
    """
    return _svd(array_of(a), full=bool(full_matrices), vectors=bool(compute_uv))


@api(static=("full", "vectors"))
def _svd(a: ArrayLike, full: bool, vectors: bool) -> Any:
    a = as_matrices("svd", a)
    outs = lax.linalg.svd(a, full_matrices=full, compute_uv=vectors)
    return tuple(outs) if vectors else outs


def eigh(
    a: Matrices, b: OptionalArray = None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, turbo: bool = True, eigvals: Sequence[int] | None = None, type: int = 1, check_finite: bool = True,
) -> Array | tuple[Array, ...]:  # fmt: skip
    """Eigenvalues and eigenvectors of Hermitian matrices: ``a v = w v``, or ``a v = w b v``.

    Args:
      a: Hermitian matrices ``(..., n, n)``.
      b: Hermitian positive definite matrices.
      lower: read the lower triangles, not the upper ones.
      eigvals_only: give the values alone.
      type: with ``b``: 1 for ``a v = w b v``, 2 for ``a b v = w v``, 3 for ``b a v = w v``.
      overwrite_a, overwrite_b, turbo, check_finite: accepted, without effect.
      eigvals: the indices of the first and the last of the values wanted, by default all.
    Returns: ``(w, v)``, or w alone; w ascends.
    Raises:
      ValueError: matrices that are not square; another type; indices that are none.
    Example: ``linalg.eigh(2 * jnp.eye(2), eigvals_only=True)`` is ``[2., 2.]``. Source: ``scipy.linalg.eigh``.
    """
    if type not in (1, 2, 3):
        raise ValueError(f"eigh: type must be 1, 2 or 3, got {type}")
    out = _eigh(array_of(a), array_of(b), lower=bool(lower), values_only=bool(eigvals_only), type=type)
    if eigvals is None:
        return out
    first, last = as_indices(eigvals)
    size = jnp.shape(a)[-1]
    if not 0 <= first <= last < size:
        raise ValueError(f"eigh: eigvals must be two indices from 0 to {size - 1} in order, got {eigvals}")
    return out[..., first : last + 1] if eigvals_only else tuple(x[..., first : last + 1] for x in out)


@api(static=("lower", "values_only", "type"))
def _eigh(a: ArrayLike, b: OptionalArray, lower: bool, values_only: bool, type: int) -> Any:
    a = as_matrices("eigh", a, square=True)
    if b is None:
        vectors, values = lax.linalg.eigh(_mirrored(a, lower), symmetrize_input=False)
        return values if values_only else (values, vectors)
    b = as_matrices("eigh", b, square=True)
    a, b = (_mirrored(x, lower) for x in promote_inexact(a, b))
    factor = lax.linalg.cholesky(b)
    if type == 1:
        half = lax.linalg.triangular_solve(factor, a, left_side=True, lower=True)
        reduced = adjoint(lax.linalg.triangular_solve(factor, adjoint(half), left_side=True, lower=True))
    else:
        reduced = adjoint(factor) @ a @ factor
    vectors, values = lax.linalg.eigh(reduced)
    if values_only:
        return values
    if type == 3:
        return values, factor @ vectors
    return values, lax.linalg.triangular_solve(
        factor, vectors, left_side=True, lower=True, transpose_a=True, conjugate_a=True
    )


def _mirrored(a: Array, lower: bool) -> Array:
    """Hermitian matrices, made of one triangle."""
    half = jnp.tril(a, -1) if lower else jnp.triu(a, 1)
    return half + adjoint(half) + jnp.where(np.eye(a.shape[-1], dtype=bool), jnp.real(a), 0)


# ---- LU and QR ------------------------------------------------------------------------------------------------------


def lu(a: Matrices, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, ...]:
    """The LU decompositions with pivoting of rows, ``a = P L U``.

    Args:
      a: matrices ``(..., m, n)``.
      permute_l: give ``P L`` instead of the two.
      overwrite_a, check_finite: accepted, without effect.
    Returns: ``(P, L, U)`` or ``(P L, U)``.
    Raises:
      ValueError: fewer than two axes.
    Example: ``linalg.lu(jnp.eye(2))[2]`` is ``jnp.eye(2)``. Source: ``scipy.linalg.lu``.
    """
    return _lu(array_of(a), permute_l=bool(permute_l))


@api(static=("permute_l",))
def _lu(a: ArrayLike, permute_l: bool) -> tuple[Any, ...]:
    a = as_matrices("lu", a)
    factors, _, order = lax.linalg.lu(a)
    m, n = a.shape[-2:]
    k = shorter(m, n)
    lower = jnp.tril(factors[..., :, :k], -1) + jnp.eye(m, k, dtype=a.dtype)
    upper = jnp.triu(factors)[..., :k, :]
    real = jnp.real(a).dtype
    permutation = (order[..., None, :] == jnp.arange(m)[:, None]).astype(real)
    if permute_l:
        back = jnp.argsort(order, -1)
        return jnp.take_along_axis(lower, back[..., None], -2), upper
    return permutation, lower, upper


@api()
def _lu_factor(a: ArrayLike) -> tuple[Any, Any]:
    factors, pivots, _ = lax.linalg.lu(as_matrices("lu_factor", a))
    return factors, pivots


def lu_factor(a: Matrices, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """The LU decompositions for ``lu_solve``: both factors in one matrix, and the rows that are exchanged.

    Args:
      a: matrices ``(..., m, n)``.
      overwrite_a, check_finite: accepted, without effect.
    Returns: ``(lu, piv)``.
    Example: ``linalg.lu_factor(jnp.eye(2))[1]`` is ``[0, 1]``. Source: ``scipy.linalg.lu_factor``.
    """
    return _lu_factor(array_of(a))


_QR_MODES = ("full", "r", "economic")


def qr(
    a: Matrices, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:  # fmt: skip
    """The QR decompositions ``a = Q R``, or ``a[:, P] = Q R``.

    Args:
      a: matrices ``(..., m, n)``.
      overwrite_a, lwork, check_finite: accepted, without effect.
      mode: ``"full"``: Q is square; ``"economic"``: it has min(m, n) columns; ``"r"``: R alone.
      pivoting: exchange columns, so that R's diagonal descends in magnitude.
    Returns: ``(Q, R)`` or ``(R,)``, with ``pivoting`` also P.
    Raises:
      ValueError: another mode.
    Example: ``linalg.qr(jnp.eye(2))[1]``. Source: ``scipy.linalg.qr``.
    """
    if mode not in _QR_MODES:
        raise ValueError(f"qr: mode must be 'full', 'r' or 'economic', got {mode!r}")
    return _qr(array_of(a), mode=mode, pivoting=bool(pivoting))


@api(static=("mode", "pivoting"))
def _qr(a: ArrayLike, mode: str, pivoting: bool) -> tuple[Any, ...]:
    a = as_matrices("qr", a)
    outs = lax.linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(outs)[1:] if mode == "r" else tuple(outs)


def qr_multiply(
    a: Matrices, c: ArrayLike, mode: str = "right", pivoting: bool = False, conjugate: bool = False, overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """The product of the Q of ``a``'s QR decomposition with ``c``, and R.

    Args:
      a: matrices ``(..., m, n)``; k is min(m, n).
      c: array ``(..., k, l)`` for ``"left"``, ``(..., l, m)`` for ``"right"``, or a vector.
      mode: ``"left"`` for ``Q c``, ``"right"`` for ``c Q``.
      pivoting: exchange columns.
      conjugate: take the conjugate of Q.
      overwrite_a, overwrite_c: accepted, without effect.
    Returns: ``(product, R)``, with ``pivoting`` also P.
    Raises:
      ValueError: another mode, or shapes that don't fit.
    Example: ``linalg.qr_multiply(jnp.eye(2), jnp.ones(2))[0].shape`` is ``(2,)``. Source: ``scipy.linalg.qr_multiply``.
    """
    if mode not in ("left", "right"):
        raise ValueError(f"qr_multiply: mode must be 'left' or 'right', got {mode!r}")
    check_arraylike("qr_multiply", a, c)
    return _qr_multiply(a, c, mode=mode, pivoting=bool(pivoting), conjugate=bool(conjugate))


@api(static=("mode", "pivoting", "conjugate"))
def _qr_multiply(a: ArrayLike, c: ArrayLike, mode: str, pivoting: bool, conjugate: bool) -> tuple[Any, ...]:
    a, c = promote_inexact(a, c)
    a, c = as_matrices("qr_multiply", a), jnp.asarray(c)
    q, *rest = _qr(a, mode="economic", pivoting=pivoting)
    q = jnp.conj(q) if conjugate else q
    vector = c.ndim == 1
    if vector:
        c = c[:, None] if mode == "left" else c[None, :]
    c = as_matrices("qr_multiply", c)
    fits = c.shape[-2] in (q.shape[-1], q.shape[-2]) if mode == "left" else c.shape[-1] == q.shape[-2]
    if not fits:
        raise ValueError(f"qr_multiply: c of shape {c.shape} does not fit Q of shape {q.shape} for mode {mode!r}")
    if mode == "left" and c.shape[-2] != q.shape[-1]:
        q = _qr(a, mode="full", pivoting=pivoting)[0]
        q = jnp.conj(q) if conjugate else q
    product = q @ c if mode == "left" else c @ q
    return (product.reshape(-1) if vector else product, *rest)


# ---- Schur, Hessenberg, polar -----------------------------------------------------------------------------------------


def schur(a: Matrices, output: str = "real") -> tuple[Array, Array]:
    """The Schur decompositions ``a = Z T Z^H``.

    Args:
      a: matrices ``(..., n, n)``.
      output: ``"real"``: T of real matrices is real, with blocks of two rows for pairs of complex eigenvalues;
        ``"complex"``: T is triangular.
    Returns: ``(T, Z)``.
    Raises:
      ValueError: another output; matrices that are not square.
    Example: ``linalg.schur(jnp.eye(2))[0]`` is ``jnp.eye(2)``. Source: ``scipy.linalg.schur``.
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: output must be 'real' or 'complex', got {output!r}")
    return _schur(a, output=output)


@api(static=("output",))
def _schur(a: ArrayLike, output: str) -> tuple[Any, Any]:
    a = as_matrices("schur", a, square=True)
    if output == "complex":
        a = a.astype(jnp.result_type(a, np.complex64))
    form, vectors = lax.linalg.schur(a)
    return form, vectors


@api()
def _rsf2csf(form: Array, vectors: Array) -> tuple[Any, Any]:
    form, vectors = (as_matrices("rsf2csf", x, square=True) for x in promote_inexact(form, vectors))
    if form.shape != vectors.shape:
        raise ValueError(f"rsf2csf: T and Z must have one shape, got {form.shape} and {vectors.shape}")
    triangular, turn = _schur(form, output="complex")
    return triangular, vectors.astype(turn.dtype) @ turn


@own_promotion
def rsf2csf(T: Array, Z: Array, check_finite: bool = True) -> tuple[Array, Array]:
    """The triangular complex Schur form of a real one.

    Args:
      T, Z: the real Schur form and its vectors, ``(..., n, n)``.
      check_finite: accepted, without effect.
    Returns: ``(T, Z)``, complex.
    Raises:
      ValueError: matrices that are not square or of one shape.
    Example: ``linalg.rsf2csf(jnp.eye(2), jnp.eye(2))[0].dtype``. Source: ``scipy.linalg.rsf2csf``.
    """
    T, Z = array_of(T), array_of(Z)
    check_arraylike("rsf2csf", T, Z)
    return _rsf2csf(T, Z)


def hessenberg(a: Matrices, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The Hessenberg forms ``a = Q H Q^H``: H is 0 below the diagonal under the main one.

    Args:
      a: matrices ``(..., n, n)``.
      calc_q: give Q, too.
      overwrite_a, check_finite: accepted, without effect.
    Returns: H, or ``(H, Q)``.
    Raises:
      ValueError: matrices that are not square.
    Example: ``linalg.hessenberg(jnp.eye(2))`` is ``jnp.eye(2)``. Source: ``scipy.linalg.hessenberg``.
    """
    return _hessenberg(a, calc_q=bool(calc_q))


@api(static=("calc_q",))
def _hessenberg(a: ArrayLike, calc_q: bool) -> Any:
    a = as_matrices("hessenberg", a, square=True)
    size = a.shape[-1]
    if size < 3:
        return (a, jnp.broadcast_to(jnp.eye(size, dtype=a.dtype), a.shape)) if calc_q else a
    reflected, factors = lax.linalg.hessenberg(a)
    form = jnp.triu(reflected, -1)
    if not calc_q:
        return form
    inner = lax.linalg.householder_product(reflected[..., 1:, :-1], factors)
    edge = [(0, 0)] * (a.ndim - 2) + [(1, 0), (1, 0)]
    first = jnp.asarray(np.arange(size) == 0)
    return form, jnp.where(first[:, None] & first, 1, jnp.pad(inner, edge)).astype(a.dtype)


def polar(
    a: Matrices,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """The polar decompositions ``a = U P``, or ``a = P U``: U with orthonormal rows or columns, P positive semidefinite.

    Args:
      a: matrix ``(m, n)``.
      side: ``"right"``: P stands on the right; or ``"left"``.
      method: ``"qdwh"`` (which needs m >= n for the right side, m <= n for the left one) or ``"svd"``.
      eps: precision wanted of ``"qdwh"``.
      max_iterations: the most steps of ``"qdwh"``.
    Returns: ``(U, P)``.
    Raises:
      ValueError: another side or method; a shape that the method does not take.
    Example: ``linalg.polar(2 * jnp.eye(2))[1]`` is ``2 * jnp.eye(2)``. Source: ``scipy.linalg.polar``.
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar: side must be 'right' or 'left', got {side!r}")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: method must be 'qdwh' or 'svd', got {method!r}")
    return _polar(array_of(a), side=side, method=method, eps=eps, max_iterations=max_iterations)


@api(static=("side", "method", "eps", "max_iterations"))
def _polar(a: ArrayLike, side: str, method: str, eps: float | None, max_iterations: int | None) -> tuple[Any, Any]:
    a = as_matrices("polar", a)
    if method == "svd":
        u, s, vh = lax.linalg.svd(a, full_matrices=False)
        scaled = (adjoint(vh) * s[..., None, :].astype(a.dtype)) @ vh
        if side == "left":
            scaled = (u * s[..., None, :].astype(a.dtype)) @ adjoint(u)
        return u @ vh, scaled
    m, n = a.shape[-2:]
    if (m < n) if side == "right" else (m > n):
        raise ValueError(f"polar: method 'qdwh' takes no matrix of shape {a.shape} for side {side!r}; use method='svd'")
    u, h, _, _ = lax.linalg.qdwh(
        a if side == "right" else adjoint(a), is_hermitian=False, max_iterations=max_iterations, eps=eps
    )
    return (u, h) if side == "right" else (adjoint(u), adjoint(h))
