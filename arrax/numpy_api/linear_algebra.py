"""Decompositions, systems of equations, determinants, ranks (NumPy reference, routines.linalg)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.lax import arithmetic, linalg, shapes, structure
from arrax.lax.barriers import stop_gradient
from arrax.lax.control_flow.solves import custom_linear_solve
from arrax.lax.conversion import convert
from arrax.lax.exponential import log
from arrax.lax.families import kind_of
from arrax.lax.linalg import matrices as parts
from arrax.lax.linalg.lu_factors import lu_solve
from arrax.lax.reductions import reduce_max, reduce_prod, reduce_sum
from arrax.lax.sorting import sort
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import broadcast_to, check_arraylike, promote_inexact, unsupported


class SlogdetResult(NamedTuple):
    """Sign (or phase) and logarithm of the magnitude of determinants."""

    sign: Any
    logabsdet: Any


class QRResult(NamedTuple):
    """Orthonormal and triangular factors."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Left vectors, singular values, adjoint of the right vectors."""

    U: Any
    S: Any
    Vh: Any


class EighResult(NamedTuple):
    """Ascending eigenvalues and eigenvectors of Hermitian matrices."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: Any
    eigenvectors: Any


def _matrices(name: str, a: Any, square: bool = False) -> Any:
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
    return convert(a, typeof(a).dtype)


# ---- factors --------------------------------------------------------------------------------------------------------


@api(static=("upper", "symmetrize_input"))
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
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
    a = _matrices("cholesky", a, square=True)
    factor = linalg.cholesky(
        parts.adjoint(a) if upper and not symmetrize_input else a, symmetrize_input=symmetrize_input
    )
    return parts.adjoint(factor) if upper else factor


@api(static=("mode",))
def qr(a: Any, mode: str = "reduced") -> Any:
    """QR factors: orthonormal columns times an upper triangular matrix.

    Args:
      a: array of shape ``(..., m, n)``.
      mode: ``"reduced"``: min(m, n) columns; ``"complete"``: m; ``"r"``: R alone; ``"raw"``: LAPACK's reflections,
        transposed, and their factors.
    Returns: ``(Q, R)`` as a named tuple; R; or ``(h, tau)``.
    Raises:
      ValueError: an unknown mode.
    Example: ``Q, R = jnp.linalg.qr(jnp.ones((3, 2)))``. Source: ``numpy.linalg.qr``.
    """
    a = _matrices("qr", a)
    if mode == "raw":
        reflections, taus = linalg.geqrf(a)
        return parts.transposed(reflections), taus
    if mode not in ("reduced", "r", "complete", "full"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = linalg.qr(a, full_matrices=mode in ("complete", "full"))
    return r if mode == "r" else QRResult(q, r)


@api(static=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
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
    a = _matrices("svd", a, square=hermitian)
    if not hermitian:
        out = linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index)
        return SVDResult(*out) if compute_uv else out
    if subset_by_index is not None:
        unsupported("linalg.svd with hermitian=True", "subset_by_index")
    return _hermitian_svd(a, compute_uv)


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    vectors, values = linalg.eigh(a)
    magnitudes, signs = arithmetic.abs_(values), arithmetic.sign(values)
    rank = typeof(magnitudes).ndim
    count = typeof(magnitudes).shape[-1]
    order = shapes.broadcasted_iota(np.int32, typeof(magnitudes).shape, rank - 1)
    magnitudes, signs, order = _sorted_together(magnitudes, signs, order)
    if not compute_uv:
        return magnitudes
    vectors = parts.transposed(parts.take_rows(parts.transposed(vectors), order)) if count else vectors
    spread = parts.as_rows(convert(signs, typeof(vectors).dtype), vectors)
    return SVDResult(vectors, magnitudes, parts.adjoint(arithmetic.mul(vectors, spread)))


def _sorted_together(keys: Any, *others: Any) -> list[Any]:
    """Arrays sorted along the last axis, by descending keys."""
    axis = typeof(keys).ndim - 1
    negated, *rest = sort((arithmetic.neg(keys), *others), axis)
    return [arithmetic.neg(negated), *rest]


@api()
def svdvals(x: Any, /) -> Any:
    """Singular values, descending.

    Args:
      x: array of shape ``(..., m, n)``.
    Example: ``jnp.linalg.svdvals(jnp.eye(2))`` is ones. Source: ``numpy.linalg.svdvals``.
    """
    return linalg.svd(_matrices("svdvals", x), compute_uv=False)


# ---- eigenvalues ----------------------------------------------------------------------------------------------------


@api()
def eig(a: Any) -> EigResult:
    """Eigenvalues and right eigenvectors (on CPU and CUDA).

    Args:
      a: array of shape ``(..., n, n)``.
    Returns: named tuple of complex values ``(..., n)`` and vectors, as columns, ``(..., n, n)``.
    Example: ``jnp.linalg.eig(jnp.eye(2)).eigenvalues`` is ones. Source: ``numpy.linalg.eig``.
    """
    values, vectors = linalg.eig(_matrices("eig", a, square=True), compute_left_eigenvectors=False)
    return EigResult(values, vectors)


@api()
def eigvals(a: Any) -> Any:
    """Eigenvalues (on CPU and CUDA).

    Args:
      a: array of shape ``(..., n, n)``.
    Returns: complex array of shape ``(..., n)``.
    Example: ``jnp.linalg.eigvals(jnp.eye(2))`` is ones. Source: ``numpy.linalg.eigvals``.
    """
    a = _matrices("eigvals", a, square=True)
    return linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@api(static=("UPLO", "symmetrize_input"))
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
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
    a = _matrices("eigh", a, square=True)
    vectors, values = linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@api(static=("UPLO", "symmetrize_input"))
def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """Eigenvalues of Hermitian matrices, ascending.

    Args:
      a, UPLO, symmetrize_input: as of ``eigh``.
    Example: ``jnp.linalg.eigvalsh(jnp.eye(2))`` is ones. Source: ``numpy.linalg.eigvalsh``.
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


# ---- determinants ---------------------------------------------------------------------------------------------------


def _parity(pivots: Any) -> Any:
    """1 where a permutation is odd, else 0."""
    axis = typeof(pivots).ndim - 1
    places = shapes.broadcasted_iota(np.int32, typeof(pivots).shape, axis)
    moved = convert(arithmetic.ne(pivots, places), np.int32)
    count = reduce_sum(moved, (axis,))
    return arithmetic.rem(count, shapes.full_like(count, 2))


@api()
def det(a: Any) -> Any:
    """Determinants.

    Args:
      a: array of shape ``(..., n, n)``.
    Returns: array of shape ``(...)``.
    Raises:
      ValueError: matrices that are not square.
    Example: ``jnp.linalg.det(2 * jnp.eye(2))`` is 4. Source: ``numpy.linalg.det``.
    """
    a = _matrices("det", a, square=True)
    size = typeof(a).shape[-1]
    if size <= 3:  # polynomials, with derivatives for singular matrices too
        return _small_determinant(a, size)
    factors, pivots, _ = linalg.lu(a)
    product = reduce_prod(parts.diagonal(factors), (typeof(a).ndim - 2,))
    odd = arithmetic.eq(_parity(pivots), np.int32(1))
    return structure.select(odd, arithmetic.neg(product), product)


def _entry(a: Any, i: int, j: int) -> Any:
    return shapes.squeeze(parts.part(a, (i, i + 1), (j, j + 1)), (-2, -1))


def _small_determinant(a: Any, size: int) -> Any:
    if size == 0:
        return shapes.full_like(a, 1, shape=typeof(a).shape[:-2])
    if size == 1:
        return _entry(a, 0, 0)
    terms = []
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) if size == 3 else ((0, 1, 1),):
        if size == 2:
            first = arithmetic.mul(_entry(a, 0, 0), _entry(a, 1, 1))
            return arithmetic.sub(first, arithmetic.mul(_entry(a, 0, 1), _entry(a, 1, 0)))
        inner = arithmetic.sub(
            arithmetic.mul(_entry(a, 1, j), _entry(a, 2, k)), arithmetic.mul(_entry(a, 1, k), _entry(a, 2, j))
        )
        terms.append(arithmetic.mul(_entry(a, 0, i), inner))
    return arithmetic.add(arithmetic.add(terms[0], terms[1]), terms[2])


@api(static=("method",))
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """Signs and logarithms of the magnitudes of determinants.

    Args:
      a: array of shape ``(..., n, n)``.
      method: ``"lu"`` (by default) or ``"qr"``: by which factors.
    Returns: named tuple ``(sign, logabsdet)`` of shape ``(...)``; 0 and minus infinity for singular matrices.
    Raises:
      ValueError: another method, or matrices that are not square.
    Example: ``jnp.linalg.slogdet(2 * jnp.eye(2)).sign`` is 1. Source: ``numpy.linalg.slogdet``.
    """
    a = _matrices("slogdet", a, square=True)
    if method not in (None, "lu", "qr"):
        raise ValueError(f"Unrecognized method {method!r}. Supported methods are 'lu' and 'qr'.")
    if method == "qr":
        return _slogdet_by_qr(a)
    factors, pivots, _ = linalg.lu(a)
    sign, logarithm = _signs_of(parts.diagonal(factors))
    odd = arithmetic.eq(_parity(pivots), np.int32(1))
    return SlogdetResult(structure.select(odd, arithmetic.neg(sign), sign), logarithm)


def _signs_of(diagonal: Any) -> tuple[Any, Any]:
    axis = (typeof(diagonal).ndim - 1,)
    return reduce_prod(arithmetic.sign(diagonal), axis), reduce_sum(log(arithmetic.abs_(diagonal)), axis)


def _slogdet_by_qr(a: Any) -> SlogdetResult:
    """Each reflection with a factor has determinant ``-tau / conj(tau)``."""
    reflected, taus = linalg.geqrf(a)
    sign, logarithm = _signs_of(parts.diagonal(reflected))
    none = arithmetic.eq(taus, shapes.full_like(taus, 0))
    one = shapes.full_like(taus, 1)
    if kind_of(typeof(a).dtype) == "complex":
        safe = structure.select(none, one, taus)
        turn = arithmetic.neg(arithmetic.div(safe, arithmetic.conj(safe)))
    else:
        turn = arithmetic.neg(one)
    turned = reduce_prod(structure.select(none, one, turn), (typeof(taus).ndim - 1,))
    return SlogdetResult(arithmetic.mul(sign, turned), logarithm)


# ---- systems and inverses -------------------------------------------------------------------------------------------


def _solved(a: Any, b: Any) -> Any:
    """Solutions of systems of equal leading axes, with derivatives that use the factors again."""
    factors, _, order = linalg.lu(stop_gradient(a))

    def product(x: Any) -> Any:
        return parts.matmul(a, x)

    return custom_linear_solve(
        product, b, lambda _, right: lu_solve(factors, order, right),
        lambda _, right: lu_solve(factors, order, right, trans=1),
    )  # fmt: skip


@api()
def solve(a: Any, b: Any) -> Any:
    """The solutions of ``a x = b``.

    Args:
      a: array of shape ``(..., n, n)``.
      b: array of shape ``(n,)``, or ``(..., n, k)``; leading axes broadcast.
    Returns: array of shape ``(..., n)`` or ``(..., n, k)``.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``jnp.linalg.solve(2 * jnp.eye(2), jnp.ones(2))`` is halves. Source: ``numpy.linalg.solve``.
    """
    check_arraylike("linalg.solve", a, b)
    a, b = promote_inexact(a, b)
    a, b = (convert(x, typeof(x).dtype) for x in (a, b))
    rows, right = typeof(a).shape, typeof(b).shape
    if len(rows) < 2 or rows[-1] != rows[-2]:
        raise ValueError(
            f"The arguments to solve must have shapes a=[..., m, m] and b=[m] or b=[..., m, k], got {rows} and {right}"
        )
    vector = len(right) == 1
    b = shapes.expand_dims(b, (-1,)) if vector else b
    if not right or typeof(b).shape[-2] != rows[-1]:
        raise ValueError(
            f"The arguments to solve must have shapes a=[..., m, m] and b=[m] or b=[..., m, k], got {rows} and {right}"
        )
    batch = shapes.broadcast_shapes(rows[:-2], typeof(b).shape[:-2])
    a, b = broadcast_to(a, (*batch, *rows[-2:])), broadcast_to(b, (*batch, *typeof(b).shape[-2:]))
    x = _solved(a, b)
    return shapes.squeeze(x, (-1,)) if vector else x


@api()
def inv(a: Any) -> Any:
    """Inverses.

    Args:
      a: array of shape ``(..., n, n)``.
    Raises:
      ValueError: matrices that are not square.
    Example: ``jnp.linalg.inv(2 * jnp.eye(2))`` is halves. Source: ``numpy.linalg.inv``.
    """
    a = _matrices("inv", a, square=True)
    unit = np.eye(typeof(a).shape[-1], dtype=typeof(a).dtype)
    return _solved(a, broadcast_to(unit, typeof(a).shape))


def _default_tolerance(a: Any) -> float:
    return max(typeof(a).shape[-2:]) * float(dtypes.finfo(typeof(a).dtype).eps)


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """Pseudo-inverses (of Moore and Penrose).

    Args:
      a: array of shape ``(..., m, n)``.
      rtol: singular values below ``rtol`` times the largest count as zeros; by default ``10 max(m, n)`` times the
        precision.
      hermitian: take matrices for Hermitian.
      rcond: another name of ``rtol``.
    Returns: array of shape ``(..., n, m)``.
    Example: ``jnp.linalg.pinv(jnp.ones((2, 2)))`` is quarters. Source: ``numpy.linalg.pinv``.
    """
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: give rtol or rcond, which are the same, not both")
    return _pinv(a, rcond if rtol is None else rtol, bool(hermitian))


@api(static=("hermitian",))
def _pinv(a: Any, rtol: Any, hermitian: bool) -> Any:
    a = _matrices("pinv", a, square=hermitian)
    if typeof(a).size == 0:
        return shapes.full_like(parts.transposed(a), 0)
    if hermitian:
        left, values, right = _hermitian_svd(a, True)
    else:
        left, values, right = linalg.svd(a, full_matrices=False)
    tolerance = 10 * _default_tolerance(a) if rtol is None else rtol
    real = typeof(values).dtype
    largest = reduce_max(values, (typeof(values).ndim - 1,))
    tolerance = arithmetic.mul(broadcast_to(convert(tolerance, real), typeof(largest).shape), largest)
    cutoff = shapes.broadcast_in_dim(tolerance, typeof(values).shape, range(typeof(largest).ndim))
    kept = arithmetic.gt(values, cutoff)
    one = shapes.full_like(values, 1)
    inverses = structure.select(
        kept, arithmetic.div(one, structure.select(kept, values, one)), shapes.full_like(values, 0)
    )
    adjoint = parts.adjoint(left)
    scaled = arithmetic.mul(adjoint, parts.as_columns(convert(inverses, typeof(a).dtype), typeof(adjoint)))
    return parts.matmul(parts.adjoint(right), scaled)


def lstsq(a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False) -> tuple[Any, Any, Any, Any]:
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
    x, residuals, rank, values = _lstsq(a, b, rcond)
    rows, columns = np.shape(a)
    if numpy_resid and (int(rank) < columns or rows <= columns):
        residuals = shapes.full((0,), 0.0, typeof(residuals).dtype)
    return x, residuals, rank, values


@api(static=("rcond",))
def _lstsq(a: Any, b: Any, rcond: float | None) -> tuple[Any, Any, Any, Any]:
    check_arraylike("linalg.lstsq", a, b)
    a, b = (convert(x, typeof(x).dtype) for x in promote_inexact(a, b))
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
    left, values, right = linalg.svd(a, full_matrices=False)
    rtol = _default_tolerance(a) if rcond is None else rcond if rcond >= 0 else float(dtypes.finfo(typeof(a).dtype).eps)
    real = typeof(values).dtype
    largest = structure.slice_in_dim(values, 0, 1)
    cutoff = arithmetic.mul(broadcast_to(largest, typeof(values).shape), shapes.full_like(values, rtol))
    kept = arithmetic.ge(values, cutoff)
    kept = structure.select(arithmetic.gt(values, shapes.full_like(values, 0)), kept, shapes.full_like(kept, False))
    one = shapes.full_like(values, 1)
    inverses = structure.select(
        kept, arithmetic.div(one, structure.select(kept, values, one)), shapes.full_like(values, 0)
    )
    inner = parts.matmul(parts.adjoint(left), b)
    inner = arithmetic.mul(inner, parts.as_columns(convert(inverses, typeof(a).dtype), typeof(inner)))
    x = parts.matmul(parts.adjoint(right), inner)
    magnitude = arithmetic.abs_(arithmetic.sub(b, parts.matmul(a, x)))
    residuals = reduce_sum(arithmetic.mul(magnitude, magnitude), (0,))
    rank = reduce_sum(convert(kept, np.int32), (0,))
    return shapes.squeeze(x, (1,)) if vector else x, convert(residuals, real), rank, values
