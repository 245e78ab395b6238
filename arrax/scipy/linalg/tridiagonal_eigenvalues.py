"""Eigenvalues and eigenvectors of symmetric tridiagonal matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.calls import as_index
from arrax.core.errors import ConcretizationTypeError
from arrax.core.interpreter import Tracer
from arrax.numpy_api.api import api
from arrax.numpy_api.operands import check_arraylike, promote_inexact
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


def eigh_tridiagonal(
    d: ArrayLike, e: Any, *, eigvals_only: bool = False, select: str = "a", select_range: Sequence[float] | None = None,
    tol: OptionalArray = None, key: Array | None = None,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """Eigenvalues, and eigenvectors, of a Hermitian tridiagonal matrix.

    Args:
      d: its diagonal, a real vector of n numbers.
      e: the diagonal below, a vector of n - 1 numbers.
      eigvals_only: give the values alone.
      select: ``"a"`` for all; ``"i"``: those of the places ``select_range[0]`` to ``select_range[1]``, both included;
        ``"v"``: those above ``select_range[0]``, up to ``select_range[1]``.
      select_range: two numbers; with ``"v"`` the matrix must be known, as the number of results depends on it.
      tol, key: accepted.
    Returns: ``(w, v)`` or w; w ascends.
    Raises:
      ValueError: shapes that don't fit; another ``select``; no range where one is needed.
    Example: ``linalg.eigh_tridiagonal(jnp.ones(2), jnp.zeros(1), eigvals_only=True)`` is ``[1., 1.]``.
    Source: ``scipy.linalg.eigh_tridiagonal``.
    """
    check_arraylike("eigh_tridiagonal", d, e)
    select = {"all": "a", "index": "i", "value": "v"}.get(select, select)
    if select not in ("a", "i", "v"):
        raise ValueError(f"eigh_tridiagonal: select must be 'a', 'i' or 'v', got {select!r}")
    if select != "a" and (select_range is None or len(select_range) != 2):
        raise ValueError(
            f"eigh_tridiagonal: select={select!r} needs a select_range of two numbers, got {select_range!r}"
        )
    values, vectors = _all_of(d, e, values_only=bool(eigvals_only))
    if select == "i":
        first, last = (as_index(x) for x in select_range)  # type: ignore[union-attr]
        if not 0 <= first <= last < values.shape[0]:
            raise ValueError(
                f"eigh_tridiagonal: select_range must be places from 0 to {values.shape[0] - 1}, got {select_range}"
            )
        values, vectors = values[first : last + 1], None if vectors is None else vectors[:, first : last + 1]
    if select == "v":
        if isinstance(values, Tracer):
            raise ConcretizationTypeError(values, "eigh_tridiagonal with select='v' needs known matrices.")
        listed = np.asarray(values)
        low, high = select_range  # type: ignore[misc]
        kept = np.flatnonzero((listed > low) & (listed <= high))
        values, vectors = values[kept], None if vectors is None else vectors[:, kept]
    return values if eigvals_only else (values, vectors)


@api(static=("values_only",))
def _all_of(d: Any, e: Any, values_only: bool) -> tuple[Any, Any]:
    d, e = (jnp.asarray(x) for x in promote_inexact(d, e))
    if d.ndim != 1 or e.shape != (max(d.shape[0] - 1, 0),):
        raise ValueError(
            f"eigh_tridiagonal: e must have one element less than the vector d, got {d.shape} and {e.shape}"
        )
    d = jnp.real(d).astype(d.dtype)
    if d.dtype.itemsize < 4:
        d, e = d.astype(np.float32), e.astype(np.float32)
    matrix = jnp.diag(d) + jnp.diag(e, -1) + jnp.diag(jnp.conj(e), 1)
    if values_only:
        return jnp.linalg.eigvalsh(matrix), None
    vectors, values = lax.linalg.eigh(matrix)
    return values, vectors
