"""Krylov methods for linear systems whose operator is a function: conjugate gradients, BiCGSTAB, GMRES.

Unknowns may be pytrees of arrays: the methods work with one vector that holds all their elements. Derivatives solve the
transposed system instead of following the iteration.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.functions import named_like
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.numpy_api.operands import is_arraylike
from arrax.xla.annotations import Tree
from arrax.xla.arrays import Array, ArrayLike

LinearMap = ArrayLike | Callable[[Any], Any]  # a matrix, or what it makes of a vector

Operator = Callable[[Any], Any]


def _as_operator(name: str, what: str, a: Any) -> Operator:
    """A function from a matrix, or the function itself."""
    if callable(a):
        return a
    if is_arraylike(a) or (hasattr(a, "__matmul__") and hasattr(a, "shape")):  # sparse matrices have both
        shape = tuple(a.shape) if hasattr(a, "shape") else jnp.shape(a)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"{name}: {what} must be a square matrix, got the shape {shape}")
        return partial(jnp.matmul, a) if is_arraylike(a) else partial(operator.matmul, a)
    raise TypeError(f"{name}: {what} must be a function or a matrix, got {type(a).__name__}")


class _Vectors:
    """Pytrees of one structure as vectors of one dtype."""

    def __init__(self, name: str, example: Any) -> None:
        self.name = name
        leaves, self.tree = tree_flatten(example)
        if not leaves:
            raise ValueError(f"{name}: b must have elements")
        leaves = [jnp.asarray(x) for x in leaves]
        self.shapes, self.dtypes = [x.shape for x in leaves], [_inexact(x.dtype) for x in leaves]
        self.dtype = jnp.result_type(*self.dtypes)
        self.sizes = np.cumsum([x.size for x in leaves])[:-1]

    def join(self, tree: ArrayLike) -> Array:
        return jnp.concatenate([jnp.ravel(x).astype(self.dtype) for x in tree_flatten(tree)[0]])

    def split(self, vector: Array) -> Any:
        parts = jnp.split(vector, self.sizes)
        leaves = [
            (p if jnp.issubdtype(d, jnp.complexfloating) else jnp.real(p)).reshape(s).astype(d)
            for p, s, d in zip(parts, self.shapes, self.dtypes, strict=True)
        ]
        return tree_unflatten(self.tree, leaves)

    def operator(self, what: str, fun: Operator) -> Operator:
        @named_like(fun)
        def of_vectors(vector: Array) -> Array:
            out = fun(self.split(vector))
            self.check(f"what the function {what} returns", out)
            return self.join(out)

        return of_vectors

    def check(self, what: str, value: Any) -> None:
        """Raises an error if a value is not a pytree of these."""
        leaves, tree = tree_flatten(value)
        if tree != self.tree:
            raise TypeError(f"{self.name}: {what} must have the structure of b, {self.tree}, got {tree}")
        shapes = [jnp.shape(x) for x in leaves]
        if shapes != self.shapes:
            raise ValueError(f"{self.name}: {what} must have the shapes of b, {self.shapes}, got {shapes}")


def _inexact(dtype: np.dtype) -> np.dtype:
    return dtype if jnp.issubdtype(dtype, jnp.inexact) else jnp.result_type(float)


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(jnp.square(jnp.abs(x))))


def _dot(x: Array, y: Array) -> Array:
    return jnp.vdot(x, y)


# ---- the methods, on vectors ------------------------------------------------------------------------------------------


def _cg(a: Operator, b: Array, x0: Array, limit: Array, maxiter: int, m: Operator) -> Array:
    """Hestenes and Stiefel (1952), with a preconditioner."""

    def goes_on(state: tuple[Array, ...]) -> Array:
        x, r, gamma, p, k = state
        return (_norm(r) > limit) & (k < maxiter)

    def step(state: tuple[Array, ...]) -> tuple[Any, ...]:
        x, r, gamma, p, k = state
        ap = a(p)
        alpha = gamma / _dot(p, ap)
        x, r = x + alpha * p, r - alpha * ap
        z = m(r)
        after = _dot(r, z)
        return x, r, after, z + after / gamma * p, k + 1

    r0 = b - a(x0)
    z0 = m(r0)
    return lax.while_loop(goes_on, step, (x0, r0, _dot(r0, z0), z0, jnp.int32(0)))[0]


def _bicgstab(a: Operator, b: Array, x0: Array, limit: Array, maxiter: int, m: Operator) -> Array:
    """van der Vorst (1992), with a preconditioner; a breakdown ends the iteration."""

    def goes_on(state: tuple[Array, ...]) -> Array:
        _, r, *_, k = state
        return (_norm(r) > limit) & (k < maxiter) & (k >= 0)

    def step(state: tuple[Array, ...]) -> tuple[Any, ...]:
        x, r, shadow, alpha, omega, rho, p, q, k = state
        after = _dot(shadow, r)
        beta = after / rho * alpha / omega
        p = r + beta * (p - omega * q)
        moved = m(p)
        q = a(moved)
        alpha = after / _dot(shadow, q)
        s = r - alpha * q
        early = _norm(s) <= limit
        turned = m(s)
        t = a(turned)
        omega = jnp.where(early, 1, _dot(t, s) / jnp.where(early, 1, _dot(t, t)))
        x = jnp.where(early, x + alpha * moved, x + alpha * moved + omega * turned)
        r = jnp.where(early, s, s - omega * t)
        broken = (omega == 0) | (alpha == 0) | (after == 0)
        return x, r, shadow, alpha, omega, after, p, q, jnp.where(broken, -11, k + 1)

    r0 = b - a(x0)
    one = jnp.ones((), b.dtype)
    state = (x0, r0, r0, one, one, one, jnp.zeros_like(b), jnp.zeros_like(b), jnp.int32(0))
    return lax.while_loop(goes_on, step, state)[0]


def _orthogonalized(basis: Array, v: Array) -> tuple[Any, Any]:
    """v less its parts along the rows of a basis, twice over for all digits, and these parts."""
    parts = jnp.conj(basis) @ v
    v = v - parts @ basis
    again = jnp.conj(basis) @ v
    return v - again @ basis, parts + again


def _unit(v: Array, smallest: ArrayLike) -> tuple[Any, Any]:
    """v over its norm, and the norm; zeros for what is only rounding."""
    norm = _norm(v)
    small = norm <= smallest
    return jnp.where(small, 0, v / jnp.where(small, 1, norm)), jnp.where(small, 0, norm)


def _cycle(
    a: Operator, m: Operator, x0: Array, residual: Array, restart: int, limit: Array, stops_early: bool
) -> Array:
    """One cycle of GMRES: the best step within a Krylov space."""
    start, beta = _unit(residual, 0)
    basis = jnp.zeros((restart + 1, residual.shape[0]), residual.dtype).at[0].set(start)
    columns = jnp.zeros((restart, restart + 1), residual.dtype)
    eps = float(jnp.finfo(jnp.real(residual).dtype).eps)

    def grown(k: Array, state: tuple[Array, ...]) -> tuple[Array, Array]:
        basis, columns = state
        v = m(a(basis[k]))
        rest, parts = _orthogonalized(basis, v)
        unit, norm = _unit(rest, eps * _norm(v))
        return basis.at[k + 1].set(unit), columns.at[k].set(parts.at[k + 1].add(norm.astype(parts.dtype)))

    def weights(columns: Array) -> Any:
        target = jnp.zeros(restart + 1, residual.dtype).at[0].set(beta.astype(residual.dtype))
        return jnp.linalg.lstsq(columns.T, target)[0]

    if not stops_early:
        basis, columns = lax.fori_loop(0, restart, grown, (basis, columns))
        return x0 + weights(columns) @ basis[:-1]

    def goes_on(state: tuple[Array, ...]) -> Array:
        k, _, _, error, _ = state
        return (k < restart) & (error > limit)

    def step(state: tuple[Array, ...]) -> tuple[Any, ...]:
        k, basis, columns, _, _ = state
        basis, columns = grown(k, (basis, columns))
        y = weights(columns)
        target = jnp.zeros(restart + 1, residual.dtype).at[0].set(beta.astype(residual.dtype))
        return k + 1, basis, columns, _norm(target - columns.T @ y), y

    state = (jnp.int32(0), basis, columns, beta, jnp.zeros(restart, residual.dtype))
    _, basis, _, _, y = lax.while_loop(goes_on, step, state)
    return x0 + y @ basis[:-1]


def _gmres(
    a: Operator, b: Array, x0: Array, limit: Array, maxiter: int, m: Operator, restart: int, stops_early: bool
) -> Array:
    """Saad and Schultz (1986), restarted; residuals are those of the preconditioned system."""
    reach = limit * _norm(m(b)) / jnp.where(_norm(b) == 0, 1, _norm(b))

    def goes_on(state: tuple[Array, ...]) -> Array:
        _, k, _, error = state
        return (k < maxiter) & (error > reach)

    def step(state: tuple[Array, ...]) -> tuple[Any, ...]:
        x, k, residual, _ = state
        x = _cycle(a, m, x, residual, restart, reach, stops_early)
        residual = m(b - a(x))
        return x, k + 1, residual, _norm(residual)

    first = m(b - a(x0))
    return lax.while_loop(goes_on, step, (x0, jnp.int32(0), first, _norm(first)))[0]


# ---- what users call --------------------------------------------------------------------------------------------------


def _solve(
    name: str, method: Callable[..., Any], A: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: int | None, M: Any,
    symmetric: bool,
) -> tuple[Any, None]:  # fmt: skip
    operator = _as_operator(name, "A", A)
    preconditioner = (lambda x: x) if M is None else _as_operator(name, "M", M)
    vectors = _Vectors(name, b)
    if x0 is not None:
        given, wanted = tree_flatten(x0), tree_flatten(b)
        shapes = [[jnp.shape(x) for x in leaves] for leaves in (given[0], wanted[0])]
        if given[1] != wanted[1] or shapes[0] != shapes[1]:
            raise ValueError(f"{name}: x0 must have the structure and shapes of b, got {shapes[0]} and {shapes[1]}")
    right = vectors.join(b)
    start = jnp.zeros_like(right) if x0 is None else vectors.join(x0)
    most = 10 * right.shape[0] if maxiter is None else maxiter

    def solve(matvec: Operator, right: Array) -> Array:
        limit = jnp.maximum(tol * _norm(right), atol)
        return method(matvec, right, lax.stop_gradient(start), limit, most, vectors.operator("M", preconditioner))

    def transpose_solve(matvec: Operator, right: Array) -> Array:
        limit = jnp.maximum(tol * _norm(right), atol)
        return method(matvec, right, jnp.zeros_like(right), limit, most, lambda x: x)

    x = lax.custom_linear_solve(
        vectors.operator("A", operator), right, solve, solve if symmetric else transpose_solve, symmetric=symmetric
    )
    return vectors.split(x), None


def cg(
    A: LinearMap,
    b: Tree,
    x0: Tree | None = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    maxiter: int | None = None,
    M: LinearMap | None = None,
) -> tuple[Tree, None]:
    """The solution of ``A x = b`` for a Hermitian positive definite operator, by conjugate gradients.

    Args:
      A: linear function of pytrees like ``b``, or a matrix.
      b: array or pytree of arrays.
      x0: where to start, zeros by default.
      tol, atol: the norm of the residual that is small enough: the greater of ``tol`` times that of ``b`` and ``atol``.
      maxiter: the most steps, by default ten times the number of unknowns.
      M: preconditioner: a function or matrix like the inverse of ``A``.
    Returns: ``(x, None)``. Derivatives in ``b`` and in what ``A`` depends on solve the same system again.
    Raises:
      TypeError: an operator that is not a function or matrix.
      ValueError: structures that differ.
    Example: ``sparse.linalg.cg(2 * jnp.eye(2), jnp.ones(2))[0]`` is ``[0.5, 0.5]``. Source: ``scipy.sparse.linalg.cg``.
    """
    return _solve("cg", _cg, A, b, x0, tol, atol, maxiter, M, True)


def bicgstab(
    A: LinearMap,
    b: Tree,
    x0: Tree | None = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    maxiter: int | None = None,
    M: LinearMap | None = None,
) -> tuple[Tree, None]:
    """The solution of ``A x = b`` by stabilized biconjugate gradients. Args: as of ``cg``; ``A`` need not be Hermitian.

    Example: ``sparse.linalg.bicgstab(2 * jnp.eye(2), jnp.ones(2))[0]`` is ``[0.5, 0.5]``.
    Source: ``scipy.sparse.linalg.bicgstab``.
    """
    return _solve("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M, False)


def gmres(
    A: LinearMap, b: Tree, x0: Tree | None = None, *, tol: ArrayLike = 1e-5, atol: ArrayLike = 0.0, restart: int = 20, maxiter: int | None = None,
    M: LinearMap | None = None, solve_method: str = "batched",
) -> tuple[Tree, Array]:  # fmt: skip
    """The solution of ``A x = b`` by minimal residuals over Krylov spaces.

    Args: as of ``cg``; ``A`` need not be Hermitian, and
      restart: the dimension of the spaces.
      maxiter: the most spaces.
      solve_method: ``"batched"``: each space is built whole; ``"incremental"``: only until the residual is small enough.
    Returns: ``(x, info)``; info is 0, or -1 if there are NaN in ``x``.
    Raises:
      ValueError: another method, or a dimension that is not positive.
    Example: ``sparse.linalg.gmres(2 * jnp.eye(2), jnp.ones(2))[0]`` is ``[0.5, 0.5]``.
    Source: ``scipy.sparse.linalg.gmres``.
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"gmres: solve_method must be 'batched' or 'incremental', got {solve_method!r}")
    if int(restart) < 1:
        raise ValueError(f"gmres: restart must be positive, got {restart}")

    def method(a: Operator, right: Array, start: Array, limit: Array, most: int, m: Operator) -> Array:
        size = min(int(restart), right.shape[0])
        return _gmres(a, right, start, limit, most, m, size, solve_method == "incremental")

    x, _ = _solve("gmres", method, A, b, x0, tol, atol, maxiter, M, False)
    unknown = [jnp.any(jnp.isnan(leaf)) for leaf in tree_flatten(x)[0]]
    return x, jnp.where(jnp.any(jnp.stack(unknown)), -1, 0)
