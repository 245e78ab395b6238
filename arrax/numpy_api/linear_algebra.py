"""Decompositions, systems of equations, determinants, ranks (NumPy reference, routines.linalg)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from arrax.core.types import typeof
from arrax.lax import arithmetic, axis_order, filled_arrays, linalg
from arrax.lax.conversion import convert
from arrax.lax.linalg import matrices as parts
from arrax.lax.sorting import sort
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, promote_inexact, unsupported
from arrax.xla.arrays import Array, ArrayLike, Matrices


class QRResult(NamedTuple):
    """Orthonormal and triangular factors.

    Example: ``jnp.linalg.qr(jnp.eye(2)).R.shape`` is ``(2, 2)``.
    """

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """Left vectors, singular values, adjoint of the right vectors.

    Example: ``jnp.linalg.svd(jnp.eye(2)).S`` is ``[1, 1]``.
    """

    U: Array
    S: Array
    Vh: Array


class EighResult(NamedTuple):
    """Ascending eigenvalues and eigenvectors of Hermitian matrices.

    Example: ``values, vectors = jnp.linalg.eigh(jnp.eye(2)); values`` is ``[1, 1]``.
    """

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors.

    Example: ``jnp.linalg.eig(jnp.eye(2)).eigenvalues`` is ``[1, 1]``.
    """

    eigenvalues: Array
    eigenvectors: Array


def as_matrices(name: str, a: ArrayLike, square: bool = False) -> Array:
    """An operand of matrices in an inexact dtype.

    Raises:
      ValueError: fewer than two axes, or matrices that are not square.
    """
    check_arraylike(f"linalg.{name}", a)
    (a,) = promote_inexact(a)
    shape = typeof(a).shape
    if len(shape) < 2:
        raise ValueError(f"linalg.{name}: expected an array of at least two axes, got shape {shape}")
    if square and shape[-1] != shape[-2]:
        raise ValueError(f"Argument to {name}() must have shape [..., n, n], got {shape}")
    return a


# ---- factors --------------------------------------------------------------------------------------------------------


@api(static=("upper", "symmetrize_input"))
def cholesky(a: Matrices, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The triangular factors L of ``a = L L^H``.

    Args:
      a: array of shape ``(..., n, n)``, of Hermitian positive definite matrices.
      upper: give the adjoint of L.
      symmetrize_input: take the Hermitian part; otherwise only one triangle counts.
    Returns: array of the same shape; NaN where a matrix is not positive definite.
    Raises:
      ValueError: matrices that are not square.
    Example: ``jnp.linalg.cholesky(4 * jnp.eye(2))`` is ``2 * jnp.eye(2)``. Source: ``numpy.linalg.cholesky``.
    """
    a = as_matrices("cholesky", a, square=True)
    factor = linalg.cholesky(
        parts.adjoint(a) if upper and not symmetrize_input else a, symmetrize_input=symmetrize_input
    )
    return parts.adjoint(factor) if upper else factor


@overload
def qr(a: Matrices, mode: Literal["reduced", "complete", "full"] = ...) -> QRResult: ...
@overload
def qr(a: Matrices, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: Matrices, mode: str) -> Any: ...
@api(static=("mode",))
def qr(a: Matrices, mode: str = "reduced") -> Any:
    """QR factors: orthonormal columns times an upper triangular matrix.

    Args:
      a: array of shape ``(..., m, n)``.
      mode: ``"reduced"`` (also ``"full"``): min(m, n) columns; ``"complete"``: m; ``"r"``: R alone; ``"raw"``: LAPACK's reflections,
        transposed, and their factors.
    Returns: ``(Q, R)`` as a named tuple; R; or ``(h, tau)``.
    Raises:
      ValueError: an unknown mode.
    Example: ``Q, R = jnp.linalg.qr(jnp.ones((3, 2)))``. Source: ``numpy.linalg.qr``.
    """
    a = as_matrices("qr", a)
    if mode == "raw":
        reflections, taus = linalg.geqrf(a)
        return parts.transposed(reflections), taus
    if mode not in ("reduced", "r", "complete", "full"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = linalg.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@overload
def svd(
    a: Matrices, full_matrices: bool = ..., compute_uv: Literal[True] = ..., hermitian: bool = ...,
    subset_by_index: tuple[int, int] | None = ...,
) -> SVDResult: ...  # fmt: skip
@overload
def svd(
    a: Matrices, full_matrices: bool = ..., *, compute_uv: Literal[False], hermitian: bool = ...,
    subset_by_index: tuple[int, int] | None = ...,
) -> Array: ...  # fmt: skip
@overload
def svd(
    a: Matrices, full_matrices: bool = ..., compute_uv: bool = ..., hermitian: bool = ...,
    subset_by_index: tuple[int, int] | None = ...,
) -> Any: ...  # fmt: skip
@api(static=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(
    a: Matrices, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:  # fmt: skip
    """Singular values and vectors: ``a = U diag(S) Vh``.

    Args:
      a: array of shape ``(..., m, n)``.
      full_matrices: complete U and Vh to square matrices.
      compute_uv: whether vectors are wanted.
      hermitian: take matrices for Hermitian, by way of their eigenvalues.
      subset_by_index: ``(start, stop)``: only these of the descending values.
    Returns: ``(U, S, Vh)`` as a named tuple, or S alone.
    Example: ``jnp.linalg.svd(jnp.eye(2), compute_uv=False)`` is ones. Source: ``numpy.linalg.svd``.
    """
    a = as_matrices("svd", a, square=hermitian)
    if not hermitian:
        out = linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index)
        return SVDResult(*out) if compute_uv else out
    if subset_by_index is not None:
        unsupported("linalg.svd with hermitian=True", "subset_by_index")
    return hermitian_svd(a, compute_uv)


def hermitian_svd(a: ArrayLike, compute_uv: bool) -> Any:
    vectors, values = linalg.eigh(a)
    magnitudes, signs = arithmetic.abs_(values), arithmetic.sign(values)
    rank = typeof(magnitudes).ndim
    count = typeof(magnitudes).shape[-1]
    order = filled_arrays.broadcasted_iota(np.int32, typeof(magnitudes).shape, rank - 1)
    magnitudes, signs, order = _sorted_together(magnitudes, signs, order)
    if not compute_uv:
        return magnitudes
    vectors = parts.transposed(parts.take_rows(parts.transposed(vectors), order)) if count else vectors
    sign_rows = parts.as_rows(convert(signs, typeof(vectors).dtype), vectors)
    return SVDResult(vectors, magnitudes, parts.adjoint(arithmetic.mul(vectors, sign_rows)))


def _sorted_together(keys: Array, *others: Array) -> list[Any]:
    """Arrays sorted along the last axis, by descending keys; of equal ones the last comes first, as in NumPy."""
    axis = typeof(keys).ndim - 1
    return [axis_order.rev(x, (axis,)) for x in sort((keys, *others), axis, num_keys=1)]


@api()
def svdvals(x: Matrices, /) -> Array:
    """Singular values, descending.

    Args:
      x: array of shape ``(..., m, n)``.
    Example: ``jnp.linalg.svdvals(jnp.eye(2))`` is ones. Source: ``numpy.linalg.svdvals``.
    """
    return linalg.svd(as_matrices("svdvals", x), compute_uv=False)


# ---- eigenvalues ----------------------------------------------------------------------------------------------------


@api()
def eig(a: Matrices) -> EigResult:
    """Eigenvalues and right eigenvectors (on CPU and CUDA).

    Args:
      a: array of shape ``(..., n, n)``.
    Returns: named tuple of complex values ``(..., n)`` and vectors, as columns, ``(..., n, n)``.
    Example: ``jnp.linalg.eig(jnp.eye(2)).eigenvalues`` is ones. Source: ``numpy.linalg.eig``.
    """
    values, vectors = linalg.eig(as_matrices("eig", a, square=True), compute_left_eigenvectors=False)
    return EigResult(values, vectors)


@api()
def eigvals(a: Matrices) -> Array:
    """Eigenvalues (on CPU and CUDA).

    Args:
      a: array of shape ``(..., n, n)``.
    Returns: complex array of shape ``(..., n)``.
    Example: ``jnp.linalg.eigvals(jnp.eye(2))`` is ones. Source: ``numpy.linalg.eigvals``.
    """
    a = as_matrices("eigvals", a, square=True)
    return linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@api(static=("UPLO", "symmetrize_input"))
def eigh(a: Matrices, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: array of shape ``(..., n, n)``.
      UPLO: ``"L"`` (by default) or ``"U"``: the triangle that counts where the input is not symmetrized.
      symmetrize_input: take the Hermitian part.
    Returns: named tuple of ascending values ``(..., n)`` and vectors, as columns, ``(..., n, n)``.
    Raises:
      ValueError: another UPLO, or matrices that are not square.
    Example: ``jnp.linalg.eigh(jnp.eye(2)).eigenvalues`` is ones. Source: ``numpy.linalg.eigh``.
    """
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    a = as_matrices("eigh", a, square=True)
    vectors, values = linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@api(static=("UPLO", "symmetrize_input"))
def eigvalsh(a: Matrices, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Eigenvalues of Hermitian matrices, ascending.

    Args:
      a: array of shape ``(..., n, n)``.
      UPLO: ``"L"`` (by default) or ``"U"``: the triangle that counts where the input is not symmetrized.
      symmetrize_input: take the Hermitian part.
    Example: ``jnp.linalg.eigvalsh(jnp.eye(2))`` is ones. Source: ``numpy.linalg.eigvalsh``.
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues
