"""Sparse arrays from nothing: empty, identity, random."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import arrax.numpy as jnp
from arrax import dtypes
from arrax.dtypes import DTypeLike
from arrax.experimental.sparse.base import Count, JAXSparse, index_type
from arrax.experimental.sparse.compressed import BCSR
from arrax.experimental.sparse.coordinates import BCOO, over_batch
from arrax.experimental.sparse.layouts import bcoo_update_layout
from arrax.experimental.sparse.matrices import COO, CSC, CSR
from arrax.random.keys import split
from arrax.random.permutations import choice
from arrax.random.uniforms import uniform
from arrax.xla.arrays import Array

_FORMATS = {"bcoo": BCOO, "bcsr": BCSR, "coo": COO, "csr": CSR, "csc": CSC}


def _format(name: str, sparse_format: str) -> type[Any]:
    if sparse_format not in _FORMATS:
        raise ValueError(f"{name}: sparse_format={sparse_format!r} not recognized; must be one of {sorted(_FORMATS)}")
    return _FORMATS[sparse_format]


def empty(
    shape: Sequence[int], dtype: Any = None, index_dtype: DTypeLike = "int32", sparse_format: str = "bcoo", **kwds: Any
) -> JAXSparse:
    """A sparse array without stored elements.

    Args:
      shape: the lengths.
      dtype, index_dtype: dtypes of elements and indices.
      sparse_format: ``"bcoo"``, ``"bcsr"``, ``"coo"``, ``"csr"`` or ``"csc"``.
      kwds: for ``"bcoo"`` and ``"bcsr"``: ``n_batch``, ``n_dense``, ``nse``.
    Raises:
      ValueError: another format.
    Example: ``empty((3, 4)).nse`` is ``0``.
    """
    return _format("empty", sparse_format)._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(
    N: int, M: Count = None, k: int = 0, dtype: Any = None, index_dtype: DTypeLike = "int32", sparse_format: str = "bcoo",
    **kwds: Any,
) -> JAXSparse:  # fmt: skip
    """A sparse matrix with ones on a diagonal.

    Args:
      N, M: rows and columns; by default as many columns as rows.
      k: the diagonal, positive above the main one.
      dtype, index_dtype: dtypes of elements and indices.
      sparse_format: as of ``empty``.
      kwds: for ``"bcoo"``: ``n_batch``, ``n_dense``.
    Raises:
      ValueError: another format.
    Example: ``eye(3).todense()`` is ``jnp.eye(3)``.
    """
    columns = N if M is None else M
    counts = operator.index(N), operator.index(columns), operator.index(k)
    made = _format("eye", sparse_format)._eye(*counts, dtype=dtype, index_dtype=index_dtype)
    return bcoo_update_layout(made, **kwds, on_inefficient=None) if kwds else made


def random_bcoo(
    key: Array, shape: Sequence[int], *, dtype: DTypeLike = float, indices_dtype: Any = None, nse: int | float = 0.2, n_batch: int = 0,
    n_dense: int = 0, unique_indices: bool = True, sorted_indices: bool = False,
    generator: Callable[..., Array] = uniform, **kwds: Any,
) -> BCOO:  # fmt: skip
    """A random sparse array.

    Args:
      key: random key.
      shape: the lengths.
      dtype, indices_dtype: dtypes of elements and indices.
      nse: how many elements each array of the batch stores; below 1 their share of all.
      n_batch, n_dense: the numbers of batch and dense dimensions.
      unique_indices: whether indices are different from each other.
      sorted_indices: whether they are in order.
      generator: ``generator(key, shape=, dtype=, **kwds)`` draws the elements.
    Raises:
      ValueError: numbers of dimensions that the shape does not have, or more elements than there are.
    Example: ``random_bcoo(random.key(0), (10, 10), nse=5).nse`` is ``5``.
    """
    sizes = tuple(map(operator.index, shape))
    n_sparse = len(sizes) - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(f"random_bcoo: shape {sizes} has no {n_batch} batch and {n_dense} dense dimensions")
    batch, sparse, dense = sizes[:n_batch], sizes[n_batch : n_batch + n_sparse], sizes[n_batch + n_sparse :]
    total = math.prod(sparse)
    count = math.ceil(nse * total) if 0 <= nse < 1 else operator.index(nse)  # type: ignore[arg-type]
    if count < 0 or (unique_indices and count > total):
        raise ValueError(f"random_bcoo: got nse={nse}, expected to be between 0 and {total}")
    data_key, index_key = split(key)
    index_dtype = index_type("random_bcoo", indices_dtype)

    def indices_of(key: Array) -> Array:
        if not sparse:
            return jnp.zeros((count, 0), index_dtype)
        flat = choice(key, total, (count,), replace=not unique_indices) if total else jnp.zeros(count, index_dtype)
        flat = jnp.sort(flat) if sorted_indices else flat
        return jnp.stack(jnp.unravel_index(flat, sparse), -1).astype(index_dtype)

    number: Any = batch
    keys = split(index_key, number) if batch else index_key
    indices = over_batch(indices_of, n_batch)(keys)
    data = generator(data_key, shape=(*batch, count, *dense), dtype=dtypes.canonicalize_dtype(dtype), **kwds)
    return BCOO((data, indices), shape=sizes, indices_sorted=sorted_indices, unique_indices=unique_indices)
