"""Choosing between arrays, element by element: select and clamp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.explicit_axes import elementwise
from arrax.core.interpreter import Primitive, Rounding
from arrax.core.types import ShapedArray, Zero, instantiate, slots, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering import builder
from arrax.lax.arithmetic import gt, lt, max_, min_
from arrax.lax.bitwise import bitwise_and, bitwise_or
from arrax.lax.families import example_shape, repeat_scalars
from arrax.lax.filled_arrays import full, zeros_of
from arrax.lax.operand_checks import checked_operand, kind_of, number_like
from arrax.lax.shape_slots import shape_slots
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Value
    from arrax.interpreters.lowering.contexts import LoweringContext

select_n_p = Primitive("select_n", rounding=Rounding.NONE)


def _select_type(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise ValueError("select_n must have at least one case")
    if kind_of(which.dtype) not in ("bool", "signed", "unsigned"):
        raise TypeError(f"select_n `which` must have a boolean or integer type, got {which.dtype}.")
    if which.dtype == np.bool_ and len(cases) > 2:
        raise TypeError(f"select_n with boolean `which` cannot have more than 2 cases, got {len(cases)}")
    first = cases[0]
    for case in cases:
        if case.dtype != first.dtype:
            names = ", ".join(str(getattr(c.dtype, "name", c.dtype)) for c in cases)
            raise TypeError(f"lax.select requires arguments to have the same dtypes, got {names}.")
        if case.shape != first.shape:
            shapes = ", ".join(str(c.shape) for c in cases)
            raise TypeError(f"select_n cases must have the same shapes, got [{shapes}]")
    if which.shape not in ((), first.shape):
        raise TypeError(
            f"select_n: `which` of shape {which.shape} is neither a scalar nor of the cases' shape {first.shape}."
        )
    return ShapedArray(first.shape, first.dtype, all(case.weak_type for case in cases))


def _select_lower(ctx: LoweringContext, which: Value, *cases: Value) -> list[Value]:
    if len(cases) == 1:
        return [cases[0]]
    which_aval, aval = ctx.avals_in[0], ctx.avals_out[0]
    if which_aval.dtype == np.bool_:
        return [builder.op("select", aval, which, cases[1], cases[0])]
    result = cases[-1]
    for index in range(len(cases) - 1, 0, -1):
        below = builder.compare("LT", which_aval.shape, which, builder.full(index, which_aval))
        result = builder.op("select", aval, below, cases[index - 1], result)
    return [result]


def _select_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Any]) -> tuple[Any, Any]:
    which, *cases = primals
    out = select_n_p.bind(which, *cases)
    case_tangents = tangents[1:]
    if all(type(t) is Zero for t in case_tangents):
        return out, Zero(case_tangents[0].aval)
    return out, select_n_p.bind(which, *[instantiate(t) for t in case_tangents])


def _select_transpose(ct: ArrayLike, which: Array | UndefinedPrimal, *cases: Any) -> list[Any]:
    if type(ct) is Zero:
        return [None, *(Zero(c.aval) if is_undefined_primal(c) else None for c in cases)]
    zeros = zeros_of(typeof(ct))
    out = []
    for index, case in enumerate(cases):
        if is_undefined_primal(case):
            zeros = zeros if typeof(zeros).shape == typeof(ct).shape else full(typeof(ct).shape, zeros)
            out.append(select_n_p.bind(which, *[ct if i == index else zeros for i in range(len(cases))]))
        else:
            out.append(None)
    return [None, *out]


def _select_batch(values: Sequence[ArrayLike], dims: Sequence[Any]) -> tuple[Any, int]:
    which, which_dim = values[0], dims[0]
    size = batch_size(values, dims)
    cases, case_dims = values[1:], dims[1:]
    if which_dim is None and typeof(which).shape == ():
        moved = [bdim_at_front(c, d, size) for c, d in zip(cases, case_dims, strict=True)]
        return select_n_p.bind(which, *moved), 0
    if all(dim is None and not typeof(case).shape for case, dim in zip(cases, case_dims, strict=True)):
        # only the choice is mapped, between numbers: libraries choose by arrays, too (jaxmarl)
        broadcasted = [shape_slots.broadcast_in_dim(case, typeof(which).shape, ()) for case in cases]
        return select_n_p.bind(which, *broadcasted), which_dim
    moved = [bdim_at_front(c, d, size) for c, d in zip(cases, case_dims, strict=True)]
    which = bdim_at_front(which, which_dim, size)
    shape = typeof(moved[0]).shape
    if typeof(which).ndim == 1:  # a scalar for each example
        which = shape_slots.broadcast_in_dim(which, shape, (0,))
    return select_n_p.bind(which, *moved), 0


select_n_p.type_rule, select_n_p.divides = _select_type, elementwise
select_n_p.lower[None] = _select_lower
select_n_p.jvp = _select_jvp
select_n_p.transpose = _select_transpose
select_n_p.batch = _select_batch


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """Choose each element from one of several arrays.

    Args:
      which: bool or int32 array: the number of the case, a scalar or of the cases' shape.
      cases: arrays of equal shape and dtype; for bools, the case of False comes first.
    Example: ``lax.select_n(jnp.array([True, False]), jnp.zeros(2), jnp.ones(2))`` is ``[1, 0]``.
    """
    which, values = checked_operand("select", which), [checked_operand("select", case) for case in cases]
    if values and isinstance(typeof(values[0]).dtype, dtypes.ExtendedDType):
        return typeof(values[0]).dtype.select_n(which, *values)
    return select_n_p.bind(which, *values)


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Choose each element from ``on_true`` where ``pred`` holds, else from ``on_false``.

    Args:
      pred: bool array of the shape of the others, or a scalar.
      on_true, on_false: arrays of one shape and dtype.
    Example: ``lax.select(jnp.array([True, False]), jnp.ones(2), jnp.zeros(2))`` is ``[1, 0]``.
    """
    return select_n(pred, on_false, on_true)


clamp_p = Primitive("clamp", rounding=Rounding.NONE)


def _clamp_type(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    if not low.dtype == x.dtype == high.dtype:
        raise TypeError(
            f"lax.clamp requires arguments to have the same dtypes, got {low.dtype}, {x.dtype}, {high.dtype}."
        )
    _check_bounds(low.shape, x.shape, high.shape)
    return x if not x.weak_type else x.update(weak_type=low.weak_type and high.weak_type)


def _check_bounds(low: tuple[int, ...], x: tuple[int, ...], high: tuple[int, ...]) -> None:
    for name, bound in (("min", low), ("max", high)):
        if bound not in ((), x):
            raise TypeError(
                f"clamp requires {name}.shape == operand.shape or {name}.shape == (), got {name}.shape={bound}, operand.shape={x}."
            )


def _clamp_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The tangent of the operand or the bound that is the answer (the upper one, where they have crossed).

    There is none where operand and bound are equal.
    """
    low, x, high = primals
    out = clamp_p.bind(low, x, high)
    total: Any = Zero.of(out)
    chosen = (
        bitwise_and(gt(low, x), lt(low, high)), bitwise_and(lt(low, x), lt(x, high)), bitwise_or(lt(high, x), lt(high, low)),
    )  # fmt: skip
    for flags, t in zip(chosen, tangents, strict=True):
        if type(t) is not Zero:
            t = t if typeof(t).shape == typeof(out).shape else shape_slots.broadcast_in_dim(t, typeof(out).shape, ())
            term = select(flags, t, zeros_of(typeof(t)))
            total = term if type(total) is Zero else slots.add(total, term)
    return out, total


def _clamp_lower(ctx: LoweringContext, low: Value, x: Value, high: Value) -> list[Value]:
    out = ctx.avals_out[0]
    low, x, high = repeat_scalars(ctx, (low, x, high))
    if kind_of(out.dtype) not in ("bool", "complex"):
        return [builder.op("clamp", out, low, x, high)]
    both = ctx.replace(avals_in=[out, out])
    (above,) = max_.primitive.lower[None](both, x, low)
    return list(min_.primitive.lower[None](both, above, high))


def _clamp_batch(values: Sequence[ArrayLike], dims: Dims) -> tuple[Any, int]:
    size = batch_size(values, dims)
    low_shape, shape, high_shape = map(example_shape, values, dims)
    _check_bounds(low_shape, shape, high_shape)
    low, x, high = (
        v if d is None and typeof(v).shape == () else bdim_at_front(v, d, size)
        for v, d in zip(values, dims, strict=True)
    )
    shape = typeof(x).shape
    if len(shape) == 0:
        x, shape = slots.broadcast(x, size, 0), (size,)

    def broadcasted(bound: ArrayLike) -> ArrayLike:
        own = typeof(bound).shape
        return bound if own in ((), shape) else shape_slots.broadcast_in_dim(bound, shape, tuple(range(len(own))))

    return clamp_p.bind(broadcasted(low), x, broadcasted(high)), 0


clamp_p.type_rule, clamp_p.divides = _clamp_type, elementwise
clamp_p.lower[None] = _clamp_lower
clamp_p.jvp = _clamp_jvp
clamp_p.batch = _clamp_batch


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Limit elements to the range from ``min`` to ``max``.

    Args:
      min, max: scalars or arrays of ``x``'s shape, of its dtype.
    Example: ``lax.clamp(0., jnp.array([-1., 2.]), 1.)`` is ``[0, 1]``. Source: StableHLO ``clamp``.
    """
    x = checked_operand("clamp", x)
    aval = typeof(x)
    low = number_like(min, aval) if type(min) in (int, float, bool) else checked_operand("clamp", min)
    high = number_like(max, aval) if type(max) in (int, float, bool) else checked_operand("clamp", max)
    if type(x) in (int, float) and not (type(min) in (int, float) and type(max) in (int, float)):
        x = number_like(x, typeof(low))
    return clamp_p.bind(low, x, high)
