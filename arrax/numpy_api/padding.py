"""Padding (NumPy reference, ``numpy.pad``): one function per mode, each of which pads one axis after the other."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, is_symbolic
from arrax.core.types import typeof
from arrax.lax import (
    arithmetic,
    axis_order,
    bitwise,
    filled_arrays,
    reductions,
    rounding,
    selection,
    shape_arguments,
    shapes,
    structure,
)
from arrax.lax.conversion import convert, length_of_axis
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.axis_order import moveaxis
from arrax.numpy_api.manipulation import reshape
from arrax.numpy_api.operands import is_arraylike
from arrax.numpy_api.rearranging import known
from arrax.numpy_api.routes import eager_operand, shape_of
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    pass


Widths = tuple[tuple[int, int], ...]


# ---- arguments ------------------------------------------------------------------------------------------------------


def _pairs(name: str, value: Any, rank: int) -> np.ndarray:
    """A (before, after) per axis from a number, a pair, or one pair for all axes or for each."""
    array = np.asarray(value)
    if array.dtype == object and not all(isinstance(width, int) or is_symbolic(width) for width in array.flat):
        raise ValueError(f"pad: {name} has entries of different lengths: {value!r}")
    if array.shape not in {(), (1,), (2,), (1, 2), (rank, 2), (rank, 1), (1, 1)} or (
        array.shape == (rank, 1) and rank > 1
    ):
        raise ValueError(
            f"pad: {name} with nd={rank} has unsupported shape {array.shape}. "
            f"Valid shapes are ({rank}, 2), (1, 2), (2,), (1,), or ()."
        )
    return np.broadcast_to(array, (rank, 2))


def _widths(pad_width: ArrayLike | Sequence[Any], rank: int) -> Widths:
    if type(pad_width) is int and pad_width >= 0:
        return ((pad_width, pad_width),) * rank
    if isinstance(pad_width, dict):
        rows = [(0, 0)] * rank
        for axis, width in pad_width.items():
            rows[shape_arguments.canonical_axis(axis, rank)] = tuple(np.broadcast_to(np.asarray(width), (2,)).tolist())
        pad_width = rows
    if callable(pad_width):
        raise TypeError("pad: `pad_width` must be of integral type, got a function")
    pairs = _pairs("pad_width", _host(pad_width), rank)
    if pairs.size and pairs.dtype.kind not in "iuO":
        raise TypeError(f"pad: `pad_width` must be of integral type, got {pad_width!r}")
    if (pairs < 0).any():
        raise ValueError(f"pad: pad_width can't contain negative values, got {pad_width!r}")
    return tuple((as_index(low), as_index(high)) for low, high in pairs)


def _host(value: ArrayLike | Sequence[Any]) -> Any:
    """Nested sequences of known values as NumPy understands them."""
    if isinstance(value, list | tuple):
        return [_host(item) for item in value]
    found = known(value)
    if found is None:
        raise TypeError("pad: `pad_width` must be known while tracing, got a traced value")
    return found.tolist()


def _per_side(name: str, value: ArrayLike | Sequence[Any], rank: int) -> tuple[tuple[Any, Any], ...]:
    """Values per axis and side, which may be traced."""
    if type(value) in (int, float) or (is_arraylike(value) and typeof(value).ndim == 0):
        return ((value, value),) * rank
    if not isinstance(value, list | tuple):
        return tuple((low, high) for low, high in _pairs(name, known(value), rank))
    rows = [list(row) if isinstance(row, list | tuple) else row for row in value]
    if not any(isinstance(row, list) for row in rows):
        if len(rows) not in (1, 2):
            raise ValueError(f"pad: {name} with nd={rank} has unsupported length {len(rows)}")
        return ((rows[0], rows[-1]),) * rank
    pairs: list[Any] = [tuple(row * 2 if len(row) == 1 else row) for row in rows]
    pairs = pairs * rank if len(pairs) == 1 else pairs
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"pad: {name} with nd={rank} has unsupported entries {value!r}")
    return tuple(pairs)


# ---- constant -------------------------------------------------------------------------------------------------------


@api(static=("widths",))
def _pad_constant(x: Array, values: tuple[tuple[int, ...], ...], widths: Widths) -> Array:
    """One ``pad`` where all sides have the same value, else one per side."""
    aval = typeof(x)
    sides = [
        v for (low, high), pair in zip(widths, values, strict=True) for n, v in ((low, pair[0]), (high, pair[1])) if n
    ]
    if all(value is sides[0] for value in sides):
        fill = convert(sides[0] if sides else 0, aval.dtype)
        out = structure.pad(x, fill, [(low, high, 0) for low, high in widths])
    else:
        out = x
        for axis, (width, pair) in enumerate(zip(widths, values, strict=True)):
            for side in (0, 1):
                config = [(0, 0, 0)] * aval.ndim
                config[axis] = (width[0], 0, 0) if side == 0 else (0, width[1], 0)
                out = structure.pad(out, convert(pair[side], aval.dtype), config)
    return convert(out, aval.dtype, aval.weak_type)


def _constant(x: Array, widths: Widths, constant_values: Any = 0) -> Any:
    values = _per_side("constant_values", constant_values, len(widths))
    if host.on_host(x) and _fits(x, widths) and all(type(v) in (int, float, bool) for pair in values for v in pair):
        dtype = x.aval.dtype
        if dtype.kind not in "iu" or all(type(v) is not float for pair in values for v in pair):
            with np.errstate(all="ignore"):
                fill = [[np.asarray(v).astype(dtype)[()] for v in pair] for pair in values]
            return host.back(_padded(host.view(x), widths, fill), x, fresh=True)
    if not isinstance(constant_values, list | tuple):
        if typeof(constant_values).ndim == 0:
            return _pad_one(x, constant_values, widths)
    return _pad_constant(x, values, widths)


def _padded(values: np.ndarray, widths: Widths, fill: list[list[Any]]) -> np.ndarray:
    """As ``numpy.pad``, but many times faster where all sides have the same value."""
    first = fill[0][0] if fill else 0
    if any(value is not first and not value == first for pair in fill for value in pair):
        return np.pad(values, widths, constant_values=fill)
    shape = [n + low + high for n, (low, high) in zip(values.shape, widths, strict=True)]
    out = np.full(shape, first, values.dtype)
    out[tuple([slice(low, low + n) for n, (low, _) in zip(values.shape, widths, strict=True)])] = values
    return out


@api(static=("widths",))
def _pad_one(x: Array, value: Any, widths: Widths) -> Array:
    aval = typeof(x)
    scalar = (
        np.asarray(value).astype(aval.dtype)[()]
        if isinstance(value, int | float | complex)
        else convert(value, aval.dtype)
    )
    return convert(structure.pad(x, scalar, [(low, high, 0) for low, high in widths]), aval.dtype, aval.weak_type)


def _fits(x: Array, widths: Widths) -> bool:
    total = math.prod(n + low + high for n, (low, high) in zip(shape_of(x), widths, strict=True))
    return total <= host.ELEMENT_LIMIT


# ---- modes that copy elements ---------------------------------------------------------------------------------------


def _runs(indices: np.ndarray) -> list[tuple[int, int, int]]:
    """Places cut into runs (start, length, step) of steps +1, -1 or 0."""
    runs: list[tuple[int, int, int]] = []
    for index in indices.tolist():
        if runs:
            start, length, step = runs[-1]
            previous = start + (length - 1) * step
            if length == 1 and abs(index - previous) <= 1 or length > 1 and index - previous == step:
                runs[-1] = (start, length + 1, index - previous)
                continue
        runs.append((index, 1, 1))
    return runs


def _runs_of(length: int, width: tuple[int, int], mode: str) -> list[tuple[Any, Any, int]]:
    """The runs of an axis whose length is an expression of symbols: it must be known to be longer than the pads copied from it."""
    low, high = width
    whole = (0, length, 1)
    if mode == "edge":
        runs = [(0, low, 0), whole, (length - 1, high, 0)]
    else:
        skipped = int(mode == "reflect")
        if max(width) > length - skipped:
            raise ValueError(f"pad: widths {width} of mode {mode!r} are more than the length {length}")
        if mode == "wrap":
            runs = [(length - low, low, 1), whole, (0, high, 1)]
        else:
            runs = [(low - 1 + skipped, low, -1), whole, (length - 1 - skipped, high, -1)]
    return [run for run in runs if run is whole or run[1]]


def _run_slice(x: Array, run: tuple[int, int, int], axis: int) -> Array:
    start, length, step = run
    shape = typeof(x).shape
    if step == 0:
        one = structure.slice_in_dim(x, start, start + 1, axis=axis)
        return shapes.broadcast_in_dim(one, (*shape[:axis], length, *shape[axis + 1 :]), range(len(shape)))
    if step == 1:
        return structure.slice_in_dim(x, start, start + length, axis=axis)
    return axis_order.rev(structure.slice_in_dim(x, start - length + 1, start + 1, axis=axis), (axis,))


@api(static=("widths", "mode"))
def _pad_copies(x: Array, widths: Widths, mode: str) -> Array:
    for axis, width in enumerate(widths):
        if width != (0, 0):
            length = typeof(x).shape[axis]
            known = not is_symbolic(length)
            runs = _runs(np.pad(np.arange(length), width, mode=mode)) if known else _runs_of(length, width, mode)  # type: ignore[call-overload]
            x = structure.concatenate([_run_slice(x, run, axis) for run in runs], axis)
    return x


@api(static=("widths", "mode"))
def _pad_odd(x: Array, widths: Widths, mode: str) -> Array:
    """Reflections turned over: twice the edge minus the reflected elements, in as many steps as it takes."""
    for axis, (low, high) in enumerate(widths):
        if mode == "reflect" and typeof(x).shape[axis] == 1:  # no neighbour to turn over
            x, low, high = structure.concatenate([x] * (low + high + 1), axis), 0, 0
        while low or high:
            length = typeof(x).shape[axis]
            reach = length - 1 if mode == "reflect" else length
            before, after = min(low, reach), min(high, reach)
            indices = np.pad(np.arange(length), (before, after), mode=mode)  # type: ignore[call-overload]
            parts = [x]
            if before:
                parts.insert(0, _turned(x, indices[:before], 0, axis))
            if after:
                parts.append(_turned(x, indices[length + before :], length - 1, axis))
            x = structure.concatenate(parts, axis)
            low, high = low - before, high - after
    return x


def _turned(x: Array, indices: np.ndarray, edge: int, axis: int) -> Array:
    copies = structure.concatenate([_run_slice(x, run, axis) for run in _runs(indices)], axis)
    edges = _run_slice(x, (edge, len(indices), 0), axis)
    return arithmetic.sub(arithmetic.add(edges, edges), copies)


def _refuse_empty(x: Array, widths: Widths) -> None:
    """Refuse to extend an axis without elements by what its elements say."""
    for axis, (n, (low, high)) in enumerate(zip(shape_of(x), widths, strict=True)):
        if n == 0 and (low or high):
            raise ValueError(f"pad: can't extend empty axis {axis} using modes other than 'constant' or 'empty'")


def _copying(mode: str) -> Callable[..., Any]:
    def pad_axis(x: Array, widths: Widths, reflect_type: str = "even") -> Array:
        _refuse_empty(x, widths)
        if reflect_type not in ("even", "odd"):
            raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {reflect_type!r}")
        if reflect_type == "odd":
            return _pad_odd(x, widths, mode)
        if host.on_host(x) and _fits(x, widths):
            return host.back(np.pad(host.view(x), widths, mode=mode), x, fresh=True)  # type: ignore[call-overload]
        return _pad_copies(x, widths, mode)

    return pad_axis


# ---- modes that compute ---------------------------------------------------------------------------------------------


@api(static=("widths",))
def _ramp(x: Array, ends: tuple[tuple[ArrayLike, ArrayLike], ...], widths: Widths) -> Array:
    aval = typeof(x)
    work = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(aval.dtype))
    for axis, ((low, high), pair) in enumerate(zip(widths, ends, strict=True)):
        length = typeof(x).shape[axis]
        parts = [x]
        if low:
            parts.insert(0, _slope(x, convert(pair[0], work), (0, low, 0), axis, work, range(low)))
        if high:
            parts.append(_slope(x, convert(pair[1], work), (length - 1, high, 0), axis, work, range(high)[::-1]))
        x = structure.concatenate(parts, axis)
    return convert(x, aval.dtype, aval.weak_type)


def _slope(x: Array, end: Array, edge: tuple[int, int, int], axis: int, work: np.dtype, steps: range) -> Array:
    count = edge[1]
    edges = convert(_run_slice(x, edge, axis), work)
    shape = typeof(edges).shape
    share = (np.array(steps) / count).astype(work)
    weights = shapes.broadcast_in_dim(share, shape, (axis,))
    spread = shapes.broadcast_in_dim(end, shape, ())
    sloped = arithmetic.add(spread, arithmetic.mul(arithmetic.sub(edges, spread), weights))
    if dtypes.is_integer(typeof(x).dtype):
        sloped = arithmetic.floor(sloped)  # as NumPy, whose ramps of integers are floored
    return convert(sloped, typeof(x).dtype)


def _linear_ramp(x: Array, widths: Widths, end_values: int | tuple[int, ...] = 0) -> Array:
    _refuse_empty(x, widths)
    return _ramp(x, _per_side("end_values", end_values, len(widths)), widths)


def _mean(x: ArrayLike, axis: int) -> Array:
    work = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(typeof(x).dtype))
    total = reductions.reduce_sum(convert(x, work), (axis,))
    return arithmetic.div(total, length_of_axis(typeof(x).shape[axis], work))


def _median(x: Array, axis: int) -> Array:
    """The mean of the middle ones of the ranks, counted by comparisons: pads are made of few numbers."""
    work = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(typeof(x).dtype))
    shape = typeof(x).shape
    length, rank = shape[axis], len(shape)
    grown = (*shape, length)
    kept = tuple(range(rank))
    mine = shapes.broadcast_in_dim(x, grown, kept)
    last = axis_order.transpose(x, [i for i in range(rank) if i != axis] + [axis])
    other = shapes.broadcast_in_dim(last, grown, [*(i for i in range(rank) if i != axis), rank])
    index = filled_arrays.broadcasted_iota(np.int32, grown, axis)
    index_of_other = filled_arrays.broadcasted_iota(np.int32, grown, rank)
    tied = bitwise.bitwise_and(arithmetic.eq(other, mine), arithmetic.lt(index_of_other, index))
    before = convert(bitwise.bitwise_or(arithmetic.lt(other, mine), tied), np.int32)
    order = reductions.reduce_sum(before, (rank,))
    chosen = [
        reductions.reduce_sum(
            selection.select(arithmetic.eq(order, np.int32(k)), convert(x, work), filled_arrays.full(shape, 0, work)),
            (axis,),
        )
        for k in ((length - 1) // 2, length // 2)
    ]
    return arithmetic.mul(arithmetic.add(*chosen), np.asarray(0.5).astype(work)[()])


_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": lambda x, axis: reductions.reduce_max(x, (axis,)),
    "minimum": lambda x, axis: reductions.reduce_min(x, (axis,)),
    "mean": _mean,
    "median": _median,
}


@api(static=("widths", "mode", "lengths"))
def _pad_statistic(x: Array, widths: Widths, mode: str, lengths: tuple[tuple[int, ...], ...] | None) -> Array:
    aval = typeof(x)
    for axis, width in enumerate(widths):
        length = aval.shape[axis]
        parts = [x]
        for side, count in enumerate(width):
            if count:
                reach = length if lengths is None else min(lengths[axis][side], length)
                start = 0 if side == 0 else length - reach
                value = _STATISTICS[mode](structure.slice_in_dim(x, start, start + reach, axis=axis), axis)
                parts.insert(side * len(parts), _repeated(value, typeof(x).shape, axis, count, aval.dtype))
        x = structure.concatenate(parts, axis)
    return convert(x, aval.dtype, aval.weak_type)


def _repeated(value: Array, shape: tuple[int, ...], axis: int, count: int, dtype: np.dtype) -> Array:
    if dtypes.is_integer(dtype) and dtypes.is_float(typeof(value).dtype):
        value = rounding.round(value, rounding.RoundingMethod.TO_NEAREST_EVEN)
    grown = (*shape[:axis], count, *shape[axis + 1 :])
    return shapes.broadcast_in_dim(convert(value, dtype), grown, [i for i in range(len(shape)) if i != axis])


def _statistic(mode: str) -> Callable[..., Any]:
    def pad_axis(x: Array, widths: Widths, stat_length: int | None = None) -> Array:
        _refuse_empty(x, widths)
        lengths = None
        if stat_length is not None:
            pairs = _pairs("stat_length", _host(stat_length), len(widths))
            if pairs.dtype.kind not in "biuf":
                raise TypeError(f"pad: stat_length must be numbers, got {stat_length!r}")
            if (pairs < 1).any():
                raise ValueError(f"pad: stat_length must be at least 1, got {stat_length!r}")
            lengths = tuple((int(a), int(b)) for a, b in pairs)
        return _pad_statistic(x, widths, mode, lengths)

    return pad_axis


# ---- the function ---------------------------------------------------------------------------------------------------

_MODES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "constant": (_constant, ("constant_values",)),
    "edge": (_copying("edge"), ()),
    "linear_ramp": (_linear_ramp, ("end_values",)),
    "maximum": (_statistic("maximum"), ("stat_length",)),
    "mean": (_statistic("mean"), ("stat_length",)),
    "median": (_statistic("median"), ("stat_length",)),
    "minimum": (_statistic("minimum"), ("stat_length",)),
    "reflect": (_copying("reflect"), ("reflect_type",)),
    "symmetric": (_copying("symmetric"), ("reflect_type",)),
    "wrap": (_copying("wrap"), ()),
    "empty": (_constant, ()),
}


def _by_function(x: Array, widths: Widths, function: Callable[..., Any], kwargs: dict[str, Any]) -> Array:
    """The user's function on each padded vector, axis by axis."""
    x = _constant(x, widths)
    for axis, width in enumerate(widths):
        rows = moveaxis(x, axis, -1)
        call = functools.partial(_call_row, function, width, axis, kwargs)
        padded = vmap(call)(reshape(rows, (-1, shape_of(rows)[-1])))
        x = moveaxis(reshape(padded, shape_of(rows)), -1, axis)
    return x


def _call_row(
    function: Callable[..., Any], width: tuple[int, int], axis: int, kwargs: dict[str, Any], row: Array
) -> Array:
    return function(row, width, axis, kwargs)


def pad(
    array: ArrayLike, pad_width: ArrayLike | Sequence[Any], mode: str | Callable[..., Any] = "constant", **kwargs: Any
) -> Array:
    """Add elements at the edges of an array.

    Args:
      array: array.
      pad_width: how many before and after each axis: a number, a pair, one pair per axis, or a dict from axes.
      mode: ``"constant"`` (``constant_values``), ``"edge"``, ``"linear_ramp"`` (``end_values``), ``"maximum"``,
        ``"mean"``, ``"median"``, ``"minimum"`` (``stat_length``), ``"reflect"``, ``"symmetric"`` (``reflect_type``),
        ``"wrap"``, ``"empty"`` (zeros), or a function ``f(vector, widths, axis, kwargs)`` that returns the padded vector.
      kwargs: the options of the mode, named above.
    Raises:
      NotImplementedError: an unknown mode.
      ValueError: options of another mode, negative widths, or widths that don't fit the axes.
      TypeError: widths that are no integers.
    Example: ``jnp.pad(jnp.arange(2), 1, mode="edge")`` is ``[0, 0, 1, 1]``. Source: ``numpy.pad``.
    """
    return _pad(array, pad_width, mode, **kwargs) if kwargs else _pad_plainly(array, pad_width, mode)


def _pad(
    array: ArrayLike, pad_width: ArrayLike | Sequence[Any], mode: str | Callable[..., Any], **kwargs: Any
) -> Array:
    array = eager_operand("pad", array)
    widths = _widths(pad_width, typeof(array).ndim)
    if callable(mode):
        return _by_function(array, widths, mode, kwargs)
    if mode not in _MODES:
        raise NotImplementedError(
            f"pad: unimplemented padding mode {mode!r}, expected one of {sorted(_MODES)} or a function"
        )
    operation, options = _MODES[mode]
    unknown = set(kwargs) - set(options)
    if unknown:
        raise ValueError(f"pad: unsupported keyword arguments for mode {mode!r}: {sorted(unknown)}")
    return operation(array, widths, **kwargs)


_pad_plainly = api(static=("pad_width", "mode"), stepwise=True)(_pad)
