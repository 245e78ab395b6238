"""Linear recurrences along an axis: the derivative of every cumulative operation is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, is_undefined_primal
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import add, mul, scalar
from arrax.lax.associative_scans import prefixes
from arrax.lax.axis_loop import known_or_by_loop, lower_along_axis
from arrax.lax.axis_order import rev
from arrax.lax.static_slicing import pad

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims, Value
    from arrax.xla.arrays import Array, ArrayLike

linear_recurrence_p = Primitive("linear_recurrence", cost=16)


def linear_recurrence(a: ArrayLike, b: Array, axis: int = 0, reverse: bool = False) -> Array:
    """The solution of ``y[i] = a[i] y[i-1] + b[i]`` along an axis, with ``y[-1] = 0``.

    Args:
      a, b: arrays of equal shape and dtype.
      reverse: from the end: ``y[i] = a[i] y[i+1] + b[i]``.
    Returns: array of their shape.
    Example: ``linear_recurrence(jnp.ones(3), jnp.arange(3.))`` is the cumulative sum ``[0, 1, 3]``.
    """
    return linear_recurrence_p.bind(a, b, axis=axis, reverse=bool(reverse))


def shifted(x: ArrayLike, axis: int, reverse: bool, first: ArrayLike) -> Array:
    """Each entry's predecessor along an axis, which is ``first`` (a scalar) for the first one."""
    config = [((-1, 1, 0) if reverse else (1, -1, 0)) if i == axis else (0, 0, 0) for i in range(typeof(x).ndim)]
    return pad(x, first, config)


def _type_rule(a: ShapedArray, b: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        raise TypeError(f"linear_recurrence requires equal types, got {a.str_short(True)} and {b.str_short(True)}")
    return b


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, reverse: bool) -> tuple[Any, Any]:
    (a, b), (da, db) = primals, tangents
    y = linear_recurrence_p.bind(a, b, axis=axis, reverse=reverse)
    if type(da) is not Zero:
        term = mul(da, shifted(y, axis, reverse, scalar(0, y)))
        db = term if type(db) is Zero else add(db, term)
    return y, db if type(db) is Zero else linear_recurrence_p.bind(a, db, axis=axis, reverse=reverse)


def _transpose(ct: ArrayLike, a: ArrayLike, b: UndefinedPrimal, *, axis: int, reverse: bool) -> list[Any]:
    if is_undefined_primal(a):
        raise NotImplementedError("linear_recurrence is linear in its second operand only")
    successor = shifted(a, axis, not reverse, scalar(0, a))
    return [None, linear_recurrence_p.bind(successor, ct, axis=axis, reverse=not reverse)]


def _batch(values: Sequence[ArrayLike], dims: Dims, *, axis: int, reverse: bool) -> tuple[Any, int]:
    size = batch_size(values, dims)
    a, b = (bdim_at_front(x, dim, size) for x, dim in zip(values, dims, strict=True))
    return linear_recurrence_p.bind(a, b, axis=axis + 1, reverse=reverse), 0


def _compose(a1: Any, b1: Any, a2: Any, b2: Any) -> list[Any]:
    return [mul(a1, a2), add(mul(a2, b1), b2)]


def _by_prefixes(a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    if reverse:
        a, b = rev(a, (axis,)), rev(b, (axis,))
    y = prefixes(_compose, [a, b], axis)[1]
    return rev(y, (axis,)) if reverse else y


_parallel_lowering = lower_fun(_by_prefixes, multiple_results=False)


def _loop_lowering(ctx: LoweringContext, a: Value, b: Value, *, axis: int, reverse: bool) -> list[Value]:
    aval = ctx.avals_out[0]
    if aval.size == 0:
        return [b]
    if ctx.module_context.num_devices > 1 and type(aval.size) is int:
        return list(_parallel_lowering(ctx, a, b, axis=axis, reverse=reverse))

    def step(shape: tuple[int, ...], carries: Sequence[Value], entries: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        entry = ShapedArray(shape, aval.dtype)
        y = builder.op("add", entry, builder.op("multiply", entry, entries[0], carries[0]), entries[1])
        return [y], [y]

    avals = [ShapedArray(aval.shape, aval.dtype)] * 2
    return lower_along_axis(
        ctx, [a, b], [0], step, avals_in=avals, avals_out=avals[:1], carries=[aval.dtype], axis=axis, reverse=reverse
    )


linear_recurrence_p.type_rule = _type_rule
linear_recurrence_p.lower[None] = known_or_by_loop(_parallel_lowering, _loop_lowering)
linear_recurrence_p.lower["cpu"] = _loop_lowering
linear_recurrence_p.jvp = _jvp
linear_recurrence_p.transpose = _transpose
linear_recurrence_p.batch = _batch
