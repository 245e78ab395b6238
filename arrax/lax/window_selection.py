"""The elements that are their windows' minima and maxima: gathering from their places, and scattering to them.

These two operations are the derivatives of the minima and maxima of windows (max pooling), and each other's transposes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_symbolic
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, backward_pass
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.interpreters.staging import stage
from arrax.lax import computations
from arrax.lax.arithmetic import add, eq, ge, le, mul, scalar
from arrax.lax.calls import call_apart
from arrax.lax.computations import Monoid, fill_region
from arrax.lax.conversion import convert, convert_ir
from arrax.lax.cpu import thresholds
from arrax.lax.filled_arrays import full, full_like
from arrax.lax.operand_checks import accumulator
from arrax.lax.selection import select
from arrax.lax.shapes import broadcast_in_dim, reshape
from arrax.lax.static_slicing import pad, slice_
from arrax.lax.window_geometry import Windows, dilated, reduction_over_windows

if TYPE_CHECKING:
    from arrax.core.program import Jaxpr
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.xla.arrays import Array, ArrayLike

select_and_gather_add_p = Primitive("select_and_gather_add", cost=1)
select_and_scatter_add_p = Primitive("select_and_scatter_add", cost=1)

_SELECTION = {ge.primitive: (ge, computations.maximum), le.primitive: (le, computations.minimum)}


def _minmax(select_prim: Primitive) -> Monoid:
    return _SELECTION[select_prim][1]


def _windows(
    window_dimensions: tuple[int, ...], window_strides: tuple[int, ...], padding: tuple[Any, ...],
    base_dilation: tuple[int, ...] | None = None, window_dilation: tuple[int, ...] | None = None,
) -> Windows:  # fmt: skip
    """The windows of one of the two operations; scattering has no dilations."""
    ones = (1,) * len(window_dimensions)
    return Windows(window_dimensions, window_strides, padding, base_dilation or ones, window_dilation or ones)


# ---- windows as slices ---------------------------------------------------------------------------------------------


def padded_and_dilated(x: ArrayLike, fill: ArrayLike, windows: Windows) -> ArrayLike:
    """The operand with its padding and dilation filled in."""
    config = [(low, high, d - 1) for (low, high), d in zip(windows.padding, windows.base_dilation, strict=True)]
    return pad(x, fill, config) if any(any(entry) for entry in config) else x


def window_slices(x: Array, fill: ArrayLike, windows: Windows) -> list[Any]:
    """For each place in a window, what all windows have there: arrays of the results' shape."""
    counts = windows.output_shape(typeof(x).shape)
    dilated_operand = padded_and_dilated(x, fill, windows)
    steps = windows.window_strides
    if 0 in counts:  # windows may begin behind the end
        return [full(counts, fill, typeof(x).dtype) for _ in windows.offsets()]
    return [
        slice_(
            dilated_operand,
            starts,
            [s + dilated(n, step) for s, n, step in zip(starts, counts, steps, strict=True)],
            steps,
        )
        for starts in windows.offsets()
    ]


def repeated_at(x: Array, axis: int, first: int, times: int, distance: int, length: int) -> Array:
    """The elements along an axis, each several times one after the other, at regular places of a longer axis of zeros.

    Args:
      first: where the first element begins; what is before 0 or behind the end is cut off.
      times: how often each element stands there.
      distance: between the places where elements begin, at least ``times``.
      length: of the longer axis.
    """
    counts, zero = typeof(x).shape, scalar(0, x)
    count = counts[axis]
    beside = (*counts[: axis + 1], times, *counts[axis + 1 :])
    repeats = broadcast_in_dim(x, beside, [place + (place > axis) for place in range(len(counts))])
    apart = pad(repeats, zero, _padding_of(axis + 1, len(beside), 0, distance - times))
    joined = reshape(apart, (*counts[:axis], count * distance, *counts[axis + 1 :]))
    return pad(joined, zero, _padding_of(axis, len(counts), first, length - first - count * distance))


def _padding_of(axis: int, rank: int, before: int, after: int) -> list[tuple[int, int, int]]:
    """The configuration of ``pad`` along one axis of an array."""
    return [(before, after, 0) if place == axis else (0, 0, 0) for place in range(rank)]


# ---- gathering -----------------------------------------------------------------------------------------------------


def _check(name: str, values: ShapedArray, operand: ShapedArray, shape: tuple[int, ...]) -> ShapedArray:
    if values.dtype != operand.dtype:
        raise TypeError(f"{name} requires equal dtypes, got {values.str_short(True)} and {operand.str_short(True)}")
    if values.shape != shape:
        raise TypeError(f"{name} requires values of shape {shape}, got {values.str_short(True)}")
    return values


def _gather_type(
    tangents: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **geometry: Any
) -> ShapedArray:
    _check("select_and_gather_add", tangents, operand, operand.shape)
    return ShapedArray(Windows(**geometry).output_shape(operand.shape), operand.dtype)


def _gather_by_slices(tangents: Array, operand: Array, *, select_prim: Primitive, **geometry: Any) -> Array:
    windows, compare = Windows(**geometry), _SELECTION[select_prim][0]
    identity = _minmax(select_prim).identity(typeof(operand).dtype)
    keys = window_slices(operand, identity[()], windows)
    values = window_slices(tangents, scalar(0, tangents), windows)
    best, chosen = keys[0], values[0]
    for key, value in zip(keys[1:], values[1:], strict=True):
        keep = compare(best, key)
        best, chosen = select(keep, best, key), select(keep, chosen, value)
    return chosen


def _gather_by_windows(
    ctx: LoweringContext, tangents: Value, operand: Value, *, select_prim: Primitive, **geometry: Any
) -> list[Value]:
    out = ctx.avals_out[0]
    identity = _minmax(select_prim).identity(out.dtype)
    element, direction = ShapedArray((), out.dtype), select_prim.name.upper()

    def body(key: Value, value: Value, other_key: Value, other_value: Value) -> list[Value]:
        keep = builder.compare(direction, (), key, other_key)
        pairs = ((key, other_key), (value, other_value))
        return [builder.op("select", element, keep, first, second) for first, second in pairs]

    inits = [builder.constant(identity), builder.full(0, element)]
    operation = reduction_over_windows(
        ctx, [operand, tangents], inits, ctx.avals_in[::-1], [out, out], Windows(**geometry)
    )
    fill_region(ctx, operation, 0, [out.dtype, out.dtype], body)
    return [operation.results[1]]


def _gather_filled(tangents: Array, operand: Array, *, select_prim: Primitive, **geometry: Any) -> Any:
    """Gathering from windows of arrays whose gaps are filled."""
    windows, identity = Windows(**geometry), _minmax(select_prim).identity(typeof(operand).dtype)[()]
    return select_and_gather_add_p.bind(
        padded_and_dilated(tangents, scalar(0, tangents), windows), padded_and_dilated(operand, identity, windows),
        select_prim=select_prim, **windows.without_gaps()._asdict(),
    )  # fmt: skip


# XLA's CPU code for windows visits one element after another, and where windows have gaps, in another order than is said:
# of equal extremes it takes any. For windows of few elements, arithmetic on slices is 5 to 15 times faster (3x3 windows:
# 0.6 to 1 ms instead of 4 to 16), and compiles as fast.
def _on_cpu(by_slices: Any, filled: Any, general: Any) -> Callable[..., list[Value]]:
    """The rule that lowers an operation on windows for the CPU."""
    lower_slices, lower_filled = (lower_fun(function, multiple_results=False) for function in (by_slices, filled))

    def rule(
        ctx: LoweringContext, one: Value, operand: Value, *, select_prim: Primitive, **geometry: Any
    ) -> list[Value]:
        windows = _windows(**geometry)
        few = math.prod(windows.window_dimensions) <= thresholds.POOLING_MAX_ELEMENTS
        rule = lower_slices if few else general if windows == windows.without_gaps() else lower_filled
        return list(rule(ctx, one, operand, select_prim=select_prim, **geometry))

    return rule


# ---- scattering ----------------------------------------------------------------------------------------------------


def _scatter_type(source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **geometry: Any) -> ShapedArray:
    windows = _windows(**geometry)
    _check("select_and_scatter_add", source, operand, windows.output_shape(operand.shape))
    return operand.strip_weak_type()


def _scatter_by_slices(source: Array, operand: Array, *, select_prim: Primitive, **geometry: Any) -> Any:
    """First the number of each window's winner, then what it won, to where it stands."""
    shape, dtype = typeof(operand).shape, typeof(operand).dtype
    work = accumulator(dtype)
    windows = _windows(**geometry)
    several = _may_see_several(windows, shape)
    place = _sum_of_places if several else _at_winners

    def winners(operand: Array) -> list[Any]:
        return [_winners(operand, windows, select_prim)]

    def placed(source: Array, winner: Array) -> list[Any]:
        return [place(source, winner, windows, shape)]

    # In one loop, what computes the operand or a source that several places see would be computed anew for each.
    (winner,) = call_apart(winners, convert(operand, work))
    source = convert(source, work)
    return convert((call_apart(placed, source, winner) if several else placed(source, winner))[0], dtype)


def _may_see_several(windows: Windows, shape: tuple[int, ...]) -> bool:
    """Whether an element may lie in several windows, or the length of an axis along which they move is not known."""
    symbolic = (axis for axis, length in enumerate(shape) if is_symbolic(length))
    return windows.overlap() or not all(map(windows.are_elements, symbolic))


def _winners(operand: Array, windows: Windows, select_prim: Primitive) -> Array:
    """For each window, the number of the place of its extreme."""
    compare, optimum = _SELECTION[select_prim]
    keys = window_slices(operand, optimum.identity(typeof(operand).dtype)[()], windows)
    best, winner = keys[0], full_like(keys[0], 0, np.int32)
    for number, key in enumerate(keys[1:], 1):
        keep = compare(best, key)
        best, winner = select(keep, best, key), select(keep, winner, full_like(winner, number))
    return winner


def _sum_of_places(source: Array, winner: Array, windows: Windows, shape: tuple[int, ...]) -> Array:
    """For each place in a window a dilated array of what it won, in all."""
    zero, total = scalar(0, source), None
    for number, starts in enumerate(windows.offsets()):
        won = select(eq(winner, scalar(number, winner)), source, full_like(source, 0))
        config = []
        for axis, start in enumerate(starts):
            low, step = start - windows.padding[axis][0], windows.window_strides[axis]
            config.append((low, shape[axis] - low - dilated(typeof(source).shape[axis], step), step - 1))
        term = pad(won, zero, config)
        total = term if total is None else add(total, term)
    assert total is not None  # a window has an element
    return total


def _at_winners(source: Array, winner: Array, windows: Windows, shape: tuple[int, ...]) -> Array:
    """Each element of windows that do not overlap: what its window won, if it is the winner."""
    number = full_like(winner, 0, shape=shape)
    for axis, (length, size, stride) in enumerate(
        zip(shape, windows.window_dimensions, windows.window_strides, strict=True)
    ):
        if windows.are_elements(axis):
            continue
        before = windows.padding[axis][0]
        source, winner = (repeated_at(x, axis, -before, size, stride, length) for x in (source, winner))
        places = ((np.arange(length) + before) % stride).astype(np.int32)
        number = add(mul(number, scalar(size, number)), broadcast_in_dim(places, shape, (axis,)))
    return select(eq(winner, number), source, full_like(source, 0))


def _scatter_lower(
    ctx: LoweringContext, source: Value, operand: Value, *, select_prim: Primitive, **geometry: Any
) -> list[Value]:
    out, windows = ctx.avals_out[0], _windows(**geometry)
    attributes = windows.attributes()
    kept = {key: attributes[key] for key in ("window_dimensions", "window_strides", "padding")}
    dtype = accumulator(out.dtype)
    wide = ShapedArray(out.shape, dtype)
    values = [
        convert_ir(x, aval, ShapedArray(aval.shape, dtype))
        for x, aval in zip((operand, source), ctx.avals_in[::-1], strict=True)
    ]
    operation = builder.operation(
        "stablehlo.select_and_scatter",
        [builder.ir_type(wide)],
        [*values, builder.full(0, ShapedArray((), dtype))],
        kept,
        2,
    )
    direction = select_prim.name.upper()
    fill_region(ctx, operation, 0, [dtype], lambda x, y: [builder.compare(direction, (), x, y)])
    fill_region(ctx, operation, 1, [dtype], lambda x, y: [computations.sum_.lower(ctx, dtype, x, y)])
    return [convert_ir(operation.results[0], wide, out)]


def _scatter_filled(
    source: ArrayLike, operand: ArrayLike, *, select_prim: Primitive, base_dilation: tuple[int, ...] | None = None,
    **geometry: Any,
) -> Any:  # fmt: skip
    """Scattering to windows of an array whose gaps are filled, and what is the array's of it."""
    windows, shape = _windows(**geometry, base_dilation=base_dilation), typeof(operand).shape
    filled = padded_and_dilated(operand, _minmax(select_prim).identity(typeof(operand).dtype)[()], windows)
    scattered = select_and_scatter_add_p.bind(
        source, filled, select_prim=select_prim, **{**geometry, "padding": windows.without_gaps().padding}
    )
    within = pad(scattered, scalar(0, scattered), [(-low, -high, 0) for low, high in windows.padding])
    return slice_(within, (0,) * len(shape), typeof(within).shape, windows.base_dilation)


# ---- derivatives and batching --------------------------------------------------------------------------------------


def _gather_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    (values, operand), (t, _) = primals, tangents
    out = select_and_gather_add_p.bind(values, operand, **params)
    return out, Zero.of(out) if type(t) is Zero else select_and_gather_add_p.bind(t, operand, **params)


def _scatter_jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    (source, operand), (t, _) = primals, tangents
    out = select_and_scatter_add_p.bind(source, operand, **params)
    return out, Zero.of(out) if type(t) is Zero else select_and_scatter_add_p.bind(t, operand, **params)


def _gather_transpose(
    ct: ArrayLike, tangents: UndefinedPrimal, operand: ArrayLike, *, select_prim: Primitive, **geometry: Any
) -> list[Any]:
    """Scatter to the places; padding is filled in and cut off again where the scattering operation knows none of it."""
    if type(ct) is Zero:
        return [Zero(tangents.aval), None]
    windows = Windows(**geometry)
    if any(d != 1 for d in windows.window_dilation):
        program = _slices_program(typeof(operand), select_prim, windows)
        return [backward_pass(program, (), [tangents, operand], [ct])[0], None]
    kept = {key: geometry[key] for key in ("window_dimensions", "window_strides", "padding")}
    if all(d == 1 for d in windows.base_dilation):
        return [select_and_scatter_add_p.bind(ct, operand, select_prim=select_prim, **kept), None]
    return [_scatter_filled(ct, operand, select_prim=select_prim, base_dilation=windows.base_dilation, **kept), None]


def _slices_program(aval: ShapedArray, select_prim: Primitive, windows: Windows) -> Jaxpr:
    """Gathering as a program of slices and selections, which transposes for any windows."""
    aval = aval.strip_weak_type()
    params = {"select_prim": select_prim, **windows._asdict()}
    return stage(lambda tangents, operand: [_gather_by_slices(tangents, operand, **params)], [aval, aval])[0]


def _scatter_transpose(ct: Any, source: Any, operand: Any, *, select_prim: Any, **geometry: Any) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(source.aval), None]
    params = {"select_prim": select_prim, **_windows(**geometry)._asdict()}
    return [select_and_gather_add_p.bind(ct, operand, **params), None]


def _batched(primitive: Primitive) -> Callable[..., Any]:
    """Both operands get the batch axis in front, along which windows have length 1."""

    def rule(
        values: Sequence[ArrayLike], dims: Sequence[int], *, select_prim: Primitive, **geometry: Any
    ) -> tuple[Any, int]:
        size = batch_size(values, dims)
        moved = [bdim_at_front(x, dim, size) for x, dim in zip(values, dims, strict=True)]
        wider = {key: ((0, 0) if key == "padding" else 1, *entries) for key, entries in geometry.items()}
        return primitive.bind(*moved, select_prim=select_prim, **wider), 0

    return rule


select_and_gather_add_p.type_rule = _gather_type
select_and_gather_add_p.lower[None] = _gather_by_windows
select_and_gather_add_p.lower["cpu"] = _on_cpu(_gather_by_slices, _gather_filled, _gather_by_windows)
select_and_gather_add_p.jvp = _gather_jvp
select_and_gather_add_p.transpose = _gather_transpose
select_and_gather_add_p.batch = _batched(select_and_gather_add_p)

select_and_scatter_add_p.type_rule = _scatter_type
select_and_scatter_add_p.lower[None] = _scatter_lower
select_and_scatter_add_p.lower["cpu"] = _on_cpu(_scatter_by_slices, _scatter_filled, _scatter_lower)
select_and_scatter_add_p.jvp = _scatter_jvp
select_and_scatter_add_p.transpose = _scatter_transpose
select_and_scatter_add_p.batch = _batched(select_and_scatter_add_p)
