"""Functions of matrices: exponentials, roots, and others by their Schur form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import array_of
from arrax.numpy_api.operands import check_arraylike, own_promotion, promote_inexact
from arrax.scipy.linalg.decompositions import _schur, adjoint, as_matrices
from arrax.transforms.autodiff import jvp
from arrax.xla.arrays import Array, ArrayLike, Matrices

# Of the Padé approximant of order 13 of exp, and up to which norm its error is below the precision. Higham, "The scaling
# and squaring method for the matrix exponential revisited" (2005), section 2.
_PADE = tuple(math.comb(13, k) * math.factorial(26 - k) / math.factorial(26) for k in range(14))
_REACH = 5.371920351148152


def expm(A: Matrices, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponentials of matrices.

    Args:
      A: matrices ``(..., n, n)``.
      upper_triangular: promise that they are upper triangular.
      max_squarings: the most squarings; matrices of norm above ``5 2^max_squarings`` give NaN.
    Returns: array of the shape of ``A``.
    Raises:
      ValueError: matrices that are not square.
    Example: ``linalg.expm(jnp.zeros((2, 2)))`` is ``jnp.eye(2)``. Source: ``scipy.linalg.expm``; Higham (2005).
    """
    return _expm(A, upper=bool(upper_triangular), most=int(max_squarings))


@api(static=("upper", "most"))
def _expm(a: Any, upper: bool, most: int) -> Array:
    a = as_matrices("expm", a, square=True)
    if a.shape[-1] == 0:
        return a
    norm = jnp.max(jnp.sum(jnp.abs(a), -2), -1)
    needed = jnp.ceil(jnp.log2(jnp.maximum(lax.stop_gradient(norm), 1e-30) / _REACH))
    squarings = jnp.clip(needed, 0, most).astype(np.int32)
    scaled = a * jnp.exp2(-squarings.astype(norm.dtype))[..., None, None].astype(a.dtype)
    out = _repeatedly_squared(_pade(scaled, upper), squarings, most)
    return jnp.where((needed > most)[..., None, None] | jnp.isnan(norm)[..., None, None], np.nan, out)


def _pade(a: Array, upper: bool) -> Array:
    """The approximant q(a)^-1 p(a), by even and odd powers."""
    eye = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    b = _PADE
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    if upper:
        return lax.linalg.triangular_solve(even - odd, even + odd, left_side=True, lower=False)
    return jnp.linalg.solve(even - odd, even + odd)


def _repeatedly_squared(x: Array, squarings: Array, most: int) -> Array:
    """x^(2^squarings), each matrix as often as it needs; a turn that none needs costs nothing."""

    def turn(x: Array, n: Array) -> tuple[Any, None]:
        wanted = n < squarings
        squared = lax.cond(jnp.any(wanted), lambda x: jnp.where(wanted[..., None, None], x @ x, x), lambda x: x, x)
        return squared, None

    return lax.scan(turn, x, jnp.arange(most, dtype=np.int32))[0] if most else x


def expm_frechet(
    A: Matrices, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> tuple[Array, Array]:
    """The derivative of the matrix exponential at A in the direction E.

    Args:
      A, E: matrices ``(..., n, n)``.
      method: None, ``"SPS"`` or ``"blockEnlarge"``, which all give the same.
      compute_expm: give the exponential, too.
    Returns: ``(exp(A), derivative)``, or the derivative.
    Raises:
      ValueError: shapes that don't fit; another method.
    Example: ``linalg.expm_frechet(jnp.zeros((2, 2)), jnp.eye(2))[1]`` is ``jnp.eye(2)``. Source: ``scipy.linalg.expm_frechet``.
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"expm_frechet: method must be None, 'SPS' or 'blockEnlarge', got {method!r}")
    A, E = array_of(A), array_of(E)
    check_arraylike("expm_frechet", A, E)
    return _expm_frechet(A, E, both=bool(compute_expm))


@api(static=("both",))
def _expm_frechet(a: ArrayLike, e: ArrayLike, both: bool) -> tuple[Array, Array]:
    a, e = promote_inexact(a, e)
    a, e = (as_matrices("expm_frechet", x, square=True) for x in (a, e))
    if a.shape != e.shape:
        raise ValueError(f"expm_frechet: A and E must have one shape, got {a.shape} and {e.shape}")
    value, slope = jvp(lambda x: _expm(x, upper=False, most=16), (a,), (e,))
    return (value, slope) if both else slope


# ---- by the Schur form ------------------------------------------------------------------------------------------------


@own_promotion
def sqrtm(A: Matrices, blocksize: int = 1) -> Array:
    """The principal square root of a matrix.

    Args:
      A: matrix ``(n, n)``.
      blocksize: accepted; the root does not depend on it.
    Returns: complex matrix.
    Raises:
      ValueError: a matrix that is not square.
    Example: ``linalg.sqrtm(4 * jnp.eye(2)).real`` is ``2 * jnp.eye(2)``. Source: ``scipy.linalg.sqrtm``; Björck and
    Hammarling (1983).
    """
    return _sqrtm(A)


@api()
def _sqrtm(a: ArrayLike) -> Array:
    a = as_matrices("sqrtm", a, square=True)
    if a.ndim != 2:
        raise ValueError(f"sqrtm: a matrix is needed, got the shape {a.shape}")
    form, vectors = _schur(a, output="complex")
    size = form.shape[0]
    roots = jnp.sqrt(jnp.diagonal(form))
    eye = jnp.eye(size, dtype=form.dtype)

    def column(j: Array, root: Array) -> Array:
        """Column j from those before it: (R + r_j) x = t, R the leading part of the root."""
        before = jnp.arange(size) < j
        leading = jnp.where(before[:, None] & before, root, 0)
        right = jnp.where(before, form[:, j], 0)
        factor = leading + jnp.where(before, roots[j], 1)[:, None] * eye
        safe = jnp.where(jnp.diagonal(factor) == 0, 1, 0)[:, None] * eye
        x = lax.linalg.triangular_solve(factor + safe, right[:, None], left_side=True, lower=False)[:, 0]
        return root.at[:, j].add(jnp.where(before, x, 0))

    root = lax.fori_loop(1, size, column, roots[:, None] * eye) if size else form
    return vectors @ root @ adjoint(vectors)


@own_promotion
def funm(A: Matrices, func: Callable[[Any], Any], disp: bool = True) -> Array | tuple[Array, Array]:
    """A function of a matrix, given by the function of its eigenvalues, which must differ.

    Args:
      A: matrix ``(n, n)``.
      func: function of arrays of complex numbers, elementwise.
      disp: False to give an estimate of the error, too.
    Returns: complex matrix, or ``(it, error)``.
    Raises:
      ValueError: a matrix that is not square.
    Example: ``linalg.funm(jnp.diag(jnp.array([1., 4.])), jnp.sqrt).real``. Source: ``scipy.linalg.funm``; Parlett (1976).
    """
    a = as_matrices("funm", array_of(A), square=True)
    if a.ndim != 2:
        raise ValueError(f"funm: a matrix is needed, got the shape {a.shape}")
    form, vectors = _schur(a, output="complex")
    values = func(jnp.diagonal(form))
    out, smallest = _parlett(form, values.astype(form.dtype))
    out = vectors @ out @ adjoint(vectors)
    if disp:
        return out
    eps = float(dtypes.finfo(a.dtype).eps)
    scale = jnp.max(jnp.sum(jnp.abs(jnp.triu(form, 1)), 0))
    tolerance = (1e3 if eps > 1e-10 else 1e6) * eps
    error = jnp.minimum(1, jnp.maximum(tolerance, tolerance / jnp.where(smallest == 0, eps, smallest) * scale))
    return out, jnp.where(jnp.all(jnp.isfinite(out)), error, np.inf)


@api()
def _parlett(form: Array, values: Array) -> tuple[Any, Any]:
    """The function of a triangular matrix, one diagonal after the other, and the least distance of two eigenvalues."""
    size = form.shape[0]
    index = jnp.arange(size)
    offset = index[None, :] - index[:, None]
    diagonal = jnp.diagonal(form)
    apart = diagonal[None, :] - diagonal[:, None]
    differences = values[None, :] - values[:, None]
    safe = jnp.where(apart == 0, 1, apart)
    strict = jnp.where(offset > 0, form, 0)

    def turn(p: Array, above: Array) -> Array:
        total = strict * differences + strict @ above - above @ strict
        return jnp.where(offset == p, jnp.where(apart == 0, total, total / safe), above)

    above = lax.fori_loop(1, size, turn, jnp.zeros_like(form))
    smallest = jnp.min(jnp.where(offset > 0, jnp.abs(apart), np.inf)) if size > 1 else jnp.abs(form[0, 0])
    return above + values[:, None] * jnp.eye(size, dtype=form.dtype), smallest
