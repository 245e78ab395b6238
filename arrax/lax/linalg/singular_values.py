"""Singular values and vectors."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax import dtypes
from arrax.core.explicit_axes import leading_axes
from arrax.core.interpreter import Primitive
from arrax.core.lengths import shorter
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.cost_model import work_of_rows
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import add, div, eq, mul, real_part, sub
from arrax.lax.conversion import convert_element_type
from arrax.lax.filled_arrays import full_like
from arrax.lax.linalg.kernels import (
    batch_in_front,
    check_choice,
    check_matrices,
    factor_type,
    finite_or_nan,
    for_empty,
    integers,
    is_complex,
    kernel_call,
    lapack_call,
    nan_unless,
    solver_name,
    succeeded,
)
from arrax.lax.linalg.matrices import (
    adjoint,
    as_columns,
    as_rows,
    diagonal,
    matmul,
    on_diagonal,
    part,
    with_diagonal,
)
from arrax.lax.linalg.polar_factors import svd_by_polar_factors
from arrax.lax.operand_checks import checked_operand
from arrax.lax.selection import select
from arrax.lax.static_slicing import slice_in_dim
from arrax.xla.arrays import Array, ArrayLike, Matrices

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value

svd_p = Primitive("svd", multiple_results=True, cost=work_of_rows)


class SvdAlgorithm(enum.Enum):
    """How singular values are computed; platforms without the algorithm use their own.

    Example: ``lax.linalg.svd(jnp.eye(2), algorithm=lax.linalg.SvdAlgorithm.QR, compute_uv=False)`` is ``[1, 1]``.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def _types(aval: ShapedArray, full_matrices: bool) -> list[ShapedArray]:
    *batch, rows, columns = aval.shape
    k = shorter(rows, columns)
    return [
        factor_type(aval, (*batch, k), dtypes.real_dtype(aval.dtype)),
        factor_type(aval, (*batch, rows, rows if full_matrices else k)),
        factor_type(aval, (*batch, columns if full_matrices else k, columns)),
    ]


def _type_rule(aval: ShapedArray, *, full_matrices: bool, compute_uv: bool, **params: Any) -> list[ShapedArray]:
    check_matrices("svd", aval)
    types = _types(aval, full_matrices)
    return types if compute_uv else types[:1]


def _finish(ctx: LoweringContext, aval: ShapedArray, outs: Sequence[Value], info: Value) -> list[Value]:
    batch = aval.shape[:-2]
    ok = succeeded(info, batch)
    return [nan_unless(ok, batch, out, t) for out, t in zip(outs, ctx.avals_out, strict=False)]


@for_empty
def _lower_cpu(
    ctx: LoweringContext,
    a: Value,
    *,
    full_matrices: bool,
    compute_uv: bool,
    algorithm: SvdAlgorithm | None = None,
    **params: Any,
) -> list[Value]:
    (aval,) = ctx.avals_in
    mode = ("A" if full_matrices else "S") if compute_uv else "N"
    routine = "gesvd" if algorithm is SvdAlgorithm.QR else "gesdd"
    outs = [aval, *_types(aval, full_matrices), integers(aval.shape[:-2])]
    _, values, left, right, info = lapack_call(routine, [finite_or_nan(a, aval)], [aval], outs, {"mode": mode}, {0: 0})
    return _finish(ctx, aval, (values, left, right), info)


def _gpu_svd(a: Any, *, full_matrices: bool, compute_uv: bool, **params: Any) -> list[Any]:
    values, left, right = gesvdj_p.bind(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return [values, left, adjoint(right)] if compute_uv else [values]


gesvdj_p = Primitive("gesvdj", multiple_results=True, cost=work_of_rows)


def _gesvdj_type(aval: ShapedArray, *, full_matrices: bool, compute_uv: bool) -> list[ShapedArray]:
    values, left, right = _types(aval, full_matrices)
    return [values, left, ShapedArray((*right.shape[:-2], right.shape[-1], right.shape[-2]), right.dtype)]


def _gesvdj_gpu(ctx: LoweringContext, a: Any, *, full_matrices: bool, compute_uv: bool) -> list[Any]:
    (aval,) = ctx.avals_in
    outs = [aval, *ctx.avals_out, integers(aval.shape[:-2])]
    attributes = {"compute_uv": bool(compute_uv), "full_matrices": bool(full_matrices)}
    _, values, left, right, info = kernel_call(solver_name(ctx, "gesvdj"), [a], [aval], outs, attributes, {0: 0})
    return _finish(ctx, aval, (values, left, right), info)


gesvdj_p.type_rule, gesvdj_p.lower["gpu"] = _gesvdj_type, _gesvdj_gpu


def _jvp(
    primals: Sequence[ArrayLike],
    tangents: Sequence[Tangent],
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: Any,
    algorithm: Any,
) -> tuple[list[Any], list[Any]]:
    """With C = U^H A' V: the values' tangents are its diagonal, the vectors' follow from its two Hermitian parts.

    Off the diagonal ``U' = U X`` and ``V' = V Y`` satisfy ``C = X S - S Y`` with X, Y skew, so
    ``X (s_j^2 - s_i^2) = C s_j + s_i C^H`` and ``Y (s_j^2 - s_i^2) = s_i C + C^H s_j``. What U and V don't span is added.
    """
    (a,), (t,) = primals, tangents
    *_, rows, columns = typeof(a).shape
    if compute_uv and full_matrices and rows != columns:
        raise NotImplementedError("the derivative of svd with full_matrices=True is defined for square matrices only")
    s, u, vh = svd_p.bind(a, full_matrices=False, compute_uv=True, subset_by_index=subset_by_index, algorithm=algorithm)
    v = adjoint(vh)
    inner = matmul(adjoint(u), matmul(t, v))
    shifts = diagonal(inner)
    ds = real_part(shifts) if is_complex(typeof(inner)) else shifts
    if not compute_uv:
        return [s], [ds]
    like = ShapedArray(typeof(inner).shape, typeof(s).dtype)
    si, sj = as_columns(s, like), as_rows(s, like)
    gaps = with_diagonal(mul(add(sj, si), sub(sj, si)), 1)
    inverse = with_diagonal(div(full_like(gaps, 1), gaps), 0)
    inverse, si, sj = (convert_element_type(x, typeof(inner).dtype) for x in (inverse, si, sj))
    mirrored = adjoint(inner)
    x = mul(inverse, add(mul(inner, sj), mul(si, mirrored)))
    y = mul(inverse, add(mul(si, inner), mul(mirrored, sj)))
    if is_complex(typeof(inner)):  # the phase of a pair of vectors is free: let only the left one turn
        half = full_like(inner, 0.5)
        skew = mul(mul(half, sub(inner, mirrored)), _inverse_or_zero(si))
        x = select(on_diagonal(inner), skew, x)
    du, dv = matmul(u, x), matmul(v, y)
    if rows > columns:
        du = add(du, _outside(u, matmul(t, v), s))
    if columns > rows:
        dv = add(dv, _outside(v, matmul(adjoint(t), u), s))
    return [s, u, vh], [ds, du, adjoint(dv)]


def _inverse_or_zero(x: Array) -> Array:
    zero = eq(x, full_like(x, 0))
    return select(zero, full_like(x, 0), div(full_like(x, 1), select(zero, full_like(x, 1), x)))


def _outside(vectors: Array, moved: Array, values: Array) -> Array:
    """What is orthogonal to the vectors in their change."""
    outside = sub(moved, matmul(vectors, matmul(adjoint(vectors), moved)))
    return div(outside, as_rows(convert_element_type(values, typeof(moved).dtype), outside))


def _general(a: Any, *, full_matrices: bool, compute_uv: bool, **params: Any) -> list[Any]:
    return svd_by_polar_factors(a, full_matrices, compute_uv)


svd_p.type_rule, svd_p.divides = _type_rule, leading_axes(2)
svd_p.lower["cpu"] = _lower_cpu
svd_p.lower["gpu"] = for_empty(lower_fun(_gpu_svd))
svd_p.lower[None] = for_empty(lower_fun(_general))
svd_p.jvp = _jvp
batch_in_front(svd_p)


def svd(
    x: Matrices, *, full_matrices: bool = True, compute_uv: bool = True, subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:  # fmt: skip
    """Singular values and vectors: ``x = U diag(s) Vh``.

    Args:
      x: array of shape ``(..., m, n)``.
      full_matrices: complete U and Vh to square matrices; otherwise they have ``min(m, n)`` vectors.
      compute_uv: whether vectors are wanted.
      subset_by_index: ``(start, stop)``: only these of the descending values.
      algorithm: a SvdAlgorithm; platforms without it use their own.
    Returns: ``(U, s, Vh)``, or ``s`` alone; values descend. NaN where the algorithm failed.
    Raises:
      ValueError: a subset out of bounds.
      TypeError: fewer than two axes, a dtype without decomposition, another algorithm.
      NotImplementedError: the derivative of vectors that complete U or Vh.
    Example: ``lax.linalg.svd(jnp.diag(jnp.array([1., 2.])), compute_uv=False)`` is ``[2, 1]``. Source: LAPACK ``gesdd``.
    """
    x = checked_operand("svd", x)
    check_matrices("svd", typeof(x))
    check_choice("svd", "algorithm", algorithm, SvdAlgorithm)
    outs = svd_p.bind(
        x, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), subset_by_index=None, algorithm=algorithm
    )
    if subset_by_index is not None:
        outs = _subset(outs, subset_by_index, min(typeof(x).shape[-2:]), full_matrices)
    return (outs[1], outs[0], outs[2]) if compute_uv else outs[0]


def _subset(outs: list[Any], bounds: tuple[int, int], count: int, full_matrices: bool) -> list[Any]:
    start, stop = bounds
    if not 0 <= start < stop <= count:
        raise ValueError(f"svd: subset_by_index {bounds} is out of bounds for {count} singular values")
    if len(outs) == 3 and full_matrices and bounds != (0, count):
        raise ValueError("svd: full_matrices and subset_by_index cannot both be given")
    chosen = [slice_in_dim(outs[0], start, stop, axis=-1)]
    if len(outs) == 3 and not full_matrices:
        chosen += [part(outs[1], columns=(start, stop)), part(outs[2], rows=(start, stop))]
    return chosen + outs[len(chosen) :]
