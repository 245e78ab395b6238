"""Random vectors and matrices: ``multivariate_normal`` and ``orthogonal``."""

from __future__ import annotations

import numpy as np

from arrax import dtypes
from arrax.core.types import typeof
from arrax.dtypes import OptionalDType
from arrax.lax import filled_arrays, shapes
from arrax.lax.arithmetic import abs_
from arrax.lax.conversion import convert
from arrax.lax.exponential import sqrt
from arrax.lax.linalg.cholesky_factors import cholesky
from arrax.lax.linalg.matrices import adjoint, diagonal
from arrax.lax.linalg.qr_factors import qr
from arrax.lax.linalg.singular_values import svd
from arrax.lax.linalg.symmetric_eigenvalues import eigh
from arrax.lax.reductions import reduce_sum
from arrax.numpy_api.operands import broadcast_to
from arrax.random.parameters import checked_shape, common_shape, float_dtype, static_length, type_of
from arrax.random.samplers import Bits, sampler
from arrax.random.uniforms import complex_normal_values, normal_values
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike

METHODS = ("cholesky", "eigh", "svd")


def _columns(vector: Array, like: Array) -> Array:
    """A vector repeated over the rows of matrices: entry j scales column j."""
    shape = typeof(like).shape
    rank = len(shape)
    return shapes.broadcast_in_dim(vector, shape, (*range(rank - 2), rank - 1))


def _factored(dtype: np.dtype) -> np.dtype:
    """The dtype of factorizations: there are none of floats of fewer than 32 bits."""
    return np.dtype(np.float32) if dtype.itemsize < 4 else dtype


def _root(covariance: Array, method: str) -> Array:
    """Matrices whose products with their transposes are the covariances."""
    if method == "cholesky":
        return cholesky(covariance)
    if method == "eigh":
        vectors, values = eigh(covariance)
    else:
        vectors, values, _ = svd(covariance, full_matrices=False)
    return vectors * _columns(sqrt(values), vectors)


@sampler(static=("shape", "dtype", "method"))
def _multivariate_normal(
    bits: Bits, mean: ArrayLike, cov: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype, method: str
) -> Array:
    work = _factored(dtype)
    mean, root = convert(mean, work), _root(convert(cov, work), method)
    drawn = convert(normal_values(bits, shape, dtype), work)
    rank, n = len(shape), shape[-1]
    full = (*shape, n)
    broadcasted = shapes.broadcast_in_dim(drawn, full, (*range(rank - 1), rank))
    return convert(broadcast_to(mean, shape) + reduce_sum(broadcast_to(root, full) * broadcasted, (rank,)), dtype)


def multivariate_normal(
    key: Array,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape | None = None,
    dtype: OptionalDType = None,
    method: str = "cholesky",
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Normal vectors with a given mean and covariance.

    Args:
      key: a key.
      mean: array of shape ``(..., n)``.
      cov: positive definite matrices, shape ``(..., n, n)``; semidefinite ones need ``eigh`` or ``svd``.
      shape: the result's shape without the axis of the vectors, by default that of the parameters together.
      dtype: floating dtype, by default that of the parameters together.
      method: how the covariance is factored: ``"cholesky"`` (fast), ``"eigh"`` or ``"svd"`` (robust).
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ValueError: shapes that do not fit, another dtype or method.
    Example: ``arrax.random.multivariate_normal(arrax.random.key(0), jnp.zeros(2), jnp.eye(2), (3,))`` has the shape (3, 2).
    """
    own = type_of("multivariate_normal", "mean", mean).shape
    matrices = type_of("multivariate_normal", "cov", cov).shape
    if dtype is None:  # that of the parameters
        common, _ = dtypes.result_type_of([dtypes.value_pair(mean), dtypes.value_pair(cov)])
        dtype = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(common))
    chosen = float_dtype("multivariate_normal", dtype)
    if method not in METHODS:
        raise ValueError(f"multivariate_normal: method must be one of {', '.join(METHODS)}, got {method!r}")
    if not own:
        raise ValueError("multivariate_normal: mean must be a vector or several, got a scalar")
    n = own[-1]
    if matrices[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal: for a mean of {n} entries, cov must have the shape (..., {n}, {n}), got {matrices}"
        )
    batch = common_shape("multivariate_normal", own[:-1], matrices[:-2])
    lead = batch if shape is None else checked_shape("multivariate_normal", shape)
    if common_shape("multivariate_normal", lead, batch) != lead:
        raise ValueError(f"multivariate_normal: parameters of batch shape {batch} do not broadcast to shape {lead}")
    return _multivariate_normal(key, out_sharding, mean, cov, shape=(*lead, n), dtype=chosen, method=method)


@sampler(static=("rows", "columns", "shape", "dtype"))
def _orthogonal(bits: Bits, *, rows: int, columns: int, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    lengths = (*shape, max(rows, columns), min(rows, columns))
    values = complex_normal_values if dtypes.is_complex(dtype) else normal_values
    q, r = qr(convert(values(bits, lengths, dtype), _factored(dtype)), full_matrices=False)
    d = diagonal(r)
    q = convert(q * _columns(d / convert(abs_(d), typeof(d).dtype), q), dtype)
    return adjoint(q) if rows < columns else q


def orthogonal(
    key: Array,
    n: int,
    shape: Shape = (),
    dtype: OptionalDType = None,
    m: int | None = None,
    *,
    out_sharding: OptionalSharding = None,
) -> Array:
    """Matrices drawn uniformly from the orthogonal (or unitary) group.

    Args:
      key: a key.
      n: number of rows.
      shape: the result's shape without the axes of the matrices.
      dtype: floating or complex dtype.
      m: number of columns, by default ``n``; the lesser of both many rows or columns are orthonormal.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      TypeError: numbers that are not integers.
      ValueError: another dtype.
    Example: ``arrax.random.orthogonal(arrax.random.key(0), 3)``. Source: F. Mezzadri, "How to generate random matrices from
    the classical compact groups", 2007.
    """
    chosen = float_dtype("orthogonal", dtype, also_complex=True)
    rows = static_length("orthogonal", "n", n)
    columns = rows if m is None else static_length("orthogonal", "m", m)
    lengths = checked_shape("orthogonal", shape)
    if rows == 0 or columns == 0:
        return filled_arrays.full((*lengths, rows, columns), np.zeros((), chosen)[()])
    return _orthogonal(key, out_sharding, rows=rows, columns=columns, shape=lengths, dtype=chosen)
