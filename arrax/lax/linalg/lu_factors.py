"""LU factors with partial pivoting, and the permutations that pivots stand for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.calls import as_index
from arrax.core.explicit_axes import leading_axes
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_below, shorter
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.cost_model import work_of_rows
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import cached_lower_fun
from arrax.lax.arithmetic import add, eq, mul
from arrax.lax.control_flow.loops import fori_loop
from arrax.lax.conversion import convert_element_type
from arrax.lax.filled_arrays import broadcasted_iota, full_like, iota
from arrax.lax.linalg.kernels import (
    INT32,
    batch_in_front,
    check_matrices,
    integers,
    kernel_call,
    lapack_call,
    nan_unless,
    plain_call,
    solver_name,
    succeeded,
)
from arrax.lax.linalg.matrices import lower_triangle, matmul, part, take_rows, upper_triangle, with_diagonal
from arrax.lax.linalg.triangular_systems import triangular_solve
from arrax.lax.operand_checks import checked_operand
from arrax.lax.reductions import reduce_sum
from arrax.lax.selection import select
from arrax.lax.shapes import broadcast_in_dim
from arrax.lax.slicing import dynamic_slice, dynamic_update_slice
from arrax.lax.slicing_along_axes import dynamic_index_in_dim, dynamic_update_index_in_dim
from arrax.lax.static_slicing import pad
from arrax.xla.arrays import Array, ArrayLike, Matrices

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value

# ---- permutations of pivots -----------------------------------------------------------------------------------------

lu_pivots_to_permutation_p = Primitive("lu_pivots_to_permutation")


def _permutation_type(pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
    if pivots.ndim < 1 or pivots.dtype != INT32:
        raise TypeError(f"lu_pivots_to_permutation requires int32 vectors, got {pivots.str_short(False)}")
    if permutation_size < pivots.shape[-1]:
        raise ValueError(f"permutation_size {permutation_size} is below the number of pivots {pivots.shape[-1]}")
    return integers((*pivots.shape[:-1], permutation_size))


_MANY_PIVOTS = 16  # whose loop is worth a kernel of its own; the CPU compiler fails at one that does nothing


def _swaps(pivots: Array, *, permutation_size: int) -> Array:
    """Start with the identity; exchange entry i with the one that pivot i names, in order."""
    *batch, count = typeof(pivots).shape
    if not count:
        return broadcasted_iota(np.int32, (*batch, permutation_size), len(batch))
    if not batch:
        return fori_loop(0, count, partial(_exchange_two, pivots), iota(np.int32, permutation_size))
    axis = len(batch)
    indices = broadcasted_iota(np.int32, (*batch, permutation_size), axis)

    def exchange(i: Array, order: Array) -> Array:  # whole rows at a time
        pivot = dynamic_index_in_dim(pivots, i, axis)
        mine = dynamic_index_in_dim(order, i, axis)
        here = eq(indices, broadcast_in_dim(pivot, typeof(order).shape, range(axis + 1)))
        there = reduce_sum(select(here, order, full_like(order, 0)), (axis,))
        order = select(here, broadcast_in_dim(mine, typeof(order).shape, range(axis + 1)), order)
        return dynamic_update_index_in_dim(order, there, i, axis)

    return fori_loop(0, count, exchange, indices)


def _exchange_two(pivots: Array, i: Array, order: Array) -> Array:
    other = dynamic_index_in_dim(pivots, i, keepdims=False)
    mine, its = dynamic_slice(order, (i,), (1,)), dynamic_slice(order, (other,), (1,))
    return dynamic_update_slice(dynamic_update_slice(order, its, (i,)), mine, (other,))


def _permutation_gpu(ctx: LoweringContext, pivots: Any, *, permutation_size: int) -> list[Any]:
    return _vector_call(ctx, "cu_lu_pivots_to_permutation", pivots)


def _vector_call(ctx: LoweringContext, target: str, pivots: Any) -> list[Any]:
    attributes = {
        "call_target_name": builder.string(target), "api_version": builder.integer(4, 32),
        "backend_config": builder.attribute("{}"), "operand_layouts": builder.row_major(ctx.avals_in[:1]),
        "result_layouts": builder.row_major(ctx.avals_out[:1]),
    }  # fmt: skip
    types = [builder.ir_type(ctx.avals_out[0])]
    return list(builder.operation("stablehlo.custom_call", types, [pivots], attributes).results)


_lower_few = cached_lower_fun(_swaps, "permutation_of_pivots")
_lower_many = cached_lower_fun(_swaps, "permutation_of_pivots", one_kernel=True)


def _permutation_lower(ctx: LoweringContext, pivots: Value, *, permutation_size: int) -> Sequence[Value]:
    lower = _lower_few if is_below(ctx.avals_in[0].shape[-1], _MANY_PIVOTS, True) else _lower_many
    return lower(ctx, pivots, permutation_size=permutation_size)


lu_pivots_to_permutation_p.type_rule = _permutation_type
lu_pivots_to_permutation_p.lower[None] = _permutation_lower
lu_pivots_to_permutation_p.lower["cuda"] = _permutation_gpu
batch_in_front(lu_pivots_to_permutation_p)


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation that a sequence of exchanges of rows amounts to.

    Args:
      pivots: int32 array of shape ``(..., k)``: row i was exchanged with row ``pivots[i]``, for i from 0.
      permutation_size: number of rows, at least k.
    Returns: int32 array of shape ``(..., permutation_size)``.
    Raises:
      TypeError: not vectors of int32.
      ValueError: fewer rows than pivots.
    Example: ``lax.linalg.lu_pivots_to_permutation(jnp.array([1, 1], jnp.int32), 2)`` is ``[1, 0]``.
    """
    pivots = checked_operand("lu_pivots_to_permutation", pivots)
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=as_index(permutation_size))


# ---- the factors ----------------------------------------------------------------------------------------------------

lu_p = Primitive("lu", multiple_results=True, cost=work_of_rows)


def _type_rule(aval: ShapedArray) -> list[ShapedArray]:
    check_matrices("lu", aval)
    *batch, rows, columns = aval.shape
    return [aval, integers((*batch, shorter(rows, columns))), integers((*batch, rows))]


_permute = cached_lower_fun(
    lambda pivots, *, permutation_size: lu_pivots_to_permutation_p.bind(pivots, permutation_size=permutation_size),
    "permutation",
)


def _finish(ctx: LoweringContext, aval: ShapedArray, factors: Value, pivots: Value, info: Value) -> list[Value]:
    """LAPACK counts from 1 and calls singular matrices a success of another kind."""
    pivots_aval = ctx.avals_out[1]
    pivots = builder.op("subtract", pivots_aval, pivots, builder.full(1, pivots_aval))
    batch = aval.shape[:-2]
    factors = nan_unless(succeeded(info, batch, "GE"), batch, factors, ctx.avals_out[0])
    inner = ctx.replace(avals_in=[pivots_aval], avals_out=[ctx.avals_out[2]])
    (order,) = _permute(inner, pivots, permutation_size=aval.shape[-2])
    return [factors, pivots, order]


def _empty(ctx: LoweringContext) -> list[Value]:
    factors, pivots, order = ctx.avals_out
    ascending = np.broadcast_to(np.arange(order.shape[-1], dtype=np.int32), order.shape)
    return [builder.full(0, factors), builder.full(0, pivots), builder.constant(ascending.copy())]


def _lower_cpu(ctx: LoweringContext, a: Value) -> list[Value]:
    (aval,) = ctx.avals_in
    if aval.size == 0:
        return _empty(ctx)
    outs = [aval, ctx.avals_out[1], integers(aval.shape[:-2])]
    return _finish(ctx, aval, *lapack_call("getrf", [a], [aval], outs, {}, {0: 0}))


def _lower_gpu(ctx: LoweringContext, a: Any) -> list[Any]:
    (aval,) = ctx.avals_in
    outs = [aval, ctx.avals_out[1], integers(aval.shape[:-2])]
    return _finish(ctx, aval, *kernel_call(solver_name(ctx, "getrf"), [a], [aval], outs, {}, {0: 0}))


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent]) -> tuple[list[Any], list[Any]]:
    """With C = L^-1 P A' U^-1: L' is L times C's lower triangle, U' is its upper triangle times U."""
    (a,), (t,) = primals, tangents
    factors, pivots, order = lu_p.bind(a)
    *batch, rows, columns = typeof(a).shape
    k, zero = shorter(rows, columns), np.zeros((), typeof(a).dtype)[()]
    sides = [(0, 0, 0)] * len(batch)
    lower = lower_triangle(part(factors, columns=(0, k)), -1)
    lower = with_diagonal(pad(lower, zero, [*sides, (0, 0, 0), (0, rows - k, 0)]), 1)
    upper = pad(upper_triangle(part(factors, rows=(0, k))), zero, [*sides, (0, columns - k, 0), (0, 0, 0)])
    if columns > k:
        beyond = np.zeros(columns, typeof(a).dtype)
        beyond[k:] = 1
        added = broadcast_in_dim(np.diag(beyond), typeof(upper).shape, (len(batch), len(batch) + 1))
        upper = add(upper, added)
    inner = triangular_solve(lower, take_rows(t, order), left_side=True, lower=True, unit_diagonal=True)
    inner = triangular_solve(upper, inner, left_side=False, lower=False)
    change = add(matmul(lower, lower_triangle(inner, -1)), matmul(upper_triangle(inner), upper))
    return [factors, pivots, order], [change, Zero.of(pivots), Zero.of(order)]


lu_p.type_rule, lu_p.divides = _type_rule, leading_axes(2)
lu_p.lower["cpu"] = _lower_cpu
lu_p.lower["gpu"] = _lower_gpu
lu_p.lower[None] = lambda ctx, a: plain_call("LuDecomposition", [a], ctx.avals_out)
lu_p.jvp = _jvp
batch_in_front(lu_p)


def lu(x: Matrices) -> list[Array]:
    """LU factors with partial pivoting: ``x[permutation] = L U``.

    Args:
      x: array of shape ``(..., m, n)``.
    Returns: ``[lu, pivots, permutation]``: L below the diagonal (its own one is ones) and U above it, shape
      ``(..., m, n)``; the exchanges of rows, int32 of shape ``(..., min(m, n))``; and the order of rows that they give,
      int32 of shape ``(..., m)``.
    Raises:
      TypeError: fewer than two axes, a dtype without decomposition.
    Example: ``lax.linalg.lu(jnp.array([[0., 1.], [2., 3.]]))[2]`` is ``[1, 0]``. Source: LAPACK ``getrf``.
    """
    return lu_p.bind(checked_operand("lu", x))


def lu_solve(factors: Array, order: Array, b: Array, trans: int = 0) -> Array:
    """The solutions of systems whose factors are known.

    Args:
      factors, order: from ``lu``, of shapes ``(..., n, n)`` and ``(..., n)``.
      b: array of shape ``(..., n, k)``.
      trans: 0 for ``A x = b``, 1 for the transpose of A, 2 for its adjoint.
    """
    if trans == 0:
        x = triangular_solve(factors, take_rows(b, order), left_side=True, lower=True, unit_diagonal=True)
        return triangular_solve(factors, x, left_side=True, lower=False)
    options = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
    x = triangular_solve(factors, b, lower=False, **options)
    x = triangular_solve(factors, x, lower=True, unit_diagonal=True, **options)
    return take_rows(x, inverse_order(order))


def inverse_order(order: Array) -> Array:
    """The inverse permutations."""
    *batch, size = typeof(order).shape
    shape, axis = (*batch, size, size), len(batch)
    targets = broadcasted_iota(np.int32, shape, axis)
    hits = eq(broadcast_in_dim(order, shape, (*range(axis), axis + 1)), targets)
    indices = broadcasted_iota(np.int32, shape, axis + 1)
    return reduce_sum(mul(convert_element_type(hits, np.int32), indices), (axis + 1,))
