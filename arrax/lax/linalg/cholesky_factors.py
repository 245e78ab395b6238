"""Cholesky factors of Hermitian positive definite matrices, and their update by a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.explicit_axes import leading_axes
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.ad.forward import jvp
from arrax.interpreters.batching import batch
from arrax.interpreters.cost_model import work_of_rows
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import add, div, eq, mul, neg, scalar
from arrax.lax.control_flow.loops import fori_loop
from arrax.lax.exponential import sqrt
from arrax.lax.linalg.kernels import (
    batch_in_front,
    check_matrices,
    check_square,
    integers,
    kernel_call,
    lapack_call,
    nan_unless,
    solver_name,
    succeeded,
)
from arrax.lax.linalg.matrices import lower_triangle, matmul, on_diagonal, symmetrized, upper_triangle
from arrax.lax.linalg.triangular_systems import triangular_solve
from arrax.lax.operand_checks import checked_operand
from arrax.lax.selection import select
from arrax.lax.slicing_along_axes import dynamic_index_in_dim, dynamic_update_index_in_dim
from arrax.xla.arrays import Array, ArrayLike, Matrices

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Tangent, Value

cholesky_p = Primitive("cholesky", cost=work_of_rows)


def _type_rule(aval: ShapedArray) -> ShapedArray:
    check_matrices("cholesky", aval, square=True)
    return aval


def _finished(aval: ShapedArray, factor: Value, info: Value) -> list[Value]:
    batch = aval.shape[:-2]
    return [nan_unless(succeeded(info, batch), batch, factor, aval)]


def _lower_cpu(ctx: LoweringContext, a: Value) -> list[Value]:
    (aval,) = ctx.avals_in
    if aval.size == 0:
        return [a]
    outs = [aval, integers(aval.shape[:-2])]
    return _finished(aval, *lapack_call("potrf", [a], [aval], outs, {"uplo": "L"}, {0: 0}))


def _lower_gpu(ctx: LoweringContext, a: Any) -> list[Any]:
    (aval,) = ctx.avals_in
    outs = [aval, integers(aval.shape[:-2])]
    return _finished(aval, *kernel_call(solver_name(ctx, "potrf"), [a], [aval], outs, {"lower": True}, {0: 0}))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """L' = L P, where P is the lower triangle, with half the diagonal, of L^-1 A' L^-H."""
    (a,), (t,) = primals, tangents
    factor = lower_triangle(cholesky_p.bind(a))
    inner = triangular_solve(factor, t, left_side=False, transpose_a=True, conjugate_a=True, lower=True)
    inner = lower_triangle(triangular_solve(factor, inner, left_side=True, lower=True))
    halved = select(on_diagonal(inner), mul(inner, scalar(0.5, inner)), inner)
    return factor, matmul(factor, halved)


cholesky_p.type_rule, cholesky_p.divides = _type_rule, leading_axes(2)
cholesky_p.lower["cpu"] = _lower_cpu
cholesky_p.lower["gpu"] = _lower_gpu
cholesky_p.lower[None] = lambda ctx, a: [builder.op("cholesky", ctx.avals_out[0], a, lower=builder.attribute("true"))]
cholesky_p.jvp = _jvp
batch_in_front(cholesky_p)


def cholesky(x: Matrices, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular factors L of ``x = L L^H``.

    Args:
      x: array of shape ``(..., n, n)``, of Hermitian positive definite matrices.
      symmetrize_input: take the Hermitian part; otherwise only the lower triangle counts.
    Returns: array of the same shape; NaN where a matrix is not positive definite.
    Raises:
      ValueError: matrices that are not square.
      TypeError: a dtype without decomposition, as that of integers that are not symmetrized.
    Example: ``lax.linalg.cholesky(4 * jnp.eye(2))`` is ``2 * jnp.eye(2)``. Source: LAPACK ``potrf``.
    """
    x = checked_operand("cholesky", x)
    check_square("cholesky", typeof(x))
    return lower_triangle(cholesky_p.bind(symmetrized(x) if symmetrize_input else x))


# ---- the update by a vector -----------------------------------------------------------------------------------------

cholesky_update_p = Primitive("cholesky_update")


def _update_type(r: ShapedArray, w: ShapedArray) -> ShapedArray:
    check_matrices("cholesky_update", r, square=True, half=True)
    if r.ndim != 2 or w.shape != r.shape[-1:]:
        raise ValueError(f"cholesky_update requires a matrix and a vector of its length, got {r.shape} and {w.shape}")
    return r


def _rotated(r: Array, w: Array) -> Array:
    """One Givens rotation per row: it moves the row's entry of ``w`` into the diagonal."""
    size = typeof(r).shape[0]

    def step(k: Array, state: tuple[Any, Any]) -> tuple[Any, Any]:
        r, w = state
        row = dynamic_index_in_dim(r, k, 0, keepdims=False)
        x, y = (dynamic_index_in_dim(v, k, 0, keepdims=False) for v in (row, w))
        length = sqrt(add(mul(x, x), mul(y, y)))
        still = eq(length, scalar(0, length))
        safe = select(still, scalar(1, length), length)
        cosine, sine = select(still, scalar(1, length), div(x, safe)), div(y, safe)
        turned, rest = add(mul(cosine, row), mul(sine, w)), add(mul(neg(sine), row), mul(cosine, w))
        return dynamic_update_index_in_dim(r, turned, k, 0), rest

    return upper_triangle(fori_loop(0, size, step, (r, w))[0])  # what rounding leaves of w lies below


def _update_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent]) -> tuple[Any, Any]:
    (out,), (tangent,) = jvp(lambda r, w: [_rotated(r, w)], primals, tangents)
    return out, tangent


def _update_batch(values: Sequence[ArrayLike], dims: Dims) -> tuple[Any, Any]:
    (out,), (dim,) = batch(lambda r, w: [_rotated(r, w)], values, dims)
    return out, dim


cholesky_update_p.type_rule = _update_type
cholesky_update_p.lower[None] = lower_fun(_rotated, multiple_results=False)
cholesky_update_p.jvp = _update_jvp
cholesky_update_p.batch = _update_batch


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The upper triangular factor of ``R^T R + w w^T``.

    Args:
      r_matrix: upper triangular matrix of shape ``(n, n)``.
      w_vector: vector of length n.
    Returns: upper triangular matrix of shape ``(n, n)``.
    Raises:
      ValueError: shapes that don't fit.
    Example: ``lax.linalg.cholesky_update(jnp.eye(2), jnp.ones(2))``.
    """
    return cholesky_update_p.bind(
        checked_operand("cholesky_update", r_matrix), checked_operand("cholesky_update", w_vector)
    )
