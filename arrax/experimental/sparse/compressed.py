"""``BCSR``: batches of compressed rows."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import arrax.numpy as jnp
from arrax.core.pytree_nodes import register_pytree_node_class
from arrax.core.tracebacks import bound_methods
from arrax.dtypes import DTypeLike
from arrax.experimental.sparse.base import Batches, Count
from arrax.experimental.sparse.coordinates import (
    BCOO,
    bcoo_extract,
    bcoo_fromdense,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    full,
    over_batch,
)
from arrax.experimental.sparse.products import Dimensions, bcoo_dot_general
from arrax.experimental.sparse.recorded import recorded
from arrax.experimental.sparse.shapes import bcoo_broadcast_in_dim, bcoo_concatenate
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.lax.precision import PrecisionLike


@bound_methods
@register_pytree_node_class
class BCSR(Batches):
    """A sparse array of rows, with batch and dense dimensions.

    Args:
      args: ``(data, indices, indptr)`` of shapes ``(*batch, nse, *dense)``, ``(*batch, nse)`` and ``(*batch, rows + 1)``:
        row ``i`` has the columns ``indices[indptr[i] : indptr[i + 1]]``.
      shape: the lengths of batch dimensions, rows, columns and dense dimensions.
      indices_sorted, unique_indices: whether columns of a row are known to be in order, and to be different.
    Raises:
      ValueError: shapes that do not fit each other.
    Example: ``BCSR.fromdense(jnp.eye(3)).indptr`` is ``[0, 1, 2, 3]``.
    """

    _parts = ("data", "indices", "indptr")
    indptr: Array

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ):
        data, indices, indptr = map(jnp.asarray, args)
        shape = tuple(map(operator.index, shape))
        n_batch = indices.ndim - 1
        n_dense = data.ndim - 1 - n_batch
        if (
            n_batch < 0 or n_dense < 0 or len(shape) != n_batch + 2 + n_dense or indptr.ndim != indices.ndim
            or data.shape[n_batch] != indices.shape[-1] or data.shape[n_batch + 1 :] != shape[n_batch + 2 :]
            or indptr.shape[-1] != shape[n_batch] + 1
        ):  # fmt: skip
            raise ValueError(
                f"BCSR: data of shape {data.shape}, indices of shape {indices.shape} and indptr of shape {indptr.shape} do not "
                f"make an array of shape {shape}"
            )
        batch = shape[:n_batch]
        data, indices, indptr = (jnp.broadcast_to(x, (*batch, *x.shape[n_batch:])) for x in (data, indices, indptr))
        self.data, self.indices, self.indptr = data, indices, indptr
        self._row_shape = shape[n_batch:]
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)

    @property
    def shape(self) -> tuple[int, ...]:
        """Tuple of lengths."""
        return (*self.indices.shape[: self.n_batch], *self._row_shape)

    @property
    def nse(self) -> int:
        """The number of specified elements of each array of the batch."""
        return self.indices.shape[-1]

    @property
    def n_batch(self) -> int:
        """The number of batch dimensions."""
        return self.indices.ndim - 1

    @property
    def n_sparse(self) -> int:
        """The number of sparse dimensions: 2."""
        return 2

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """The array of a BCOO one with two sparse dimensions.

        Raises:
          NotImplementedError: another number of sparse dimensions.
        """
        if arr.n_sparse != 2:
            raise NotImplementedError(f"BCSR.from_bcoo requires n_sparse=2; got arr.n_sparse={arr.n_sparse}")
        rows = arr.sparse_shape[0]
        ordered = arr if arr.indices_sorted else bcoo_sort_indices(arr)
        data, indices = full(ordered)

        def starts(indices: Array) -> Array:
            return jnp.searchsorted(indices[:, 0], jnp.arange(rows + 1, dtype=indices.dtype)).astype(indices.dtype)

        made = data, indices[..., 1], over_batch(starts, arr.n_batch)(indices)
        return cls(made, shape=arr.shape, indices_sorted=True, unique_indices=arr.unique_indices)

    @classmethod
    def fromdense(
        cls, mat: Array, *, nse: Count = None, index_dtype: DTypeLike = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """A sparse array of the nonzero elements of a dense one, see ``bcsr_fromdense``."""
        return bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """The array of one of ``scipy.sparse``.

        Raises:
          NotImplementedError: dense or batch dimensions, which SciPy's arrays don't have.
        """
        return cls.from_bcoo(BCOO.from_scipy_sparse(mat, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch))

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: DTypeLike = np.int32, n_dense: int = 0, n_batch: int = 0,
               nse: int = 0) -> BCSR:  # fmt: skip
        return cls.from_bcoo(
            BCOO._empty(shape, dtype=dtype, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch, nse=nse)
        )

    @classmethod
    def _eye(cls, rows: int, columns: int, diagonal: int, *, dtype: Any, index_dtype: DTypeLike) -> BCSR:
        return cls.from_bcoo(BCOO._eye(rows, columns, diagonal, dtype=dtype, index_dtype=index_dtype))

    def to_bcoo(self) -> BCOO:
        """The same array as ``BCOO``; elements after those of the last row are outside."""

        def rows(indptr: Array) -> Array:
            return (jnp.searchsorted(indptr, jnp.arange(self.nse), side="right") - 1).astype(indptr.dtype)

        found = over_batch(rows, self.n_batch)(self.indptr)
        indices = jnp.stack([found, self.indices.astype(found.dtype)], -1)
        flags = {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}
        return BCOO((self.data, indices), shape=self.shape, **flags)

    def todense(self) -> Array:
        """The dense array; what is stored several times is added up."""
        return self.to_bcoo().todense()

    def sum_duplicates(self, nse: Count = None, remove_zeros: bool = True) -> BCSR:
        """The same array with each index once, in order, see ``BCOO.sum_duplicates``."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse=nse, remove_zeros=remove_zeros))

    def transpose(self, axes: Any = None) -> BCSR:
        """The array with its axes in another order."""
        permutation = range(self.ndim)[::-1] if axes is None else axes
        return BCSR.from_bcoo(self.to_bcoo().transpose(permutation))


@recorded("bcsr_fromdense", 1)
def bcsr_fromdense(
    mat: ArrayLike, *, nse: Count = None, n_batch: int = 0, n_dense: int = 0, index_dtype: DTypeLike = np.int32
) -> BCSR:
    """A sparse array of rows of the nonzero elements of a dense one; arguments as of ``bcoo_fromdense``.

    Args:
      mat: array of ``n_batch + 2 + n_dense`` dimensions.
      nse: how many elements are stored, by default as many as are not zero.
      n_batch, n_dense: the numbers of batch and dense dimensions.
      index_dtype: the dtype of the indices.
    Raises:
      ValueError: another number of dimensions.
    Example: ``bcsr_fromdense(jnp.array([[0, 2], [3, 0]])).indptr`` is ``[0, 1, 2]``.
    """
    mat = jnp.asarray(mat)
    if mat.ndim != n_batch + 2 + n_dense:
        raise ValueError(
            f"bcsr_fromdense: shape {mat.shape} must have two dimensions beside {n_batch} batch and {n_dense} dense ones"
        )
    return BCSR.from_bcoo(bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype))


@recorded("bcsr_todense", 1)
def bcsr_todense(mat: BCSR) -> Array:
    """The dense array; what is stored several times is added up.

    Args:
      mat: the sparse array.
    Example: ``mat = BCSR.fromdense(jnp.array([[0, 2], [3, 0]])); bcsr_todense(mat)`` is ``[[0, 2], [3, 0]]``.
    """
    return mat.todense()


@recorded("bcsr_extract", 3)
def bcsr_extract(indices: Array, indptr: Array, mat: ArrayLike) -> Array:
    """The elements of a dense array at the indices of a sparse one.

    Args:
      indices, indptr: of a BCSR array.
      mat: dense array.
    Returns: the elements, of shape ``(*batch, nse, *dense)``.
    Example: ``mat = BCSR.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcsr_extract(mat.indices, mat.indptr, jnp.array([[5.0, 6.0], [7.0, 8.0]]))`` is ``[6, 7]``.
    """
    mat, indices, indptr = map(jnp.asarray, (mat, indices, indptr))
    n_batch = indices.ndim - 1
    empty = jnp.zeros((*indices.shape, *mat.shape[n_batch + 2 :]), mat.dtype)
    pattern = BCSR((empty, indices, indptr), shape=mat.shape, unique_indices=True)
    return bcoo_extract(pattern.to_bcoo(), mat).data


@recorded("bcsr_dot_general", 2)
def bcsr_dot_general(
    lhs: Any, rhs: Any, *, dimension_numbers: Dimensions, precision: PrecisionLike | None = None, preferred_element_type: Any = None,
    out_sharding: OptionalSharding = None,
) -> Any:  # fmt: skip
    """A contraction of a BCSR array with a dense one, see ``bcoo_dot_general``.

    Example: ``mat = BCSR.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcsr_dot_general(mat, jnp.ones(2), dimension_numbers=(((1,), (0,)), ((), ())))`` is ``[2, 3]``.
    """
    lhs, rhs = (x.to_bcoo() if isinstance(x, BCSR) else x for x in (lhs, rhs))
    return bcoo_dot_general(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """The array repeated along new axes, see ``bcoo_broadcast_in_dim``.

    Example: ``mat = BCSR.fromdense(jnp.array([[0.0, 2.0]]));
    bcsr_broadcast_in_dim(mat, shape=(2, 2), broadcast_dimensions=(0, 1)).todense()`` is ``[[0, 2], [0, 2]]``.
    """
    return BCSR.from_bcoo(
        bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding)
    )


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Arrays one after the other along an axis, see ``bcoo_concatenate``.

    Example: ``mat = BCSR.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcsr_concatenate([mat, mat], dimension=0).shape`` is ``(4, 2)``.
    """
    return BCSR.from_bcoo(bcoo_concatenate([mat.to_bcoo() for mat in operands], dimension=dimension))


def bcsr_sum_duplicates(mat: BCSR, nse: Count = None) -> BCSR:
    """The same array with each index once, see ``bcoo_sum_duplicates``.

    Example: ``mat = BCSR.fromdense(jnp.array([[0, 2], [3, 0]])); bcsr_sum_duplicates(mat).nse`` is ``2``.
    """
    return BCSR.from_bcoo(bcoo_sum_duplicates(mat.to_bcoo(), nse=nse))
