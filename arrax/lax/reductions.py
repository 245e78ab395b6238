"""Reductions over axes: sums, products, minima and maxima, logic, and reductions by any computation."""

# mypy: disable-error-code="has-type"
# (entries name each other inside their rules)

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.calls import as_indices
from arrax.core.explicit_axes import without_axes
from arrax.core.functions import name_function
from arrax.core.interpreter import Primitive
from arrax.core.operand_memories import memory_of_all
from arrax.core.program import ClosedJaxpr
from arrax.core.pytrees import tree_map, tree_unflatten
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.interpreters.ad.forward import jvp
from arrax.interpreters.batching import batch, batch_size, move_batch_axis
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import cached_lower_fun, lower_as_meant
from arrax.lax import computations
from arrax.lax.arithmetic import add, div, eq, max_, min_, mul, ne
from arrax.lax.axis_order import transpose
from arrax.lax.bitwise import bitwise_and, bitwise_or, bitwise_xor
from arrax.lax.computations import Monoid, apply_elementwise, fill_region, program_body
from arrax.lax.concatenation import concatenate
from arrax.lax.conversion import convert_element_type, convert_ir
from arrax.lax.cpu.columns import columns_form
from arrax.lax.cpu.extremes import extreme_form
from arrax.lax.cpu.reducing import flags_form, reduce_form
from arrax.lax.cpu.sums import sum_form
from arrax.lax.families import compose_jvp
from arrax.lax.filled_arrays import full_like
from arrax.lax.operand_checks import accumulator, anything, bools, check_dtype, checked_operand, integers, numeric
from arrax.lax.selection import select
from arrax.lax.shape_slots import shape_slots
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.lax.static_slicing import slice_in_dim
from arrax.lax.whole_bytes import in_whole_bytes
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.ad.transpose import UndefinedPrimal
    from arrax.interpreters.annotations import Dims, Tangent, Value


def check_axes(name: str, aval: ShapedArray, axes: Sequence[int]) -> None:
    """Refuse axes that repeat or that an operand does not have."""
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: duplicate value in axes {tuple(axes)}")
    if not all(0 <= axis < aval.ndim for axis in axes):
        raise ValueError(f"{name}: axes {tuple(axes)} are out of bounds for an operand of type {aval.str_short(True)}")


def without_lengths(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(length for axis, length in enumerate(shape) if axis not in axes)


def kept_axes(rank: int, axes: Sequence[int]) -> list[int]:
    return [axis for axis in range(rank) if axis not in axes]


def shifted_axes(axes: Sequence[int], dim: int) -> tuple[tuple[int, ...], int]:
    """Axes beside a batch axis at ``dim``, and where that axis is in the result."""
    moved = tuple(axis + (axis >= dim) for axis in axes)
    return moved, dim - sum(axis < dim for axis in moved)


def reduce_ir(
    ctx: LoweringContext,
    values: Sequence[Value],
    inits: Sequence[Value],
    axes: Sequence[int],
    outs: Sequence[ShapedArray],
    body: Callable[..., Any],
) -> list[Value]:
    """A ``stablehlo.reduce`` with a region built by ``body(*scalars)``."""
    types = [builder.ir_type(aval) for aval in outs]
    operation = builder.operation("stablehlo.reduce", types, [*values, *inits], {"dimensions": builder.ints(axes)}, 1)
    fill_region(ctx, operation, 0, [aval.dtype for aval in outs], body)
    return list(operation.results)


def lower_monoid(
    ctx: LoweringContext, x: Value, monoid: Monoid, axes: Sequence[int], wide: bool, may_drop_nan: bool = False
) -> Value:
    """A reduction by a monoid; small floats are summed as float32 where ``wide``."""
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    dtype = accumulator(aval.dtype) if wide else aval.dtype
    x = convert_ir(x, aval, ShapedArray(aval.shape, dtype))
    result = ShapedArray(out.shape, dtype)
    reduced = reduced_ir(ctx, x, ShapedArray(aval.shape, dtype), monoid, axes, result, may_drop_nan)
    return convert_ir(reduced, result, out)


def reduced_ir(
    ctx: LoweringContext,
    x: Value,
    aval: ShapedArray,
    monoid: Monoid,
    axes: Sequence[int],
    out: ShapedArray,
    drops_nan: bool = False,
) -> Value:
    """A reduction of an array of any type by a monoid; ``drops_nan`` says that it may."""
    init = builder.constant(monoid.identity(aval.dtype))
    reduced = reduce_ir(ctx, [x], [init], axes, [out], lambda a, b: [monoid.lower(ctx, aval.dtype, a, b)])[0]
    return reduced if drops_nan else with_nan(ctx, reduced, monoid, x, aval, axes, out)


def with_nan(
    ctx: LoweringContext,
    reduced: Value,
    monoid: Monoid,
    x: Value,
    aval: ShapedArray,
    axes: Sequence[int],
    out: ShapedArray,
) -> Value:
    """A reduction of floats, or NaN where there is any: the compiler's library for CPUs drops it from min and max.

    Magnitudes have a sum that is NaN only if one of them is, whatever overflows; the library adds them up on the fly.
    """
    if ctx.platform != "cpu" or not computations.drops_nan(monoid, aval.dtype) or not aval.size:
        return reduced
    dtype = accumulator(aval.dtype)
    wide, total = ShapedArray(aval.shape, dtype), ShapedArray(out.shape, dtype)
    magnitudes = builder.op("abs", wide, convert_ir(x, aval, wide))
    zero = builder.constant(np.zeros((), dtype))
    sums = reduce_ir(
        ctx, [magnitudes], [zero], axes, [total], lambda a, b: [computations.sum_.lower(ctx, dtype, a, b)]
    )[0]
    is_nan = builder.compare("NE", out.shape, sums, sums)
    return builder.op("select", out, is_nan, builder.full(np.nan, out), reduced)


# ---- the named reductions ------------------------------------------------------------------------------------------


class Reduction(Primitive):
    """A reduction over axes."""

    __slots__ = ()

    def bind(self, *args: ArrayLike, out_sharding: OptionalSharding = None, **params: Any) -> Any:
        """Apply the operation; where its result lies, only the public function is asked: ``out_sharding`` says nothing."""
        return super().bind(*args, **params)


def reduction(name: str, accepts: frozenset, monoid: Monoid, *, jvp: Any = None, wide: bool = False, doc: str) -> Any:
    """A reduction by a monoid over axes: returns its public function.

    Args:
      jvp: ``f(x, answer, tangent, axes=axes)``; None where there are no tangents.
      wide: whether small floats are accumulated in float32.
    """
    primitive = Reduction(name)

    def type_rule(aval: ShapedArray, *, axes: tuple[int, ...], **_: Any) -> ShapedArray:
        check_dtype(name, aval, accepts)
        check_axes(name, aval, axes)
        return ShapedArray(without_lengths(aval.shape, axes), aval.dtype, aval.weak_type)

    def batched(
        values: Sequence[ArrayLike], dims: Sequence[int], *, axes: tuple[int, ...], **params: Any
    ) -> tuple[Any, int]:
        moved, dim = shifted_axes(axes, dims[0])
        return primitive.bind(values[0], axes=moved, **params), dim

    primitive.type_rule, primitive.batch, primitive.divides = type_rule, batched, without_axes
    primitive.hidden_params = frozenset({"may_drop_nan"})
    primitive.lower[None] = in_whole_bytes(
        lambda ctx, x, *, axes, may_drop_nan=False: [lower_monoid(ctx, x, monoid, axes, wide, may_drop_nan)]
    )
    if jvp is not None:
        primitive.jvp = compose_jvp(primitive, [jvp])

    def function(operand: ArrayLike, axes: Sequence[int], *, out_sharding: OptionalSharding = None) -> Array:
        if out_sharding is not None:
            return slots.as_asked(out_sharding, functools.partial(function, axes=axes), operand)
        return primitive.bind(checked_operand(name, operand), axes=as_indices(axes))

    name_function(function, name)
    function.__module__ = "arrax.lax"
    function.__doc__ = (
        f"{doc}.\n\n"
        "Args:\n  operand: array.\n  axes: the axes to reduce, counted from 0.\n"
        "  out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.\n"
        "Returns: array of the same dtype without the axes; over nothing, the neutral element.\n"
        "Raises:\n  TypeError: a dtype that it does not take.\n  ValueError: axes out of bounds or repeated.\n"
        f"Example: ``lax.{name}(x, (0,))``. Source: StableHLO ``reduce``."
    )
    function.primitive = primitive  # type: ignore[attr-defined]
    return function


def _reduce_sum_transpose(ct: ArrayLike, x: UndefinedPrimal, *, axes: tuple[int, ...]) -> list[Any]:
    return [ct if type(ct) is Zero else broadcast_in_dim(ct, x.aval.shape, kept_axes(x.aval.ndim, axes))]


def _minmax_jvp(x: ArrayLike, ans: Array, t: ArrayLike, *, axes: tuple[int, ...], largest: bool, **_: Any) -> Array:
    """The mean of the tangents of all indices where the extreme is."""
    return reduce_sum(mul(t, minmax_weights_p.bind(x, axes=axes, largest=largest)), axes)


def _minmax_weights(x: Array, *, axes: tuple[int, ...], largest: bool) -> Array:
    """One divided by the number of elements that are the optimum, where the operand is it, zero elsewhere.

    NaN where the optimum is NaN: the compiler takes zero divided by anything for zero, which would hide it.
    """
    shape = typeof(x).shape
    broadcasted = functools.partial(broadcast_in_dim, shape=shape, broadcast_dimensions=kept_axes(len(shape), axes))
    optimum = (reduce_max if largest else reduce_min)(x, axes)
    found = eq(x, broadcasted(optimum))
    count = reduce_sum(convert_element_type(found, typeof(x).dtype), axes)
    elsewhere = select(ne(optimum, optimum), optimum, full_like(optimum, 0))
    return select(found, broadcasted(div(full_like(count, 1), count)), broadcasted(elsewhere))


# Apart from what computes the operand, so that all see the same one: where the compiler for CPUs computes it anew, it may round
# products and sums one after the other that are rounded together elsewhere, and the extreme would be equal to no element.
minmax_weights_p = Primitive("extreme_weights")
minmax_weights_p.type_rule = lambda aval, *, axes, largest: ShapedArray(aval.shape, aval.dtype)
lower_as_meant(minmax_weights_p, _minmax_weights, multiple_results=False)
minmax_weights_p.lower["cpu"] = cached_lower_fun(_minmax_weights, "extreme_weights", apart=True)
minmax_weights_p.jvp = compose_jvp(minmax_weights_p, [None])


def _minmax_weights_batch(
    values: Sequence[ArrayLike], dims: Sequence[int], *, axes: tuple[int, ...], largest: bool
) -> tuple[Any, int]:
    moved, _ = shifted_axes(axes, dims[0])
    return minmax_weights_p.bind(values[0], axes=moved, largest=largest), dims[0]


minmax_weights_p.batch = _minmax_weights_batch


def _axes_in_front(x: Array, axes: Sequence[int]) -> Array:
    """The reduced axes merged into one in front."""
    aval = typeof(x)
    x = transpose(x, (*axes, *kept_axes(aval.ndim, axes)))
    kept = without_lengths(aval.shape, axes)
    return reshape(x, (int(np.prod([aval.shape[axis] for axis in axes], dtype=np.int64)), *kept))


def fold_rows(rows: Sequence[Any], combine: Callable[..., Sequence[Any]]) -> list[Any]:
    """Combine the rows (entries of the first axis) of arrays pairwise, down to one; differentiable to any order."""
    rows = list(rows)
    while (length := typeof(rows[0]).shape[0]) > 1:
        half = length // 2
        first = [slice_in_dim(x, 0, half) for x in rows]
        second = [slice_in_dim(x, half, 2 * half) for x in rows]
        combined = combine(*first, *second)
        if length % 2:
            combined = [
                concatenate([c, slice_in_dim(x, length - 1, length)], 0) for c, x in zip(combined, rows, strict=True)
            ]
        rows = list(combined)
    return [reshape(x, typeof(x).shape[1:]) for x in rows]


def _reduce_prod_jvp(x: ArrayLike, ans: Array, t: ArrayLike, *, axes: tuple[int, ...]) -> Any:
    """By pairs, so that zeros among the factors do no harm."""
    if typeof(x).size == 0 or not axes:
        return t if not axes else Zero(typeof(ans))
    _, tangents = jvp(lambda v: fold_rows([_axes_in_front(v, axes)], lambda a, b: [mul(a, b)]), [x], [t])
    return tangents[0]


# fmt: off
reduce_sum  = reduction("reduce_sum",  numeric,  computations.sum_, wide=True, doc="Sum over axes",
                        jvp=lambda x, ans, t, axes: reduce_sum(t, axes))
reduce_prod = reduction("reduce_prod", numeric,  computations.product, wide=True, doc="Product over axes",
                        jvp=_reduce_prod_jvp)
reduce_max  = reduction("reduce_max",  anything, computations.maximum, jvp=functools.partial(_minmax_jvp, largest=True),
                        doc="Greatest element over axes; NaN if there is any")
reduce_min  = reduction("reduce_min",  anything, computations.minimum, jvp=functools.partial(_minmax_jvp, largest=False),
                        doc="Least element over axes; NaN if there is any")
reduce_and  = reduction("reduce_and",  integers | bools, computations.conjunction, doc="Bitwise and over axes")
reduce_or   = reduction("reduce_or",   integers | bools, computations.disjunction, doc="Bitwise or over axes")
reduce_xor  = reduction("reduce_xor",  integers | bools, computations.parity, doc="Bitwise exclusive or over axes")
# fmt: on

reduce_sum.primitive.transpose = _reduce_sum_transpose
shape_slots.reduce_sum = reduce_sum


def max_for_shift(x: Array, axes: Sequence[int]) -> Array:
    """The greatest element over axes, for what is subtracted from all of them: where one is NaN, it may be any number.

    What is computed from the differences is NaN there in any case, so that nobody needs to look for NaN twice.
    """
    return reduce_max.primitive.bind(x, axes=tuple(axes), may_drop_nan=True)


reduce_and.primitive.forms["cpu"] = columns_form(bitwise_and, flags_form("logical_and", reduce_min))
reduce_or.primitive.forms["cpu"] = columns_form(bitwise_or, flags_form("logical_or", reduce_max))
reduce_xor.primitive.forms["cpu"] = columns_form(bitwise_xor)

_NAMED: dict[Monoid, Any] = {
    computations.sum_: reduce_sum,
    computations.product: reduce_prod,
    computations.maximum: reduce_max,
    computations.minimum: reduce_min,
    computations.conjunction: reduce_and,
    computations.disjunction: reduce_or,
    computations.parity: reduce_xor,
}


# ---- reductions by any computation ---------------------------------------------------------------------------------

reduce_p = Primitive("reduce", multiple_results=True, cost=1)
reduce_p.holds_programs, reduce_p.memories = True, memory_of_all("reduce")


def _halves(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    count = len(values) // 2
    return list(values[:count]), list(values[count:])


def _reduce_type(*avals: ShapedArray, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]) -> list[ShapedArray]:
    arrays, _ = _halves(avals)
    check_axes("reduce", arrays[0], dimensions)
    return [ShapedArray(without_lengths(aval.shape, dimensions), aval.dtype) for aval in arrays]


def _reduce_lower(ctx: LoweringContext, *values: Value, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]) -> list[Value]:
    arrays, inits = _halves(values)
    return reduce_ir(ctx, arrays, inits, dimensions, ctx.avals_out, program_body(ctx, jaxpr))


def _fold(jaxpr: ClosedJaxpr, dimensions: tuple[int, ...], values: Sequence[Any]) -> list[Any]:
    """The reduction in terms of elementwise operations."""
    arrays, inits = _halves(values)
    rows = [_axes_in_front(x, dimensions) for x in arrays]
    kept = typeof(rows[0]).shape[1:]
    start = [computations.repeat(init, kept) for init in inits]
    if typeof(rows[0]).size == 0:
        return start
    return apply_elementwise(jaxpr, [*start, *fold_rows(rows, lambda *pair: apply_elementwise(jaxpr, pair))])


def _reduce_jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]
) -> tuple[Any, Any]:
    return jvp(lambda *values: _fold(jaxpr, dimensions, values), primals, tangents)


def _reduce_batch(
    values: Sequence[ArrayLike], dims: Dims, *, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]
) -> tuple[Any, Any]:
    size = batch_size(values, dims)
    if any(dim is not None for dim in _halves(dims)[1]):
        return batch(lambda *examples: _fold(jaxpr, dimensions, examples), values, dims)
    arrays, inits = _halves(values)
    arrays = [move_batch_axis(x, dim, size, 0) for x, dim in zip(arrays, dims, strict=False)]
    outs = reduce_p.bind(*arrays, *inits, jaxpr=jaxpr, dimensions=tuple(axis + 1 for axis in dimensions))
    return outs, [0] * len(outs)


reduce_p.type_rule = _reduce_type
reduce_p.lower[None] = _reduce_lower
reduce_p.jvp = _reduce_jvp
reduce_p.batch = _reduce_batch


def reduce(
    operands: ArrayLike,
    init_values: ArrayLike,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: OptionalSharding = None,
) -> Array:
    """Combine all elements along some axes by an associative computation, in any order.

    Args:
      operands: array, or pytree of arrays of one shape, which are reduced together.
      init_values: scalars of the same structure and dtypes: what the reduction starts with.
      computation: function of two values with the structure of ``operands`` (scalars for leaves), giving one more.
      dimensions: the axes to reduce, counted from 0.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: the structure of ``operands``, without the axes.
    Raises:
      TypeError: dtypes that differ, or a computation that returns something else.
      ValueError: shapes or structures that differ, axes out of bounds.
    Example: ``lax.reduce(jnp.arange(4.), 0., lax.add, (0,))`` is 6. Source: StableHLO ``reduce``.
    """
    given = computations.read_operands("reduce", operands, init_values, computation)
    if out_sharding is not None:
        outs = reduce(operands, init_values, computation, dimensions)
        return tree_map(lambda out: slots.as_asked(out_sharding, lambda x: x, out), outs)
    axes = as_indices(dimensions)
    if not axes:  # nothing is combined, not even with what a reduction starts with
        return tree_unflatten(given.tree, list(given.arrays))
    monoid = computations.monoid_of(given.program)
    if monoid is None:
        outs = reduce_p.bind(*given.arrays, *given.inits, jaxpr=given.program, dimensions=axes)
        return tree_unflatten(given.tree, outs)
    (x,), (init,) = given.arrays, given.inits
    out = _NAMED[monoid](x, axes)
    if not computations.is_identity(init, monoid, typeof(x).dtype):
        out = monoid.combine(init, out)
    return tree_unflatten(given.tree, [out])


reduce_sum.primitive.forms["cpu"] = sum_form(reduce, columns_form(add, reduce_form("add")))
reduce_prod.primitive.forms["cpu"] = columns_form(mul, floats=True)
reduce_max.primitive.forms["cpu"] = extreme_form(True, reduce_max, reduce, columns_form(max_, reduce_form("maximum")))
reduce_min.primitive.forms["cpu"] = extreme_form(False, reduce_min, reduce, columns_form(min_, reduce_form("minimum")))
