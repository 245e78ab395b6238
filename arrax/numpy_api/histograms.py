"""Counting values in bins (NumPy reference, routines.statistics)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, in_call
from arrax.core.errors import ConcretizationTypeError
from arrax.core.types import slots, typeof
from arrax.lax import arithmetic, bitwise, filled_arrays, selection, shapes, static_slicing
from arrax.lax.conversion import convert
from arrax.lax.counting import count_values
from arrax.lax.reductions import reduce_sum
from arrax.lax.scatter_lowering import ScatterDimensionNumbers
from arrax.lax.scatters import scatter_add
from arrax.numpy_api import operands
from arrax.numpy_api.api import api
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.differences import diff
from arrax.numpy_api.elementwise import divide
from arrax.numpy_api.gathers import take_slices
from arrax.numpy_api.joining import stack
from arrax.numpy_api.manipulation import ravel
from arrax.numpy_api.operands import (
    check_arraylike,
    check_arraylike_or_none,
    join_inexact,
    known_size,
    of_whole_bytes,
    promote_inexact,
)
from arrax.numpy_api.ranges import linspace
from arrax.numpy_api.rearranging import known
from arrax.numpy_api.reductions import max, min
from arrax.numpy_api.routes import eager_operand
from arrax.numpy_api.searching import index_dtype, search_sorted
from arrax.xla.annotations import OptionalSharding
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

# ---- bincount -------------------------------------------------------------------------------------------------------


@api(static=("length",))
def _bincount(x: Array, weights: Any, length: int) -> Array:
    if weights is None:
        return count_values(x, length, index_dtype())
    dtype, size = typeof(weights).dtype, typeof(x).size
    weights = convert(weights, dtype)
    index = (
        arithmetic.max_(x, np.zeros((), typeof(x).dtype)[()])
        if dtypes.issubdtype(typeof(x).dtype, np.signedinteger)
        else x
    )
    start = filled_arrays.full((length,), 0, dtype)
    if size == 0 or length == 0:
        return start
    return scatter_add(
        start, shapes.expand_dims(index, (1,)), weights, ScatterDimensionNumbers((), (0,), (0,)), mode="drop"
    )


def bincount(
    x: ArrayLike,
    weights: OptionalArray = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: OptionalSharding = None,
) -> Array:
    """How often each number from 0 on occurs, or the sums of weights.

    Args:
      x: vector of integers that are not negative (negative ones count as 0).
      weights: vector of the same length.
      minlength: least length of the result.
      length: length of the result, needed where ``x`` is traced; greater numbers are left out.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Raises:
      ConcretizationTypeError: a traced ``x`` without ``length``.
      TypeError: neither integers nor bools.
      ValueError: more than one axis, weights of another shape, or a negative length.
    Example: ``jnp.bincount(jnp.array([1, 1, 3]))`` is ``[0, 2, 0, 1]``. Source: ``numpy.bincount``.
    """
    if out_sharding is not None:
        return slots.as_asked(out_sharding, lambda counts: counts, bincount(x, weights, minlength, length=length))
    check_arraylike("bincount", x)
    check_arraylike_or_none("bincount", weights)
    x = of_whole_bytes(eager_operand("bincount", x))
    if dtypes.is_bool(typeof(x).dtype):
        x = convert(x, np.int32)
    if not dtypes.is_integer(typeof(x).dtype):
        raise TypeError(f"x argument to bincount must have an integer type; got {typeof(x).dtype.name}")
    if typeof(x).ndim != 1:
        raise ValueError(f"bincount: only 1-dimensional input supported, got shape {typeof(x).shape}.")
    if weights is not None and typeof(weights).shape != typeof(x).shape:
        raise ValueError(f"bincount: shape of weights {typeof(weights).shape} must match shape of x {typeof(x).shape}")
    smallest = as_index(minlength)
    if length is None:
        values = known(x)
        if values is None:
            raise ConcretizationTypeError(
                x,
                "The error occurred because of argument 'x' of jnp.bincount. Give a static `length` in transformed functions.",
            )
        length = int(values.max()) + 1 if values.size else 0
        length = length if length > smallest else smallest
    length = known_size(length, "jnp.bincount", "length")
    if length < 0:
        raise ValueError(f"bincount: length must be non-negative, got {length}")
    return _bincount(x, weights, length)


# ---- edges ----------------------------------------------------------------------------------------------------------


def _is_count(bins: ArrayLike | Sequence[Any]) -> bool:
    return isinstance(bins, int | float | np.number) or (
        not isinstance(bins, list | tuple) and getattr(bins, "ndim", 1) == 0
    )


@api(static=("count", "dtype"))
def _edges(low: ArrayLike, high: ArrayLike, count: int, dtype: np.dtype) -> Array:
    low, high = convert(low, dtype), convert(high, dtype)
    half = np.asarray(0.5).astype(dtype)[()]
    empty = arithmetic.eq(low, high)
    low, high = (
        selection.select(empty, arithmetic.sub(low, half), low),
        selection.select(empty, arithmetic.add(high, half), high),
    )
    return linspace(low, high, count + 1)


def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike | str | Sequence[Any] = 10,
    range: Sequence[Any] | ArrayLike | None = None,
    weights: OptionalArray = None,
) -> Array:
    """The edges of the bins that ``histogram`` would use.

    Args:
      a: array.
      bins: the number of bins, or their edges.
      range: (least, greatest) edge; by default the least and the greatest element.
      weights: accepted, without effect.
    Raises:
      NotImplementedError: a text for ``bins``.
      TypeError: other ``bins``.
      ValueError: bins that are too few, a ``range`` that is not a pair of finite, ascending numbers.
    Example: ``jnp.histogram_bin_edges(jnp.array([0., 2.]), bins=2)`` is ``[0., 1., 2.]``.
      Source: ``numpy.histogram_bin_edges``.
    """
    if isinstance(bins, str):
        raise NotImplementedError("histogram_bin_edges: string values for `bins` are not implemented.")
    check_arraylike("histogram_bin_edges", a)
    a = eager_operand("histogram_bin_edges", a)
    if dtypes.is_complex(typeof(a).dtype):
        raise TypeError(in_call("complex values have no order"))
    dtype = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(typeof(a).dtype))
    if not _is_count(bins):
        edges = None if bins is None else asarray(bins)
        if edges is None or typeof(edges).ndim != 1:
            raise TypeError(in_call(f"`bins` must be a number or a vector of edges, got {bins!r}"))
        return convert(edges, dtype)
    count = known_size(bins, "jnp.histogram_bin_edges", "bins")
    if count < 1:
        raise ValueError(in_call(f"`bins` must be positive, got {count}"))
    if range is None:
        low, high = (min(a), max(a)) if typeof(a).size else (0.0, 1.0)
    else:
        low, high = _bounds(range)
    return _edges(low, high, count, dtype)


def _bounds(range: Any) -> tuple[Any, Any]:
    if isinstance(range, list | tuple):
        if len(range) != 2:
            raise ValueError(f"histogram: `range` must have two entries, got {range}")
        if (
            all(isinstance(edge, int | float | np.number) for edge in range)
            and not -np.inf < range[0] <= range[1] < np.inf
        ):
            raise ValueError(f"histogram: `range` must be two finite numbers that ascend, got {range}")
        return range[0], range[1]
    pair = asarray(range)
    if typeof(pair).shape != (2,):
        raise ValueError(f"histogram: `range` must have two entries, got shape {typeof(pair).shape}")
    return pair[0], pair[1]


# ---- histograms -----------------------------------------------------------------------------------------------------


def _bin_of(edges: Array, values: Array) -> Array:
    """For each value the number of its bin; the last bin includes its right edge; others get a number beyond."""
    count = typeof(edges).shape[0] - 1
    dtype = index_dtype()
    index = search_sorted(edges, values, None, True, "scan")
    last = static_slicing.slice_in_dim(edges, count, count + 1)
    at_end = arithmetic.eq(values, operands.broadcast_to(last, typeof(values).shape))
    index = selection.select(at_end, filled_arrays.full_like(index, count), index)
    inside = bitwise.bitwise_and(
        arithmetic.ge(index, np.asarray(1).astype(dtype)[()]), arithmetic.le(index, np.asarray(count).astype(dtype)[()])
    )
    return selection.select(
        inside, arithmetic.sub(index, filled_arrays.full_like(index, 1)), filled_arrays.full_like(index, 1 << 30)
    )


_FEW_BINS = 1 << 12


def _equal_bin_of(edges: Array, values: Array) -> Array:
    """``_bin_of`` where all bins have the same width: by a division, whose result may be off by one."""
    count, shape, dtype = typeof(edges).shape[0] - 1, typeof(values).shape, index_dtype()
    low, high = (operands.broadcast_to(static_slicing.slice_in_dim(edges, i, i + 1), shape) for i in (0, count))
    share = arithmetic.div(arithmetic.sub(values, low), arithmetic.sub(high, low))
    scaled = arithmetic.mul(share, filled_arrays.full_like(share, count))
    zero, last, one = (np.asarray(number).astype(dtype)[()] for number in (0, count - 1, 1))
    guess = arithmetic.min_(arithmetic.max_(convert(scaled, dtype), zero), last)
    below = arithmetic.lt(values, take_slices(edges, guess, 0))
    above = arithmetic.ge(values, take_slices(edges, arithmetic.add(guess, one), 0))
    index = arithmetic.sub(arithmetic.add(guess, convert(above, dtype)), convert(below, dtype))
    inside = bitwise.bitwise_and(arithmetic.ge(values, low), arithmetic.le(values, high))
    return selection.select(inside, arithmetic.min_(index, last), filled_arrays.full_like(index, 1 << 30))


@api(static=("equal",))
def _histogram(a: Array, edges: Array, weights: Array | None, equal: bool) -> Array:
    a, edges = join_inexact(a, edges)
    a, edges = convert(a, typeof(a).dtype), convert(edges, typeof(edges).dtype)
    count = typeof(edges).shape[0] - 1
    numbered = _equal_bin_of if equal and count <= _FEW_BINS else _bin_of
    counts = _bincount(numbered(edges, a), weights, count)
    return convert(counts, typeof(a).dtype) if weights is None else counts


def histogram(
    a: ArrayLike,
    bins: ArrayLike | str | Sequence[Any] = 10,
    range: Sequence[Any] | ArrayLike | None = None,
    weights: OptionalArray = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """How many elements fall into each bin.

    Args:
      a: array, flattened.
      bins: the number of bins, or their ascending edges.
      range: (least, greatest) edge; elements outside are left out.
      weights: array of the shape of ``a``: what each element counts.
      density: divide by the total and the widths, so that the integral is 1.
    Returns: (counts, floating numbers; edges).
    Raises:
      ValueError: weights of another shape.
      NotImplementedError: a text for ``bins``.
    Example: ``jnp.histogram(jnp.array([1, 2, 2]), bins=2)[0]`` is ``[1., 2.]``. Source: ``numpy.histogram``.
    """
    check_arraylike("histogram", a)
    check_arraylike_or_none("histogram", weights)
    if weights is not None and typeof(weights).shape != typeof(a).shape:
        raise ValueError(
            f"histogram: weights should have the same shape as a, got {typeof(weights).shape} and {typeof(a).shape}."
        )
    a, weights = of_whole_bytes(a), None if weights is None else of_whole_bytes(weights)
    edges = histogram_bin_edges(a, bins, range)
    if weights is not None:
        weights = ravel(promote_inexact(a, weights)[1])
    counts = _histogram(ravel(a), edges, weights, _is_count(bins))
    return (_density(counts, [edges]), edges) if density else (counts, edges)


def _density(counts: Array, edges: Sequence[Any]) -> Array:
    """Counts over their sum and the sizes of the bins."""
    (numbers,) = promote_inexact(counts)
    rank = typeof(numbers).ndim
    total = reduce_sum(numbers, tuple(np.arange(rank).tolist()))
    out = divide(numbers, total)
    for axis, edge in enumerate(edges):
        shape = [1] * rank
        shape[axis] = -1
        out = divide(out, diff(edge).reshape(shape))
    return out


@api()
def _histogramdd(sample: Array, edges: Sequence[Any], weights: Array | None) -> Array:
    counts = [typeof(edge).shape[0] - 1 for edge in edges]
    dtype = index_dtype()
    flat: Any = None
    valid: Any = None
    for axis, (edge, count) in enumerate(zip(edges, counts, strict=True)):
        column = shapes.squeeze(static_slicing.slice_in_dim(sample, axis, axis + 1, axis=1), (1,))
        column, edge = join_inexact(column, edge)
        index = _bin_of(convert(edge, typeof(edge).dtype), convert(column, typeof(column).dtype))
        inside = arithmetic.lt(index, np.asarray(count).astype(dtype)[()])
        flat = (
            index if flat is None else arithmetic.add(arithmetic.mul(flat, np.asarray(count).astype(dtype)[()]), index)
        )
        valid = inside if valid is None else bitwise.bitwise_and(valid, inside)
    total = int(np.prod(counts, dtype=np.int64))
    flat = selection.select(valid, flat, filled_arrays.full_like(flat, total))
    return shapes.reshape(_bincount(flat, weights, total), tuple(counts))


def histogramdd(
    sample: ArrayLike,
    bins: int | Sequence[Any] = 10,
    range: Sequence[Any] | None = None,
    weights: OptionalArray = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """How many points fall into each bin of a grid.

    Args:
      sample: array of shape ``(points, axes)``.
      bins: the number of bins, for all axes or for each, or their edges for each.
      range: for each axis None or (least, greatest) edge.
      weights: vector: what each point counts.
      density: divide by the total and the sizes of the bins.
    Returns: (counts, list of edges).
    Raises:
      ValueError: another number of axes, bins, ranges or weights.
    Example: ``jnp.histogramdd(jnp.ones((3, 2)), bins=2)[0].shape`` is ``(2, 2)``. Source: ``numpy.histogramdd``.
    """
    check_arraylike("histogramdd", sample)
    check_arraylike_or_none("histogramdd", weights)
    sample = eager_operand("histogramdd", sample)
    if typeof(sample).ndim != 2:
        raise ValueError(f"histogramdd: sample must have two axes, got shape {typeof(sample).shape}")
    points, rank = typeof(sample).shape
    if range is not None and len(range) != rank:
        raise ValueError(f"histogramdd: for sample of dimension {rank}, got {len(range)} ranges")
    if weights is not None and typeof(weights).shape != (points,):
        raise ValueError(f"histogramdd: weights should have shape {(points,)}, got {typeof(weights).shape}")
    chosen = [bins] * rank if _is_count(bins) else list(bins)  # type: ignore[arg-type]
    if len(chosen) != rank:
        raise ValueError(f"histogramdd: for sample of dimension {rank}, got {len(chosen)} bins")
    sample, weights = of_whole_bytes(sample), None if weights is None else of_whole_bytes(weights)
    edges = [
        histogram_bin_edges(sample[:, i], chosen[i], None if range is None else range[i])
        for i in np.arange(rank).tolist()
    ]
    counts = _histogramdd(sample, edges, None if weights is None else promote_inexact(sample, weights)[1])
    return (_density(counts, edges) if density else counts), edges


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: int | Sequence[Any] = 10,
    range: Sequence[Any] | None = None,
    weights: OptionalArray = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """How many points fall into each bin of a grid of two axes.

    Args:
      x, y: vectors of coordinates.
      bins: the number of bins, for both axes or for each; edges for both axes or for each.
      range: for each axis None or (least, greatest) edge.
      weights: vector: what each point counts.
      density: divide by the total and the sizes of the bins.
    Returns: (counts, edges of the first axis, edges of the second).
    Example: ``jnp.histogram2d(jnp.ones(3), jnp.ones(3), bins=2)[0].shape`` is ``(2, 2)``. Source: ``numpy.histogram2d``.
    """
    check_arraylike("histogram2d", x, y)
    if not _is_count(bins) and (not isinstance(bins, list | tuple) or len(bins) not in (1, 2)):
        bins = [asarray(bins), asarray(bins)]
    points = stack([eager_operand("histogram2d", v) for v in (x, y)], 1)
    counts, (first, second) = histogramdd(points, bins, range, weights, density)
    return counts, first, second
