"""``BCOO``: batches of coordinates and values.

Its dimensions are, in this order, those of the batch, which data and indices have both, the sparse ones, each a column of the
indices, and the dense ones, which only the data have. Indices that lie outside of the array stand for nothing: they fill up
what has fewer elements than ``nse``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import arrax.numpy as jnp
from arrax import dtypes
from arrax.core import errors
from arrax.core.interpreter import Tracer
from arrax.core.pytree_nodes import register_pytree_node_class
from arrax.core.tracebacks import bound_methods
from arrax.dtypes import DTypeLike
from arrax.experimental.sparse.base import Batches, Count, index_type
from arrax.experimental.sparse.recorded import recorded
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array, ArrayLike


@bound_methods
@register_pytree_node_class
class BCOO(Batches):
    """A sparse array of coordinates and values, with batch and dense dimensions.

    Args:
      args: ``(data, indices)`` of shapes ``(*batch, nse, *dense)`` and ``(*batch, nse, number of sparse dimensions)``;
        lengths of 1 in the batch stand for any.
      shape: the lengths of batch, sparse and dense dimensions.
      indices_sorted: whether indices are known to be in order.
      unique_indices: whether indices are known to be different from each other.
    Raises:
      ValueError: shapes that do not fit each other.
    Example: ``BCOO((jnp.ones(2), jnp.array([[0, 1], [2, 0]])), shape=(3, 3))``.
    """

    _parts = ("data", "indices")

    def __init__(
        self, args: tuple[Any, Any], *, shape: Sequence[int], indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        data, indices = map(jnp.asarray, args)
        shape = tuple(map(operator.index, shape))
        if indices.ndim < 2:
            raise ValueError(f"BCOO: indices must have the shape (*batch, nse, n_sparse), got {indices.shape}")
        if dtypes.is_inexact(indices.dtype):
            raise TypeError(f"BCOO: indices must be integers, got dtype {indices.dtype}")
        n_batch, (nse, n_sparse) = indices.ndim - 2, indices.shape[-2:]
        n_dense = data.ndim - 1 - n_batch
        if n_dense < 0 or data.shape[n_batch] != nse:
            raise ValueError(f"Invalid data.shape={data.shape} for nse={nse}, n_batch={n_batch}, n_dense={n_dense}")
        if n_batch + n_sparse + n_dense != len(shape) or data.shape[n_batch + 1 :] != shape[n_batch + n_sparse :]:
            raise ValueError(
                f"BCOO: data of shape {data.shape} and indices of shape {indices.shape} do not make an array of shape {shape}"
            )
        batch = shape[:n_batch]
        for name, found in (("data", data.shape[:n_batch]), ("indices", indices.shape[:n_batch])):
            if any(n not in (1, wanted) for n, wanted in zip(found, batch, strict=True)):
                raise ValueError(f"BCOO: the batch {found} of the {name} does not fit the shape {shape}")
        if np.broadcast_shapes(data.shape[:n_batch], indices.shape[:n_batch]) != batch:
            data = jnp.broadcast_to(data, (*batch, *data.shape[n_batch:]))
        self.data, self.indices = data, indices
        self._row_shape = shape[n_batch:]
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)

    @property
    def shape(self) -> tuple[int, ...]:
        """Tuple of lengths."""
        n_batch = self.n_batch
        return (*np.broadcast_shapes(self.data.shape[:n_batch], self.indices.shape[:n_batch]), *self._row_shape)

    @property
    def nse(self) -> int:
        """The number of specified elements of each array of the batch."""
        return self.indices.shape[-2]

    @property
    def n_batch(self) -> int:
        """The number of batch dimensions."""
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """The number of sparse dimensions."""
        return self.indices.shape[-1]

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        """The lengths of the sparse dimensions."""
        return self._row_shape[: self.n_sparse]

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: Count = None, n_batch: int = 0, n_dense: int = 0, index_dtype: DTypeLike = np.int32
    ) -> BCOO:
        """A sparse array of the nonzero elements of a dense one, see ``bcoo_fromdense``."""
        return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """The array of one of ``scipy.sparse``.

        Raises:
          NotImplementedError: dense or batch dimensions, which SciPy's arrays don't have.
        """
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse with nonzero n_dense/n_batch")
        found = mat.tocoo()
        indices = jnp.column_stack([found.row, found.col]).astype(index_dtype or np.int32)
        return cls((jnp.asarray(found.data), indices), shape=found.shape)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: DTypeLike = np.int32, n_dense: int = 0, n_batch: int = 0,
               nse: int = 0) -> BCOO:  # fmt: skip
        n_sparse = len(shape) - n_dense - n_batch
        if n_sparse < 0 or n_dense < 0 or n_batch < 0 or nse < 0:
            raise ValueError(f"BCOO: invalid shape={tuple(shape)}, n_dense={n_dense}, n_batch={n_batch}, nse={nse}")
        batch, sparse, dense = shape[:n_batch], shape[n_batch : n_batch + n_sparse], shape[n_batch + n_sparse :]
        data = jnp.zeros((*batch, nse, *dense), dtype)
        indices = jnp.broadcast_to(jnp.array(sparse, index_type("empty", index_dtype)), (*batch, nse, n_sparse))
        return cls((data, indices), shape=shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def _eye(cls, rows: int, columns: int, diagonal: int, *, dtype: Any, index_dtype: Any) -> BCOO:
        first = max(0, -diagonal)
        own = np.arange(first, max(first, min(rows, columns - diagonal)))
        indices = jnp.asarray(np.stack([own, own + diagonal], -1).astype(index_type("eye", index_dtype)))
        return cls(
            (jnp.ones(len(own), dtype), indices), shape=(rows, columns), indices_sorted=True, unique_indices=True
        )

    def todense(self) -> Array:
        """The dense array; what is stored several times is added up."""
        return bcoo_todense(self)

    def astype(self, *args: Any, **kwargs: Any) -> BCOO:
        """The array with another dtype, as ``Array.astype``."""
        return self._with(self.data.astype(*args, **kwargs))

    def _with(self, data: Array) -> BCOO:
        """Other values at the same indices."""
        return BCOO.tree_unflatten(self.tree_flatten()[1], (data, self.indices))

    def sort_indices(self) -> BCOO:
        """The same array with indices in order."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: Count = None, remove_zeros: bool = True) -> BCOO:
        """The same array with each index once, in order.

        Args:
          nse: how many elements the result stores; by default as many as there are, which must be known.
          remove_zeros: leave out stored zeros.
        """
        return bcoo_sum_duplicates(self._without_zeros() if remove_zeros else self, nse=nse)

    def _without_zeros(self) -> BCOO:
        """Indices of stored zeros moved outside."""
        dense = tuple(range(self.n_batch + 1, self.data.ndim))
        there = jnp.any(self.data != 0, axis=dense)[..., None]
        outside = jnp.array(self.sparse_shape, self.indices.dtype)
        return BCOO((self.data, jnp.where(there, self.indices, outside)), shape=self.shape)


def full(mat: BCOO) -> tuple[Array, Array]:
    """Data and indices with all of the batch, where one has lengths of 1 for it."""
    n_batch, batch = mat.n_batch, mat.shape[: mat.n_batch]
    return tuple(jnp.broadcast_to(x, (*batch, *x.shape[n_batch:])) for x in (mat.data, mat.indices))  # type: ignore[return-value]


def over_batch(function: Callable[..., Any], n_batch: int) -> Callable[..., Any]:
    """A function of one array's data and indices as one of a batch's."""
    for _ in range(n_batch):
        function = vmap(function)
    return function


def columns(indices: Array) -> tuple[Array, ...]:
    """The coordinates, one vector for each sparse dimension."""
    return tuple(indices[..., n] for n in range(indices.shape[-1]))


def inside(indices: Array, sparse_shape: Sequence[int]) -> Array:
    """Which indices lie within the array."""
    there = jnp.ones(indices.shape[:-1], bool)
    for column, length in zip(columns(indices), sparse_shape, strict=True):
        there &= (column >= 0) & (column < length)
    return there


def where_inside(there: Array, data: Array, indices: Array, sparse_shape: Sequence[int]) -> tuple[Array, Array]:
    """Data and indices, those that are not there moved outside, their data zero."""
    outside = jnp.array(sparse_shape, indices.dtype)
    aligned = there.reshape(there.shape + (1,) * (data.ndim - there.ndim))
    return jnp.where(aligned, data, jnp.zeros((), data.dtype)), jnp.where(there[..., None], indices, outside)


def known_count(name: str, count: Any, given: Count) -> int:
    """How many elements a result stores.

    Raises:
      ValueError: a negative number.
      ConcretizationTypeError: none given where it depends on traced values.
    """
    if given is not None:
        if operator.index(given) < 0:
            raise ValueError(f"{name}: nse must not be negative, got {given}")
        return operator.index(given)
    if isinstance(count, Tracer):
        text = f"{name}: nse must be given where the elements are traced, as within jit and vmap: it depends on their values."
        raise errors.ConcretizationTypeError(count, text)
    return int(count)


# ---- from dense arrays and back -------------------------------------------------------------------------------------------


@recorded("bcoo_todense", 1)
def bcoo_todense(mat: BCOO) -> Array:
    """The dense array; what is stored several times is added up.

    Args:
      mat: the sparse array.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]])); bcoo_todense(mat)`` is ``[[0, 2], [3, 0]]``.
    """
    tail = mat._row_shape

    def one(data: Array, indices: Array) -> Array:
        if not indices.shape[-1]:
            return data.any(0) if data.dtype == np.bool_ else data.sum(0).astype(data.dtype)
        at = jnp.zeros(tail, data.dtype).at[columns(indices)]
        return (at.max if data.dtype == np.bool_ else at.add)(data, mode="drop", wrap_negative_indices=False)

    return over_batch(one, mat.n_batch)(*full(mat))


def _entries(arr: Array, indices: Array) -> Array:
    """The elements of a dense array at indices, zero outside."""
    if not indices.shape[-1]:
        return jnp.broadcast_to(arr, (indices.shape[0], *arr.shape))
    return arr.at[columns(indices)].get(mode="fill", fill_value=0, wrap_negative_indices=False)


@recorded("bcoo_fromdense", 1)
def bcoo_fromdense(
    mat: Any, *, nse: Count = None, n_batch: int = 0, n_dense: int = 0, index_dtype: DTypeLike = np.int32
) -> BCOO:
    """A sparse array of the nonzero elements of a dense one.

    Args:
      mat: array.
      nse: how many elements are stored, by default as many as are not zero, which must be known; with fewer, the last ones
        are dropped.
      n_batch, n_dense: the numbers of batch dimensions, the first ones, and dense dimensions, the last ones.
      index_dtype: the dtype of the indices.
    Raises:
      ValueError: numbers of dimensions that the array does not have.
    Example: ``bcoo_fromdense(jnp.eye(3)).nse`` is ``3``.
    """
    mat, index_dtype = jnp.asarray(mat), index_type("bcoo_fromdense", index_dtype)
    n_sparse = mat.ndim - n_batch - n_dense
    if n_batch < 0 or n_dense < 0 or n_sparse < 0:
        raise ValueError(f"bcoo_fromdense: shape {mat.shape} has no {n_batch} batch and {n_dense} dense dimensions")
    mask = mat != 0
    if n_dense:
        mask = mask.any(tuple(range(mat.ndim - n_dense, mat.ndim)))
    counts = mask.sum(tuple(range(n_batch, n_batch + n_sparse)))
    stored = known_count("bcoo_fromdense", nse if nse is not None else counts.max() if counts.size else 0, nse)
    sparse_shape = mat.shape[n_batch : n_batch + n_sparse]

    def one(row: Array, there: Array) -> tuple[Array, Array]:
        if not n_sparse:
            return jnp.where(jnp.arange(stored) == 0, 1, 0).astype(row.dtype).reshape(
                -1, *[1] * row.ndim
            ) * row, jnp.zeros((stored, 0), index_dtype)
        found = jnp.nonzero(there, size=stored, fill_value=sparse_shape)
        indices = jnp.stack(found, -1).astype(index_dtype)
        return _entries(row, indices), indices

    made = over_batch(one, n_batch)(mat, mask)
    return BCOO(made, shape=mat.shape, indices_sorted=True, unique_indices=n_sparse > 0 or stored <= 1)


@recorded("bcoo_extract", 2)
def bcoo_extract(sparr: BCOO, arr: Array, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array at the indices of a sparse one.

    Args:
      sparr: the sparse array whose indices count.
      arr: a dense array of the same shape.
      assume_unique: whether repeated indices each get the element, or only the first one; by default what ``sparr`` says.
    Raises:
      ValueError: another shape.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_extract(mat, jnp.array([[5.0, 6.0], [7.0, 8.0]])).todense()`` is ``[[0, 6], [7, 0]]``.
    """
    arr = jnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(
            f"bcoo_extract: shape mismatch between the sparse array, {sparr.shape}, and the dense one, {arr.shape}"
        )
    unique = sparr.unique_indices if assume_unique is None else bool(assume_unique)

    def one(row: Array, indices: Array) -> Array:
        found = _entries(row, indices)
        return found if unique else where_inside(_is_first(indices), found, indices, sparr.sparse_shape)[0]

    return sparr._with(over_batch(one, sparr.n_batch)(arr, full(sparr)[1]))


# ---- order ----------------------------------------------------------------------------------------------------------------


def _order(indices: Array) -> Array:
    """The stable order of rows of indices."""
    keys = columns(indices)
    return jnp.lexsort(keys[::-1]) if keys else jnp.arange(indices.shape[0])


def _is_new(ordered: Array) -> Array:
    """For rows in order, which differ from the one before."""
    if not ordered.shape[0]:
        return jnp.zeros(0, np.bool_)
    return jnp.concatenate([jnp.ones(1, np.bool_), jnp.any(ordered[1:] != ordered[:-1], axis=-1)])


def _is_first(indices: Array) -> Array:
    """Which rows of indices are not there before."""
    order = _order(indices)
    return jnp.zeros(indices.shape[0], np.bool_).at[order].set(_is_new(indices[order]))


@recorded("bcoo_sort_indices", 1)
def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array with indices in order.

    Args:
      mat: the sparse array.
    Example: ``mat = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]));
    bcoo_sort_indices(mat).indices`` is ``[[0, 1], [1, 0]]``.
    """

    def one(data: Array, indices: Array) -> tuple[Array, Array]:
        order = _order(indices)
        return data[order], indices[order]

    made = over_batch(one, mat.n_batch)(*full(mat))
    return BCOO(made, shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


@recorded("bcoo_sum_duplicates", 1)
def bcoo_sum_duplicates(mat: BCOO, nse: Count = None) -> BCOO:
    """The same array with each index once, in order.

    Args:
      mat: the sparse array.
      nse: how many elements the result stores; by default as many as there are, which must be known.
    Raises:
      ConcretizationTypeError: no ``nse`` where the indices are traced.
    Example: ``mat = BCOO((jnp.array([1.0, 2.0]), jnp.array([[0], [0]])), shape=(3,));
    bcoo_sum_duplicates(mat).data`` is ``[3]``.
    """
    sparse_shape, wide = mat.sparse_shape, mat.indices.ndim - 2
    there = inside(mat.indices, sparse_shape)
    indices = jnp.where(there[..., None], mat.indices, jnp.array(sparse_shape, mat.indices.dtype))
    firsts = over_batch(_is_first, wide)(indices) & there
    count = firsts.sum(-1).max() if firsts.size else 0
    stored = known_count("bcoo_sum_duplicates", count, nse)

    def one(data: Array, indices: Array) -> tuple[Array, Array]:
        order = _order(indices)
        ordered = indices[order]
        to = jnp.cumsum(_is_new(ordered)) - 1
        outside = jnp.broadcast_to(jnp.array(sparse_shape, ordered.dtype), (stored, len(sparse_shape)))
        to = jnp.where(inside(ordered, sparse_shape), to, stored)
        summed = jnp.zeros((stored, *data.shape[1:]), data.dtype).at[to]
        add = summed.max if data.dtype == np.bool_ else summed.add
        return add(data[order], mode="drop"), outside.at[to].set(ordered, mode="drop")

    data, indices = full(BCOO((mat.data, indices), shape=mat.shape))
    made = over_batch(one, mat.n_batch)(data, indices)
    return BCOO(made, shape=mat.shape, indices_sorted=True, unique_indices=True)
