"""The multivariate normal distribution."""

from __future__ import annotations

import math

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.tracebacks import boundary
from arrax.core.types import typeof
from arrax.lax.conversion import convert
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, firm_inexact
from arrax.numpy_api.right_sides import RightSides
from arrax.xla.arrays import Array, ArrayLike


@boundary
def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: bool | None = None) -> Array:
    """The logarithm of the density.

    Args:
      x: points, an array of shape ``(..., d)``.
      mean: array of shape ``(..., d)`` or number.
      cov: covariance, an array of shape ``(..., d, d)``; a number, or a vector of shape (1,), is a multiple of the identity.
      allow_singular: whether covariances may be singular. The density is then that on the space which they span, and 0
        outside of it; eigenvalues count as 0 below 1e-10 of the greatest one (1e-4 in float32).
    Returns: array of the shape of the leading axes, broadcast.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``stats.multivariate_normal.logpdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2))`` is -log(2 pi).
    Source: ``scipy.stats.multivariate_normal.logpdf``.
    """
    check_arraylike("multivariate_normal.logpdf", x, mean, cov)
    return _logpdf(x, mean, cov, singular=bool(allow_singular))


@api(static=("singular",))
def _logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, singular: bool) -> Array:
    x, mean, cov = firm_inexact(x, mean, cov)
    dtype, weak = typeof(x).dtype, typeof(x).weak_type
    return convert(_in_floats(jnp.asarray(x), jnp.asarray(mean), jnp.asarray(cov), singular), dtype, weak)


def _in_floats(x: Array, mean: Array, cov: Array, singular: bool) -> Array:
    """The logarithm of the density of operands of one floating dtype, in 32 bits at least."""
    if x.dtype.itemsize < 4:
        x, mean, cov = (v.astype(np.float32) for v in (x, mean, cov))
    if mean.ndim == 0:
        return _independent(x, mean, cov)
    size = mean.shape[-1]
    if cov.ndim == 0 or cov.shape == (1,):
        if size > 1:
            cov = cov.reshape(()) * jnp.eye(size, dtype=cov.dtype)
        else:
            cov = cov.reshape(1, 1)
    if cov.ndim < 2 or cov.shape[-2:] != (size, size):
        raise ValueError(
            f"multivariate_normal.logpdf: cov must have the shape (..., {size}, {size}) for a mean of shape {mean.shape}, "
            f"got {cov.shape}"
        )
    if singular:
        return _of_a_span(x - mean, cov)
    y = x - mean
    factor = lax.linalg.cholesky(cov)
    sides = RightSides(cov.shape[:-2], y, vectors=True)
    columns = lax.linalg.triangular_solve(sides.matrices(factor), sides.columns(), left_side=True, lower=True)
    scaled = sides.solutions(columns)
    determinant = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), -1)
    return -0.5 * jnp.sum(scaled * scaled, -1) - 0.5 * size * math.log(2 * math.pi) - determinant


def _of_a_span(y: Array, cov: Array) -> Array:
    """The logarithm of the density on the span of a covariance that may be singular."""
    values, vectors = jnp.linalg.eigh(cov)
    least = (1e-4 if y.dtype == np.float32 else 1e-10) * jnp.max(jnp.abs(values), -1, keepdims=True)
    spanned = values > least
    parts = jnp.einsum("...i,...ij->...j", y, vectors)
    safe = jnp.where(spanned, values, 1)
    terms = jnp.where(spanned, parts * parts / safe + jnp.log(2 * math.pi * safe), 0)
    beside = jnp.sqrt(jnp.sum(jnp.where(spanned, 0, parts * parts), -1))
    return jnp.where(beside > least[..., 0], -np.inf, -0.5 * jnp.sum(terms, -1))


def _independent(x: Array, mean: Array, cov: Array) -> Array:
    """For a mean that is a number: each element of x is a point."""
    if cov.size != 1:
        raise ValueError(
            f"multivariate_normal.logpdf: cov must be a number for a mean that is one, got the shape {cov.shape}"
        )
    variance = cov.reshape(())
    return -0.5 * jnp.square(x - mean) / variance - 0.5 * (math.log(2 * math.pi) + jnp.log(variance))


@boundary
def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """The density. Args: as of ``logpdf``.

    Example: ``stats.multivariate_normal.pdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2))`` is 1 / (2 pi).
    Source: ``scipy.stats.multivariate_normal.pdf``.
    """
    return jnp.exp(logpdf(x, mean, cov))
