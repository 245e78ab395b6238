"""Systems of linear equations with a tridiagonal matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.cost_model import work_of_rows
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import add, mul, neg, reciprocal, sub
from arrax.lax.axis_order import move_axis
from arrax.lax.control_flow.scans import scan
from arrax.lax.filled_arrays import full_like
from arrax.lax.linalg.kernels import (
    batch_in_front,
    check_matrices,
    integers,
    kernel_call,
    lapack_call,
    nan_unless,
    succeeded,
    weak_as,
)
from arrax.lax.operand_checks import checked_operand
from arrax.lax.shapes import broadcast_in_dim, squeeze
from arrax.lax.static_slicing import pad
from arrax.xla import lapack
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value

tridiagonal_solve_p = Primitive("tridiagonal_solve", cost=work_of_rows)


def _type_rule(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> ShapedArray:
    check_matrices("tridiagonal_solve", b)
    for name, aval in (("dl", dl), ("d", d), ("du", du)):
        if aval.shape != b.shape[:-1] or aval.dtype != b.dtype:
            raise TypeError(
                f"tridiagonal_solve requires diagonals of shape {b.shape[:-1]} and dtype {b.dtype.name}, got {name} of "
                f"type {aval.str_short(False)}"
            )
    return weak_as(b, dl, d, du)


def _lower_cpu(ctx: LoweringContext, *values: Value, perturb_singular: bool) -> list[Value]:
    avals, (out,) = ctx.avals_in, ctx.avals_out
    if out.size == 0:
        return [values[3]]
    if perturb_singular:
        lapack.prepare()
        return kernel_call("tridiagonal_solve_perturbed_ffi", values, avals, [out], matrix_rank=out.ndim)
    batch = out.shape[:-2]
    aliases = {number: number for number in range(4)}
    *_, x, info = lapack_call("gtsv", values, avals, [*avals, integers(batch)], {}, aliases, out.ndim)
    return [nan_unless(succeeded(info, batch), batch, x, out)]


def _lower_cuda(ctx: LoweringContext, *values: Any, perturb_singular: bool) -> list[Any]:
    target = "cu_tridiagonal_solve_perturbed" if perturb_singular else "cusparse_gtsv2_ffi"
    (out,) = ctx.avals_out
    return kernel_call(target, values, ctx.avals_in, [out], {}, {3: 0}, matrix_rank=out.ndim)


def _swept(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    """Eliminate downwards, substitute upwards, without pivoting (Thomas's algorithm)."""
    axis = typeof(d).ndim - 1
    low, middle, up, right = (move_axis(v, axis, 0) for v in (dl, d, du, b))

    def times(factor: Any, row: Any) -> Any:
        return mul(broadcast_in_dim(factor, typeof(row).shape, range(typeof(factor).ndim)), row)

    def eliminate(above: tuple[Any, Any], row: tuple[Any, ...]) -> Any:
        below, pivot, beside, value = row
        inverse = reciprocal(sub(pivot, mul(below, above[0])))
        done = mul(beside, inverse), times(inverse, sub(value, times(below, above[1])))
        return done, done

    def substitute(below: Any, row: tuple[Any, Any]) -> Any:
        solved = sub(row[1], times(row[0], below))
        return solved, solved

    zeros = tuple(full_like(v, 0, shape=typeof(v).shape[1:]) for v in (middle, right))
    _, rows = scan(eliminate, zeros, (low, middle, up, right))
    return move_axis(scan(substitute, zeros[1], rows, reverse=True)[1], 0, axis)


def _shifted(v: ArrayLike, by: int) -> Array:
    """Vectors along the last axis moved by one place, a zero coming in."""
    config = [(0, 0, 0)] * (typeof(v).ndim - 1) + [(by, -by, 0)]
    return pad(v, np.zeros((), typeof(v).dtype)[()], config)


def _applied(dl: Any, d: Any, du: Any, x: Array) -> Array:
    """The product of a tridiagonal matrix with the columns of ``x``."""
    shape = typeof(x).shape
    zero, lead = np.zeros((), typeof(x).dtype)[()], [(0, 0, 0)] * (len(shape) - 2)

    def times(v: ArrayLike, rows: Array) -> Array:
        return mul(broadcast_in_dim(v, shape, range(len(shape) - 1)), rows)

    before, after = (pad(x, zero, [*lead, (by, -by, 0), (0, 0, 0)]) for by in (1, -1))
    return add(times(d, x), add(times(dl, before), times(du, after)))


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    """With X the answer: T X' = B' - T' X."""
    dl, d, du, b = primals
    x = tridiagonal_solve_p.bind(dl, d, du, b, **params)
    right = None if type(tangents[3]) is Zero else tangents[3]
    if any(type(t) is not Zero for t in tangents[:3]):
        low, middle, up = (
            full_like(v, 0) if type(t) is Zero else t for v, t in zip(primals, tangents[:3], strict=False)
        )
        term = neg(_applied(low, middle, up, x))
        right = term if right is None else slots.add(right, term)
    return x, Zero.of(x) if right is None else tridiagonal_solve_p.bind(dl, d, du, right, **params)


def _transpose(ct: ArrayLike, dl: ArrayLike, d: Array, du: ArrayLike, b: UndefinedPrimal, **params: Any) -> list[Any]:
    if not is_undefined_primal(b):
        raise NotImplementedError("tridiagonal_solve is linear in its last operand only")
    if type(ct) is Zero:
        return [None, None, None, Zero(b.aval)]
    return [None, None, None, tridiagonal_solve_p.bind(_shifted(du, 1), d, _shifted(dl, -1), ct, **params)]


tridiagonal_solve_p.type_rule = _type_rule
tridiagonal_solve_p.lower["cpu"] = _lower_cpu
tridiagonal_solve_p.lower["cuda"] = _lower_cuda
tridiagonal_solve_p.lower[None] = lower_fun(_swept, multiple_results=False)
tridiagonal_solve_p.jvp = _jvp
tridiagonal_solve_p.transpose = _transpose
batch_in_front(tridiagonal_solve_p)


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """The solutions X of ``T X = B``, where T is tridiagonal.

    Args:
      dl, d, du: arrays of shape ``(..., m)``: the diagonals below, on and above the main one; entry i stands in row i,
        so that the first of ``dl`` and the last of ``du`` don't count.
      b: array of shape ``(..., m, n)``, or of shape ``(m,)`` beside vectors.
      perturb_singular: change pivots that vanish a little, rather than give NaN.
    Returns: array of the shape of ``b``.
    Raises:
      TypeError: shapes or dtypes that don't fit.
    Example: ``lax.linalg.tridiagonal_solve(jnp.zeros(2), jnp.ones(2), jnp.zeros(2), jnp.ones((2, 1)))`` is ones.
    Source: LAPACK ``gtsv``.
    """
    dl, d, du, b = (checked_operand("tridiagonal_solve", value) for value in (dl, d, du, b))
    if typeof(b).ndim == typeof(d).ndim == 1:
        column = broadcast_in_dim(b, (*typeof(b).shape, 1), (0,))
        x = tridiagonal_solve_p.bind(dl, d, du, column, perturb_singular=bool(perturb_singular))
        return squeeze(x, (1,))
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))
