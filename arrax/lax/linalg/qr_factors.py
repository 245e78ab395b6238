"""QR factors by Householder's reflections, with or without pivoting."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrax.core.explicit_axes import leading_axes
from arrax.core.interpreter import Primitive
from arrax.core.lengths import shorter
from arrax.core.types import ShapedArray, Zero, instantiate, typeof
from arrax.interpreters.cost_model import work_of_rows
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import add, complex_, imag, sub
from arrax.lax.filled_arrays import full_like
from arrax.lax.linalg.kernels import (
    batch_in_front,
    check_matrices,
    factor_type,
    for_empty,
    integers,
    is_complex,
    kernel_call,
    lapack_call,
    plain_call,
    solver_name,
    weak_as,
)
from arrax.lax.linalg.lu_factors import lu, lu_solve
from arrax.lax.linalg.matrices import (
    adjoint,
    as_columns,
    diagonal,
    lower_triangle,
    matmul,
    on_diagonal,
    part,
    take_rows,
    transposed,
    upper_triangle,
    with_diagonal,
)
from arrax.lax.linalg.triangular_systems import triangular_solve
from arrax.lax.operand_checks import checked_operand
from arrax.lax.selection import select
from arrax.lax.shapes import broadcast_in_dim
from arrax.lax.static_slicing import pad
from arrax.xla.arrays import Array, ArrayLike, Matrices

# ---- reflections ----------------------------------------------------------------------------------------------------

geqrf_p = Primitive("geqrf", multiple_results=True, cost=work_of_rows)
geqp3_p = Primitive("geqp3", multiple_results=True, cost=work_of_rows)
householder_product_p = Primitive("householder_product", cost=work_of_rows)
ormqr_p = Primitive("ormqr", cost=work_of_rows)


def _reflected_type(a: ShapedArray) -> list[ShapedArray]:
    check_matrices("geqrf", a)
    *batch, rows, columns = a.shape
    return [a, factor_type(a, (*batch, shorter(rows, columns)))]


def _pivoted_type(a: ShapedArray, pivots: ShapedArray, *, use_magma: Any = None) -> list[ShapedArray]:
    out, taus = _reflected_type(a)
    return [out, pivots, taus]


def _product_type(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    check_matrices("householder_product", a)
    *batch, rows, columns = a.shape
    if rows < columns or list(taus.shape[:-1]) != batch or taus.shape[-1] > columns or taus.dtype != a.dtype:
        raise ValueError(
            "householder_product requires reflections of shape (..., m, n) with m >= n and at most n factors, got "
            f"{a.str_short(False)} and {taus.str_short(False)}"
        )
    return weak_as(a, taus)


def _applied_type(a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool) -> ShapedArray:
    check_matrices("ormqr", a)
    if a.shape[-2] != c.shape[-2 if left else -1] or a.dtype != c.dtype or a.shape[:-2] != c.shape[:-2]:
        raise ValueError(f"ormqr requires operands that fit, got {a.str_short(False)} and {c.str_short(False)}")
    return weak_as(c, a, taus)


def _orthogonal(ctx: LoweringContext, routine: str) -> str:
    return ("un" if is_complex(ctx.avals_in[0]) else "or") + routine


def _product_plain(ctx: LoweringContext, a: Any, taus: Any) -> list[Any]:
    return plain_call("ProductOfElementaryHouseholderReflectors", [a, taus], ctx.avals_out)


# fmt: off
geqrf_p.type_rule, geqrf_p.divides = _reflected_type, leading_axes(2)
geqrf_p.lower["cpu"] = for_empty(lambda ctx, a: lapack_call("geqrf", [a], ctx.avals_in, ctx.avals_out, {}, {0: 0}))
geqrf_p.lower["gpu"] = for_empty(
    lambda ctx, a: kernel_call(solver_name(ctx, "geqrf"), [a], ctx.avals_in, ctx.avals_out, {}, {0: 0}))
geqrf_p.lower[None] = for_empty(lambda ctx, a: plain_call("Qr", [a], ctx.avals_out))

geqp3_p.type_rule = _pivoted_type
geqp3_p.lower["cpu"] = lambda ctx, a, pivots, **_: lapack_call(
    "geqp3", [a, pivots], ctx.avals_in, ctx.avals_out, {}, {0: 0, 1: 1})
geqp3_p.lower["cuda"] = lambda ctx, a, pivots, **_: kernel_call(
    "cuhybrid_geqp3", [a, pivots], ctx.avals_in, ctx.avals_out, {}, {0: 0, 1: 1}, {"magma": '"auto"'})

householder_product_p.type_rule, householder_product_p.divides = _product_type, leading_axes(2)
householder_product_p.lower["cpu"] = for_empty(
    lambda ctx, a, taus: lapack_call(_orthogonal(ctx, "gqr"), [a, taus], ctx.avals_in, ctx.avals_out, {}, {0: 0}))
householder_product_p.lower["gpu"] = for_empty(
    lambda ctx, a, taus: kernel_call(solver_name(ctx, "orgqr"), [a, taus], ctx.avals_in, ctx.avals_out, {}, {0: 0}))
householder_product_p.lower[None] = for_empty(_product_plain)

ormqr_p.type_rule = _applied_type
ormqr_p.lower["cpu"] = lambda ctx, a, taus, c, *, left, transpose: lapack_call(
    _orthogonal(ctx, "mqr"), [a, taus, c], ctx.avals_in, ctx.avals_out, {"left": left, "transpose": transpose}, {2: 0})
ormqr_p.lower["gpu"] = lambda ctx, a, taus, c, *, left, transpose: kernel_call(
    solver_name(ctx, "ormqr"), [a, taus, c], ctx.avals_in, ctx.avals_out, {"left": left, "transpose": transpose}, {2: 0})
# fmt: on
for _primitive in (geqrf_p, geqp3_p, householder_product_p, ormqr_p):
    batch_in_front(_primitive)


def geqrf(a: Matrices) -> tuple[Array, Array]:
    """Reflections that make matrices upper triangular.

    Returns: ``(a, taus)``: R on and above the diagonal, the reflections' vectors below it, and their factors.
    Example: ``lax.linalg.geqrf(jnp.ones((3, 2)))[1].shape`` is ``(2,)``. Source: LAPACK ``geqrf``.
    """
    out, taus = geqrf_p.bind(checked_operand("geqrf", a))
    return out, taus


def householder_product(a: Matrices, taus: ArrayLike) -> Array:
    """The product of elementary reflections ``I - tau v v^H``.

    Args:
      a: array of shape ``(..., m, n)``, m at least n; the vectors stand below the diagonal, which counts as ones.
      taus: array of shape ``(..., k)``, k at most n.
    Returns: array of shape ``(..., m, n)``: the first n columns of the product.
    Raises:
      ValueError: shapes or dtypes that don't fit.
    Example: ``lax.linalg.householder_product(*lax.linalg.geqrf(x))`` is Q. Source: LAPACK ``orgqr``.
    """
    return householder_product_p.bind(
        checked_operand("householder_product", a), checked_operand("householder_product", taus)
    )


def ormqr(a: Matrices, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False) -> Array:
    """The product of matrices with a product of elementary reflections, which is not formed.

    Args:
      a: array of shape ``(..., m, n)``, m at least n; the vectors stand below the diagonal, which counts as ones.
      taus: array of shape ``(..., k)``, k at most n.
      c: array of shape ``(..., m, k)`` where ``left``, else ``(..., k, m)``.
      left: whether the reflections stand on the left.
      transpose: whether their adjoint is meant.
    Returns: array of the shape of ``c``.
    Raises:
      ValueError: shapes or dtypes that don't fit.
    Example: ``lax.linalg.ormqr(*lax.linalg.geqrf(x), jnp.eye(3))``. Source: LAPACK ``ormqr``.
    """
    values = (checked_operand("ormqr", value) for value in (a, taus, c))
    return ormqr_p.bind(*values, left=bool(left), transpose=bool(transpose))


# ---- the factors ----------------------------------------------------------------------------------------------------

qr_p = Primitive("qr", multiple_results=True, cost=work_of_rows)


def _type_rule(a: ShapedArray, *, pivoting: bool, full_matrices: bool, use_magma: Any = None) -> list[ShapedArray]:
    check_matrices("qr", a)
    *batch, rows, columns = a.shape
    k = rows if full_matrices else shorter(rows, columns)
    factors = [factor_type(a, (*batch, rows, k)), factor_type(a, (*batch, k, columns))]
    return [*factors, integers((*batch, columns))] if pivoting else factors


def _factored(a: Array, *, pivoting: bool, full_matrices: bool, use_magma: Any = None) -> list[Any]:
    *batch, rows, columns = typeof(a).shape
    order = []
    if typeof(a).size == 0 or not pivoting:
        reflected, taus = geqrf_p.bind(a)
        if pivoting:
            ascending = np.arange(columns, dtype=np.int32)
            order = [broadcast_in_dim(ascending, (*batch, columns), (len(batch),))]
    else:
        free = broadcast_in_dim(np.int32(0), (*batch, columns), ())
        reflected, pivots, taus = geqp3_p.bind(a, free, use_magma=use_magma)
        order = [sub(pivots, full_like(pivots, 1))]
    k = rows if full_matrices else shorter(rows, columns)
    zero = np.zeros((), typeof(a).dtype)[()]
    if k > columns:
        vectors = pad(reflected, zero, [(0, 0, 0)] * (len(batch) + 1) + [(0, k - columns, 0)])
    else:
        vectors = part(reflected, columns=(0, k))
    return [householder_product_p.bind(vectors, taus), upper_triangle(part(reflected, rows=(0, k))), *order]


def _jvp(
    primals: tuple[ArrayLike, ...],
    tangents: tuple[ArrayLike, ...],
    *,
    pivoting: bool,
    full_matrices: bool,
    use_magma: Any = None,
) -> tuple[Any, Any]:
    """With A = QR square or tall, C = Q^H A' R^-1 and S its lower triangle made skew: Q' = Q (S - C) + A' R^-1.

    Of a wide matrix the first columns determine Q; the others follow from it.
    """
    (a,), (t,) = primals, (instantiate(tangents[0]),)
    *_, rows, columns = typeof(a).shape
    q, r, *order = qr_p.bind(a, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma)
    if pivoting:
        a, t = (transposed(take_rows(transposed(x), order[0])) for x in (a, t))
    k = shorter(rows, columns)
    first, square = part(t, columns=(0, k)), part(r, rows=(0, k), columns=(0, k))
    scaled = triangular_solve(square, first, left_side=False, lower=False)
    thin = part(q, columns=(0, k))
    inner = matmul(adjoint(thin), scaled)
    skew = lower_triangle(inner, -1)
    skew = sub(skew, adjoint(skew))
    if is_complex(typeof(a)):
        phases = imag(diagonal(inner))
        turned = as_columns(complex_(full_like(phases, 0), phases), inner)
        skew = select(on_diagonal(inner), turned, skew)
    dq = add(matmul(thin, sub(skew, inner)), scaled)
    dr = upper_triangle(matmul(sub(inner, skew), square))
    if full_matrices and rows > k:
        dq = _side_by_side(dq, _completing(thin, dq))
        below = [(0, 0, 0)] * (typeof(dr).ndim - 2) + [(0, rows - k, 0), (0, 0, 0)]
        dr = pad(dr, np.zeros((), typeof(dr).dtype)[()], below)
    if columns > k:
        rest = (k, columns)
        other = add(matmul(adjoint(dq), part(a, columns=rest)), matmul(adjoint(q), part(t, columns=rest)))
        dr = _side_by_side(dr, other)
    return [q, r, *order], [dq, dr, *(Zero.of(x) for x in order)]


def _completing(q: Array, dq: Array) -> Array:
    """The change of the columns that reflections put beside the first ones of Q, for a change of those.

    Reflections make Q = I - V T V^H. With B and C the upper and the lower rows of Q's first columns, which determine V
    and T, the columns beside them are those of I + (I - Q) G, where (I - B)^H G = C^H. Not defined where a column needs
    no reflection.
    """
    rows, k = typeof(q).shape[-2:]
    upper, lower = (part(dq, rows=bounds) for bounds in ((0, k), (k, rows)))
    missing = sub(with_diagonal(full_like(q, 0), 1), q)
    factors, _, order = lu(part(missing, rows=(0, k)))
    g = lu_solve(factors, order, adjoint(part(q, rows=(k, rows))), trans=2)
    dg = lu_solve(factors, order, add(adjoint(lower), matmul(adjoint(upper), g)), trans=2)
    return sub(matmul(missing, dg), matmul(dq, g))


def _side_by_side(x: Array, y: Array) -> Array:
    rank, zero = typeof(x).ndim, np.zeros((), typeof(x).dtype)[()]
    left, right = typeof(x).shape[-1], typeof(y).shape[-1]
    sides = [(0, 0, 0)] * (rank - 1)
    return add(pad(x, zero, [*sides, (0, right, 0)]), pad(y, zero, [*sides, (left, 0, 0)]))


qr_p.type_rule, qr_p.divides = _type_rule, leading_axes(2)
qr_p.lower[None] = lower_fun(_factored)
qr_p.jvp = _jvp
batch_in_front(qr_p)


def qr(
    x: Matrices, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Array, Array]:
    """QR factors: ``x = Q R`` with orthonormal columns of Q and upper triangular R.

    Args:
      x: array of shape ``(..., m, n)``.
      pivoting: exchange columns, so that the diagonal of R descends in magnitude.
      full_matrices: complete Q to m columns; otherwise it has ``min(m, n)``.
      use_magma: accepted; says on GPUs which library pivots.
    Returns: ``(Q, R)``; with pivoting ``(Q, R, order)``, where ``x[:, order] = Q R``.
    Raises:
      TypeError: fewer than two axes, a dtype without decomposition.
    Example: ``lax.linalg.qr(jnp.ones((3, 2)), full_matrices=False)[0].shape`` is ``(3, 2)``. Source: LAPACK ``geqrf``.
    """
    x = checked_operand("qr", x)
    return tuple(qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices), use_magma=use_magma))
