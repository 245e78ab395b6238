"""Systems of linear equations with a triangular matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.explicit_axes import leading_axes
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.cost_model import work_of_rows
from arrax.interpreters.lowering import builder
from arrax.lax.arithmetic import neg
from arrax.lax.axis_order import move_axis
from arrax.lax.linalg.kernels import (
    check_matrices,
    has_routines,
    is_complex,
    lapack_call,
    weak_as,
)
from arrax.lax.linalg.matrices import (
    conjugate,
    lower_triangle,
    matmul,
    transposed,
    upper_triangle,
)
from arrax.lax.operand_checks import checked_operand, kind_of
from arrax.lax.shapes import expand_dims, reshape, squeeze
from arrax.xla.arrays import Array, ArrayLike, Matrices

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext

Solutions = Array

triangular_solve_p = Primitive("triangular_solve", cost=work_of_rows)


def _type_rule(a: ShapedArray, b: ShapedArray, *, left_side: bool, **params: Any) -> ShapedArray:
    check_matrices("triangular_solve", a, square=True, half=True)
    if a.dtype != b.dtype:
        raise TypeError(f"triangular_solve requires arguments of equal dtypes, got {a.dtype} and {b.dtype}")
    if a.ndim != b.ndim or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"triangular_solve requires equal leading axes, got shapes {a.shape} and {b.shape}")
    if a.shape[-1] != b.shape[-2 if left_side else -1]:
        raise ValueError(f"Incompatible shapes for arguments to triangular_solve: {a.shape} and {b.shape}.")
    return weak_as(b, a)


def _lower_cpu(
    ctx: LoweringContext,
    a: Value,
    b: Value,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> list[Value]:
    out = ctx.avals_out[0]
    if out.size == 0:
        return [b]
    if not has_routines(out):
        flags = {"left_side": left_side, "lower": lower, "transpose_a": transpose_a, "conjugate_a": conjugate_a}
        return _lower(ctx, a, b, unit_diagonal=unit_diagonal, **flags)
    if conjugate_a and not transpose_a:
        a = _conjugated_ir(a, ctx.avals_in[0])
    attributes = {
        "side": "L" if left_side else "R",
        "uplo": "L" if lower else "U",
        "trans_x": ("C" if conjugate_a else "T") if transpose_a else "N",
        "diag": "U" if unit_diagonal else "N",
    }
    return lapack_call("trsm", [a, b], ctx.avals_in, [out], attributes, {1: 0})


def _conjugated_ir(a: Value, aval: ShapedArray) -> Value:
    if not is_complex(aval):
        return a
    return builder.operation("chlo.conj", [builder.ir_type(aval)], [a]).results[0]


def _lower(
    ctx: LoweringContext,
    a: Value,
    b: Value,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> list[Value]:
    if conjugate_a and not transpose_a:
        a = _conjugated_ir(a, ctx.avals_in[0])
    kind = ("ADJOINT" if conjugate_a else "TRANSPOSE") if transpose_a else "NO_TRANSPOSE"
    flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    attributes = {name: builder.attribute(str(bool(value)).lower()) for name, value in flags.items()}
    attributes["transpose_a"] = builder.attribute(f"#stablehlo<transpose {kind}>")
    return [builder.op("triangular_solve", ctx.avals_out[0], a, b, **attributes)]


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    """With X the answer: op(A) X' = B' - op(A') X, of A' only the triangle that counts."""
    (a, b), (ta, tb) = primals, tangents
    x = triangular_solve_p.bind(a, b, **params)
    right = None if type(tb) is Zero else tb
    if type(ta) is not Zero:
        offset = 1 if params["unit_diagonal"] else 0
        ta = lower_triangle(ta, -offset) if params["lower"] else upper_triangle(ta, offset)
        ta = transposed(ta) if params["transpose_a"] else ta
        ta = conjugate(ta) if params["conjugate_a"] else ta
        term = neg(matmul(ta, x) if params["left_side"] else matmul(x, ta))
        right = term if right is None else slots.add(right, term)
    return x, Zero.of(x) if right is None else triangular_solve_p.bind(a, right, **params)


def _transpose(ct: Array, a: Array, b: UndefinedPrimal, *, transpose_a: bool, **params: Any) -> list[Any]:
    if not is_undefined_primal(b):
        raise NotImplementedError("triangular_solve is linear in its second operand only")
    if type(ct) is Zero:
        return [None, Zero(b.aval)]
    return [None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)]


def _batch(values: Sequence[ArrayLike], dims: Sequence[Any], *, left_side: bool, **params: Any) -> tuple[Any, int]:
    (a, b), (a_dim, b_dim) = values, dims
    size = batch_size(values, dims)
    if a_dim is not None:
        a, b = bdim_at_front(a, a_dim, size), bdim_at_front(b, b_dim, size)
        return triangular_solve_p.bind(a, b, left_side=left_side, **params), 0
    # One matrix for all: the right sides stand beside each other.
    *lead, rows, columns = typeof(move_axis(b, b_dim, 0)).shape[1:]
    if left_side:
        merged = reshape(move_axis(b, b_dim, -1), (*lead, rows, columns * size))
        out = triangular_solve_p.bind(a, merged, left_side=True, **params)
        return reshape(out, (*lead, rows, columns, size)), len(lead) + 2
    merged = reshape(move_axis(b, b_dim, len(lead)), (*lead, size * rows, columns))
    out = triangular_solve_p.bind(a, merged, left_side=False, **params)
    return reshape(out, (*lead, size, rows, columns)), len(lead)


triangular_solve_p.type_rule, triangular_solve_p.divides = _type_rule, leading_axes(2)
triangular_solve_p.lower["cpu"] = _lower_cpu
triangular_solve_p.lower[None] = _lower
triangular_solve_p.jvp = _jvp
triangular_solve_p.transpose = _transpose
triangular_solve_p.batch = _batch


def triangular_solve(
    a: Matrices, b: Matrices, *, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
    conjugate_a: bool = False, unit_diagonal: bool = False,
) -> Solutions:  # fmt: skip
    """The solutions X of ``op(A) X = B``, or of ``X op(A) = B``, where A is triangular.

    Args:
      a: array of shape ``(..., m, m)``, of which one triangle counts.
      b: array of shape ``(..., m, n)`` where ``left_side``, else ``(..., n, m)``; or without the axis of n.
      left_side: whether A stands on the left.
      lower: whether the lower triangle counts, rather than the upper one.
      transpose_a, conjugate_a: what op does with A.
      unit_diagonal: take the diagonal for ones.
    Returns: array of the shape of ``b``.
    Raises:
      ValueError: shapes that don't fit, matrices that are not square.
      TypeError: dtypes that differ or are not supported.
    Example: ``lax.linalg.triangular_solve(2 * jnp.eye(2), jnp.ones((2, 2)))`` is halves. Source: BLAS ``trsm``.
    """
    a, b = checked_operand("triangular_solve", a), checked_operand("triangular_solve", b)
    conjugates = conjugate_a and kind_of(typeof(a).dtype) == "complex"
    params = {
        "left_side": bool(left_side), "lower": bool(lower), "transpose_a": bool(transpose_a),
        "conjugate_a": bool(conjugates), "unit_diagonal": bool(unit_diagonal),
    }  # fmt: skip
    if typeof(b).ndim != typeof(a).ndim - 1:
        return triangular_solve_p.bind(a, b, **params)
    axis = -1 if left_side else -2
    return squeeze(triangular_solve_p.bind(a, expand_dims(b, (axis,)), **params), (axis,))
