"""The elements that are their windows' minima and maxima: gathering from their places, and scattering to them.

These two operations are the derivatives of the minima and maxima of windows (max pooling), and each other's transposes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.ad.transpose import UndefinedPrimal, backward_pass
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import LoweringContext
from arrax.interpreters.lowering.module import lower_fun
from arrax.interpreters.staging import stage
from arrax.lax import computations
from arrax.lax.arithmetic import add, eq, ge, le, scalar
from arrax.lax.calls import call_apart
from arrax.lax.computations import Monoid, fill_region
from arrax.lax.conversion import convert, convert_ir
from arrax.lax.filled_arrays import full, full_like
from arrax.lax.operand_checks import accumulator
from arrax.lax.selection import select
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
    operation = reduction_over_windows([operand, tangents], inits, ctx.avals_in[::-1], [out, out], Windows(**geometry))
    fill_region(ctx, operation, 0, [out.dtype, out.dtype], body)
    return [operation.results[1]]


# ---- scattering ----------------------------------------------------------------------------------------------------

# XLA's CPU code for select_and_scatter visits one element after another. Up to this many elements per window,
# arithmetic on slices is 5 to 15 times faster (3x3 windows: 0.6 to 1 ms instead of 4 to 16), and compiles as fast.
_MAX_SLICES = 32


def _scatter_type(source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **geometry: Any) -> ShapedArray:
    windows = _undilated(**geometry)
    _check("select_and_scatter_add", source, operand, windows.output_shape(operand.shape))
    return operand.strip_weak_type()


def _undilated(
    window_dimensions: tuple[int, ...], window_strides: tuple[int, ...], padding: tuple[Any, ...]
) -> Windows:
    ones = (1,) * len(window_dimensions)
    return Windows(window_dimensions, window_strides, padding, ones, ones)


def _scatter_by_slices(source: Array, operand: Array, *, select_prim: Primitive, **geometry: Any) -> Any:
    """First the number of each window's winner, then for each place in a window a dilated array of what it won."""
    dtype = typeof(operand).dtype
    work = accumulator(dtype)
    windows, (compare, optimum) = _undilated(**geometry), _SELECTION[select_prim]

    def scattered(source: Array, operand: Array) -> list[Any]:
        keys = window_slices(operand, optimum.identity(work)[()], windows)
        best, winner = keys[0], full_like(keys[0], 0, np.int32)
        for number, key in enumerate(keys[1:], 1):
            keep = compare(best, key)
            best, winner = select(keep, best, key), select(keep, winner, full_like(winner, number))
        zero, total = scalar(0, source), None
        for number, starts in enumerate(windows.offsets()):
            won = select(eq(winner, scalar(number, winner)), source, full_like(source, 0))
            config = []
            for axis, start in enumerate(starts):
                low, step = start - windows.padding[axis][0], windows.window_strides[axis]
                high = typeof(operand).shape[axis] - low - dilated(typeof(source).shape[axis], step)
                config.append((low, high, step - 1))
            term = pad(won, zero, config)
            total = term if total is None else add(total, term)
        return [total]

    if work == dtype:
        return scattered(source, operand)[0]
    # In one loop with this, roundings to 16 bits would be computed anew for each place.
    return convert(call_apart(scattered, convert(source, work), convert(operand, work))[0], dtype)


def _scatter_lower(
    ctx: LoweringContext, source: Value, operand: Value, *, select_prim: Primitive, **geometry: Any
) -> list[Value]:
    out, windows = ctx.avals_out[0], _undilated(**geometry)
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


def _scatter_lower_cpu(
    ctx: LoweringContext, source: Value, operand: Value, *, window_dimensions: tuple[int, ...], **params: Any
) -> list[Value]:
    few = math.prod(window_dimensions) <= _MAX_SLICES
    rule = _lower_slices if few else _scatter_lower
    return list(rule(ctx, source, operand, window_dimensions=window_dimensions, **params))


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
    windows, shape = Windows(**geometry), typeof(operand).shape
    if any(d != 1 for d in windows.window_dilation):
        program = _slices_program(typeof(operand), select_prim, windows)
        return [backward_pass(program, (), [tangents, operand], [ct])[0], None]
    if all(d == 1 for d in windows.base_dilation):
        kept = {key: geometry[key] for key in ("window_dimensions", "window_strides", "padding")}
        return [select_and_scatter_add_p.bind(ct, operand, select_prim=select_prim, **kept), None]
    dilated_operand = padded_and_dilated(operand, _minmax(select_prim).identity(typeof(operand).dtype)[()], windows)
    scattered = select_and_scatter_add_p.bind(
        ct, dilated_operand, select_prim=select_prim, window_dimensions=windows.window_dimensions,
        window_strides=windows.window_strides, padding=((0, 0),) * len(shape),
    )  # fmt: skip
    within = pad(scattered, scalar(0, scattered), [(-low, -high, 0) for low, high in windows.padding])
    return [slice_(within, (0,) * len(shape), typeof(within).shape, windows.base_dilation), None]


def _slices_program(aval: ShapedArray, select_prim: Primitive, windows: Windows) -> Jaxpr:
    """Gathering as a program of slices and selections, which transposes for any windows."""
    aval = aval.strip_weak_type()
    params = {"select_prim": select_prim, **windows._asdict()}
    return stage(lambda tangents, operand: [_gather_by_slices(tangents, operand, **params)], [aval, aval])[0]


def _scatter_transpose(ct: Any, source: Any, operand: Any, *, select_prim: Any, **geometry: Any) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(source.aval), None]
    params = {"select_prim": select_prim, **_undilated(**geometry)._asdict()}
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


_lower_slices = lower_fun(_scatter_by_slices, multiple_results=False)

select_and_gather_add_p.type_rule = _gather_type
select_and_gather_add_p.lower[None] = _gather_by_windows
select_and_gather_add_p.jvp = _gather_jvp
select_and_gather_add_p.transpose = _gather_transpose
select_and_gather_add_p.batch = _batched(select_and_gather_add_p)

select_and_scatter_add_p.type_rule = _scatter_type
select_and_scatter_add_p.lower[None] = _scatter_lower
select_and_scatter_add_p.lower["cpu"] = _scatter_lower_cpu
select_and_scatter_add_p.jvp = _scatter_jvp
select_and_scatter_add_p.transpose = _scatter_transpose
select_and_scatter_add_p.batch = _batched(select_and_scatter_add_p)
