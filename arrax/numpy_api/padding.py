"""Padding (NumPy reference, ``numpy.pad``): one function per mode, each of which pads one axis after the other."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.lengths import is_symbolic
from arrax.core.types import typeof
from arrax.lax import arithmetic, axis_order, concatenation, shapes, static_slicing
from arrax.lax.conversion import convert
from arrax.numpy_api import host
from arrax.numpy_api.api import api
from arrax.numpy_api.axis_order import moveaxis
from arrax.numpy_api.manipulation import reshape
from arrax.numpy_api.padding_arguments import Widths, as_widths, per_side, refuse_empty
from arrax.numpy_api.padding_statistics import statistic_mode
from arrax.numpy_api.routes import eager_operand, shape_of
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array, ArrayLike

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
        out = static_slicing.pad(x, fill, [(low, high, 0) for low, high in widths])
    else:
        out = x
        for axis, (width, pair) in enumerate(zip(widths, values, strict=True)):
            for side in (0, 1):
                config = [(0, 0, 0)] * aval.ndim
                config[axis] = (width[0], 0, 0) if side == 0 else (0, width[1], 0)
                out = static_slicing.pad(out, convert(pair[side], aval.dtype), config)
    return convert(out, aval.dtype, aval.weak_type)


def _constant(x: Array, widths: Widths, constant_values: Any = 0) -> Any:
    values = per_side("constant_values", constant_values, len(widths))
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
    return convert(static_slicing.pad(x, scalar, [(low, high, 0) for low, high in widths]), aval.dtype, aval.weak_type)


def _fits(x: Array, widths: Widths) -> bool:
    total = math.prod(n + low + high for n, (low, high) in zip(shape_of(x), widths, strict=True))
    return total <= host.MAX_ELEMENTS


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
    """The runs of an axis whose length is an expression of symbols: known to be longer than the pads that are copied from it."""
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
        one = static_slicing.slice_in_dim(x, start, start + 1, axis=axis)
        return shapes.broadcast_in_dim(one, (*shape[:axis], length, *shape[axis + 1 :]), range(len(shape)))
    if step == 1:
        return static_slicing.slice_in_dim(x, start, start + length, axis=axis)
    return axis_order.rev(static_slicing.slice_in_dim(x, start - length + 1, start + 1, axis=axis), (axis,))


@api(static=("widths", "mode"))
def _pad_copies(x: Array, widths: Widths, mode: str) -> Array:
    for axis, width in enumerate(widths):
        if width != (0, 0):
            length = typeof(x).shape[axis]
            known = not is_symbolic(length)
            runs = _runs(np.pad(np.arange(length), width, mode=mode)) if known else _runs_of(length, width, mode)  # type: ignore[call-overload]
            x = concatenation.concatenate([_run_slice(x, run, axis) for run in runs], axis)
    return x


@api(static=("widths", "mode"))
def _pad_odd(x: Array, widths: Widths, mode: str) -> Array:
    """Reflections turned over: twice the edge minus the reflected elements, in as many steps as it takes."""
    for axis, (low, high) in enumerate(widths):
        if mode == "reflect" and typeof(x).shape[axis] == 1:  # no neighbour to turn over
            x, low, high = concatenation.concatenate([x] * (low + high + 1), axis), 0, 0
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
            x = concatenation.concatenate(parts, axis)
            low, high = low - before, high - after
    return x


def _turned(x: Array, indices: np.ndarray, edge: int, axis: int) -> Array:
    copies = concatenation.concatenate([_run_slice(x, run, axis) for run in _runs(indices)], axis)
    edges = _run_slice(x, (edge, len(indices), 0), axis)
    return arithmetic.sub(arithmetic.add(edges, edges), copies)


def _copying(mode: str) -> Callable[..., Any]:
    def pad_axis(x: Array, widths: Widths, reflect_type: str = "even") -> Array:
        refuse_empty(x, widths)
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
        x = concatenation.concatenate(parts, axis)
    return convert(x, aval.dtype, aval.weak_type)


def _slope(x: Array, end: Array, edge: tuple[int, int, int], axis: int, work: np.dtype, steps: range) -> Array:
    count = edge[1]
    edges = convert(_run_slice(x, edge, axis), work)
    shape = typeof(edges).shape
    share = (np.array(steps) / count).astype(work)
    weights = shapes.broadcast_in_dim(share, shape, (axis,))
    broadcasted = shapes.broadcast_in_dim(end, shape, ())
    sloped = arithmetic.add(broadcasted, arithmetic.mul(arithmetic.sub(edges, broadcasted), weights))
    if dtypes.is_integer(typeof(x).dtype):
        sloped = arithmetic.floor(sloped)  # as NumPy, whose ramps of integers are floored
    return convert(sloped, typeof(x).dtype)


def _linear_ramp(x: Array, widths: Widths, end_values: int | tuple[int, ...] = 0) -> Array:
    refuse_empty(x, widths)
    return _ramp(x, per_side("end_values", end_values, len(widths)), widths)


# ---- the function ---------------------------------------------------------------------------------------------------

_MODES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "constant": (_constant, ("constant_values",)),
    "edge": (_copying("edge"), ()),
    "linear_ramp": (_linear_ramp, ("end_values",)),
    "maximum": (statistic_mode("maximum"), ("stat_length",)),
    "mean": (statistic_mode("mean"), ("stat_length",)),
    "median": (statistic_mode("median"), ("stat_length",)),
    "minimum": (statistic_mode("minimum"), ("stat_length",)),
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
      TypeError: widths that are not integers.
    Example: ``jnp.pad(jnp.arange(2), 1, mode="edge")`` is ``[0, 0, 1, 1]``. Source: ``numpy.pad``.
    """
    return _pad(array, pad_width, mode, **kwargs) if kwargs else _pad_plainly(array, pad_width, mode)


def _pad(
    array: ArrayLike, pad_width: ArrayLike | Sequence[Any], mode: str | Callable[..., Any], **kwargs: Any
) -> Array:
    array = eager_operand("pad", array)
    widths = as_widths(pad_width, typeof(array).ndim)
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
