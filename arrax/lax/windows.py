"""Reductions over windows: sums, minima and maxima, and any computation (pooling)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.explicit_axes import whole_axes
from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_symbolic
from arrax.core.operand_memories import memory_of_all
from arrax.core.program import ClosedJaxpr
from arrax.core.pytrees import tree_unflatten
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.ad.forward import jvp
from arrax.interpreters.batching import batch, batch_size, move_batch_axis
from arrax.interpreters.lowering import builder
from arrax.lax import computations
from arrax.lax.arithmetic import ge, le, scalar
from arrax.lax.computations import Monoid, apply_elementwise, fill_region, program_body
from arrax.lax.conversion import convert_ir
from arrax.lax.cpu.pooling import pooling_form
from arrax.lax.cpu.window_gaps import filled_form
from arrax.lax.cpu.window_sums import window_sum_form
from arrax.lax.families import compose_jvp
from arrax.lax.filled_arrays import full
from arrax.lax.operand_checks import accumulator, anything, check_dtype, numeric
from arrax.lax.selection import select
from arrax.lax.window_geometry import Windows, reduction_over_windows
from arrax.lax.window_selection import padded_and_dilated, select_and_gather_add_p, window_slices
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.ad.transpose import UndefinedPrimal
    from arrax.interpreters.annotations import Dims, Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext


# ---- sums and minima and maxima ---------------------------------------------------------------------------------------------


def _named_reduction(name: str, accepts: frozenset, monoid: Monoid) -> Primitive:
    """The primitive of a reduction over windows by a monoid, whose neutral element stands in the padding."""
    primitive = Primitive(name)

    def type_rule(aval: ShapedArray, **geometry: Any) -> ShapedArray:
        check_dtype(name, aval, accepts)
        return ShapedArray(Windows(**geometry).output_shape(aval.shape), aval.dtype, aval.weak_type)

    def lower(ctx: LoweringContext, x: Value, **geometry: Any) -> list[Value]:
        aval, out = ctx.avals_in[0], ctx.avals_out[0]
        dtype = accumulator(aval.dtype) if monoid is computations.sum_ else aval.dtype
        wide = ShapedArray(out.shape, dtype)
        operand = ShapedArray(aval.shape, dtype)
        x, init = convert_ir(x, aval, operand), builder.constant(monoid.identity(dtype))
        operation = reduction_over_windows(ctx, [x], [init], [operand], [wide], Windows(**geometry))
        fill_region(ctx, operation, 0, [dtype], lambda a, b: [monoid.lower_in_window(ctx, dtype, a, b)])
        return [convert_ir(operation.results[0], wide, out)]

    def batched(values: Sequence[ArrayLike], dims: Sequence[int], **geometry: Any) -> tuple[Any, int]:
        windows = Windows(**geometry).with_batch_axis(dims[0])
        return primitive.bind(values[0], **windows._asdict()), dims[0]

    primitive.type_rule, primitive.batch, primitive.lower[None] = type_rule, batched, lower
    primitive.divides = whole_axes
    return primitive


def _minmax_jvp(select_prim: Primitive) -> Callable[..., Any]:
    """The tangent of the first element that is its window's extreme."""
    return lambda x, ans, t, **geometry: select_and_gather_add_p.bind(t, x, select_prim=select_prim, **geometry)


def _with_known_gaps(array: ArrayLike, fill: ArrayLike, windows: Windows) -> tuple[ArrayLike, Windows]:
    """An array whose gaps are filled in where the width of a padding is a symbol, and the windows over it."""
    if not any(is_symbolic(n) for pair in windows.padding for n in pair):
        return array, windows
    return padded_and_dilated(array, fill, windows), windows.without_gaps()


def _sum_transpose(ct: Any, x: UndefinedPrimal, **geometry: Any) -> list[Any]:
    """To each element of the operand the sum of what belongs to the windows that it lies in."""
    if type(ct) is Zero:
        return [ct]
    array, windows = _with_known_gaps(ct, scalar(0, ct), Windows(**geometry).transposed(x.aval.shape))
    return [reduce_window_sum_p.bind(array, **windows._asdict())]


reduce_window_sum_p = _named_reduction("reduce_window_sum", numeric, computations.sum_)
reduce_window_max_p = _named_reduction("reduce_window_max", anything, computations.maximum)
reduce_window_min_p = _named_reduction("reduce_window_min", anything, computations.minimum)

reduce_window_sum_p.jvp = compose_jvp(
    reduce_window_sum_p, [lambda x, ans, t, **params: reduce_window_sum_p.bind(t, **params)]
)
reduce_window_sum_p.transpose = _sum_transpose
reduce_window_sum_p.forms["cpu"] = window_sum_form
reduce_window_max_p.forms["cpu"] = pooling_form(computations.maximum)
reduce_window_min_p.forms["cpu"] = pooling_form(computations.minimum)
reduce_window_max_p.jvp = compose_jvp(reduce_window_max_p, [_minmax_jvp(ge.primitive)])
reduce_window_min_p.jvp = compose_jvp(reduce_window_min_p, [_minmax_jvp(le.primitive)])

_NAMED = {
    computations.sum_: reduce_window_sum_p,
    computations.maximum: reduce_window_max_p,
    computations.minimum: reduce_window_min_p,
}


Lengths = Sequence[int]

# ---- any computation -----------------------------------------------------------------------------------------------

reduce_window_p = Primitive("reduce_window", multiple_results=True, cost=1)
reduce_window_p.holds_programs, reduce_window_p.memories = True, memory_of_all("reduce_window")


def _type_rule(*avals: ShapedArray, jaxpr: ClosedJaxpr, **geometry: Any) -> list[ShapedArray]:
    arrays = avals[: len(avals) // 2]
    return [ShapedArray(Windows(**geometry).output_shape(aval.shape), aval.dtype) for aval in arrays]


def _lower(ctx: LoweringContext, *values: Value, jaxpr: ClosedJaxpr, **geometry: Any) -> list[Value]:
    count = len(values) // 2
    values, inits, avals = values[:count], values[count:], ctx.avals_in[:count]
    operation = reduction_over_windows(ctx, values, inits, avals, ctx.avals_out, Windows(**geometry))
    fill_region(ctx, operation, 0, [aval.dtype for aval in ctx.avals_out], program_body(ctx, jaxpr))
    return list(operation.results)


def _fold(jaxpr: ClosedJaxpr, windows: Windows, values: Sequence[Any]) -> list[Any]:
    """The reduction in terms of slices and elementwise operations, for derivatives."""
    count = len(values) // 2
    arrays, inits = values[:count], values[count:]
    shape = windows.output_shape(typeof(arrays[0]).shape)
    total = [computations.repeat(init, shape) for init in inits]
    columns = [window_slices(x, init, windows) for x, init in zip(arrays, inits, strict=True)]
    present = window_slices(full(typeof(arrays[0]).shape, True), False, windows) if windows.have_gaps() else None
    for number, entries in enumerate(zip(*columns, strict=True)):
        combined = apply_elementwise(jaxpr, [*total, *entries])
        if present is not None:
            combined = [select(present[number], new, old) for new, old in zip(combined, total, strict=True)]
        total = combined
    return total


def _jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, jaxpr: ClosedJaxpr, **geometry: Any
) -> tuple[Any, Any]:
    return jvp(lambda *values: _fold(jaxpr, Windows(**geometry), values), primals, tangents)


def _batch(values: Sequence[ArrayLike], dims: Dims, *, jaxpr: ClosedJaxpr, **geometry: Any) -> tuple[Any, Any]:
    count, size, windows = len(values) // 2, batch_size(values, dims), Windows(**geometry)
    if any(dim is not None for dim in dims[count:]):
        return batch(lambda *examples: _fold(jaxpr, windows, examples), values, dims)
    moved = [move_batch_axis(x, dim, size, 0) for x, dim in zip(values[:count], dims, strict=False)]
    outs = reduce_window_p.bind(*moved, *values[count:], jaxpr=jaxpr, **windows.with_batch_axis(0)._asdict())
    return outs, [0] * count


reduce_window_p.type_rule = _type_rule
reduce_window_p.divides = lambda avals, out, **params: [whole_axes(avals, one) for one in out]
reduce_window_p.lower[None] = _lower
reduce_window_p.forms["cpu"] = filled_form
reduce_window_p.jvp = _jvp
reduce_window_p.batch = _batch


def reduce_window(
    operand: ArrayLike, init_value: ArrayLike, computation: Callable[..., Any], window_dimensions: Lengths,
    window_strides: Lengths | None = None, padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Lengths | None = None, window_dilation: Lengths | None = None,
) -> Array:  # fmt: skip
    """Combine the elements in each of the windows that move over an array.

    Sums and minima and maxima have fast derivatives; those of other computations take one operation per element of a window.

    Args:
      operand: array, or pytree of arrays of one shape, which are reduced together.
      init_value: scalars of the same structure and dtypes: what each window starts with. Places in the padding and
        between dilated elements don't take part.
      computation: associative function of two values with the structure of ``operand`` (scalars for leaves).
      window_dimensions: lengths of the windows, one per axis.
      window_strides: distances between windows; 1 where not given.
      padding: ``"VALID"``, ``"SAME"``, ``"SAME_LOWER"``, or pairs of numbers of places before and after each axis.
      base_dilation: distances between elements of the operand.
      window_dilation: distances between elements of a window.
    Returns: the structure of ``operand``, one entry per window.
    Raises:
      TypeError: entries that are not one per axis or not positive, dtypes that differ.
      ValueError: an unknown padding, shapes or structures that differ.
    Example: ``lax.reduce_window(jnp.arange(4.), 0., lax.add, (2,))`` is ``[1, 3, 5]``.
    """
    given = computations.read_operands("reduce_window", operand, init_value, computation)
    aval = typeof(given.arrays[0])
    windows = Windows.read(
        "reduce_window", aval.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    monoid = computations.monoid_of(given.program)
    primitive = None if monoid is None else _NAMED.get(monoid)
    if monoid is not None and primitive is not None:
        (array,), (init,) = given.arrays, given.inits
        array, windows = _with_known_gaps(array, monoid.identity(aval.dtype)[()], windows)
        out = primitive.bind(array, **windows._asdict())
        if not computations.is_identity(init, monoid, aval.dtype):
            out = monoid.combine(init, out)
        return tree_unflatten(given.tree, [out])
    outs = reduce_window_p.bind(*given.arrays, *given.inits, jaxpr=given.program, **windows._asdict())
    return tree_unflatten(given.tree, outs)
