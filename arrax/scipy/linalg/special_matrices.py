"""Matrices of special form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arrax import dtypes
from arrax import numpy as jnp
from arrax.core.calls import as_index
from arrax.dtypes import OptionalDType
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, promote_dtypes
from arrax.xla.arrays import Array, ArrayLike, Matrices, OptionalArray


def _length(name: str, n: int, smallest: int = 0) -> int:
    count = as_index(n)
    if count < smallest:
        raise ValueError(f"{name}: n must be at least {smallest}, got {count}")
    return count


def _floating(table: np.ndarray, dtype: OptionalDType = None) -> Array:
    """A NumPy table as an array of the default floating dtype."""
    return jnp.asarray(np.asarray(table).astype(dtypes.canonicalize_dtype(np.float64 if dtype is None else dtype)))


def block_diag(*arrs: ArrayLike) -> Array:
    """The matrix with the given ones along its diagonal and zeros elsewhere.

    Args:
      arrs: matrices; vectors count as rows.
    Returns: matrix of their common dtype.
    Raises:
      ValueError: arrays of more than two axes.
    Example: ``linalg.block_diag(jnp.eye(1), jnp.ones((1, 2)))``. Source: ``scipy.linalg.block_diag``.
    """
    check_arraylike("block_diag", *arrs)
    return _block_diag(*(arrs or (jnp.zeros((1, 0)),)))


@api()
def _block_diag(*arrs: Any) -> Any:
    blocks = [jnp.atleast_2d(x) for x in promote_dtypes(*arrs)]
    for index, block in enumerate(blocks):
        if block.ndim > 2:
            raise ValueError(
                f"block_diag: arrays must have at most two axes, got the shape {block.shape} at position {index}"
            )
    width = sum(block.shape[1] for block in blocks)
    rows, start = [], 0
    for block in blocks:
        rows.append(jnp.pad(block, ((0, 0), (start, width - start - block.shape[1]))))
        start += block.shape[1]
    return jnp.concatenate(rows, 0, dtype=blocks[0].dtype)


# ---- by diagonals -------------------------------------------------------------------------------------------------------


def toeplitz(c: ArrayLike, r: OptionalArray = None) -> Array:
    """The matrix of constant diagonals with a given first column and row.

    Args:
      c: the first column, array of shape ``(..., m)``.
      r: the first row, array of shape ``(..., n)``, whose first element is not looked at; by default the conjugate of ``c``.
    Returns: array of shape ``(..., m, n)``.
    Example: ``linalg.toeplitz(jnp.array([1, 2]))`` is ``jnp.array([[1, 2], [2, 1]])``. Source: ``scipy.linalg.toeplitz``.
    """
    check_arraylike("toeplitz", c, *(() if r is None else (r,)))
    return _toeplitz(c, jnp.conj(c) if r is None else r)


@api()
def _toeplitz(c: ArrayLike, r: ArrayLike) -> Array:
    c, r = (jnp.atleast_1d(x) for x in promote_dtypes(c, r))
    batch = jnp.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = jnp.broadcast_to(c, (*batch, c.shape[-1])), jnp.broadcast_to(r, (*batch, r.shape[-1]))
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        return jnp.zeros((*batch, m, n), c.dtype)
    line = jnp.concatenate([jnp.flip(c, -1), r[..., 1:]], -1, dtype=c.dtype)
    return line[..., m - 1 - np.arange(m)[:, None] + np.arange(n)]


def hankel(c: ArrayLike, r: OptionalArray = None) -> Array:
    """The matrix of constant antidiagonals with a given first column and last row.

    Args:
      c: the first column, array of shape ``(..., m)``.
      r: the last row, array of shape ``(..., n)``, whose first element is not looked at; by default zeros, n = m.
    Returns: array of shape ``(..., m, n)``.
    Example: ``linalg.hankel(jnp.array([1, 2]))`` is ``jnp.array([[1, 2], [2, 0]])``. Source: ``scipy.linalg.hankel``.
    """
    check_arraylike("hankel", c, *(() if r is None else (r,)))
    return _hankel(c, jnp.zeros_like(c) if r is None else r)


@api()
def _hankel(c: ArrayLike, r: ArrayLike) -> Array:
    c, r = (jnp.atleast_1d(x) for x in promote_dtypes(c, r))
    batch = jnp.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = jnp.broadcast_to(c, (*batch, c.shape[-1])), jnp.broadcast_to(r, (*batch, r.shape[-1]))
    m, n = c.shape[-1], r.shape[-1]
    line = jnp.concatenate([c, r[..., 1:]], -1, dtype=c.dtype)
    return line[..., np.arange(m)[:, None] + np.arange(n)] if m and n else jnp.zeros((*batch, m, n), c.dtype)


@api()
def circulant(c: ArrayLike) -> Array:
    """The matrix whose columns are a vector, turned on by one each.

    Args:
      c: array of shape ``(..., n)``.
    Returns: array of shape ``(..., n, n)``.
    Example: ``linalg.circulant(jnp.array([1, 2]))`` is ``jnp.array([[1, 2], [2, 1]])``. Source: ``scipy.linalg.circulant``.
    """
    check_arraylike("circulant", c)
    c = jnp.atleast_1d(c)
    index = np.arange(c.shape[-1])
    return c[..., (index[:, None] - index) % max(1, c.shape[-1])]


def convolution_matrix(a: Matrices, n: int, mode: str = "full") -> Array:
    """The matrix whose product with a vector of length n is its convolution with ``a``.

    Args:
      a: array of shape ``(..., m)``, m positive.
      n: positive length.
      mode: ``"full"``, ``"same"`` or ``"valid"``, as of ``jnp.convolve``.
    Returns: array of shape ``(..., k, n)``.
    Raises:
      ValueError: an empty vector; no such mode; n that is not positive.
    Example: ``linalg.convolution_matrix(jnp.array([1, 2]), 2).shape`` is ``(3, 2)``.
    Source: ``scipy.linalg.convolution_matrix``.
    """
    check_arraylike("convolution_matrix", a)
    count = _length("convolution_matrix", n, 1)
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolution_matrix: mode must be 'full', 'same' or 'valid', got {mode!r}")
    if not jnp.shape(a) or not jnp.shape(a)[-1]:
        raise ValueError(f"convolution_matrix: a must have elements along its last axis, got the shape {jnp.shape(a)}")
    return _convolution_matrix(a, n=count, mode=mode)


@api(static=("n", "mode"))
def _convolution_matrix(a: Any, n: int, mode: str) -> Any:
    a = jnp.asarray(a)
    m = a.shape[-1]
    index = np.arange(m + n - 1)[:, None] - np.arange(n)
    if mode == "same":
        start = (min(m, n) - 1) // 2
        index = index[start : start + max(m, n)]
    elif mode == "valid":
        start = min(m, n) - 1
        index = index[start : start + max(m, n) - start]
    inside = (index >= 0) & (index < m)
    return jnp.where(inside, a[..., np.where(inside, index, 0)], 0).astype(a.dtype)


# ---- of polynomials and populations ---------------------------------------------------------------------------------------


@api()
def companion(a: Matrices) -> Array:
    """The companion matrix of a polynomial, whose eigenvalues are its roots.

    Args:
      a: coefficients, the highest power first, array of shape ``(..., n)``, n at least 2.
    Returns: floating array of shape ``(..., n - 1, n - 1)``.
    Raises:
      ValueError: fewer than two coefficients.
    Example: ``linalg.companion(jnp.array([1., -3., 2.]))`` is ``jnp.array([[3., -2.], [1., 0.]])``.
    Source: ``scipy.linalg.companion``.
    """
    check_arraylike("companion", a)
    a = jnp.asarray(a)
    if a.ndim == 0 or a.shape[-1] < 2:
        raise ValueError(f"companion: a must have at least 2 elements along its last axis, got the shape {a.shape}")
    first = -a[..., 1:] / a[..., :1]
    size = first.shape[-1]
    below = jnp.broadcast_to(jnp.eye(size - 1, size, dtype=first.dtype), (*first.shape[:-1], size - 1, size))
    return jnp.concatenate([first[..., None, :], below], -2)


@api()
def fiedler(a: Matrices) -> Array:
    """The matrix of the distances between numbers, ``|a_i - a_j|``.

    Args:
      a: array of shape ``(..., n)``.
    Returns: array of shape ``(..., n, n)``.
    Example: ``linalg.fiedler(jnp.array([1, 4]))`` is ``jnp.array([[0, 3], [3, 0]])``. Source: ``scipy.linalg.fiedler``.
    """
    check_arraylike("fiedler", a)
    a = jnp.atleast_1d(a)
    return jnp.abs(a[..., :, None] - a[..., None, :])


@api()
def fiedler_companion(a: Matrices) -> Array:
    """Fiedler's companion matrix of a polynomial: of five diagonals, whose eigenvalues are its roots.

    Args:
      a: coefficients, the highest power first, array of shape ``(..., n)``.
    Returns: floating array of shape ``(..., n - 1, n - 1)``.
    Raises:
      ValueError: no coefficients.
    Example: ``linalg.fiedler_companion(jnp.array([1., -3., 2.]))`` is ``jnp.array([[3., -2.], [1., 0.]])``.
    Source: ``scipy.linalg.fiedler_companion``.
    """
    check_arraylike("fiedler_companion", a)
    a = jnp.atleast_1d(a)
    if a.shape[-1] == 0:
        raise ValueError("fiedler_companion: a must not be empty")
    monic = a / a[..., :1]
    size = a.shape[-1] - 1
    if size < 1:
        return jnp.zeros((*a.shape[:-1], 0, 0), monic.dtype)
    out = jnp.zeros((*a.shape[:-1], size, size), monic.dtype)
    out = out.at[..., 0, 0].set(-monic[..., 1])
    for k in range(1, size):
        # coefficient k + 1 beside the diagonal: in the row of an even k, in the column of an odd one
        if k % 2:
            out = out.at[..., k - 1, k].set(-monic[..., k + 1]).at[..., k, max(k - 2, 0)].set(1)
        else:
            out = out.at[..., k, k - 1].set(-monic[..., k + 1]).at[..., k - 2, k].set(1)
    return out


@api()
def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Leslie's matrix of a population: fecundities in the first row, survival rates below the diagonal.

    Args:
      f: array of shape ``(..., n)``.
      s: array of shape ``(..., n - 1)``.
    Returns: array of shape ``(..., n, n)``.
    Raises:
      ValueError: lengths that don't fit.
    Example: ``linalg.leslie(jnp.array([1, 2]), jnp.array([3]))`` is ``jnp.array([[1, 2], [3, 0]])``.
    Source: ``scipy.linalg.leslie``.
    """
    check_arraylike("leslie", f, s)
    f, s = (jnp.atleast_1d(x) for x in promote_dtypes(f, s))
    size = f.shape[-1]
    if s.shape[-1] != size - 1 or size < 2:
        raise ValueError(
            f"leslie: s must have one element less than f, and f at least two, got {f.shape} and {s.shape}"
        )
    below = s[..., :, None] * jnp.eye(size - 1, size, dtype=s.dtype)
    return jnp.concatenate([jnp.broadcast_to(f[..., None, :], (*below.shape[:-2], 1, size)), below], -2)


# ---- of whole numbers -----------------------------------------------------------------------------------------------------


def hilbert(n: int) -> Array:
    """The matrix of ``1 / (i + j + 1)``.

    Args:
      n: the number of rows and columns.
    Example: ``linalg.hilbert(2)``. Source: ``scipy.linalg.hilbert``.
    """
    index = np.arange(_length("hilbert", n))
    return _floating(1 / (index[:, None] + index + 1.0))


def invhilbert(n: int) -> Array:
    """The inverse of the Hilbert matrix, whose elements are whole.

    Args:
      n: the number of rows and columns.
    Example: ``linalg.invhilbert(2)`` is ``jnp.array([[4., -6.], [-6., 12.]])``. Source: ``scipy.linalg.invhilbert``.
    """
    size = _length("invhilbert", n)
    c = math.comb
    rows = [
        [
            float(
                (-1) ** (i + j) * (i + j + 1) * c(size + i, size - j - 1) * c(size + j, size - i - 1) * c(i + j, i) ** 2
            )
            for j in range(size)
        ]
        for i in range(size)
    ]
    return _floating(np.array(rows).reshape(size, size))


def hadamard(n: int, dtype: OptionalDType = int) -> Array:
    """Sylvester's matrix of 1 and -1 with orthogonal rows.

    Args:
      n: a power of 2.
      dtype: the result's dtype; None is the default floating one.
    Raises:
      ValueError: not a power of 2.
    Example: ``linalg.hadamard(2)`` is ``jnp.array([[1, 1], [1, -1]])``. Source: ``scipy.linalg.hadamard``.
    """
    size = as_index(n)
    if size < 1 or size & (size - 1):
        raise ValueError(f"hadamard: n must be a power of 2, got {size}")
    index = np.arange(size)
    bits = np.bitwise_and(index[:, None], index)
    parity = np.zeros_like(bits)
    while bits.any():
        parity, bits = parity ^ (bits & 1), bits >> 1
    return jnp.asarray(1 - 2 * parity, dtypes.check_user_dtype("hadamard", float if dtype is None else dtype))


def helmert(n: int, full: bool = False) -> Array:
    """Helmert's matrix, with orthonormal rows.

    Args:
      n: the number of columns.
      full: keep the first row, in which all elements are equal.
    Example: ``linalg.helmert(3).shape`` is ``(2, 3)``. Source: ``scipy.linalg.helmert``.
    """
    size = _length("helmert", n, 1)
    table = np.tril(np.ones((size, size)), -1) - np.diag(np.arange(size))
    table[0] = 1
    scale = np.arange(size) * np.arange(1, size + 1.0)
    scale[0] = size
    table /= np.sqrt(scale)[:, None]
    return _floating(table if full else table[1:])


_KINDS = ("symmetric", "upper", "lower", None)


def _pascal_rows(size: int, kind: str | None, name: str) -> list[list[int]]:
    if kind not in _KINDS:
        raise ValueError(f"{name}: kind must be 'symmetric', 'upper' or 'lower', got {kind!r}")
    if kind == "lower":
        return [[math.comb(i, j) for j in range(size)] for i in range(size)]
    if kind == "upper":
        return [[math.comb(j, i) for j in range(size)] for i in range(size)]
    return [[math.comb(i + j, i) for j in range(size)] for i in range(size)]


def pascal(n: int, kind: str | None = None) -> Array:
    """The matrix of binomial coefficients.

    Args:
      n: the number of rows and columns.
      kind: ``"symmetric"`` (the default): ``(i + j)! / (i! j!)``; ``"lower"`` or ``"upper"``: a triangle.
    Returns: floating matrix.
    Raises:
      ValueError: another kind.
    Example: ``linalg.pascal(2)`` is ``jnp.array([[1., 1.], [1., 2.]])``. Source: ``scipy.linalg.pascal``.
    """
    size = _length("pascal", n)
    rows = _pascal_rows(size, kind, "pascal")
    return _floating(np.array([[float(x) for x in row] for row in rows]).reshape(size, size))


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of Pascal's matrix, whose elements are whole.

    Args: as of ``pascal``.
    Example: ``linalg.invpascal(2)`` is ``jnp.array([[2., -1.], [-1., 1.]])``. Source: ``scipy.linalg.invpascal``.
    """
    size = _length("invpascal", n)
    rows = _pascal_rows(size, kind, "invpascal")
    if kind in ("symmetric", None):
        rows = [[sum(math.comb(i + k, k) * math.comb(i + k, i + k - j) for k in range(size - i)) if i >= j else 0
                 for j in range(size)] for i in range(size)]  # fmt: skip
        rows = [[rows[max(i, j)][min(i, j)] for j in range(size)] for i in range(size)]
    signed = [[float((-1) ** (i + j) * rows[i][j]) for j in range(size)] for i in range(size)]
    return _floating(np.array(signed).reshape(size, size))


def dft(n: int, scale: str | None = None, *, dtype: OptionalDType = None) -> Array:
    """The matrix of the discrete Fourier transform, ``exp(-2 pi i j k / n)``.

    Args:
      n: the number of rows and columns.
      scale: ``"sqrtn"`` or ``"n"``: divide by sqrt(n) or n.
      dtype: complex dtype.
    Raises:
      ValueError: another scale, or a dtype that is not complex.
    Example: ``linalg.dft(2)``. Source: ``scipy.linalg.dft``.
    """
    size = _length("dft", n)
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft: scale must be None, 'sqrtn' or 'n', got {scale!r}")
    if dtype is not None and not dtypes.issubdtype(dtype, np.complexfloating):
        raise ValueError(f"dft: dtype must be a complex one, got {dtypes.to_dtype(dtype).name}")
    index = np.arange(size)
    turn = np.exp(-2j * np.pi * (index[:, None] * index % max(size, 1)) / max(size, 1))
    turn = turn / {None: 1, "sqrtn": math.sqrt(max(size, 1)), "n": max(size, 1)}[scale]
    return _floating(turn, np.complex128 if dtype is None else dtype)
