"""Eigenvalues and eigenvectors of symmetric tridiagonal matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes, lax
from arrax import numpy as jnp
from arrax.core.calls import as_index
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import array_of
from arrax.numpy_api.operands import check_arraylike, promote_inexact
from arrax.transforms.autodiff import jvp
from arrax.transforms.custom_jvp import custom_jvp
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

_EXTRA_STEPS = 8  # of bisection, beyond the digits of the greatest eigenvalue: small ones have digits of their own


def eigh_tridiagonal(
    d: ArrayLike, e: ArrayLike, *, eigvals_only: bool = False, select: str = "a", select_range: Sequence[float] | None = None,
    tol: OptionalArray = None, key: Array | None = None,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """Eigenvalues, and eigenvectors, of a Hermitian tridiagonal matrix of n rows.

    Values alone are found by bisection, in time n for each and in memory n; with vectors, the matrix is decomposed.

    Args:
      d: its diagonal, a real vector of n numbers.
      e: the diagonal below, a vector of n - 1 numbers.
      eigvals_only: give the values alone.
      select: ``"a"`` for all; ``"i"``: those of the indices ``select_range[0]`` to ``select_range[1]``, both included;
        ``"v"``: those above ``select_range[0]``, up to ``select_range[1]``.
      select_range: two numbers; with ``"v"`` the matrix must be known, as the number of results depends on it.
      tol, key: accepted; values are as exact as their dtype allows.
    Returns: ``(w, v)`` or w; w ascends.
    Raises:
      ValueError: shapes that don't fit; another ``select``; no range where one is needed.
    Example: ``linalg.eigh_tridiagonal(jnp.ones(2), jnp.zeros(1), eigvals_only=True)`` is ``[1., 1.]``.
    Source: ``scipy.linalg.eigh_tridiagonal``; Barth, Martin and Wilkinson (1967).
    """
    d, e = array_of(d), array_of(e)
    check_arraylike("eigh_tridiagonal", d, e)
    select = {"all": "a", "index": "i", "value": "v"}.get(select, select)
    if select not in ("a", "i", "v"):
        raise ValueError(f"eigh_tridiagonal: select must be 'a', 'i' or 'v', got {select!r}")
    if select != "a" and (select_range is None or len(select_range) != 2):
        raise ValueError(
            f"eigh_tridiagonal: select={select!r} needs a select_range of two numbers, got {select_range!r}"
        )
    d, e = _diagonals(d, e)
    first, last = _bounds(d, e, select, select_range)
    if eigvals_only:
        return _values_between(d, e, first=first, last=last)
    return _pairs_between(d, e, first=first, last=last)


def _bounds(d: Any, e: Any, select: str, span: Any) -> tuple[int, int]:
    """The index of the first value wanted, and the one behind the last one."""
    if select == "a":
        return 0, d.shape[0]
    if select == "i":
        first, last = (as_index(x) for x in span)
        if not 0 <= first <= last < d.shape[0]:
            raise ValueError(f"eigh_tridiagonal: select_range must be indices from 0 to {d.shape[0] - 1}, got {span}")
        return first, last + 1
    for known in (d, e):
        if isinstance(known, Tracer):
            raise ConcretizationTypeError(known, "eigh_tridiagonal with select='v' needs known matrices.")
    first, last = np.asarray(_counts(d, e, jnp.asarray(span, d.dtype))).tolist()
    return first, max(first, last)


@api()
def _diagonals(d: ArrayLike, e: ArrayLike) -> tuple[Any, Any]:
    """Both diagonals as vectors of one precision, of 32 bits at least."""
    d, e = (jnp.asarray(x) for x in promote_inexact(d, e))
    if d.ndim != 1 or e.shape != (max(d.shape[0] - 1, 0),):
        raise ValueError(
            f"eigh_tridiagonal: e must have one element less than the vector d, got {d.shape} and {e.shape}"
        )
    d = jnp.real(d)
    return (d.astype(np.float32), e.astype(np.float32)) if dtypes.itemsize_bits(d.dtype) < 32 else (d, e)


# ---- values ---------------------------------------------------------------------------------------------------------


@api(static=("first", "last"))
def _values_between(d: ArrayLike, e: ArrayLike, first: int, last: int) -> Array:
    values = custom_jvp(lambda d, e: _bisected(d, e, first, last))

    def rule(primals: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        slopes = jvp(lambda d, e: _decomposed(d, e)[0][first:last], primals, tangents)[1]
        return values(*primals), slopes

    values.defjvp(rule)
    return values(d, e)


def _bisected(d: Any, e: ArrayLike, first: int, last: int) -> Any:
    """The values of some indices, each by halving an interval that holds it."""
    if first == last:
        return d[:0]
    d, squares, unit = _scaled(d, e)
    radii = jnp.pad(jnp.sqrt(squares), (0, 1)) + jnp.pad(jnp.sqrt(squares), (1, 0))
    indices = jnp.arange(first, last, dtype=np.int32)
    low, high = (jnp.full(indices.shape, bound) for bound in (jnp.min(d - radii), jnp.max(d + radii)))

    def step(_: Array, bounds: tuple[Array, ...]) -> tuple[Any, Any]:
        low, high = bounds
        middle = 0.5 * (low + high)
        above = _count(d, squares, middle) > indices
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    low, high = lax.fori_loop(0, dtypes.finfo(d.dtype).nmant + _EXTRA_STEPS, step, (low, high))
    return 0.5 * (low + high) * unit


def _scaled(d: Any, e: ArrayLike) -> tuple[Any, Any, Any]:
    """The diagonal and the squares of the one below, both in a power of 2 by which no square overflows; and this unit."""
    size = jnp.maximum(jnp.max(jnp.abs(d)), jnp.max(jnp.abs(e), initial=0))
    exponent = jnp.clip(jnp.frexp(size)[1], dtypes.finfo(d.dtype).minexp, dtypes.finfo(d.dtype).maxexp - 1)
    unit = jnp.ldexp(jnp.ones((), d.dtype), exponent)
    return d / unit, jnp.square(jnp.abs(e / unit)), unit


def _count(d: Any, squares: Array, bounds: Array) -> Array:
    """How many eigenvalues are at most each bound: the negative pivots of the matrix less the bound."""
    least = 4 * dtypes.finfo(d.dtype).tiny

    def row(state: tuple[Array, ...], entries: tuple[Array, ...]) -> tuple[Any, ...]:
        pivot, count = state
        diagonal, square = entries
        pivot = (diagonal - bounds) - square / pivot
        pivot = jnp.where(jnp.abs(pivot) < least, -least, pivot)
        return (pivot, count + (pivot < 0).astype(np.int32)), None

    start = jnp.ones(bounds.shape, d.dtype), jnp.zeros(bounds.shape, np.int32)
    return lax.scan(row, start, (d, jnp.pad(squares, (1, 0))), unroll=4)[0][1]


@api()
def _counts(d: Any, e: ArrayLike, bounds: Array) -> Array:
    if not d.shape[0]:
        return jnp.zeros(bounds.shape, np.int32)
    d, squares, unit = _scaled(d, e)
    return _count(d, squares, bounds / unit)


# ---- vectors --------------------------------------------------------------------------------------------------------


@api(static=("first", "last"))
def _pairs_between(d: ArrayLike, e: ArrayLike, first: int, last: int) -> tuple[Any, Any]:
    values, vectors = _decomposed(d, e)
    return values[first:last], vectors[:, first:last]


def _decomposed(d: Any, e: Any) -> tuple[Any, Any]:
    matrix = jnp.diag(d.astype(e.dtype)) + jnp.diag(e, -1) + jnp.diag(jnp.conj(e), 1)
    vectors, values = lax.linalg.eigh(matrix)
    return values, vectors
