"""Sparse matrices without batches: coordinates (``COO``), compressed rows (``CSR``) and compressed columns (``CSC``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

import arrax.numpy as jnp
from arrax.core.pytree_nodes import register_pytree_node_class
from arrax.core.tracebacks import bound_methods
from arrax.dtypes import DTypeLike
from arrax.dtypes.wording import shown
from arrax.experimental.sparse.base import Count, JAXSparse, check_vector_or_matrix
from arrax.experimental.sparse.compressed import BCSR
from arrax.experimental.sparse.coordinates import BCOO, bcoo_fromdense
from arrax.experimental.sparse.recorded import recorded
from arrax.xla.arrays import Array, ArrayLike


@bound_methods
class _Matrix(JAXSparse):
    """What the matrices share: they are held by three vectors, and compute as ``BCOO``."""

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int], **flags: bool) -> None:
        super().__init__(args, shape=shape)
        if len(self._shape) != 2:
            raise ValueError(f"{type(self).__name__}: shape must have two lengths, got {tuple(shape)}")
        if len(args) != len(self._parts):
            raise ValueError(f"{type(self).__name__}: args must be ({', '.join(self._parts)}), got {len(args)} of them")
        for name, value in zip(self._parts, args, strict=True):
            setattr(self, name, jnp.asarray(value))
        for name in self._statics[1:]:
            setattr(self, name, bool(flags.get(name.removeprefix("_"), False)))

    @property
    def nse(self) -> int:
        """The number of specified elements."""
        return self.data.size

    def to_bcoo(self) -> BCOO:
        """The same matrix as ``BCOO``."""
        raise NotImplementedError(f"{type(self).__name__}.to_bcoo")

    @classmethod
    def _from_bcoo(cls, mat: BCOO) -> Self:
        raise NotImplementedError(f"{cls.__name__}._from_bcoo")

    @classmethod
    def fromdense(cls, mat: ArrayLike, *, nse: Count = None, index_dtype: DTypeLike = np.int32) -> Self:
        """A matrix of the nonzero elements of a dense one.

        Args:
          mat: matrix.
          nse: how many elements are stored, by default as many as are not zero.
          index_dtype: the dtype of the indices.
        """
        return cls._from_bcoo(
            bcoo_fromdense(check_vector_or_matrix(cls.__name__, mat), nse=nse, index_dtype=index_dtype)
        )

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None) -> Self:
        """The matrix of one of ``scipy.sparse``."""
        return cls._from_bcoo(BCOO.from_scipy_sparse(mat, index_dtype=index_dtype))

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: DTypeLike = np.int32) -> Self:
        if len(shape) != 2:
            raise ValueError(f"{cls.__name__} must have two dimensions, got shape {tuple(shape)}")
        return cls._from_bcoo(BCOO._empty(shape, dtype=dtype, index_dtype=index_dtype))

    @classmethod
    def _eye(cls, rows: int, columns: int, diagonal: int, *, dtype: Any, index_dtype: DTypeLike) -> Self:
        return cls._from_bcoo(BCOO._eye(rows, columns, diagonal, dtype=dtype, index_dtype=index_dtype))

    def todense(self) -> Array:
        """The dense matrix; what is stored several times is added up."""
        return self.to_bcoo().todense()


@bound_methods
@register_pytree_node_class
class COO(_Matrix):
    """A matrix of coordinates and values.

    Args:
      args: ``(data, row, col)``, three vectors.
      shape: rows and columns.
      rows_sorted, cols_sorted: whether indices are known to be in order.
    Example: ``COO((jnp.ones(2), jnp.array([0, 1]), jnp.array([1, 0])), shape=(2, 2))``.
    """

    _parts = ("data", "row", "col")
    _statics = ("_shape", "_rows_sorted", "_cols_sorted")
    _rows_sorted: bool
    _cols_sorted: bool
    row: Array
    col: Array

    def to_bcoo(self) -> BCOO:
        """The same matrix as ``BCOO``."""
        return BCOO((self.data, jnp.stack([self.row, self.col], -1)), shape=self.shape)

    @classmethod
    def _from_bcoo(cls, mat: BCOO) -> COO:
        return cls((mat.data, mat.indices[:, 0], mat.indices[:, 1]), shape=mat.shape, rows_sorted=mat.indices_sorted)

    def transpose(self, axes: Any = None) -> COO:
        """The transposed matrix.

        Raises:
          NotImplementedError: ``axes`` are given.
        """
        _refuse_axes("COO", axes)
        flags = {"rows_sorted": self._cols_sorted, "cols_sorted": self._rows_sorted}
        return COO((self.data, self.col, self.row), shape=self.shape[::-1], **flags)


def _refuse_axes(name: str, axes: Any) -> None:
    if axes is not None and tuple(axes) != (1, 0):
        raise NotImplementedError(f"{name}.transpose takes no axes, got {axes}")


@bound_methods
@register_pytree_node_class
class CSR(_Matrix):
    """A matrix of compressed rows.

    Args:
      args: ``(data, indices, indptr)``: row ``i`` has the columns ``indices[indptr[i] : indptr[i + 1]]``.
      shape: rows and columns.
    Example: ``CSR.fromdense(jnp.eye(3)).indices`` is ``[0, 1, 2]``.
    """

    _parts = ("data", "indices", "indptr")
    indices: Array
    indptr: Array

    def to_bcoo(self) -> BCOO:
        """The same matrix as ``BCOO``."""
        return BCSR((self.data, self.indices, self.indptr), shape=self.shape).to_bcoo()

    @classmethod
    def _from_bcoo(cls, mat: BCOO) -> CSR:
        rows = BCSR.from_bcoo(mat)
        return cls((rows.data, rows.indices, rows.indptr), shape=mat.shape)

    def transpose(self, axes: Any = None) -> CSC:
        """The transposed matrix, of compressed columns.

        Raises:
          NotImplementedError: ``axes`` are given.
        """
        _refuse_axes("CSR", axes)
        return CSC((self.data, self.indices, self.indptr), shape=self.shape[::-1])


@bound_methods
@register_pytree_node_class
class CSC(_Matrix):
    """A matrix of compressed columns.

    Args:
      args: ``(data, indices, indptr)``: column ``i`` has the rows ``indices[indptr[i] : indptr[i + 1]]``.
      shape: rows and columns.
    Example: ``CSC.fromdense(jnp.eye(3)).indices`` is ``[0, 1, 2]``.
    """

    _parts = ("data", "indices", "indptr")
    indices: Array
    indptr: Array

    def to_bcoo(self) -> BCOO:
        """The same matrix as ``BCOO``."""
        return self.transpose().to_bcoo().transpose()

    @classmethod
    def _from_bcoo(cls, mat: BCOO) -> CSC:
        rows = BCSR.from_bcoo(mat.transpose())
        return cls((rows.data, rows.indices, rows.indptr), shape=mat.shape)

    def transpose(self, axes: Any = None) -> CSR:
        """The transposed matrix, of compressed rows.

        Raises:
          NotImplementedError: ``axes`` are given.
        """
        _refuse_axes("CSC", axes)
        return CSR((self.data, self.indices, self.indptr), shape=self.shape[::-1])


# ---- functions of the older interface -------------------------------------------------------------------------------------


@recorded("coo_fromdense", 1)
def coo_fromdense(mat: ArrayLike, *, nse: Count = None, index_dtype: DTypeLike = np.int32) -> COO:
    """A COO matrix of the nonzero elements of a dense one.

    Args:
      mat: matrix.
      nse: how many elements are stored, by default as many as are not zero.
      index_dtype: the dtype of the indices.
    Example: ``mat = coo_fromdense(jnp.array([[0, 2], [3, 0]])); mat.nse`` is ``2``.
    """
    return COO.fromdense(mat, nse=nse, index_dtype=index_dtype)


@recorded("coo_todense", 1)
def coo_todense(mat: COO) -> Array:
    """The dense matrix of a COO one.

    Example: ``mat = coo_fromdense(jnp.array([[0, 2], [3, 0]])); coo_todense(mat)`` is ``[[0, 2], [3, 0]]``.
    """
    return mat.todense()


def _product(name: str, mat: _Matrix, other: Any, transpose: bool, ndim: int) -> Array:
    if not isinstance(mat, JAXSparse):
        raise TypeError(f"{name}: mat must be a sparse matrix, got {shown(mat)}")
    other = jnp.asarray(other)
    if other.ndim != ndim:
        raise TypeError(f"{name}: the second operand must have {ndim} dimensions, got shape {other.shape}")
    return (mat.T if transpose else mat).to_bcoo() @ other


@recorded("coo_matvec", 2)
def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Array:
    """The product of a COO matrix, or of its transpose, and a dense vector.

    Args:
      mat: the matrix.
      v: the vector.
      transpose: whether the matrix is transposed first.
    Example: ``mat = coo_fromdense(jnp.array([[0, 2], [3, 0]])); coo_matvec(mat, jnp.ones(2))`` is ``[2, 3]``.
    """
    return _product("coo_matvec", mat, v, transpose, 1)


@recorded("coo_matmat", 2)
def coo_matmat(mat: COO, B: Array, *, transpose: bool = False) -> Array:
    """The product of a COO matrix, or of its transpose, and a dense matrix.

    Args:
      mat: the sparse matrix.
      B: the dense matrix.
      transpose: whether the sparse one is transposed first.
    Example: ``mat = coo_fromdense(jnp.array([[0, 2], [3, 0]]));
    coo_matmat(mat, jnp.eye(2))`` is ``[[0, 2], [3, 0]]``.
    """
    return _product("coo_matmat", mat, B, transpose, 2)


@recorded("csr_fromdense", 1)
def csr_fromdense(mat: Array, *, nse: Count = None, index_dtype: DTypeLike = np.int32) -> CSR:
    """A CSR matrix of the nonzero elements of a dense one.

    Args:
      mat: matrix.
      nse: how many elements are stored, by default as many as are not zero.
      index_dtype: the dtype of the indices.
    Example: ``mat = csr_fromdense(jnp.array([[0, 2], [3, 0]])); mat.nse`` is ``2``.
    """
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


@recorded("csr_todense", 1)
def csr_todense(mat: CSR) -> Array:
    """The dense matrix of a CSR one.

    Example: ``mat = csr_fromdense(jnp.array([[0, 2], [3, 0]])); csr_todense(mat)`` is ``[[0, 2], [3, 0]]``.
    """
    return mat.todense()


@recorded("csr_matvec", 2)
def csr_matvec(mat: CSR, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of a CSR matrix, or of its transpose, and a dense vector.

    Args:
      mat: the matrix.
      v: the vector.
      transpose: whether the matrix is transposed first.
    Example: ``mat = csr_fromdense(jnp.array([[0, 2], [3, 0]])); csr_matvec(mat, jnp.ones(2))`` is ``[2, 3]``.
    """
    return _product("csr_matvec", mat, v, transpose, 1)


@recorded("csr_matmat", 2)
def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Array:
    """The product of a CSR matrix, or of its transpose, and a dense matrix.

    Args:
      mat: the sparse matrix.
      B: the dense matrix.
      transpose: whether the sparse one is transposed first.
    Example: ``mat = csr_fromdense(jnp.array([[0, 2], [3, 0]]));
    csr_matmat(mat, jnp.eye(2))`` is ``[[0, 2], [3, 0]]``.
    """
    return _product("csr_matmat", mat, B, transpose, 2)
