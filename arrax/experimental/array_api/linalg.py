"""Linear algebra, as the array API standard has it."""

from __future__ import annotations

from typing import Any

from arrax.core.tracebacks import bound_names
from arrax.core.types import typeof
from arrax.experimental.array_api.standard import check_arrays, described, promoted, standard
from arrax.numpy_api import determinants, linear_algebra, linear_systems, matrix_products, norms
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike


def _pair(name: str, accepts: str, x1: ArrayLike, x2: ArrayLike) -> None:
    check_arrays(name, accepts, x1, x2)
    promoted(name, typeof(x1).dtype, typeof(x2).dtype)


# ---- products --------------------------------------------------------------------------------------------------------


@described("numeric")
def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of matrices.

    Example: ``xp.matmul(xp.ones((2, 2)), xp.asarray([1.0, 2.0]))`` is ``[3.0, 3.0]``.
    """
    _pair("matmul", "numeric", x1, x2)
    return matrix_products.matmul(x1, x2)


@described("numeric")
def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Axes = 2) -> Array:
    """The sum of products over some axes of both arrays.

    Example: ``xp.tensordot(xp.ones((2, 2)), xp.ones((2, 2)))`` is 4.0.
    """
    _pair("tensordot", "numeric", x1, x2)
    return matrix_products.tensordot(x1, x2, axes=axes)


@described("numeric")
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Scalar products of vectors along an axis, the first conjugated.

    Example: ``xp.vecdot(xp.asarray([1, 2]), xp.asarray([3, 4]))`` is 11.
    """
    _pair("vecdot", "numeric", x1, x2)
    return matrix_products.vecdot(x1, x2, axis=axis)


@described("numeric")
def outer(x1: Any, x2: Any, /) -> Array:
    """The product of each element of a vector with each of another.

    Example: ``xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))`` is ``[[3, 4], [6, 8]]``.
    """
    _pair("outer", "numeric", x1, x2)
    return matrix_products.outer(x1, x2)


@described("numeric")
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Cross products of vectors of three elements.

    Example: ``xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))`` is ``[0, 0, 1]``.
    """
    _pair("cross", "numeric", x1, x2)
    return matrix_products.cross(x1, x2, axis=axis)


@standard(matrix_products.matrix_transpose)
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Matrices with rows and columns swapped.

    Example: ``xp.matrix_transpose(xp.asarray([[1, 2], [3, 4]]))`` is ``[[1, 3], [2, 4]]``.
    """


@standard(matrix_products.matrix_power, "floating-point")
def matrix_power(x: Any, n: int, /) -> Array:
    """Integer powers of square matrices.

    Example: ``xp.linalg.matrix_power(xp.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)`` is ``[[1.0, 3.0], [0.0, 1.0]]``.
    """


@standard(matrix_products.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """Diagonals of matrices.

    Example: ``xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]))`` is ``[1, 4]``.
    """


@standard(matrix_products.trace, "numeric")
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Sums of the diagonals of matrices.

    Example: ``xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))`` is 5.
    """


# ---- factorizations --------------------------------------------------------------------------------------------------


@standard(linear_algebra.cholesky, "floating-point")
def cholesky(x: Any, /, *, upper: bool = False) -> Array:
    """The triangular factors of positive definite matrices.

    Example: ``xp.linalg.cholesky(xp.asarray([[4.0, 2.0], [2.0, 5.0]]))`` is ``[[2.0, 0.0], [1.0, 2.0]]``.
    """


@standard(linear_algebra.qr, "floating-point")
def qr(x: Any, /, *, mode: str = "reduced") -> Array:
    """Orthogonal and upper triangular factors (Q, R).

    Example: ``q, r = xp.linalg.qr(xp.ones((3, 2))); q.shape`` is ``(3, 2)``.
    """


@standard(linear_algebra.svd, "floating-point")
def svd(x: Any, /, *, full_matrices: bool = True) -> Array:
    """Singular vectors and values (U, S, Vh).

    Example: ``xp.linalg.svd(xp.ones((3, 2)), full_matrices=False).U.shape`` is ``(3, 2)``.
    """


@standard(linear_algebra.svdvals, "floating-point")
def svdvals(x: Any, /) -> Array:
    """Singular values.

    Example: ``xp.linalg.svdvals(xp.asarray([[3.0, 0.0], [0.0, -4.0]]))`` is ``[4.0, 3.0]``.
    """


@standard(linear_algebra.eig, "floating-point")
def eig(x: Any, /) -> Array:
    """Eigenvalues and eigenvectors.

    Example: ``xp.linalg.eig(xp.asarray([[0.0, -1.0], [1.0, 0.0]])).eigenvalues`` is ``[1j, -1j]``.
    """


@standard(linear_algebra.eigvals, "floating-point")
def eigvals(x: Any, /) -> Array:
    """Eigenvalues.

    Example: ``xp.linalg.eigvals(xp.asarray([[0.0, -1.0], [1.0, 0.0]]))`` is ``[1j, -1j]``.
    """


@standard(linear_algebra.eigh, "floating-point")
def eigh(x: Any, /) -> Array:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Example: ``xp.linalg.eigh(xp.asarray([[0.0, 1.0], [1.0, 0.0]])).eigenvalues`` is ``[-1.0, 1.0]``.
    """


@standard(linear_algebra.eigvalsh, "floating-point")
def eigvalsh(x: Any, /) -> Array:
    """Eigenvalues of symmetric or Hermitian matrices.

    Example: ``xp.linalg.eigvalsh(xp.asarray([[0.0, 1.0], [1.0, 0.0]]))`` is ``[-1.0, 1.0]``.
    """


# ---- equations, numbers ----------------------------------------------------------------------------------------------


@described("floating-point")
def solve(x1: Array, x2: Array, /) -> Array:
    """Solutions of linear equations; ``x2`` is a vector or matrices.

    Example: ``xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 2.0]))`` is ``[1.0, 0.5]``.
    """
    _pair("solve", "floating-point", x1, x2)
    return linear_systems.solve(x1, x2)


@standard(linear_systems.inv, "floating-point")
def inv(x: Any, /) -> Array:
    """Inverses of matrices.

    Example: ``xp.linalg.inv(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))`` is ``[[0.5, 0.0], [0.0, 0.25]]``.
    """


@standard(linear_systems.pinv, "floating-point")
def pinv(x: Any, /, *, rtol: Any = None) -> Array:
    """Pseudo-inverses of matrices.

    Example: ``xp.linalg.pinv(xp.asarray([[2.0], [0.0]]))`` is ``[[0.5, 0.0]]``.
    """


@standard(determinants.det, "floating-point")
def det(x: Any, /) -> Array:
    """Determinants.

    Example: ``xp.linalg.det(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))`` is -2.0.
    """


@standard(determinants.slogdet, "floating-point")
def slogdet(x: Any, /) -> Array:
    """Signs and logarithms of the magnitudes of determinants.

    Example: ``xp.linalg.slogdet(xp.asarray([[1.0, 2.0], [3.0, 4.0]])).sign`` is -1.0.
    """


@standard(norms.matrix_rank, "floating-point")
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Array:
    """Ranks of matrices.

    Example: ``xp.linalg.matrix_rank(xp.ones((2, 2)))`` is 1.
    """


@standard(norms.matrix_norm, "floating-point")
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Norms of matrices.

    Example: ``xp.linalg.matrix_norm(xp.ones((2, 2)))`` is 2.0.
    """


@standard(norms.vector_norm, "floating-point")
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Norms of vectors.

    Example: ``xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))`` is 5.0.
    """


bound_names(__name__)
